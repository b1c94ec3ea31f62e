"""Compute the states of trained recurrences at once: book/runs/newton.json.

python bench/newton.py        # twenty minutes on one thread; goes on where it stopped

Claims 1-a and 4-b: a recurrence computes its states one after another, n of them. The
other way is Newton's method over the sequence (Lim and others, 2024): guess all states,
replace each step by its tangent at the guess, solve the linear recurrence that results
by a scan, and guess again. An LSTM, a GRU and a plain tanh layer of width 64 learn to
predict the next character of Tatoeba's English sentences (32 sequences of 256 characters
a step, backpropagation through all of them), with five seeds. After 0, 100, 500 and 1,500
steps they read eight held-out sequences of 4,096 characters, from a guess of zeros.

Counted are products in a row, as in chapter 4. The loop takes n. A round of Newton's
method takes one product for the steps at the guess (their slopes come from it number by
number) and ceil(log2 n) products of the scan. K is the rounds after which all states of
the first n positions are within 1e-6 of the loop's, as a share of the largest, in the
worst of the eight sequences; one more round tests that nothing changes. So (K + 1)(1 +
ceil(log2 n)) products in a row. If it does not get there in 100 rounds, it counts as n.

What counts, fixed before any run:

* 1-a does not hold here if at n = 1024, in every seed of GRU and LSTM and at all four
  points of training, that is less than n / 2. It holds if, trained, it is n or more in
  every seed of both. Else it is undecided.
* 4-b (recurrent: n) does not hold here if the same is true of all three layers, and if,
  trained, the products in a row grow less than 8 times from n = 64 to 1024, half as much
  as n, in every seed. It holds if, trained, all take n or more. Else it is undecided.
* A trained model is good enough if its loss on held-out text is below that of counts of
  three characters.
"""

import json
import math
import random
from collections import Counter
from itertools import product
from typing import Any

import records
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.data import load_pairs
from aiayn.data.io import write_atomically

WIDTH, EMBEDDED, LENGTH, BATCH, RATE = 64, 32, 256, 32, 3e-3
POINTS, SEEDS = [0, 100, 500, 1500], [1, 2, 3, 4, 5]
LENGTHS, SEQUENCES, MOST_ROUNDS = [64, 256, 1024, 4096], 8, 100
TOLERANCES = [1e-6, 1e-12]
KINDS: dict[str, type[nn.RNNBase]] = {"GRU": nn.GRU, "LSTM": nn.LSTM, "tanh": nn.RNN}
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


