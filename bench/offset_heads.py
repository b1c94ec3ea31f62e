"""Teach single heads to attend k places back: book/runs/offset-heads.json.

python bench/offset_heads.py [--seeds 1 2 3 4 5]

Section 3.5 guesses that sinusoids let a model easily learn to attend by relative
positions, since PE(pos + k) is a linear function of PE(pos). Rows of n random words (of
16), each the sum of a word's vector and a position's, of width 32, are read by

* a head, whose values are the words themselves, so that queries and keys are all that
  it learns; it is to attend to the word k places back, k = 1, 2, 4, 8;
* a whole post-norm layer with one head, which is to name that word, k = 2, 8; n = 64.

They differ in their positions:

* sinusoidal: the paper's table.
* random: a fixed table of rows of the same norm, drawn at random.
* learned: a table that starts as a random one, and is trained.
* unpaired: fixed sines of the same norm, of 32 frequencies with random phases: smooth
  as the paper's are, but no matrix turns one place into the next.
* relative: no table, but a learned number for each distance. The upper bound.

If n is no more than the 32 columns, any table of independent rows has a matrix that
turns each into the next. So n = 64 and 128 are judged; n = 32 is told beside them.

To attend by relative position is more than to know by heart, for each place, which one
is k before it. So a quarter of the places (half of them in one block, half scattered)
are never asked in training. Their words and positions are met there, as keys. Counted
are the steps until 90% are right (a head's largest weight, a layer's answer), at the
places asked and at those held out, and the shares after the last step. A kind *carries
over* if its skill at the places held out is more than half of that at those asked; a
layer's skill is its lead over a guess, 1 in 16.

Each kind is tuned by itself, for each n and k: heads on seed 0, three rates, two
lengths of warm-up, then a linear decay to zero at step 400; layers on seeds 0 and 6,
three rates, a decay to step 1500. Of the settings that end at 99% or more at the places
asked, or else of all, the quickest there to 90% is taken. Then come five seeds. What is
not reached counts as reached in the last step.

What counts, by 95% intervals over seeds, paired where two are compared. A case is a
head or a layer, an n and a k.

* A case is fit if all relative models reach 90% at the places held out.
* The claim holds if in all cases, all fit, sinusoids either take at most half the steps
  of the random and of the learned table at the places asked, or carry over where those
  two do not; and if they carry over further than the unpaired table (the reason that
  the paper gives).
* It does not hold here if in all cases, all fit, sinusoids are not quicker than the
  random table at the places asked, and do not carry over.
* Otherwise it is undecided, and the cases that differ are named.

This was fixed before the runs of the record, but not before any run: a first version,
with n = 32 and 64 and no decay, was stopped half way through n = 32, as the rates that
it chose diverged. By then random tables had been seen to learn the places asked in
fewer steps, and sinusoids alone to reach others, some of n = 32, most of n = 128. The
layers were added while the heads ran. Their first tuning, on one seed, was given up, as
two of five sinusoidal ones of n = 128 learned nothing (nor did any random one); since
then n is 64, and a layer's skill counts from a guess.

Told beside it, and no part of the rule: the shares at places n to 1.5 n, never met.
"""

import argparse
import json
import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import records
import torch
import torch.nn.functional as F
from torch import Tensor

from aiayn.data.io import write_atomically
from aiayn.model.positions import sinusoidal_encoding

WIDTH, WORDS, TOKENS = 32, 16, 512
LENGTHS = {"head": [64, 128, 32], "layer": [64]}
OFFSETS = {"head": [1, 2, 4, 8], "layer": [2, 8]}
STEPS, EVERY = {"head": 400, "layer": 1500}, {"head": 2, "layer": 10}
KINDS = ["sinusoidal", "random", "learned", "unpaired", "relative"]
RATES = {"head": [3e-2, 1e-1, 3e-1], "layer": [3e-3, 1e-2, 3e-2]}
WARMUPS = {"head": [10, 100], "layer": [100]}
TUNING_SEEDS = {"head": [0], "layer": [0, 6]}
Case = tuple[str, int, int, str]  # form, n, k, positions
Setting = tuple[float, int]  # rate, steps of warm-up
WORK = records.RUNS.parent.parent / "runs" / "offset-heads"


def table(kind: str, n: int, seed: torch.Generator) -> Tensor:
    """Vectors for n places, of norm sqrt(WIDTH / 2), or nearly."""
    if kind == "sinusoidal":
        return sinusoidal_encoding(n, WIDTH)
    if kind == "unpaired":
        frequencies = 10000 ** (-torch.arange(WIDTH) / WIDTH)
        phases = 2 * math.pi * torch.rand(WIDTH, generator=seed)
        return (torch.arange(n)[:, None] * frequencies + phases).sin()
    rows = torch.randn(n, WIDTH, generator=seed)
    rows *= (WIDTH / 2) ** 0.5 / rows.norm(dim=1, keepdim=True)
    return torch.zeros(n, WIDTH) if kind == "relative" else rows


