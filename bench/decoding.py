"""Decoding speed: aiayn, CTranslate2, MarianMT, a plain loop of torch.nn.Transformer.

python bench/decoding.py [--shapes small base] [--beams 1 4] [--batches 1 8 32 128]
                         [--rounds 3] [--run FOLDER] [--record]

Sentences of Multi30k's test set in the order of the file, so that a batch has short
and long ones and padding, in float32 and in eight bits. Models are random, and all
write 40 tokens for each sentence, so that only the speed differs. aiayn and CTranslate2
have the same weights and, in float32, must find the same translations. Each system is a
process of its own; they take a pass one after another, in turn, another one first in
each round. MarianMT and the plain loop run in batches of 32 only; the loop keeps
nothing from step to step, and is so slow that it gets one batch, once.

With --run, also the whole test set with the trained model of that folder, where
sentences end when they end; and its BLEU in 32 and in eight bits. Translations may
differ there: CTranslate2 stops a search by another rule. Ours must then be the likelier
one.

The record holds one entry for each kind of processor. One with AVX2 only is imitated by
ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 and, for
CTranslate2, CT2_FORCE_CPU_ISA=AVX2.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import records
import torch
from torch import Tensor, nn
from training import SHAPES, TorchTransformer

from aiayn.commands import score
from aiayn.data import Vocabulary, load_pairs, train_vocabulary
from aiayn.data.batching import pad
from aiayn.data.files import write_atomically
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.fast_paths import fast_products, keep_heap
from aiayn.model import Transformer, TransformerConfig
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import SearchConfig, Translator, beam_search
from aiayn.translation.ctranslate2 import write_ctranslate2
from aiayn.translation.engine import Engine
from aiayn.translation.products import Compute, has_vnni
from aiayn.translation.search import expand

LENGTH = 40  # tokens of each translation
SENTENCES = {1: 16, 8: 64, 32: 128, 128: 128}  # by size of the batch
USUAL = 32  # the batch of those that are slow
TOKENS = 8000  # of a batch, where sentences end when they end
# Of a batch of sources, with so many beams.
Decode = Callable[[Tensor, int], list[list[int]]]
Found = tuple[str, float]  # a translation and its log probability
Figures = dict[str, float]


def learn_vocabulary() -> Vocabulary:
    """As for bench/training.py."""
    pairs = load_pairs("multi30k", "en-de", "train")
    return train_vocabulary([*pairs.source, *pairs.target], 8000)


def test_batches(vocabulary: Vocabulary, size: int) -> list[Tensor]:
    """The first sources of the test set, so many at a time."""
    sentences = load_pairs("multi30k", "en-de", "test_2016_flickr").source
    sources = vocabulary.encode(list(sentences[: SENTENCES[size]]))
    return [pad(sources[at : at + size]) for at in range(0, len(sources), size)]


class Endless(Transformer):
    """A model that never says that a sentence is over."""

    def logits(self, x: Tensor) -> Tensor:
        """As usual, but for the end."""
        scores = super().logits(x)
        scores[..., EOS_ID] = -torch.inf
        return scores


def random_model(config: TransformerConfig) -> Endless:
    """The same every time."""
    torch.manual_seed(1)
    return Endless(config).eval()


def aiayn(
    config: TransformerConfig, vocabulary: Vocabulary, compute: Compute = "float32"
) -> Decode:
    """This package."""
    model = Engine(random_model(config), compute)
    # A limit for all sentences, however long they are.
    model.config = SimpleNamespace(longest=LENGTH, pad_id=PAD_ID)

    def decode(source: Tensor, beams: int) -> list[list[int]]:
        search = SearchConfig(beams, alpha=0.0, extra_length=LENGTH)
        found = beam_search(model, source, search)
        return [hypotheses[0].tokens for hypotheses in found]

    return decode


def ctranslate2(
    config: TransformerConfig, vocabulary: Vocabulary, compute: Compute = "float32"
) -> Decode:
    """CTranslate2 with the same weights."""
    import ctranslate2

    with tempfile.TemporaryDirectory() as folder:
        model = Transformer(config)
        model.load_state_dict(random_model(config).state_dict())
        write_ctranslate2(model, vocabulary, Path(folder, "model"))
        program = ctranslate2.Translator(
            str(Path(folder, "model")),
            compute_type=compute,
            intra_threads=torch.get_num_threads(),
        )
    numbers = {
        piece: token
        for token, piece in enumerate(vocabulary.pieces(list(range(len(vocabulary)))))
    }

    def decode(source: Tensor, beams: int) -> list[list[int]]:
        found = program.translate_batch(
            [vocabulary.pieces(row[: row.index(EOS_ID)]) for row in source.tolist()],
            beam_size=beams,
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
            length_penalty=0,
        )
        return [[numbers[piece] for piece in each.hypotheses[0]] for each in found]

    return decode


def marian(config: TransformerConfig, vocabulary: Vocabulary) -> Decode:
    """Hugging Face's MarianMT and its generate."""
    from training import marian_model

    model = marian_model(config).eval()

    def decode(source: Tensor, beams: int) -> list[list[int]]:
        found = model.generate(
            source,
            attention_mask=(source != PAD_ID).long(),
            num_beams=beams,
            do_sample=False,
            min_new_tokens=LENGTH,
            max_new_tokens=LENGTH,
        )
        return found[:, 1:].tolist()

    return decode


