"""Compute the states of trained recurrences together: book/runs/newton.json.

python bench/newton.py        # twenty minutes on one thread; goes on where it stopped

Claims 1-a and 4-b: a recurrence computes its states one after another, n of them. But
they can be guessed all at once and corrected together. An LSTM, a GRU and a plain tanh
layer of width 64 learn to predict the next character of Tatoeba's English sentences (32
sequences of 256 characters a step, backpropagation through all of them), with five
seeds. After 0, 100, 500 and 1,500 steps they read four held-out sequences, from a guess
of zeros. There are three ways:

* sweeps: each state is computed again from the guess before it, all at the same time;
* Newton's method (Lim and others, 2024): each step is replaced by its tangent at the
  guess, and a scan solves the linear recurrence that results;
* both: 32 sweeps, then Newton's method.

Counted are products in a row, as in chapter 4. The loop takes n. A sweep takes one. A
round of Newton's method takes one for the steps at the guess (their slopes come from it
number by number) and ceil(log2 n) of the scan. K is the number of rounds after which
the first n states are within 1e-6 of the loop's, as a share of the largest, in each of
the sequences; one more round tests that nothing changes. So it is K + 1 for sweeps
(looked at after every eighth), (K + 1)(1 + ceil(log2 n)) for Newton's method, and 32
more for both. A way that takes more than 511 sweeps or 45 rounds counts as n.

What counts, fixed before the runs, by the way that takes fewest:

* 1-a does not hold here if at n = 1024, in every seed of GRU and LSTM and at all four
  points of training, that is less than n / 2. It holds if, trained, it is n or more in
  every seed of both. Else it is undecided.
* 4-b (recurrent: n) does not hold here if the same is true of all three layers, and if,
  trained, the products in a row grow less than 8 times from n = 64 to 1024, half as
  much as n, in every seed. It holds if, trained, all take n or more. Else undecided.
* A trained model is good enough if its loss on held-out text is below that of counts of
  three characters.

In the first version of this plan Newton's method stood alone. The first trained GRU
showed that from zeros it needs more than 100 rounds, and that sweeps bring the guess
near enough; they were added then, before any other model was tried.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import records
import torch
import torch.nn.functional as F
from newton_steps import Recurrence, one_by_one
from torch import Tensor, nn

from aiayn.data import load_pairs
from aiayn.data.io import write_atomically

WIDTH, EMBEDDED, LENGTH, BATCH, RATE = 64, 32, 256, 32, 3e-3
POINTS, SEEDS = [0, 100, 500, 1500], [1, 2, 3, 4, 5]
LENGTHS, SEQUENCES, TOLERANCE = [64, 256, 1024], 4, 1e-6
MOST_SWEEPS, LOOK, MOST_ROUNDS, FIRST_SWEEPS = 511, 8, 45, 32
KINDS: dict[str, Callable[..., nn.RNNBase]] = {
    "GRU": nn.GRU,
    "LSTM": nn.LSTM,
    "tanh": nn.RNN,
}
WORK = records.RUNS.parent.parent / "runs" / "newton"


def text(split: str) -> str:
    """All English sentences, each once, in a random order."""
    sentences = sorted(set(load_pairs("tatoeba", "en-de", split).source))
    random.Random(0).shuffle(sentences)
    return "\n".join(sentences)


def characters() -> tuple[Tensor, Tensor, int]:
    """Training and held-out text as numbers, and how many characters there are."""
    train, valid = text("train"), text("val")
    number = {c: k for k, c in enumerate(sorted(set(train)))}
    blank = number[" "]
    both = [
        torch.tensor([number.get(c, blank) for c in each]) for each in (train, valid)
    ]
    return both[0], both[1], len(number)


def counts_loss(train: Tensor, valid: Tensor, size: int) -> float:
    """Nats per character of a model that counts what follows two characters."""
    threes = zip(
        *(train[k : len(train) - 2 + k].tolist() for k in range(3)), strict=True
    )
    seen = Counter(threes)
    before = Counter[tuple[int, int]]()
    for (a, b, _), many in seen.items():
        before[a, b] += many
    some = valid.tolist()
    shares = [
        (seen[a, b, c] + 0.1) / (before[a, b] + 0.1 * size)
        for a, b, c in zip(some, some[1:], some[2:], strict=False)
    ]
    return -sum(map(math.log, shares)) / len(shares)


class Reader(nn.Module):
    """Predicts the next character."""

    def __init__(self, kind: str, size: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(size, EMBEDDED)
        self.recurrence = KINDS[kind](EMBEDDED, WIDTH, batch_first=True)
        self.out = nn.Linear(WIDTH, size)

    def forward(self, text: Tensor) -> Tensor:
        """The loss at every character but the first."""
        states, _ = self.recurrence(self.embeddings(text[:, :-1]))
        logits = self.out(states).flatten(0, 1)
        return F.cross_entropy(logits, text[:, 1:].flatten())


def train(kind: str, seed: int, data: tuple[Tensor, Tensor, int]) -> dict[str, Any]:
    """Weights and held-out losses after so many steps."""
    content, valid, size = data
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Reader(kind, size)
    adam = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    held_out = valid[: len(valid) // LENGTH * LENGTH].view(-1, LENGTH)
    kept: dict[str, Any] = {}
    for step in range(POINTS[-1] + 1):
        if step in POINTS:
            with torch.no_grad():
                loss = float(model(held_out))
            weights = {k: v.detach().clone() for k, v in model.state_dict().items()}
            kept[str(step)] = {"loss": loss, "weights": weights}
        starts = torch.randint(len(content) - LENGTH, (BATCH,), generator=generator)
        loss = model(content[starts[:, None] + torch.arange(LENGTH + 1)])
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.param_groups[0]["lr"] = RATE * min(1, (step + 1) / 50)
        adam.step()
    return kept


def trained(kind: str, seed: int, data: tuple[Tensor, Tensor, int]) -> dict[str, Any]:
    """The same, or what is on file of it."""
    path = WORK / f"{kind}-{seed}.pt"
    if not path.exists():
        found = train(kind, seed, data)
        torch.save(found, path.with_suffix(".partial"))
        path.with_suffix(".partial").rename(path)
        print(
            kind, seed, [round(each["loss"], 3) for each in found.values()], flush=True
        )
    content: dict[str, Any] = torch.load(path, weights_only=True)
    return content


def sweep(recurrence: Recurrence, words: Tensor, states: Tensor) -> Tensor:
    """Each state again, from the guess before it."""
    first = recurrence.start(words.shape[2])
    return recurrence.step(words, torch.cat([first[None], states[:-1]]))[0]


def newton_round(recurrence: Recurrence, words: Tensor, states: Tensor) -> Tensor:
    """All states, as they would be if each step were its tangent at the guess."""
    change = recurrence.start(words.shape[2])
    new, slopes = recurrence.step(words, torch.cat([change[None], states[:-1]]))
    changes = []
    # One after another here, which takes no memory for matrices; it is linear, and
    # chapter 4 solves it by a scan.
    for t, off in enumerate(new - states):
        change = off + recurrence.tangent([each[t] for each in slopes], change)
        changes.append(change)
    return states + torch.stack(changes)


Rounds = list[list[int | None]]  # by length and model; None if there were too many


def rounds(
    improve: Callable[[Tensor], Tensor],
    guess: Tensor,
    right: Tensor,
    most: int,
    look: int = 1,
) -> Rounds:
    """How often a guess has to be improved until it is right."""
    size = right.abs().amax(dim=(0, 3))
    found: Rounds = [[None] * right.shape[1] for _ in LENGTHS]
    for number in range(1, most + 1):
        guess = improve(guess)
        if number % look and number < most:
            continue
        error = ((guess - right).abs().amax(dim=3) / size).nan_to_num(nan=math.inf)
        worst = error.amax(dim=2).cummax(dim=0).values
        for (k, n), m in product(enumerate(LENGTHS), range(right.shape[1])):
            if found[k][m] is None and worst[n - 1, m] <= TOLERANCE:
                found[k][m] = number
        if None not in found[-1]:
            break
    return found


def ways(
    kind: str, weights: list[dict[str, Tensor]], text: Tensor
) -> dict[str, Rounds]:
    """The rounds that each of the three ways needs."""
    recurrence = Recurrence(kind, weights)
    words = recurrence.words(text)
    right = one_by_one(recurrence, words)
    swept = zeros = torch.zeros_like(right)
    for _ in range(FIRST_SWEEPS):
        swept = sweep(recurrence, words, swept)
    swept_more = partial(sweep, recurrence, words)
    solved = partial(newton_round, recurrence, words)
    return {
        "sweeps": rounds(swept_more, zeros, right, MOST_SWEEPS, LOOK),
        "newton": rounds(solved, zeros, right, MOST_ROUNDS),
        "both": rounds(solved, swept, right, MOST_ROUNDS),
    }


def products(run: dict[str, Any], n: int) -> int:
    """Products in a row by the way that takes fewest; n where none gets there."""
    a_round = 1 + math.ceil(math.log2(n))
    cost = {"sweeps": (0, 1), "newton": (0, a_round), "both": (FIRST_SWEEPS, a_round)}
    taken = [n]
    for way, (before, each) in cost.items():
        if (needed := run[way][str(n)]) is not None:
            taken.append(before + each * (needed + 1))
    return min(taken)


def main() -> None:
    """Train, count, and write the record."""
    torch.set_num_threads(1)
    WORK.mkdir(parents=True, exist_ok=True)
    data = characters()
    valid = data[1][: SEQUENCES * LENGTHS[-1]].view(SEQUENCES, LENGTHS[-1])
    runs = []
    for kind in KINDS:
        models = [trained(kind, seed, data) for seed in SEEDS]
        for step in map(str, POINTS):
            path = WORK / f"rounds-{kind}-{step}.json"
            if not path.exists():
                found = ways(kind, [m[step]["weights"] for m in models], valid)
                write_atomically(path, json.dumps(found).encode())
                print(kind, step, found, flush=True)
            counted = json.loads(path.read_text(encoding="utf-8"))
            for m, seed in enumerate(SEEDS):
                run = {"layer": kind, "seed": seed, "steps": int(step)}
                run["loss"] = round(models[m][step]["loss"], 4)
                for way, by_length in counted.items():
                    lengths = zip(LENGTHS, by_length, strict=True)
                    run[way] = {str(n): each[m] for n, each in lengths}
                run["products"] = {str(n): products(run, n) for n in LENGTHS}
                runs.append(run)
    settings = {"width": WIDTH, "lengths": LENGTHS, "points": POINTS, "seeds": SEEDS}
    settings |= {"sequences": SEQUENCES, "tolerance": TOLERANCE}
    settings |= {"first_sweeps": FIRST_SWEEPS}
    settings["counts_loss"] = round(counts_loss(*data), 4)
    records.write("newton", settings | {"runs": runs})


if __name__ == "__main__":
    main()
