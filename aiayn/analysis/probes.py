# Made by `make export` from book/1-paper/8-attention-visualizations.ipynb
"""Questions to attention heads, such as who finds the subject, and how often."""

# book/1-paper/8-attention-visualizations.ipynb, cell heads-imports
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from aiayn.analysis.attention_maps import (
    KINDS,
    AttentionKind,
    Head,
    TrainedModel,
    attention_of,
    side,
)
from aiayn.data.batching import Batch, make_batch
from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.synthetic.corpus import Pair


@dataclass(frozen=True)
class AttentionExample:
    """A synthetic pair, and where a model's heads looked as it read it."""

    pair: Pair
    # weights between words, (layers, heads, queries, keys)
    words: dict[AttentionKind, Tensor]


def read_examples(model: TrainedModel, pairs: Iterable[Pair]) -> list[AttentionExample]:
    """Read pairs with their translations; an `InputError` if their words differ."""
    examples = []
    for pair in pairs:
        attention = attention_of(model, pair.source, pair.target)
        words = attention.source.words[:-1], attention.writes.words[:-1]
        if words != (pair.source_tokens, pair.target_tokens):
            fault = "not cut into the corpus's words; train on its text"
            raise InputError(f"{pair.source}: {fault}")
        weights = {kind: attention.words(kind) for kind in KINDS}
        examples.append(AttentionExample(pair, weights))
    return examples


# book/1-paper/8-attention-visualizations.ipynb, cell cases
Relation = Callable[[Pair], Iterable[tuple[int, int]]]  # who ought to look at what
Phrase = Callable[[Pair], Iterable[tuple[int, tuple[int, ...]]]]  # at any word of it
Candidates = Callable[[Pair], Sequence[int]]


@dataclass(frozen=True)
class Case:
    """A word that looks, and the word that it ought to look at."""

    weights: Float[Tensor, "layers h keys"]  # given by the word that looks
    query: int  # the word that looks
    right: tuple[int, ...]  # the one that it ought to look at, or any of several
    candidates: Sequence[int]  # those that it may choose from


def all_words(pair: Pair) -> Sequence[int]:
    """Every English word and mark, not the end of the sentence, where heads rest."""
    return range(len(pair.source_tokens))


def relation_cases(
    examples: Iterable[AttentionExample],
    relation: Relation | Phrase,
    kind: AttentionKind = "encoder",
    candidates: Candidates = all_words,
) -> list[Case]:
    """The cases of a relation, with all heads' weights; `cross` asks German words."""
    return [
        Case(example.words[kind][:, :, query], query, right, candidates(example.pair))
        for example in examples
        for query, place in relation(example.pair)
        for right in [place if isinstance(place, tuple) else (place,)]
        if set(right) <= set(candidates(example.pair))
    ]


# book/1-paper/8-attention-visualizations.ipynb, cell share-right
def head_accuracy(cases: Sequence[Case]) -> Float[Tensor, "layers h"]:
    """The share of cases in which a head gives the right candidate the most weight.

    Raises
    ------
    ValueError
        If there are no cases.
    """
    if not cases:
        raise ValueError("no cases: no sentence has such a relation; draw more of them")
    right = []
    for case in cases:
        chosen = case.weights[..., case.candidates].argmax(dim=-1)
        places = torch.tensor(case.candidates)[chosen]
        right.append(torch.isin(places, torch.tensor(case.right)))
    return torch.stack(right).float().mean(dim=0)


# book/1-paper/8-attention-visualizations.ipynb, cell questions
def dependency(name: str, to_head: bool = False) -> Relation:
    """From the head of each such relation to its dependent, or the other way."""
    places = slice(None, None, -1) if to_head else slice(None)
    return lambda pair: [
        (a, b)
        for each, *two in pair.relations
        if each == name
        for a, b in [two[places]]
    ]


def antecedent(pair: Pair) -> Sequence[tuple[int, int]]:
    """From every pronoun to the noun or name that it means."""
    return pair.coreference


def from_target(relation: Relation) -> Relation:
    """The same for the German words that translate those that look."""
    return lambda pair: [
        (j, right)
        for query, right in relation(pair)
        for i, j in pair.alignment
        if i == query
    ]


def word_classes(pair: Pair) -> list[str]:
    """The class of each English word: number, and the tense of a verb, are left out."""
    tags = re.findall(r"\((\S+) [^\s()]+\)", pair.tree)
    return [re.sub(r"^(NN|VB)[SPDZ]+$", r"\1", tag) for tag in tags]


def nouns(pair: Pair) -> Sequence[int]:
    """The nouns and names of the English sentence."""
    return [i for i, word_class in enumerate(word_classes(pair)) if word_class == "NN"]