def plain_loop(config: TransformerConfig, vocabulary: Vocabulary) -> Decode:
    """What one writes around torch.nn.Transformer: the whole prefix at each step."""
    model = TorchTransformer(config).eval()

    def decode(source: Tensor, beams: int) -> list[list[int]]:
        memory = model.transformer.encoder(model.embed(source)).repeat_interleave(
            beams, 0
        )
        prefixes, live = (
            source.new_full((len(source), 1, 1), BOS_ID),
            torch.zeros(len(source), 1),
        )
        for length in range(1, LENGTH + 1):
            rows = prefixes.flatten(0, 1)
            mask = nn.Transformer.generate_square_subsequent_mask(length)
            over = memory if length > 1 else memory[::beams]
            hidden = model.transformer.decoder(
                model.embed(rows), over, mask, tgt_is_causal=True
            )
            scores = hidden[:, -1] @ model.embeddings.weight.T
            scores[:, EOS_ID] = -torch.inf
            live, origin, token = expand(scores, live, beams)
            prefixes = torch.cat([rows[origin], token.unsqueeze(-1)], dim=-1)
        return prefixes[:, 0, 1:].tolist()

    return decode


SYSTEMS: dict[str, Callable[[TransformerConfig, Vocabulary], Decode]] = {
    "aiayn": aiayn,
    "ctranslate2": ctranslate2,
    "aiayn int8": partial(aiayn, compute="int8"),
    "ctranslate2 int8": partial(ctranslate2, compute="int8"),
    "marian": marian,
    "torch.nn": plain_loop,
}
SLOW = ("marian", "torch.nn")


def systems(size: int) -> list[str]:
    """Who takes part with batches of that size."""
    return [
        name
        for name in SYSTEMS
        if (size == USUAL or name not in SLOW) and (has_vnni() or name != "aiayn int8")
    ]


@torch.inference_mode()
def work(
    name: str,
    config: TransformerConfig,
    vocabulary: Vocabulary,
    connection: Connection,
) -> None:
    """Be one of the systems: tell how long a pass took and what was written, with so
    many beams and sentences at a time.
    """
    keep_heap()
    fast = (
        fast_products(torch.device("cpu"), config.d_model)
        if name.startswith("aiayn")
        else contextlib.nullcontext()
    )
    with fast:
        decode = SYSTEMS[name](config, vocabulary)
        while (asked := connection.recv()) is not None:
            beams, size = asked
            batches = test_batches(vocabulary, size)[
                : 1 if name == "torch.nn" else None
            ]
            began = time.perf_counter()
            found = [decode(batch, beams) for batch in batches]
            seconds = time.perf_counter() - began
            tokens = [row for rows in found for row in rows]
            assert all(len(row) == LENGTH for row in tokens)
            connection.send((seconds, tokens))


