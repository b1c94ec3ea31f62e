# Made by `make export` from book/1-paper/8-attention-visualizations.ipynb
"""What each head does beyond what distance and part of speech explain."""

# book/1-paper/8-attention-visualizations.ipynb, cell tasks-imports
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from aiayn.analysis.attention_maps import AttentionKind, Head
from aiayn.analysis.probes import (
    AttentionExample,
    Relation,
    antecedent,
    dependency,
    from_target,
    word_classes,
)


class WordPairs(NamedTuple):
    """All pairs of words in some sentences: one may look, the other be looked at."""

    hits: Bool[Tensor, "layers h pairs"]  # whether a head looks most at the second
    cells: Int[Tensor, " pairs"]  # one number for one distance and two word classes
    starts: list[int]  # where the pairs of each sentence begin


def word_pairs(examples: Sequence[AttentionExample], kind: AttentionKind) -> WordPairs:
    """All pairs of words; a German word has the class of the one that it translates."""
    hits, cells, starts = [], list[int](), list[int]()
    cell_numbers = dict[tuple[int, str, str], int]()
    for example in examples:
        keys = queries = word_classes(example.pair)
        if kind == "cross":
            translated = {j: keys[i] for i, j in reversed(example.pair.alignment)}
            n = len(example.pair.target_tokens)
            queries = [translated.get(j, "") for j in range(n)]
        most = example.words[kind][:, :, : len(queries), : len(keys)].argmax(dim=-1)
        hits.append(F.one_hot(most, len(keys)).flatten(2).bool())
        starts.append(len(cells))
        for q, one in enumerate(queries):
            for k, other in enumerate(keys):
                alike = k - q, one, other
                cells.append(cell_numbers.setdefault(alike, len(cell_numbers)))
    return WordPairs(torch.cat(hits, dim=-1), torch.tensor(cells), starts)


# book/1-paper/8-attention-visualizations.ipynb, cell beyond-place
class RelationEffect(NamedTuple):
    """How often heads look most at related words, and at others placed as they are."""

    related: Float[Tensor, "layers h"]
    alike: Float[Tensor, "layers h"]  # same distance and word classes, not so related
    cases: int  # that have others like them
    covered: float  # their share of all cases


def relation_effect(
    examples: Sequence[AttentionExample],
    pairs: WordPairs,
    relation: Relation,
    least: int = 5,
) -> RelationEffect:
    """What a relation does to a head's choice, with distance and word classes fixed.

    Only cases with at least `least` similar but unrelated pairs are judged.
    """
    rows = [
        start + query * len(example.pair.source_tokens) + right
        for start, example in zip(pairs.starts, examples, strict=True)
        for query, right in relation(example.pair)
    ]
    related = torch.zeros(len(pairs.cells), dtype=torch.bool)
    related[rows] = True
    kinds, hits = int(pairs.cells.max()) + 1, pairs.hits.double()
    numbers, rates = [], []
    for which in (related, ~related):
        cells = pairs.cells[which]
        number = torch.bincount(cells, minlength=kinds).double()
        total = hits.new_zeros(*hits.shape[:2], kinds)
        total.index_add_(2, cells, hits[:, :, which])
        numbers.append(number)
        rates.append(total / number.clamp(min=1))
    judged = numbers[0] * (numbers[1] >= least)
    means = [(rate * judged).sum(dim=-1) / judged.sum().clamp(min=1) for rate in rates]
    cases = int(judged.sum())
    return RelationEffect(means[0], means[1], cases, cases / max(1, int(related.sum())))


# book/1-paper/8-attention-visualizations.ipynb, cell tasks
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


class HeadRole(NamedTuple):
    """What a head does best, chosen on some sentences, and how well on others."""

    head: Head
    name: str
    related: float
    alike: float

    @property
    def done(self) -> bool:
        """Whether the relation adds 25 points and more than doubles the share."""
        return self.related - self.alike >= 0.25 and self.related > 2 * self.alike


def candidate_relations(kind: AttentionKind) -> dict[str, Relation]:
    """Relations, both ways, and antecedents; across languages also translation."""
    relations = {
        f"{name}, {'to' if back else 'from'} its head": dependency(name, back)
        for name in RELATIONS
        for back in (False, True)
    }
    relations["antecedent"] = antecedent
    if kind == "encoder":
        return relations
    relations = {name: from_target(relation) for name, relation in relations.items()}
    return relations | {"translation": lambda pair: [(j, i) for i, j in pair.alignment]}


# book/1-paper/8-attention-visualizations.ipynb, cell tasks-of
def assign_roles(
    choose: Sequence[AttentionExample],
    score: Sequence[AttentionExample],
    kind: AttentionKind,
) -> list[HeadRole]:
    """For each head the task in which the relation makes the most difference.

    A relation is judged if in both sets at least 30 cases, and half of all, have others
    like them.
    """
    sets = [(examples, word_pairs(examples, kind)) for examples in (choose, score)]
    effects = {}
    for name, relation in candidate_relations(kind).items():
        both = [relation_effect(examples, pairs, relation) for examples, pairs in sets]
        if all(each.cases >= 30 and each.covered >= 0.5 for each in both):
            effects[name] = both
    tasks = []
    layers, heads = map(torch.arange, sets[0][1].hits.shape[:2])
    for layer, head in torch.cartesian_prod(layers, heads).tolist():
        gains = {
            name: float((a.related - a.alike)[layer, head])
            for name, (a, _) in effects.items()
        }
        best = max(gains, key=gains.__getitem__)
        shares = (float(share[layer, head]) for share in effects[best][1][:2])
        tasks.append(HeadRole(Head(kind, layer, head), best, *shares))
    return tasks


def agreement(examples: Sequence[AttentionExample], kind: AttentionKind) -> float:
    """The largest share of words for which two heads look most at the same word."""
    most = [
        each.words[kind][:, :, :-1, :-1].argmax(dim=-1).flatten(0, 1)
        for each in examples
    ]
    joined = torch.cat(most, dim=1)
    same = (joined[:, None] == joined).float().mean(dim=-1)
    return float(same.fill_diagonal_(0).max())
