"""Decoding speed: aiayn, CTranslate2, MarianMT, a plain loop of torch.nn.Transformer.

python bench/decoding.py [--shapes small base] [--beams 1 4] [--batches 1 8 32 128]
                         [--rounds 3] [--threads N] [--run FOLDER] [--record]

Sentences of Multi30k's test set in the order of the file, so that a batch has short
and long ones and padding, in float32 and in eight bits. Models are random, and all
write 40 tokens for each sentence, so that only the speed differs. aiayn and CTranslate2
have the same weights and, in float32, must find the same translations. Each system is a
process of its own; they take a pass one after another, in turn, another one first in
each round. CTranslate2's never imports PyTorch, which slows it up to six times, and has
its defaults but for the number of threads, which is the same for all. A lead is the
ratio of two passes of a round, least, median and most of all rounds; in eight bits it
is to the better of CTranslate2's float32 and int8. MarianMT and the plain loop run in
batches of 32 only; the loop is so slow that it gets one batch, once.

With --run, also the whole test set with the trained model of that folder, where
sentences end when they end; and its BLEU in 32 and in eight bits. Translations may
differ there: CTranslate2 stops a search by another rule. Ours must then be the likelier
one.

On two cores this takes about a quarter of an hour; the machine must have nothing else
to do. The record holds one entry for each kind of processor. One with AVX2 only is
imitated by ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
MKL_ENABLE_INSTRUCTIONS=AVX2 and, for CTranslate2, CT2_FORCE_CPU_ISA=AVX2.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import records
import torch
from decoding_torch import random_model
from programs import Answer, Program, take_turns
from training import SHAPES

from aiayn.cli import score
from aiayn.data import Vocabulary, load_pairs, train_vocabulary
from aiayn.data.io import write_atomically
from aiayn.decoding import SearchConfig
from aiayn.decoding.quantization import has_vnni
from aiayn.model import Transformer, TransformerConfig
from aiayn.training.trained_run import TrainedRun
from aiayn.translation import Translator
from aiayn.translation.ctranslate2 import write_ctranslate2

LENGTH = 40  # tokens of each translation
SENTENCES = {1: 8, 8: 32, 32: 64, 128: 128}  # by size of the batch
USUAL = 32  # the batch of those that are slow
TOKENS = 8000  # of a batch, where sentences end when they end
OURS = ["aiayn", "aiayn int8"] if has_vnni() else ["aiayn"]
THEIRS = {"ctranslate2": "float32", "ctranslate2 int8": "int8"}
SLOW = ["marian", "torch.nn"]
# A lead of ours in some numbers, and the best of whom it is measured against.
LEADS = {"aiayn": ["ctranslate2"], "aiayn int8": list(THEIRS)}


@contextmanager
def running(
    names: list[str], ours: Path, theirs: Path, threads: int
) -> Iterator[dict[str, Program]]:
    """The systems of these names, started: CTranslate2 with the model `theirs`, the
    rest with `ours`, a shape or a run.
    """
    programs = {
        name: Program("decoding_ctranslate2.py", theirs, THEIRS[name], threads)
        if name in THEIRS
        else Program("decoding_torch.py", name, ours, threads)
        for name in names
    }
    try:
        yield programs
    finally:
        for program in programs.values():
            program.close()


def rates(answers: dict[str, list[Answer]], work: int) -> dict[str, Any]:
    """How much of the work each did in a second, the median of its rounds, and leads.

    Ends with a word if CTranslate2 was not alone in its process.
    """
    speeds: dict[str, list[float]] = {}
    for name, given in answers.items():
        speeds[name] = [work / each["seconds"] for each in given]
        wanted = ["ctranslate2"] if name in THEIRS else ["torch"]
        if any(each["imported"] != wanted for each in given):
            raise SystemExit(f"{name}: its process imported {given[0]['imported']}")
    found: dict[str, Any] = {n: round(median(each), 1) for n, each in speeds.items()}
    for ours, rivals in LEADS.items():
        if ours in speeds:
            rounds = zip(speeds[ours], *(speeds[name] for name in rivals), strict=True)
            ratios = sorted(one / max(others) for one, *others in rounds)
            lead = ratios[0], median(ratios), ratios[-1]
            found[f"lead of {ours}"] = [round(each, 2) for each in lead]
    return found


def in_pairs(answers: dict[str, list[Answer]]) -> Iterator[tuple[Any, Any]]:
    """What was found in float32, ours and CTranslate2's."""
    ours, theirs = (answers[name][-1]["found"] for name in ("aiayn", "ctranslate2"))
    yield from zip(ours, theirs, strict=True)


def show(what: str, found: dict[str, Any]) -> None:
    """Print a row of figures as it comes."""
    shown = [
        f"{found[name]:,.0f}" if name in found else "–"
        for name in [*OURS, *THEIRS, *SLOW]
    ]
    leads = [
        "{}–{}".format(*found[f"lead of {name}"][::2])
        for name in LEADS
        if name in OURS and name in found
    ]
    print(f"{what:24}", *(f"{each:>17}" for each in shown), "", *leads, flush=True)