def processes(
    names: Iterable[str], target: Callable[..., None], *given: object
) -> dict[str, Connection]:
    """Start one for each name, which is told its name, what is given, and where to
    answer.

    Side by side in one process, CTranslate2 slows the others: threads of both are more
    than the cores, and are then put to sleep between products (2.0 seconds for the test
    set became 3.4).
    """
    context, ends = multiprocessing.get_context("spawn"), {}
    for name in names:
        ends[name], theirs = context.Pipe()
        context.Process(target=target, args=(name, *given, theirs), daemon=True).start()
    return ends


def race(ends: dict[str, Connection], beams: int, size: int, rounds: int) -> Figures:
    """Output tokens per second of each system; and the share of equal translations."""
    names = systems(size)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    counts, written = {}, {}
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            once = name == "torch.nn"
            if once and number:
                continue
            ends[name].send((beams, size))
            took, written[name] = ends[name].recv()
            counts[name] = len(written[name]) * LENGTH
            if number or once:  # the first round warms up
                seconds[name].append(took)
    found: Figures = {
        name: round(counts[name] / statistics.median(seconds[name])) for name in names
    }
    pairs = zip(written["aiayn"], written["ctranslate2"], strict=True)
    equal = sum(one == other for one, other in pairs) / len(written["aiayn"])
    return found | {"as ctranslate2": round(equal, 3)}


def test_set() -> list[str]:
    """The sentences of real work."""
    return list(load_pairs("multi30k", "en-de", "test_2016_flickr").source)


def translate_ours(translator: Translator) -> Callable[[], list[Found]]:
    """The test set by this package."""
    lines = test_set()

    def translate() -> list[Found]:
        best = (found[0] for found in translator.n_best(lines, 1, batch_tokens=TOKENS))
        return [(each.text, each.log_probability) for each in best]

    return translate


def translate_theirs(translator: Translator) -> Callable[[], list[Found]]:
    """The test set by CTranslate2 with the same weights."""
    import ctranslate2

    lines, vocabulary = test_set(), translator.vocabulary
    with tempfile.TemporaryDirectory() as folder:
        write_ctranslate2(translator.model, vocabulary, Path(folder, "model"))
        program = ctranslate2.Translator(
            str(Path(folder, "model")),
            compute_type="float32",
            intra_threads=torch.get_num_threads(),
        )

    def translate() -> list[Found]:
        found = program.translate_batch(
            [vocabulary.pieces(row[:-1]) for row in vocabulary.encode(lines)],
            beam_size=4,
            length_penalty=0,
            min_decoding_length=0,
            max_batch_size=TOKENS,
            batch_type="tokens",
            return_scores=True,
        )
        texts = (
            vocabulary.processor.DecodePieces(each.hypotheses[0]) for each in found
        )
        return [(text, each.scores[0]) for text, each in zip(texts, found, strict=True)]

    return translate


REAL = {"aiayn": translate_ours, "ctranslate2": translate_theirs}


def work_for_real(name: str, run: Path, connection: Connection) -> None:
    """Be one of the two: tell how long the test set took, and the translations."""
    keep_heap()
    translator = Translator.load(
        run, search=SearchConfig(beam=4, alpha=0.0), device="cpu"
    )
    translate = REAL[name](translator)
    while connection.recv():
        began = time.perf_counter()
        found = translate()
        connection.send((time.perf_counter() - began, found))


def real_work(run: Path, rounds: int) -> dict[str, float]:
    """Sentences per second on the whole test set with a trained model, ours and
    CTranslate2's.
    """
    ends = processes(REAL, work_for_real, run)
    seconds: dict[str, list[float]] = {name: [] for name in REAL}
    best: dict[str, list[Found]] = {}
    for number in range(rounds + 1):
        for name in sorted(REAL, reverse=number % 2 == 1):
            ends[name].send(True)
            took, best[name] = ends[name].recv()
            if number:  # the first warms up
                seconds[name].append(took)
    for end in ends.values():
        end.send(False)
    pairs = list(zip(best["aiayn"], best["ctranslate2"], strict=True))
    differ = [(one[1], other[1]) for one, other in pairs if one[0] != other[0]]
    speed = {
        name: round(len(pairs) / statistics.median(found), 1)
        for name, found in seconds.items()
    }
    return speed | {
        "sentences": len(pairs),
        "as ctranslate2": round(1 - len(differ) / len(pairs), 3),
        "differ": len(differ),
        "differ, ours likelier": sum(one > other for one, other in differ),
    }