def held_out(n: int, seed: torch.Generator) -> Tensor:
    """True at places not asked in training: n / 8 in a row, n / 8 scattered."""
    first, each = max(OFFSETS["head"]), n // 8
    start = first + int(torch.randint(n - each - first, (), generator=seed))
    others = [p for p in range(first, n) if not start <= p < start + each]
    alone = torch.randperm(len(others), generator=seed)[:each].tolist()
    out = torch.zeros(n, dtype=torch.bool)
    out[start : start + each] = True
    out[[others[k] for k in alone]] = True
    return out


def cases() -> Iterator[Case]:
    """All that are compared."""
    for form in ("head", "layer"):
        yield from product([form], LENGTHS[form], OFFSETS[form], KINDS)


class Heads:
    """Heads that are trained side by side, each by itself, with a rate of its own."""

    def __init__(self, form: str, kind: str, n: int, seeds: list[int]) -> None:
        self.form, self.kind, self.n, longest = form, kind, n, n * 3 // 2
        self.batch = TOKENS // n
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.held = torch.stack([held_out(n, each) for each in self.generators])
        self.table = torch.stack([table(kind, longest, g) for g in self.generators])
        square = (WIDTH, WIDTH)
        shapes = [(WORDS, WIDTH), square, square]  # vectors of words, queries, keys
        if form == "layer":  # values, what mixes them, and the feed-forward network
            shapes += [square, square, (WIDTH, 2 * WIDTH), (2 * WIDTH, WIDTH)]
        self.parameters = [
            torch.stack([torch.randn(shape, generator=g) for g in self.generators])
            * (shape[0] ** -0.5 if number else 1.0)
            for number, shape in enumerate(shapes)
        ]
        if kind == "relative":
            self.parameters += [torch.zeros(len(seeds), 2 * longest - 1)]
        if kind == "learned":
            self.parameters += [self.table]
        for parameter in self.parameters:
            parameter.requires_grad_(True)
        self.moments = [
            [torch.zeros_like(p) for p in self.parameters] for _ in range(2)
        ]

    def read(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Words with their positions, and the weights: head, row, query, key."""
        vectors, queries, keys, *_ = self.parameters
        heads, rows, n = words.shape
        chosen = words.flatten(1)[..., None].expand(-1, -1, WIDTH)
        x = vectors.gather(1, chosen).view(heads, rows, n, WIDTH)
        x = (x + self.table[:, None, :n]).flatten(1, 2)
        q, k = ((x @ each).view(heads, rows, n, WIDTH) for each in (queries, keys))
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH)
        if self.kind == "relative":
            at = torch.arange(n)
            numbers = self.parameters[-1]
            scores = scores + numbers[:, None, at - at[:, None] + numbers.shape[1] // 2]
        return x, scores.softmax(dim=-1)

    def answers(self, words: Tensor) -> Tensor:
        """How likely each word is, by logarithms: head, row, place, word."""
        x, weights = self.read(words)
        if self.form == "head":
            return (weights @ torch.eye(WORDS)[words] + 1e-9).log()
        vectors, _, _, values, mix, first, second, *_ = self.parameters
        heads = (weights @ (x @ values).view(*words.shape, WIDTH)).flatten(1, 2)
        x = F.layer_norm(x + heads @ mix, (WIDTH,))
        x = F.layer_norm(x + (x @ first).relu() @ second, (WIDTH,))
        scores = x @ vectors.transpose(-2, -1) / math.sqrt(WIDTH)
        return scores.view(*words.shape, WORDS).log_softmax(dim=-1)

    def draw(self, rows: int, n: int) -> Tensor:
        """Random words: head, row, place."""
        size = (rows, n)
        return torch.stack(
            [torch.randint(WORDS, size, generator=g) for g in self.generators]
        )

    def step(self, offset: int, step: int, rates: Tensor, warmups: Tensor) -> None:
        """One step of Adam, by the loss of the words named at the places asked."""
        words = self.draw(self.batch, self.n)
        targets = words[:, :, : self.n - offset, None]
        right = self.answers(words)[:, :, offset:].gather(-1, targets)[..., 0]
        asked = ~self.held[:, None, offset:]
        loss = -(right * asked).sum() / asked.sum() / self.batch
        # Each head's loss as if it were alone: they share no parameter.
        gradients = torch.autograd.grad(loss * len(self.held), self.parameters)
        down = (STEPS[self.form] - step) / (STEPS[self.form] - warmups)
        factor = rates * torch.minimum((step + 1) / warmups, down)
        with torch.no_grad():
            for p, g, m, v in zip(
                self.parameters, gradients, *self.moments, strict=True
            ):
                m.lerp_(g, 0.1)
                v.lerp_(g * g, 0.02)
                mean, square = m / (1 - 0.9 ** (step + 1)), v / (1 - 0.98 ** (step + 1))
                shape = (-1,) + (1,) * (p.dim() - 1)
                p -= factor.view(shape) * mean / (square.sqrt() + 1e-9)

    @torch.no_grad()
    def shares(self, offset: int, words: Tensor) -> Tensor:
        """By place, how often it attends (a layer: answers) rightly, of each head."""
        if self.form == "head":
            found = self.read(words)[1].argmax(dim=-1)[:, :, offset:]
            right = found == torch.arange(words.shape[-1] - offset)
        else:
            found = self.answers(words).argmax(dim=-1)[:, :, offset:]
            right = found == words[:, :, : words.shape[-1] - offset]
        return right.float().mean(dim=1)


def train(case: Case, seeds: list[int], settings: list[Setting]) -> list[Any]:
    """Train heads with a rate and warm-up each: steps to 90%, shares at the end."""
    form, n, offset, kind = case
    heads = Heads(form, kind, n, seeds)
    rates = torch.tensor([rate for rate, _ in settings])
    warmups = torch.tensor([float(warmup) for _, warmup in settings])
    same = heads.draw(heads.batch, n)
    parts = {"held": heads.held[:, offset:], "asked": ~heads.held[:, offset:]}
    steps: dict[str, list[int | None]] = {name: [None] * len(seeds) for name in parts}

    def share(part: Tensor, shares: Tensor) -> list[float]:
        return ((shares * part).sum(1) / part.sum(1)).tolist()

    for step in range(STEPS[form]):
        heads.step(offset, step, rates, warmups)
        if (step + 1) % EVERY[form]:
            continue
        shares = heads.shares(offset, same)
        for name, part in parts.items():
            for number, right in enumerate(share(part, shares)):
                if steps[name][number] is None and right >= 0.9:
                    steps[name][number] = step + 1
    shares = heads.shares(offset, heads.draw(2 * heads.batch, n))
    ends = {name: share(part, shares) for name, part in parts.items()}
    shares = heads.shares(offset, heads.draw(2 * heads.batch, n * 3 // 2))
    ends["later"] = shares[:, n - offset :].mean(dim=1).tolist()
    return [
        {name: each[number] for name, each in steps.items()}
        | {"end": {name: round(each[number], 3) for name, each in ends.items()}}
        for number in range(len(seeds))
    ]


def kept(case: Case, seeds: list[int], settings: list[Setting]) -> list[Any]:
    """Runs, or what is on file of them."""
    part = "tuning" if seeds[0] == 0 else "-".join(map(str, seeds))
    path = WORK / f"{'-'.join(map(str, case))}-{part}.json"
    if not path.exists():
        found = train(case, seeds, settings)
        write_atomically(path, json.dumps(found).encode())
        print(path.stem, found, flush=True)
    content: list[Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def tuned(case: Case) -> tuple[Setting, list[Any]]:
    """The best setting; of all, the steps to 90% and the end at the places asked."""
    form = case[0]
    settings, seeds = list(product(RATES[form], WARMUPS[form])), TUNING_SEEDS[form]
    every = list(product(settings, seeds))
    found = kept(case, [seed for _, seed in every], [setting for setting, _ in every])

    def cost(number: int) -> tuple[bool, float]:
        runs = found[number * len(seeds) :][: len(seeds)]
        steps = sum(run["asked"] or math.inf for run in runs)
        return min(run["end"]["asked"] for run in runs) < 0.99, steps

    best = settings[min(range(len(settings)), key=cost)]
    return best, [[run["asked"], run["end"]["asked"]] for run in found]


def main() -> None:
    """Tune, train, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    WORK.mkdir(parents=True, exist_ok=True)
    runs = []
    for form, n, offset, kind in cases():
        case = (form, n, offset, kind)
        best, tried = tuned(case)
        found = kept(case, seeds, [best] * len(seeds))
        steps = {part: [run[part] for run in found] for part in ("held", "asked")}
        ends = {part: [run["end"][part] for run in found] for part in found[0]["end"]}
        runs.append({"form": form, "n": n, "offset": offset, "positions": kind})
        runs[-1] |= {"rate": best[0], "warmup": best[1], "tried": json.dumps(tried)}
        runs[-1] |= {"steps": steps, "end": ends}
    grid = {"rates": RATES, "warmups": WARMUPS, "steps": STEPS}
    records.write("offset-heads", {"seeds": seeds, "grid": grid, "runs": runs})


if __name__ == "__main__":
    main()
