"""Train with and without label smoothing, and write book/runs/label-smoothing.json.

python bench/label_smoothing.py [--seeds 1 2 3]
python bench/label_smoothing.py --data multi30k        # many hours
python bench/label_smoothing.py --data variants [--steps 8000]    # goes on
python bench/label_smoothing.py --seeds 1 --steps 60   # a trial: printed, not written

The other data have records of their own, label-smoothing-multi30k.json and
label-smoothing-variants.json.

`variants` is synthetic, with several right translations: where a German word has a
synonym, that one stands in two cases of five, by chance. 40,000 pairs, dropout 0.1,
2800 steps unless given, five seeds; accuracy on 5000 unseen sentences. Written run by
run; what the record has is not run again. A record of other steps is to be moved away.

All that is measured is measured on the mean of the run's last checkpoints. Perplexity
is the true one, of the plain loss; accuracy is the share of tokens that are the
likeliest when the right ones before them are given.
"""

import argparse
import json
import math
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import records
import torch

from aiayn.data import Pairs, Vocabulary, encode_pairs, load_pairs, make_batch
from aiayn.data.batching import group_by_length, lengths_of
from aiayn.data.vocabulary import PAD_ID
from aiayn.device import keep_heap
from aiayn.metrics.bleu import corpus_bleu
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.synthetic.corpus import sample
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.loss import label_smoothed_loss
from aiayn.training.progress import Progress
from aiayn.translation import Translator

EPSILONS = 0.0, 0.1
# Words that may stand for each other in every synthetic sentence, form by form.
SYNONYMS = dict(
    pair.split("=")
    for pair in """weil=da Weil=Da schon=bereits sehr=überaus jetzt=nun Warum=Wieso
    obwohl=obgleich Obwohl=Obgleich fraß=verschlang fraßen=verschlangen
    Samstag=Sonnabend Arzt=Doktor Arztes=Doktors Ärzte=Doktoren Ärzten=Doktoren
    Großvater=Opa Großvaters=Opas Großmutter=Oma Dieb=Räuber Diebes=Räubers Diebe=Räuber
    Dieben=Räubern Pferd=Ross Pferdes=Rosses Pferde=Rosse Pferden=Rossen Frau=Dame
    Frauen=Damen Krankenschwester=Pflegerin Krankenschwestern=Pflegerinnen
    Schriftstellerin=Autorin Schriftstellerinnen=Autorinnen Sofa=Kanapee Sofas=Kanapees
    Karotte=Möhre Karotten=Möhren Schublade=Lade Schubladen=Laden Kutsche=Droschke
    Kutschen=Droschken Junge=Bub Jungen=Buben Geschichte=Erzählung
    Geschichten=Erzählungen""".split()
)
STEMS = dict(
    pair.split("=")
    for pair in """groß=riesig klein=winzig lecker=köstlich schwach=kraftlos
    gefährlich=riskant klug=gescheit traurig=betrübt glücklich=froh schmal=eng
    seltsam=merkwürdig wütend=zornig schön=hübsch interessant=spannend""".split()
)
SYNONYMS |= {
    one + end: other + end
    for one, other in STEMS.items()
    for end in ("", "e", "en", "em", "er", "es")
}
SHARE = 0.4  # of the cases in which the synonym stands
SIZES = {"train": 40_000, "valid": 1000, "test": 5000}
TESTS = {"synthetic": ["test", "novel", "long"], "multi30k": ["test_2016_flickr"]}


def drawn(split: str) -> Pairs:
    """Synthetic pairs, where each word that has a synonym gave way to it by chance."""
    chance = Random(f"{split} variants").random
    german = []
    pairs = sample(SIZES[split], split=split)
    english = [pair.source for pair in pairs]
    for pair in pairs:
        words = re.split(r"(\w+)", pair.target)
        german.append(
            "".join(
                SYNONYMS[w] if w in SYNONYMS and chance() < SHARE else w for w in words
            )
        )
    return Pairs(english, german, f"{split}, English", f"{split}, German")


@torch.inference_mode()
def teacher_forced(
    model: EncoderDecoder, vocabulary: Vocabulary, pairs: Pairs
) -> tuple[float, float, int]:
    """Perplexity and accuracy on pairs, and their tokens."""
    examples = encode_pairs(vocabulary, pairs, max_length=1000)
    nll, right, words = 0.0, 0, 0
    for group in group_by_length(lengths_of(examples), tokens=2000):
        batch = make_batch([examples[i] for i in group.tolist()])
        spoken = batch.labels != PAD_ID
        logits, labels = model(batch.source, batch.target)[spoken], batch.labels[spoken]
        nll += float(label_smoothed_loss(logits, labels, 0.0)[1])
        right += int((logits.argmax(dim=-1) == labels).sum())
        words += len(labels)
    return math.exp(nll / words), right / words, words