def bleu_by_numbers(run: Path) -> dict[str, float]:
    """BLEU of a trained model on the test set, in 32 and in eight bits."""
    search = SearchConfig(beam=5, alpha=1.4)
    found = {}
    for compute in ("float32", "int8"):
        how: dict[str, Any] = {"split": "test_2016_flickr", "compute": compute}
        record = score(TrainedRun.read(run), search, forms=True, **how)
        (forms,) = record["bleu"].values()
        found[compute] = round(forms["tokenised-lowercased"]["value"], 2)
    return found


def kind() -> dict[str, Any]:
    """Which processor this is, or which it is told to be."""
    return {
        "machine": f"{records.processor()}, {os.cpu_count()} cores",
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "vnni": has_vnni(),
    }


def shape_rows(shape: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The figures of one shape, printed as they come."""
    vocabulary, rows = learn_vocabulary(), []
    ends = processes(systems(USUAL), work, SHAPES[shape], vocabulary)
    for beams in arguments.beams:
        for size in arguments.batches:
            found = race(ends, beams, size, arguments.rounds)
            rows.append({"shape": shape, "beam": beams, "batch": size} | found)
            print(f"{shape} beam {beams} batch {size:<4}", end="")
            for name in SYSTEMS:
                shown = f"{found[name]:,}" if name in found else "–"
                print(f"{shown:>17}", end="")
            ratio = found["aiayn"] / found["ctranslate2"]
            print(f"   {ratio:.2f}", end="")
            if "aiayn int8" in found:
                ratio = found["aiayn int8"] / found["ctranslate2 int8"]
                print(f", int8 {ratio:.2f}", end="")
            print(f" x ctranslate2; {found['as ctranslate2']:.0%} the same", flush=True)
    for end in ends.values():
        end.send(None)
    return rows


def write_record(findings: dict[str, Any]) -> None:
    """Add it to those of other kinds of processors."""
    path = records.RUNS / "decoding-speed.json"
    known = json.loads(path.read_text(encoding="utf-8"))["kinds"]
    same = ("machine", "instructions")
    others = [k for k in known if any(k[name] != findings[name] for name in same)]
    text = json.dumps({"kinds": [*others, findings]}, indent=1, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())


def main() -> None:
    """Measure, print, and record on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shapes, sizes = list(SHAPES), list(SENTENCES)
    parser.add_argument("--shapes", nargs="+", choices=shapes, default=shapes)
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--batches", nargs="+", type=int, choices=sizes, default=sizes)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--run", type=Path, help="a folder with a model trained on Multi30k"
    )
    parser.add_argument(
        "--record", action="store_true", help="add to book/runs/decoding-speed.json"
    )
    arguments = parser.parse_args()
    records.check_peers()
    keep_heap()
    print(
        f"{kind()}\n{'output tokens/s':22}",
        *(f"{name:>17}" for name in SYSTEMS),
        sep="",
    )
    findings: dict[str, Any] = records.START | kind() | {"length": LENGTH}
    findings["sentences"] = SENTENCES
    findings["fixed"] = [
        row for shape in arguments.shapes for row in shape_rows(shape, arguments)
    ]
    if arguments.run is not None:
        findings["real"] = real_work(arguments.run, arguments.rounds)
        print("the whole test set, sentences/s:", findings["real"])
        findings["bleu"] = bleu_by_numbers(arguments.run)
        print("BLEU, tokenised and lower-cased:", findings["bleu"])
    if arguments.record:
        write_record(findings)


if __name__ == "__main__":
    main()
