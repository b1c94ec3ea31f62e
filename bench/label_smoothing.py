"""Train with and without label smoothing, and write book/runs/label-smoothing.json.

python bench/label_smoothing.py [--seeds 1 2 3]
python bench/label_smoothing.py --data multi30k        # book/runs/label-smoothing-multi30k.json; many hours
python bench/label_smoothing.py --seeds 1 --steps 60   # a trial: printed, not written

All that is measured is measured on the mean of the run's last checkpoints. Perplexity is the true one, of the
plain loss; accuracy is the share of tokens that are the likeliest when the right ones before them are given.
"""

import argparse
import json
import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import records
import torch

from aiayn.data import Vocabulary, encode_pairs, load_pairs, make_batch
from aiayn.data.batching import group_by_length, lengths_of
from aiayn.data.vocabulary import PAD_ID
from aiayn.fast_paths import keep_heap
from aiayn.model import Transformer
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.loss import label_smoothed_loss
from aiayn.training.progress import Progress
from aiayn.translation import Translator, bleu

EPSILONS = 0.0, 0.1
TESTS = {"laboratory": ["test", "novel", "long"], "multi30k": ["test_2016_flickr"]}


@torch.inference_mode()
def teacher_forced(model: Transformer, vocabulary: Vocabulary, data: str) -> tuple[float, float]:
    """Perplexity and accuracy on the validation set."""
    examples = encode_pairs(vocabulary, load_pairs(data, "en-de", "val"), max_length=1000)
    nll, right, words = 0.0, 0, 0
    for group in group_by_length(lengths_of(examples), tokens=2000):
        batch = make_batch([examples[i] for i in group.tolist()])
        spoken = batch.labels != PAD_ID
        logits, labels = model(batch.source, batch.target)[spoken], batch.labels[spoken]
        nll += float(label_smoothed_loss(logits, labels, 0.0)[1])
        right += int((logits.argmax(dim=-1) == labels).sum())
        words += len(labels)
    return math.exp(nll / words), right / words


def run(config: TrainingConfig, data: str) -> dict[str, float]:
    """Train, then measure."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        train_model(config, data, "en-de", Path(folder, "run"), progress=Progress())
        minutes = (time.monotonic() - began) / 60
        translator = Translator.load(Path(folder, "run"))
    perplexity, accuracy = teacher_forced(translator.model, translator.vocabulary, data)
    found = {"perplexity": perplexity, "accuracy": accuracy}
    for split in TESTS[data]:
        pairs = load_pairs(data, "en-de", split)
        found[f"bleu_{split}"] = bleu(translator(list(pairs.source)), list(pairs.target))[0]
    settings = {"seed": config.seed, "epsilon": config.label_smoothing, "minutes": round(minutes, 2)}
    return settings | {name: round(value, 4) for name, value in found.items()}


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--data", choices=list(TESTS), default="laboratory")
    parser.add_argument("--steps", type=int, help="so few, for a trial")
    arguments = parser.parse_args()
    keep_heap()
    config = recipe(arguments.data)
    config = replace(config, steps=arguments.steps or config.steps)
    findings = {
        "data": arguments.data,
        "steps": config.steps,
        "runs": [
            run(replace(config, label_smoothing=epsilon, seed=seed), arguments.data)
            for seed in arguments.seeds
            for epsilon in EPSILONS
        ],
    }
    if arguments.steps is not None:
        print(json.dumps(findings, indent=1))
    elif arguments.data == "laboratory":
        records.write("label-smoothing", findings)
    else:
        records.write(f"label-smoothing-{arguments.data}", findings)


if __name__ == "__main__":
    main()