def run(config: TrainingConfig, data: str) -> dict[str, float]:
    """Train, then measure."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        train_model(config, data, "en-de", Path(folder, "run"), progress=Progress())
        minutes = (time.monotonic() - began) / 60
        translator = Translator.load(Path(folder, "run"))
    perplexity, accuracy, _ = teacher_forced(
        translator.model, translator.vocabulary, load_pairs(data, "en-de", "val")
    )
    found = {"perplexity": perplexity, "accuracy": accuracy}
    for split in TESTS[data]:
        pairs = load_pairs(data, "en-de", split)
        found[f"bleu_{split}"] = corpus_bleu(
            translator(list(pairs.source)), list(pairs.target)
        )[0]
    settings = {
        "seed": config.seed,
        "epsilon": config.label_smoothing,
        "minutes": round(minutes, 2),
    }
    return settings | {name: round(value, 4) for name, value in found.items()}


def run_variants(config: TrainingConfig, pairs: dict[str, Pairs]) -> dict[str, Any]:
    """Train on `drawn` pairs, then measure; all perplexities on the validation set come
    with it, by which one sees whether the run was still learning.
    """
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        learned = pairs["train"], pairs["valid"]
        train_model(config, learned, "en-de", Path(folder, "run"), progress=Progress())
        minutes = (time.process_time() - began) / 60
        validated = list(records.validations(Path(folder, "run")).values())
        translator = Translator.load(Path(folder, "run"))
    test = pairs["test"]
    perplexity, accuracy, tokens = teacher_forced(
        translator.model, translator.vocabulary, test
    )
    score = corpus_bleu(translator(list(test.source[:1000])), list(test.target[:1000]))[
        0
    ]
    found = {"perplexity": perplexity, "accuracy": accuracy, "bleu_test": score}
    settings = {
        "seed": config.seed,
        "epsilon": config.label_smoothing,
        "cpu_minutes": round(minutes, 2),
    }
    return (
        settings
        | {name: round(value, 5) for name, value in found.items()}
        | {"tokens": tokens, "validated": [round(value, 5) for value in validated]}
    )


def variants(seeds: list[int], epsilons: list[float], steps: int) -> None:
    """All runs that the record lacks; it is read anew before each is added, for others
    may write it too.
    """
    file = records.RUNS / "label-smoothing-variants.json"

    def recorded() -> list[dict[str, Any]]:
        if not file.exists():
            return []
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["steps"] != steps:
            sys.exit(f"{file}: its runs have {record['steps']} steps; move it away")
        # Those of an earlier form do not say whether a run was still learning.
        return [run for run in record["runs"] if "validated" in run]

    shape = recipe("synthetic")
    config = replace(shape, model=replace(shape.model, dropout=0.1), steps=steps)
    about = {
        "data": "variants",
        "steps": config.steps,
        "dropout": 0.1,
        "pairs": SIZES,
        "share": SHARE,
    }
    recorded()  # before any text is drawn
    pairs = {split: drawn(split) for split in SIZES}
    for seed, epsilon in ((seed, epsilon) for seed in seeds for epsilon in epsilons):
        if any((run["seed"], run["epsilon"]) == (seed, epsilon) for run in recorded()):
            continue
        config = replace(config, label_smoothing=epsilon, seed=seed)
        runs = [*recorded(), run_variants(config, pairs)]
        runs = sorted(runs, key=lambda run: (run["seed"], run["epsilon"]))
        records.write(file.stem, about | {"runs": runs})


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--data", choices=[*TESTS, "variants"], default="synthetic")
    parser.add_argument(
        "--steps", type=int, help="of variants; else so few, for a trial"
    )
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    arguments = parser.parse_args()
    keep_heap()
    if arguments.data == "variants":
        seeds = arguments.seeds or [1, 2, 3, 4, 5]
        variants(seeds, arguments.epsilons, arguments.steps or 2800)
        return
    config = recipe(arguments.data)
    config = replace(config, steps=arguments.steps or config.steps)
    findings = {
        "data": arguments.data,
        "steps": config.steps,
        "runs": [
            run(replace(config, label_smoothing=epsilon, seed=seed), arguments.data)
            for seed in arguments.seeds or [1, 2, 3]
            for epsilon in arguments.epsilons
        ],
    }
    if arguments.steps is not None:
        print(json.dumps(findings, indent=1))
    elif arguments.data == "synthetic":
        records.write("label-smoothing", findings)
    else:
        records.write(f"label-smoothing-{arguments.data}", findings)


if __name__ == "__main__":
    main()
