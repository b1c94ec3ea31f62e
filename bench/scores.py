"""Play chapter "Attention scores"'s game with three scores: book/runs/scores.json.

python bench/scores.py        # ten minutes on one thread; goes on where it stopped

Claim 3.2.1-e: for small d_k additive attention and the dot product without scaling do
equally well; for larger d_k additive attention is better. The game is the chapter's:
twelve pairs of 32 words are read out, and one is asked for. Here the scores of all 32
words against all 32 are computed once in each step, by the package's own functions, and
each round takes those that it needs, which is the same and takes less time.

An arm is a score, a d_k and a budget of steps. It is tuned on two other seeds: queries
and keys that start at 0.1, 0.35 or 1 of a table of variance 1, and four rates, with
warm-up (a twentieth of the steps) and linear decay to 0; if the best is at the edge of
the grid and below 99%, the grid grows. One that is right in 99% on those seeds keeps
its setting at longer budgets. Then come five seeds of the best setting, and
five of the best that starts at 1, which is the start for which the paper's footnote
argues. All play 512 new rounds.

What counts, fixed before any run. At each budget, each arm at its best setting, the
difference of right answers, additive less unscaled, by its 95% interval over seeds:

* The claim holds if at every budget the two are within 10 points at d_k = 4, and
  additive is more than 5 points better at 64 and at 256.
* It does not hold here if at every budget additive is not so much better at 64, and not
  at 256: the whole interval lies below 5 points.
* Everything else is undecided.
* The game can tell if, from a start of 1, additive is more than 5 points better at 256
  at one budget or more: what the paper describes is there to be seen.
"""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import records
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.data.io import write_atomically
from aiayn.model.attention import scaled_dot_product
from aiayn.model.scores import AdditiveScore, unscaled_dot_product

WORDS, PAIRS, D_V, ROUNDS, TESTED = 32, 12, 16, 32, 512
SCORES, WIDTHS = ["additive", "unscaled", "scaled"], [4, 16, 64, 256]
BUDGETS, STARTS = [30, 100, 300, 1000, 3000], [0.1, 0.35, 1.0]
RATES, TUNING_SEEDS, SEEDS = [3e-3, 1e-2, 3e-2, 1e-1], [101, 102], [1, 2, 3, 4, 5]
WIDER_STARTS, WIDER_RATES, ENOUGH = [0.03, 3.0], [1e-3, 3e-1], 0.99
WORK = records.RUNS.parent.parent / "runs" / "scores"
Setting = tuple[float, float]  # how the tables start, the rate


class Players(nn.Module):
    """The chapter's players, one for each start and seed, each a head of the score."""

    def __init__(
        self, score: str, d_k: int, starts: list[float], seeds: list[int]
    ) -> None:
        super().__init__()
        made: list[list[Tensor]] = []
        for start, seed in zip(starts, seeds, strict=True):
            torch.manual_seed(seed)
            learned = AdditiveScore(1, d_k).parameters() if score == "additive" else []
            queries, keys = (start * torch.randn(WORDS, d_k) for _ in range(2))
            values, guess = torch.randn(WORDS, D_V), torch.randn(D_V, WORDS) / D_V**0.5
            made.append([queries, keys, values, guess, *(each[0] for each in learned)])
        tables = [torch.stack(some).detach() for some in zip(*made, strict=True)]
        self.queries, self.keys, self.values, self.guess = map(nn.Parameter, tables[:4])
        self.score: Callable[[Tensor, Tensor], Tensor]
        if score == "additive":
            self.score = AdditiveScore(len(seeds), d_k)
            for parameter, table in zip(
                self.score.parameters(), tables[4:], strict=True
            ):
                parameter.data = table
        else:
            self.score = {
                "scaled": scaled_dot_product,
                "unscaled": unscaled_dot_product,
            }[score]

    def forward(self, left: Tensor, right: Tensor, question: Tensor) -> Tensor:
        """The scores of all words as an answer: (players, rounds, words)."""
        table = self.score(self.queries[None], self.keys[None])[0].flatten(1)
        asked = table.gather(1, (question * WORDS + left).flatten(1))
        weights = asked.view(left.shape).softmax(dim=-1)
        by_word = torch.zeros(*left.shape[:2], WORDS).scatter_add(2, right, weights)
        return by_word @ (self.values @ self.guess)