def fixed_rows(
    shape: str, config: TransformerConfig, arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """The figures of one shape: random weights, translations of one length."""
    pairs = load_pairs("multi30k", "en-de", "train")
    vocabulary = train_vocabulary(
        [*pairs.source, *pairs.target], config.vocabulary_size
    )
    lines = list(load_pairs("multi30k", "en-de", "test_2016_flickr").source)
    sources = [list(row) for row in vocabulary.encode(lines[: max(SENTENCES.values())])]
    with tempfile.TemporaryDirectory() as folder:
        model = Transformer(config)
        model.load_state_dict(random_model(config).state_dict())
        ours, theirs = Path(folder, "shape.json"), Path(folder, "model")
        ours.write_text(json.dumps(asdict(config)), encoding="utf-8")
        write_ctranslate2(model, vocabulary, theirs)
        names = [*OURS, *THEIRS, *(SLOW if USUAL in arguments.batches else [])]
        with running(names, ours, theirs, arguments.threads) as programs:
            for beam in arguments.beams:
                for size in arguments.batches:
                    rows = sources[: SENTENCES[size]]
                    found = race(
                        programs, vocabulary, rows, size, beam, arguments.rounds
                    )
                    show(f"{shape}, beam {beam}, batch {size}", found)
                    yield {"shape": shape, "beam": beam, "batch": size} | found


def race(
    programs: dict[str, Program],
    vocabulary: Vocabulary,
    rows: list[list[int]],
    size: int,
    beam: int,
    rounds: int,
) -> dict[str, Any]:
    """Output tokens per second of each; and the share of equal translations."""
    batches = [rows[at : at + size] for at in range(0, len(rows), size)]
    request = {"batches": batches, "beam": beam, "length": LENGTH}
    racing = {name: programs[name] for name in programs if name not in SLOW}
    take_turns(racing, request | {"batches": batches[:1]}, 1)  # warms up
    answers = take_turns(racing, request, rounds)
    found = rates(answers, len(rows) * LENGTH)
    if size == USUAL:
        marian = take_turns({"marian": programs["marian"]}, request, 1 + rounds)
        found |= rates({"marian": marian["marian"][1:]}, len(rows) * LENGTH)
        one = request | {"batches": batches[:1]}
        loop = take_turns({"torch.nn": programs["torch.nn"]}, one, 1)
        found |= rates(loop, len(batches[0]) * LENGTH)
    pairs = list(in_pairs(answers))
    assert all(len(a) == len(b) == LENGTH for a, b in pairs)
    equal = [vocabulary.pieces(a) == b for a, b in pairs]
    return found | {"as ctranslate2": round(sum(equal) / len(equal), 3)}


def real_work(run: Path, rounds: int, threads: int) -> dict[str, Any]:
    """Sentences per second on the whole test set with a trained model."""
    lines = list(load_pairs("multi30k", "en-de", "test_2016_flickr").source)
    translator = Translator.load(run, device="cpu")
    request = {"lines": lines, "beam": 4, "batch_tokens": TOKENS}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "model")
        write_ctranslate2(translator.model, translator.vocabulary, place)
        with running([*OURS, *THEIRS], run, place, threads) as programs:
            take_turns(programs, request | {"lines": lines[:100]}, 1)  # warms up
            answers = take_turns(programs, request, rounds)
    found = rates(answers, len(lines))
    pairs = list(in_pairs(answers))
    differ = [(one[1], other[1]) for one, other in pairs if one[0] != other[0]]
    show("the whole test set, sentences", found)
    return found | {
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
        record = score(TrainedRun.read(run), search, bleu_variants=True, **how)
        (forms,) = record["bleu"].values()
        found[compute] = round(forms["tokenised-lowercased"]["value"], 2)
    return found


def kind(threads: int) -> dict[str, Any]:
    """Which processor this is, or which it is told to be."""
    return {
        "machine": f"{records.processor()}, {os.cpu_count()} cores",
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "vnni": has_vnni(),
        "threads": threads,
    }


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
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--run", type=Path, help="a folder with a model trained on Multi30k"
    )
    parser.add_argument(
        "--record", action="store_true", help="add to book/runs/decoding-speed.json"
    )
    arguments = parser.parse_args()
    records.check_peers()
    findings: dict[str, Any] = records.START | kind(arguments.threads)
    findings |= {"length": LENGTH, "sentences": SENTENCES, "rounds": arguments.rounds}
    print(kind(arguments.threads))
    names = (f"{name:>17}" for name in [*OURS, *THEIRS, *SLOW])
    print(f"{'output tokens/s':24}", *names, " leads")
    findings["fixed"] = [
        row
        for shape in arguments.shapes
        for row in fixed_rows(shape, SHAPES[shape], arguments)
    ]
    if arguments.run is not None:
        findings["real"] = real_work(arguments.run, arguments.rounds, arguments.threads)
        findings["bleu"] = bleu_by_numbers(arguments.run)
        print("BLEU, tokenised and lower-cased:", findings["bleu"])
    if arguments.record:
        write_record(findings)


if __name__ == "__main__":
    main()
