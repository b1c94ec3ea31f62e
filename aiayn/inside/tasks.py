"""What each head does beyond what distance and part of speech explain.

From "Attention visualizations":
https://github.com/OWNER/aiayn/blob/main/book/08-attention-visualizations.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/08-attention-visualizations.ipynb, cell tasks-imports
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from aiayn.inside.heads import (
    Example,
    Question,
    antecedent,
    from_target,
    related,
    word_classes,
)
from aiayn.inside.sentence import Head, Kind


class Looks(NamedTuple):
    """Every two words of some sentences: one may look, the other may be looked at."""

    hits: Bool[Tensor, "layers h pairs"]  # whether a head looks most at the second
    cells: Int[Tensor, " pairs"]  # one number for one distance and two word classes
    starts: list[int]  # where the pairs of each sentence begin


def looks(examples: Sequence[Example], kind: Kind) -> Looks:
    """Who looks at what; a German word has the class of the one that it translates."""
    hits, cells, starts = [], list[int](), list[int]()
    known = dict[tuple[int, str, str], int]()
    for example in examples:
        keys = word_classes(example.pair)
        queries = keys
        if kind == "cross":
            translated = {j: keys[i] for i, j in reversed(example.pair.alignment)}
            n = len(example.pair.target_tokens)
            queries = [translated.get(j, "") for j in range(n)]
        most = example.words[kind][:, :, : len(queries), : len(keys)].argmax(dim=-1)
        hits.append(F.one_hot(most, len(keys)).flatten(2).bool())
        starts.append(len(cells))
        for q, one in enumerate(queries):
            cells += [
                known.setdefault((k - q, one, other), len(known))
                for k, other in enumerate(keys)
            ]
    return Looks(torch.cat(hits, dim=-1), torch.tensor(cells), starts)


# book/08-attention-visualizations.ipynb, cell beyond-place
class Beyond(NamedTuple):
    """How often heads look most at related words, and at others placed as they are."""

    related: Float[Tensor, "layers h"]
    alike: Float[Tensor, "layers h"]  # same distance and word classes, not so related
    cases: int  # that have others like them
    covered: float  # their share of all cases


def beyond_place(
    examples: Sequence[Example], found: Looks, question: Question, least: int = 5
) -> Beyond:
    """What a relation makes of a head's choice, with distance and word classes fixed.

    Cases are judged where at least `least` unrelated pairs of words are like them.
    """
    rows = [
        start + query * len(example.pair.source_tokens) + right
        for start, example in zip(found.starts, examples, strict=True)
        for query, right in question(example.pair)
    ]
    related = torch.zeros(len(found.cells), dtype=torch.bool)
    related[rows] = True
    kinds, hits = int(found.cells.max()) + 1, found.hits.double()
    numbers, rates = [], []
    for which in (related, ~related):
        cells = found.cells[which]
        number = torch.bincount(cells, minlength=kinds).double()
        total = hits.new_zeros(*hits.shape[:2], kinds)
        total.index_add_(2, cells, hits[:, :, which])
        numbers.append(number)
        rates.append(total / number.clamp(min=1))
    judged = numbers[0] * (numbers[1] >= least)
    means = [(rate * judged).sum(dim=-1) / judged.sum().clamp(min=1) for rate in rates]
    cases = int(judged.sum())
    return Beyond(means[0], means[1], cases, cases / max(1, int(related.sum())))


# book/08-attention-visualizations.ipynb, cell tasks
RELATIONS = (
    "subject",
    "object",
    "indirect object",
    "determiner",
    "modifier",
    "owner",
    "preposition",
    "particle",
    "complement",
)


class Task(NamedTuple):
    """What a head does best, chosen on some sentences, and how well on others."""

    head: Head
    name: str
    related: float
    alike: float

    @property
    def done(self) -> bool:
        """Whether the relation adds 25 points and more than doubles the share."""
        return self.related - self.alike >= 0.25 and self.related > 2 * self.alike


def questions_of(kind: Kind) -> dict[str, Question]:
    """Relations, both ways, and antecedents; across languages also translation."""
    asked = {
        f"{name}, {'to' if back else 'from'} its head": related(name, back)
        for name in RELATIONS
        for back in (False, True)
    }
    asked["antecedent"] = antecedent
    if kind == "encoder":
        return asked
    asked = {name: from_target(question) for name, question in asked.items()}
    return asked | {"translation": lambda pair: [(j, i) for i, j in pair.alignment]}


# book/08-attention-visualizations.ipynb, cell tasks-of
def tasks_of(
    choose: Sequence[Example], score: Sequence[Example], kind: Kind
) -> list[Task]:
    """For each head the task in which the relation makes most difference.

    A question is put if in both sets at least half of its cases, and 30, have others
    like them.
    """
    seen = [(examples, looks(examples, kind)) for examples in (choose, score)]
    found = {}
    for name, question in questions_of(kind).items():
        both = [beyond_place(examples, look, question) for examples, look in seen]
        if all(each.cases >= 30 and each.covered >= 0.5 for each in both):
            found[name] = both
    tasks = []
    layers, heads = map(torch.arange, seen[0][1].hits.shape[:2])
    for layer, head in torch.cartesian_prod(layers, heads).tolist():
        gains = {
            name: float((a.related - a.alike)[layer, head])
            for name, (a, _) in found.items()
        }
        best = max(gains, key=gains.__getitem__)
        shares = (float(share[layer, head]) for share in found[best][1][:2])
        tasks.append(Task(Head(kind, layer, head), best, *shares))
    return tasks


def agreement(examples: Sequence[Example], kind: Kind) -> float:
    """The largest share of words for which two heads look most at the same word."""
    most = [
        each.words[kind][:, :, :-1, :-1].argmax(dim=-1).flatten(0, 1)
        for each in examples
    ]
    joined = torch.cat(most, dim=1)
    same = (joined[:, None] == joined).float().mean(dim=-1)
    return float(same.fill_diagonal_(0).max())