def deal(
    players: int, rounds: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Left and right words, the left word that is asked for, its right one."""
    size = (players, rounds)
    left = torch.rand(*size, WORDS, generator=generator).argsort(dim=-1)[..., :PAIRS]
    right = torch.randint(WORDS, (*size, PAIRS), generator=generator)
    asked = torch.randint(PAIRS, (*size, 1), generator=generator)
    return left, right, left.gather(2, asked), right.gather(2, asked)[..., 0]


def train(
    arm: tuple[str, int, int], settings: list[Setting], seeds: list[int]
) -> list[float]:
    """Train a player for each setting and seed, side by side: their right answers."""
    score, d_k, steps = arm
    players = Players(score, d_k, [start for start, _ in settings], seeds)
    rates = torch.tensor([rate for _, rate in settings])
    weights = [*players.parameters()]
    adam = torch.optim.Adam(weights, lr=1.0, fused=True)
    generator = torch.Generator().manual_seed(1000 + seeds[0])
    warmup = max(1, steps // 20)
    for step in range(steps):
        *cards, answers = deal(len(seeds), ROUNDS, generator)
        guesses = players(*cards)
        loss = F.cross_entropy(guesses.flatten(0, 1), answers.flatten())
        adam.zero_grad()
        (len(seeds) * loss).backward()  # a mean for each player
        before = [each.detach().clone() for each in weights]
        adam.step()
        factor = min((step + 1) / warmup, (steps - step) / (steps - warmup))
        with torch.no_grad():  # a rate for each player
            for old, new in zip(before, weights, strict=True):
                own = (factor * rates).view(-1, *[1] * (new.ndim - 1))
                new.copy_(torch.lerp(old, new, own))
    with torch.no_grad():
        *cards, answers = deal(len(seeds), TESTED, generator)
        right = (players(*cards).argmax(dim=-1) == answers).double().mean(dim=1)
    return [round(share, 4) for share in right.tolist()]


def kept(
    arm: tuple[str, int, int], name: str, settings: list[Setting], seeds: list[int]
) -> list[float]:
    """Right answers by setting and seed, or what is on file of them."""
    pairs = list(product(settings, seeds))
    path = WORK / f"{'-'.join(map(str, arm))}-{name}.json"
    if not path.exists():
        found = train(arm, [one for one, _ in pairs], [seed for _, seed in pairs])
        write_atomically(path, json.dumps(found).encode())
        print(path.stem, found, flush=True)
    content: list[float] = json.loads(path.read_text(encoding="utf-8"))
    return content


def tuned(arm: tuple[str, int, int], starts: list[float]) -> dict[Setting, float]:
    """The mean share of right answers on the tuning seeds, by setting."""
    tried: dict[Setting, float] = {}

    def add(name: str, settings: list[Setting]) -> None:
        shares, many = kept(arm, name, settings, TUNING_SEEDS), len(TUNING_SEEDS)
        for k, setting in enumerate(settings):
            tried[setting] = sum(shares[many * k : many * (k + 1)]) / many

    add("tuning", list(product(STARTS, RATES)))
    usable = {one: share for one, share in tried.items() if one[0] in starts}
    best = max(usable, key=lambda one: usable[one])
    at_edge = best[1] in (RATES[0], RATES[-1])
    free = len(starts) > 1
    at_edge |= free and best[0] in (STARTS[0], STARTS[-1])
    if at_edge and usable[best] < ENOUGH:
        grown = [*starts, *(WIDER_STARTS if free else ())]
        both = product(grown, [*RATES, *WIDER_RATES])
        add(f"wider-{len(starts)}", [one for one in both if one not in usable])
    return {one: share for one, share in tried.items() if free or one[0] in starts}


def judged(score: str, d_k: int, start: str) -> list[dict[str, Any]]:
    """The runs of a score at all budgets, with any start or with that of 1."""
    runs, share, best = [], 0.0, (0.0, 0.0)
    for steps in BUDGETS:
        arm = (score, d_k, steps)
        if share < ENOUGH:
            tried = tuned(arm, STARTS if start == "best" else [1.0])
            best = max(tried, key=lambda one: tried[one])
            share = tried[best]
        run = dict(zip(("score", "d_k", "steps"), arm, strict=True)) | {"start": start}
        right = kept(arm, "-".join(map(str, best)), [best], SEEDS)
        runs.append(run | {"setting": best, "right": right})
    return runs


def main() -> None:
    """Tune, train, and write the record."""
    torch.set_num_threads(1)
    WORK.mkdir(parents=True, exist_ok=True)
    arms = product(SCORES[::-1], WIDTHS, ("best", "1"))
    runs = [run for arm in arms for run in judged(*arm)]
    settings = {"budgets": BUDGETS, "widths": WIDTHS, "starts": STARTS, "rates": RATES}
    records.write("scores", settings | {"seeds": SEEDS, "runs": runs})


if __name__ == "__main__":
    main()
