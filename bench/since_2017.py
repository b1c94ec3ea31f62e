"""Train the models of the chapter "Since 2017" on the synthetic corpus, for five seeds.

python bench/since_2017.py [--workers 2]    # about 80 minutes on two quiet cores

What is measured, and when a run is good enough to judge, stands in the chapter; it was
fixed before the results were read. The steps are the chapter's own cells. Each model
first tries three learning rates with seed 0, and more until the best has a worse one on
either side; its seeds get the one whose validation perplexity is least. What is done
stays in runs/since-2017: called again, it goes on.
"""

import argparse
import json
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import records
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.data.batching import Example, group_by_length, lengths_of, make_batch
from aiayn.data.corpora import load_pairs
from aiayn.data.io import write_atomically
from aiayn.data.vocabulary import EOS_ID, Vocabulary, train_vocabulary
from aiayn.metrics.bleu import corpus_bleu
from aiayn.minimal import language_model
from aiayn.minimal import transformer as minimal
from aiayn.synthetic import sample
from aiayn.training.optimizer import learning_rate, make_optimizer, set_rate

SEEDS, RATES = [1, 2, 3, 4, 5], [0.5, 1.0, 2.0]
TRAINING = {"steps": 2400, "batch_tokens": 1000, "warmup": 400, "vocabulary": 2000}
SHAPE = {"N": 2, "d_model": 64, "d_ff": 256, "h": 4, "dropout": 0.0}
SPLITS = ("test", "novel", "long")
SENTENCES = 1000
CHAPTER = records.RUNS.parent / "2-since-2017/1-since-2017.ipynb"
CELLS = ("design", "layer", "encoder-decoder", "encoder-decoder-passes")
CELLS += ("unbiased", "rotary-attention", "steps")
WORK = records.RUNS.parent.parent / "runs" / "since-2017"


def chapter() -> dict[str, Any]:
    """The names that the chapter's cells define."""
    cells = {
        cell.id: cell.source for cell in nbformat.read(CHAPTER, as_version=4).cells
    }
    found: dict[str, Any] = dict(vars(language_model))
    for name in CELLS:
        exec(compile(cells[name], f"cell {name}", "exec"), found)
    return found


@cache
def corpus() -> tuple[Vocabulary, dict[str, list[Example]], dict[str, list[str]]]:
    """The vocabulary, and by split the examples and the German sentences."""
    train = load_pairs("synthetic", "en-de", "train")
    sides = {"train": (train.source, train.target)}
    for split in ("valid", *SPLITS):
        pairs = sample(SENTENCES, split=split)
        sides[split] = [p.source for p in pairs], [p.target for p in pairs]
    texts = [*train.source, *train.target]
    vocabulary = train_vocabulary(texts, size=TRAINING["vocabulary"])
    examples = {
        split: list(zip(*(vocabulary.encode(list(side)) for side in both), strict=True))
        for split, both in sides.items()
    }
    return vocabulary, examples, {split: list(both[1]) for split, both in sides.items()}


def logits_and_labels(
    model: nn.Module, examples: list[Example]
) -> tuple[Tensor, Tensor]:
    """What a model says of some pairs, (positions, vocabulary), and what is right."""
    if isinstance(model, language_model.LanguageModel):
        texts, labels = language_model.concatenate_pairs(
            [(list(source), list(target)) for source, target in examples]
        )
        return model(texts).flatten(0, 1), labels.flatten()
    batch = make_batch(examples)
    return model(batch.source, batch.target).flatten(0, 1), batch.labels.flatten()


def batches(
    examples: list[Example], generator: np.random.Generator
) -> Iterator[list[Example]]:
    """Pairs of similar length, without end."""
    lengths = lengths_of(examples)
    while True:
        for group in group_by_length(lengths, TRAINING["batch_tokens"], generator):
            yield [examples[k] for k in group]


@torch.no_grad()
def perplexity(model: nn.Module, examples: list[Example]) -> float:
    """Per token of the targets."""
    total, tokens = 0.0, 0
    for first in range(0, len(examples), 100):
        logits, labels = logits_and_labels(model, examples[first : first + 100])
        total += F.cross_entropy(
            logits, labels, ignore_index=minimal.PAD, reduction="sum"
        ).item()
        tokens += int((labels != minimal.PAD).sum())
    return math.exp(total / tokens)