# book/1-paper/8-attention-visualizations.ipynb, cell baselines
def chance(cases: Sequence[Case]) -> float:
    """What a head that chooses a candidate blindly would get."""
    return sum(1 / len(case.candidates) for case in cases) / len(cases)


def nearest_baseline(cases: Sequence[Case]) -> float:
    """What the nearest candidate before gets; where there is none, the first after."""
    before = [
        max((c for c in case.candidates if c < case.query), default=case.candidates[0])
        for case in cases
    ]
    pairs = zip(before, cases, strict=True)
    return sum(guess in case.right for guess, case in pairs) / len(cases)


def entropy(weights: Float[Tensor, "*rows keys"]) -> Float[Tensor, "*rows"]:
    """How widely attention is spread, in bits: 0 on one word, log2(n) evenly on n."""
    return torch.special.entr(weights).sum(dim=-1) / torch.tensor(2.0).log()


def best_head(scores: Float[Tensor, "layers h"], kind: AttentionKind) -> Head:
    """The head with the highest score."""
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    return Head(kind, layer, head)


# book/1-paper/8-attention-visualizations.ipynb, cell needed
def pair_batch(vocabulary: Vocabulary, pairs: Sequence[Pair]) -> Batch:
    """Sentences with their right translations."""
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return make_batch(list(zip(*map(vocabulary.encode, sides), strict=True)))


def pronoun_position(vocabulary: Vocabulary, pair: Pair) -> int:
    """The first token of the German pronoun in a sentence of the split `pronouns`."""
    ((german, _),) = from_target(antecedent)(pair)
    return side(vocabulary.cut(pair.target)).word_of.index(german)


# book/1-paper/8-attention-visualizations.ipynb, cell alignment
def gold_alignment(pair: Pair) -> Bool[Tensor, "targets sources"]:
    """The alignment, as a table."""
    shape = len(pair.target_tokens), len(pair.source_tokens)
    gold = torch.zeros(shape, dtype=torch.bool)
    for source, target in pair.alignment:
        gold[target, source] = True
    return gold


def predicted_alignment(
    weights: Float[Tensor, "*heads targets keys"], threshold: float | None = None
) -> Bool[Tensor, "*heads targets _"]:
    """Link each target word with the key that a head looks at most, if that is a word.

    With a threshold, link it with all that get more weight. The last key is the end of
    the sentence, which is no word.
    """
    if threshold is None:
        return F.one_hot(weights.argmax(dim=-1), weights.shape[-1])[..., :-1].bool()
    return weights[..., :-1] > threshold


def alignment_error_rate(
    predicted: Sequence[Bool[Tensor, "*heads _ _"]], gold: Sequence[Bool[Tensor, "_ _"]]
) -> Float[Tensor, "*heads"]:
    """1 - 2 |A and G| / (|A| + |G|) over all sentences; A is predicted, G is gold.

    This is the alignment error rate of Och and Ney where every right link is both sure
    and possible. It is 0 for the right links and no others, and 1 where none is right.
    """
    pairs = list(zip(predicted, gold, strict=True))
    both = sum((a & g).sum(dim=(-2, -1)) for a, g in pairs)
    all_links = sum(a.sum(dim=(-2, -1)) + g.sum() for a, g in pairs)
    return 1 - 2 * torch.as_tensor(both) / torch.as_tensor(all_links)


# book/1-paper/8-attention-visualizations.ipynb, cell far
DISTANCES = range(2, 9)
DISTANT_RELATIONS = {
    "verb → complement": ("complement", False),
    "complement → verb": ("complement", True),
    "verb → particle": ("particle", False),
    "particle → verb": ("particle", True),
}


def distant_dependency(name: str, span: int, to_head: bool = False) -> Phrase:
    """From the verb to any word of its far end, `span` words on; or back from there."""

    def relation(pair: Pair) -> Iterable[tuple[int, tuple[int, ...]]]:
        for each, verb, end in pair.relations:
            # its head is the first word, as in easier, or the second: more expensive
            if each == name and end - verb in (span + 1, span + 2):
                first = verb + span + 1
                yield (first, (verb,)) if to_head else (verb, (*range(first, end + 1),))

    return relation


def from_other_words(relation: Phrase) -> Phrase:
    """All other words before the right one, as a control: none is the verb."""
    return lambda pair: [
        (i, right) for who, right in relation(pair) for i in range(right[0]) if i != who
    ]


def accuracy_by_distance(
    by_distance: dict[int, list[AttentionExample]],
    name: str,
    to_head: bool = False,
    others: bool = False,
) -> dict[int, Float[Tensor, "layers h"]]:
    """What share each head gets right, for every distance that occurs."""
    shares = {}
    for span, examples in by_distance.items():
        relation = distant_dependency(name, span, to_head)
        asked = from_other_words(relation) if others else relation
        if cases := relation_cases(examples, asked):
            shares[span] = head_accuracy(cases)
    return shares
