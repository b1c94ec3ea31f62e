"""Train on short rows, test on longer ones: book/runs/extrapolation.json.

AIAYN_DATA=... python bench/extrapolation.py [--seeds 1 2 3 4 5]

Section 3.5 says: sinusoids may allow the model to extrapolate to sequences longer than
those met in training. Two tasks, each learned from two lengths L of rows:

* two-back: chapter 3.5's toy, the chapter's own cells: name the word two places back.
  L is 16 or 32 words.
* text: a causal language model of characters (two layers of width 64, pre-norm) on
  Tatoeba's English sentences, one after another. L is 32 or 64 characters.

The models differ only in their positions: none; a learned table, the paper's
comparator; the paper's sinusoids; and what is known to extrapolate, relative positions
and, in `text`, ALiBi. In `text` each has the best of four rates, by its loss within
64 characters on seed 0. Then come five seeds.

Tested are rows of r L tokens, for r = 1.25, 1.5, 2, 3 (and 4 in `text`): the share of
right answers and the mean loss at position L and all later ones, which were never
trained. "Within" is from position L / 2 on, in rows of L tokens.

What counts, fixed before any run of this form. A model's skill is its lead over the
model without positions, at the same places, by accuracy or by loss. There are eight
verdicts: two tasks, two lengths, two statistics, each at r = 1.5, by 95% intervals
paired by seed.

* A verdict is fit if the sinusoids' skill within is above 0, and if the relative model
  (or, in `text`, ALiBi) keeps more than half of its own skill within.
* The claim holds if in all eight, all fit, sinusoids keep more than half of their skill
  within, and do better than the learned table.
* It does not hold here if in all eight, all fit, they keep less than half.
* Otherwise it is undecided, and the verdicts that differ are named.

Told beside it, and no part of the rule: the other r; in `text` also the skill over
the frequency of characters, in place of that over the model without positions.
"""

import argparse
import json
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import nbformat
import records
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import aiayn.model.positions as positions
from aiayn.data import load_pairs
from aiayn.data.io import write_atomically
from aiayn.model.attention import Attention, MultiHeadAttention
from aiayn.model.embeddings import Embeddings
from aiayn.model.feed_forward import FeedForward
from aiayn.model.layers import EncoderLayer

CHAPTER = records.RUNS.parent / "1-paper" / "3-5-positional-encoding.ipynb"
CELLS = ["word-model", "train", "two-back", "long-models"]
WORK = records.RUNS.parent.parent / "runs" / "extrapolation"
LENGTHS = {"two-back": [16, 32], "text": [32, 64]}
RATIOS = {"two-back": [1.25, 1.5, 2, 3], "text": [1.25, 1.5, 2, 3, 4]}
KINDS = ["none", "learned", "sinusoidal", "relative", "ALiBi"]
RATES, TUNED, TUNING_SEED = [1e-3, 3e-3, 1e-2, 3e-2], 64, 0
WIDTH, HEADS, LAYERS = 64, 4, 2
STEPS, TOKENS, WARMUP = 500, 1024, 50
ROWS = {"two-back": 400, "text": 200}  # of a test

Findings = dict[str, list[float]]  # by r: the share of right answers, the mean loss


def judged(scores: Tensor, targets: Tensor) -> list[float]:
    """The share of right answers, and the mean loss."""
    right = (scores.argmax(dim=-1) == targets).float().mean().item()
    loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten()).item()
    return [round(right, 4), round(loss, 4)]


@cache
def chapter() -> dict[str, Any]:
    """What the chapter's cells define."""
    cells = {
        cell.id: cell.source for cell in nbformat.read(CHAPTER, as_version=4).cells
    }
    names: dict[str, Any] = dict(vars(positions))
    for name in CELLS:
        exec(cells[name], names)
    return names


def two_back(kind: str, length: int, seed: int) -> Findings:
    """Train one of the chapter's models, and test it on rows of each length."""
    names = chapter()
    model = names["trained"](kind, seed, length)
    torch.manual_seed(10_000 + seed)
    found = {}
    for ratio in [1, *RATIOS["two-back"]]:
        words, targets = names["two_back"](ROWS["two-back"], round(ratio * length))
        first = length if ratio > 1 else length // 2
        with torch.no_grad():
            scores = model(words)[:, first:]
        found["within" if ratio == 1 else str(ratio)] = judged(
            scores, targets[:, first:]
        )
    return found


class Biased(Attention):
    """Causal attention with a number for each head and distance added to the scores.

    Parameters
    ----------
    clip : int, optional
        The numbers are learned, and distances beyond this count as this one; without
        it they are ALiBi's.
    """

    def __init__(self, clip: int | None) -> None:
        super().__init__()
        self.clip = clip
        if clip is not None:
            self.numbers = nn.Parameter(torch.zeros(HEADS, clip + 1))

    def forward(self, Q: Tensor, K: Tensor, V: Tensor, *_: Any) -> Tensor:
        """Weighted sums of the values."""
        at = torch.arange(Q.shape[-2])
        back = at[:, None] - at
        if self.clip is None:
            slopes = 2.0 ** (-8 / HEADS * torch.arange(1, HEADS + 1))
            bias = -slopes[:, None, None] * back
        else:
            bias = self.numbers[:, back.clamp(0, self.clip)]
        bias = bias.masked_fill(back < 0, -torch.inf)
        return F.scaled_dot_product_attention(Q, K, V, attn_mask=bias[None])