def translations(model: nn.Module, examples: list[Example]) -> list[list[int]]:
    """Greedy translations, in the order of the examples."""
    by_length: dict[int, list[int]] = {}
    for k, (source, _) in enumerate(examples):
        by_length.setdefault(len(source), []).append(k)
    found: dict[int, list[int]] = {}
    for length, places in by_length.items():
        source = torch.tensor([list(examples[k][0]) for k in places])
        if isinstance(model, language_model.LanguageModel):
            start = torch.full_like(source[:, :1], minimal.BOS)
            prompts = torch.cat([source, start], dim=1)
            rows = language_model.generate(model, prompts, longest=60)[:, length + 1 :]
        else:
            rows = minimal.translate(model, source, longest=60)[:, 1:]
        for k, row in zip(places, rows.tolist(), strict=True):
            found[k] = row[: row.index(EOS_ID)] if EOS_ID in row else row
    return [found[k] for k in range(len(examples))]


def train(build: Callable[..., nn.Module], step: str, rate: float, seed: int) -> Any:
    """Train the model after a step; what came of it."""
    vocabulary, examples, german = corpus()
    torch.manual_seed(seed)
    model = build(step, len(vocabulary), **SHAPE)
    optimizer = make_optimizer(model)
    supply = batches(examples["train"], np.random.default_rng(seed))
    began, warmup = time.perf_counter(), TRAINING["warmup"]
    for number in range(1, TRAINING["steps"] + 1):
        set_rate(optimizer, learning_rate(number, SHAPE["d_model"], warmup, rate))
        logits, labels = logits_and_labels(model, next(supply))
        loss = F.cross_entropy(
            logits, labels, ignore_index=minimal.PAD, label_smoothing=0.1
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    minutes = (time.perf_counter() - began) / 60
    model.eval()
    found: dict[str, Any] = {"step": step, "rate": rate, "seed": seed}
    found |= {"parameters": sum(weight.numel() for weight in model.parameters())}
    found |= {"minutes": round(minutes, 2)}
    found["valid"] = round(perplexity(model, examples["valid"]), 4)
    if seed:
        found["perplexity"], found["bleu"] = {}, {}
        for split in SPLITS:
            texts = vocabulary.decode(translations(model, examples[split]))
            found["perplexity"][split] = round(perplexity(model, examples[split]), 4)
            found["bleu"][split] = round(corpus_bleu(texts, german[split])[0], 2)
    return found


def run(job: tuple[str, float, int]) -> dict[str, Any]:
    """A training, unless its result is there."""
    torch.set_num_threads(1)
    step, rate, seed = job
    path = WORK / f"{step.replace(' ', '-')}-{rate}-{seed}.json"
    if not path.exists():
        found = train(chapter()["model_after"], step, rate, seed)
        write_atomically(path, json.dumps(found).encode())
    return json.loads(Path(path).read_text(encoding="utf-8"))


def best(trials: list[dict[str, Any]], step: str) -> float:
    """The rate factor with the least validation perplexity."""
    mine = [trial for trial in trials if trial["step"] == step]
    return float(min(mine, key=lambda trial: trial["valid"])["rate"])


def more(trials: list[dict[str, Any]], step: str) -> list[float]:
    """The rate to try next, if the best one so far has no neighbour on some side."""
    tried, rate = {t["rate"] for t in trials if t["step"] == step}, best(trials, step)
    return [each for each in (rate / 2, rate * 2) if each not in tried]


def main() -> None:
    """Run what has not been run, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    workers = parser.parse_args().workers
    WORK.mkdir(parents=True, exist_ok=True)
    steps = list(chapter()["STEPS"])
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        trials: list[dict[str, Any]] = []
        wanted = [(step, rate, 0) for step, rate in product(steps, RATES)]
        while wanted:
            trials += pool.map(run, wanted)
            wanted = [(step, rate, 0) for step in steps for rate in more(trials, step)]
        jobs = [(step, best(trials, step), seed) for seed in SEEDS for step in steps]
        runs = list(pool.map(run, jobs))
    shape = {"training": TRAINING, "shape": SHAPE, "sentences": SENTENCES}
    records.write("since-2017", shape | {"trials": trials, "runs": runs})


if __name__ == "__main__":
    main()