class Recurrence:
    """The step of several models at once, and its tangent; (models, rows, width)."""

    def __init__(self, kind: str, weights: list[dict[str, Tensor]]) -> None:
        self.kind = kind
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        W, U, b, c = (
            torch.stack([each[f"recurrence.{name}"] for each in weights]).double()
            for name in names
        )
        self.W, self.U, self.b, self.c = W.mT, U.mT, b[:, None], c[:, None]
        self.embeddings = torch.stack(
            [w["embeddings.weight"] for w in weights]
        ).double()

    def words(self, rows: Tensor) -> Tensor:
        """What the characters contribute: (positions, models, rows, gates)."""
        chosen = self.embeddings[:, rows.T].transpose(0, 1)
        return chosen @ self.W + self.b

    def start(self, rows: int) -> Tensor:
        """The state before the first character."""
        width = WIDTH * (2 if self.kind == "LSTM" else 1)
        return torch.zeros(len(self.U), rows, width, dtype=torch.float64)

    def gates(self, word: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        """The parts of a step, after one product; for one position or for all."""
        both = (state[..., :WIDTH] @ self.U + self.c, word)
        return tuple(gate for part in both for gate in part.split(WIDTH, dim=-1))

    def step(self, word: Tensor, state: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The next state, and what its tangent needs."""
        parts = self.gates(word, state)
        if self.kind == "tanh":
            new = torch.tanh(parts[0] + parts[1])
            return new, [1 - new**2]
        if self.kind == "GRU":
            r = torch.sigmoid(parts[0] + parts[3])
            z = torch.sigmoid(parts[1] + parts[4])
            n = torch.tanh(r * parts[2] + parts[5])
            dn = (1 - z) * (1 - n**2)
            slopes = [
                dn * parts[2] * r * (1 - r),
                (state - n) * z * (1 - z),
                dn * r,
            ]
            return (1 - z) * n + z * state, [torch.cat(slopes, dim=-1), z]
        i, f, g, o = (parts[k] + parts[4 + k] for k in range(4))
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        old = state[..., WIDTH:]
        cell = f * old + i * g
        top = cell.tanh()
        slopes = [g * i * (1 - i), old * f * (1 - f), i * (1 - g**2)]
        out, through = top * o * (1 - o), o * (1 - top**2)
        return torch.cat([o * top, cell], dim=-1), [*slopes, out, f, through]

    def tangent(self, slopes: list[Tensor], change: Tensor) -> Tensor:
        """How the next state changes where this one does."""
        moved = change[..., :WIDTH] @ self.U
        if self.kind == "tanh":
            return slopes[0] * moved
        if self.kind == "GRU":
            r, z, n = (slopes[0] * moved).chunk(3, dim=-1)
            return r + z + n + slopes[1] * change
        i, f, g, o = moved.chunk(4, dim=-1)
        at_i, at_f, at_g, at_o, keep, through = slopes
        cell = at_i * i + at_f * f + at_g * g + keep * change[..., WIDTH:]
        return torch.cat([at_o * o + through * cell, cell], dim=-1)


def one_by_one(recurrence: Recurrence, words: Tensor) -> Tensor:
    """All states, as the loop computes them."""
    state = recurrence.start(words.shape[2])
    states = []
    for word in words:
        state, _ = recurrence.step(word, state)
        states.append(state)
    return torch.stack(states)


def rounds(recurrence: Recurrence, words: Tensor) -> list[list[list[int | None]]]:
    """By tolerance, length and model: Newton's rounds, None for more than the most."""
    right = one_by_one(recurrence, words)
    size = right.abs().amax(dim=(0, 3))
    states, first = torch.zeros_like(right), recurrence.start(words.shape[2])
    models = range(len(size))
    found: list[list[list[int | None]]] = [
        [[None for _ in models] for _ in LENGTHS] for _ in TOLERANCES
    ]
    for number in range(1, MOST_ROUNDS + 1):
        before = torch.cat([first[None], states[:-1]])
        new, slopes = recurrence.step(words, before)
        off, change, changes = new - states, first, []
        # One after another here, which takes no memory for matrices; it is linear, and
        # chapter 4 solves it by a scan.
        for t in range(len(words)):
            here = [each[t] for each in slopes]
            change = off[t] + recurrence.tangent(here, change)
            changes.append(change)
        states = states + torch.stack(changes)
        error = (states - right).abs().amax(dim=3) / size
        error = error.nan_to_num(nan=math.inf).amax(dim=2).cummax(dim=0).values
        for (a, tolerance), (b, n), m in product(
            enumerate(TOLERANCES), enumerate(LENGTHS), models
        ):
            if found[a][b][m] is None and error[n - 1, m] <= tolerance:
                found[a][b][m] = number
        if None not in found[-1][-1]:
            break
    return found


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
                recurrence = Recurrence(kind, [m[step]["weights"] for m in models])
                found = rounds(recurrence, recurrence.words(valid))
                write_atomically(path, json.dumps(found).encode())
                print(kind, step, found, flush=True)
            by_tolerance = json.loads(path.read_text(encoding="utf-8"))
            for m, seed in enumerate(SEEDS):
                run = {"layer": kind, "seed": seed, "steps": int(step)}
                run["loss"] = round(models[m][step]["loss"], 4)
                for tolerance, by_length in zip(TOLERANCES, by_tolerance, strict=True):
                    counted = {str(n): by_length[b][m] for b, n in enumerate(LENGTHS)}
                    run[f"rounds_{tolerance:.0e}"] = counted
                runs.append(run)
    settings = {"width": WIDTH, "lengths": LENGTHS, "most_rounds": MOST_ROUNDS}
    settings |= {"points": POINTS, "seeds": SEEDS, "sequences": SEQUENCES}
    settings["counts_loss"] = round(counts_loss(*data), 4)
    records.write("newton", settings | {"runs": runs})


if __name__ == "__main__":
    main()