class Causal(MultiHeadAttention):
    """Self-attention to the position itself and earlier ones."""

    def forward(self, x: Tensor, **_: Any) -> Tensor:  # type: ignore[override]
        """Let x attend to itself."""
        return super().forward(x, causal=True)


class TextModel(nn.Module):
    """A small causal language model."""

    def __init__(self, kind: str, length: int, characters: int) -> None:
        super().__init__()
        tables: dict[str, Callable[[], nn.Module]] = {
            "learned": lambda: positions.LearnedPositions(WIDTH, n=4 * length),
            "sinusoidal": lambda: positions.SinusoidalPositions(WIDTH),
        }
        attention: dict[str, Callable[[], Attention]] = {
            "relative": lambda: Biased(length // 2),
            "ALiBi": lambda: Biased(None),
        }
        self.embeddings = Embeddings(characters, WIDTH)
        self.positions = tables.get(kind, positions.NoPositions)()
        self.layers = nn.ModuleList(
            EncoderLayer(
                Causal(WIDTH, HEADS, attention=attention.get(kind, lambda: None)()),
                FeedForward(WIDTH, 4 * WIDTH),
                dropout=0.0,
                norm="pre",
            )
            for _ in range(LAYERS)
        )
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        """The logits of the next characters."""
        x = self.positions(self.embeddings(tokens))
        for layer in self.layers:
            x = layer(x)
        return self.embeddings.logits(self.norm(x))


@cache
def characters() -> dict[str, Tensor]:
    """Tatoeba's English sentences in a random order, to train with and to test with."""
    streams, numbers = {}, dict[str, int]()
    for split in ("train", "test"):
        every = dict.fromkeys(load_pairs("tatoeba", "en-de", split).source)
        sentences = [sentence for sentence in every if sentence.isascii()]
        shuffle = torch.Generator().manual_seed(0)
        order = torch.randperm(len(sentences), generator=shuffle).tolist()
        text = "\n".join(sentences[k] for k in order)
        numbers = numbers or {each: k for k, each in enumerate(sorted(set(text)))}
        known = [numbers[each] for each in text if each in numbers]
        streams[split] = torch.tensor(known)
    return streams


def draw(split: str, count: int, n: int, generator: torch.Generator) -> Tensor:
    """Rows of n characters, and the one after each row."""
    stream = characters()[split]
    starts = torch.randint(len(stream) - n, (count, 1), generator=generator)
    return stream[starts + torch.arange(n + 1)]


def text(kind: str, length: int, seed: int, rate: float) -> Findings:
    """Train a language model, and test it: its places see only what is before them."""
    torch.manual_seed(seed)
    model = TextModel(kind, length, int(characters()["train"].max()) + 1)
    adam = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda step: min((step + 1) / WARMUP, (STEPS - step) / (STEPS - WARMUP))
    )
    generator = torch.Generator().manual_seed(seed)
    for _ in range(STEPS):
        rows = draw("train", TOKENS // length, length, generator)
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        schedule.step()
    same = torch.Generator().manual_seed(10_000)
    rows = draw("test", ROWS["text"], round(RATIOS["text"][-1] * length), same)
    with torch.no_grad():
        scores = model(rows[:, :-1])
    parts = {"within": slice(length // 2, length)}
    parts |= {str(r): slice(length, round(r * length)) for r in RATIOS["text"]}
    return {
        name: judged(scores[:, part], rows[:, 1:][:, part])
        for name, part in parts.items()
    }


def kept(task: str, kind: str, length: int, seed: int, rate: float = 0.0) -> Findings:
    """A run, or what is on file of it."""
    path = WORK / f"{task}-{kind}-{length}-{seed}-{rate}.json"
    if not path.exists():
        found = (
            text(kind, length, seed, rate)
            if task == "text"
            else two_back(kind, length, seed)
        )
        write_atomically(path, json.dumps(found).encode())
        print(path.stem, found, flush=True)
    content: Findings = json.loads(path.read_text(encoding="utf-8"))
    return content


def frequencies() -> dict[str, float]:
    """The accuracy and loss of always guessing by the frequency of the characters."""
    train, test = (
        torch.bincount(characters()[s], minlength=99) for s in ("train", "test")
    )
    logits = train[train > 0].log() - train.sum().log()
    asked = test[train > 0] / test.sum()
    right, loss = asked[logits.argmax()], -(asked * logits).sum()
    return {"right": round(float(right), 4), "loss": round(float(loss), 4)}


def main() -> None:
    """Tune, train, test, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    WORK.mkdir(parents=True, exist_ok=True)
    tried = {
        kind: {r: kept("text", kind, TUNED, TUNING_SEED, r)["within"][1] for r in RATES}
        for kind in KINDS
    }
    rates = {kind: min(found, key=found.__getitem__) for kind, found in tried.items()}
    runs = []
    for task in ("text", "two-back"):
        kinds = KINDS if task == "text" else list(chapter()["KINDS"])
        for length, kind in product(LENGTHS[task], kinds):
            rate = rates[kind] if task == "text" else 0.0
            found = [kept(task, kind, length, seed, rate) for seed in seeds]
            runs.append({"task": task, "length": length, "positions": kind})
            for number, name in enumerate(("right", "loss")):
                runs[-1][name] = {
                    r: [each[r][number] for each in found] for r in found[0]
                }
    findings = {"seeds": seeds, "tried": tried, "rates": rates}
    records.write("extrapolation", findings | {"guess": frequencies(), "runs": runs})


if __name__ == "__main__":
    main()
