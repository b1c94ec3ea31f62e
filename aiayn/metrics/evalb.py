# Made by `make export` from book/3-workshop/11-trees-and-parsing.ipynb
"""Labelled F1 as EVALB counts it."""

# book/3-workshop/11-trees-and-parsing.ipynb, cell evalb-imports
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from aiayn.data.trees import Leaf, Tree
from aiayn.errors import InputError

# book/3-workshop/11-trees-and-parsing.ipynb, cell evalb-rules
# Words of these parts of speech are taken out.
DELETED_TAGS = {",", ":", "``", "''", ".", "-NONE-"}
UNCOUNTED_LABELS = {"", "TOP", "ROOT", "S1"}
EQUIVALENT_LABELS = {"PRT": "ADVP"}

Bracket = tuple[str, int, int]  # label, first word, the word behind the last


def brackets(tree: Tree) -> tuple[list[Bracket], list[str]]:
    """The constituents that count, and the words that remain, by COLLINS.prm."""
    constituents: list[Bracket] = []
    words: list[str] = []

    def walk(node: Tree | Leaf) -> None:
        if isinstance(node, Leaf):
            if node.tag not in DELETED_TAGS:
                words.append(node.word)
            return
        first = len(words)
        for child in node.children:
            walk(child)
        label = node.label.partition("-")[0].partition("=")[0]
        if label not in UNCOUNTED_LABELS and len(words) > first:
            constituents.append(
                (EQUIVALENT_LABELS.get(label, label), first, len(words))
            )

    walk(tree)
    return constituents, words


# book/3-workshop/11-trees-and-parsing.ipynb, cell crossings
def crossings(gold: list[Bracket], parsed: list[Bracket]) -> int:
    """How many brackets of a parse overlap gold ones, neither inside the other."""
    spans = {(first, last) for _, first, last in gold}
    return sum(
        any(a < first < b < last or first < a < last < b for a, b in spans)
        for _, first, last in parsed
    )


# book/3-workshop/11-trees-and-parsing.ipynb, cell bracket-scores
@dataclass(frozen=True)
class BracketScores:
    """What EVALB counts; the shares are per cent."""

    sentences: int  # that were compared
    skipped: int  # that could not be compared
    gold: int  # brackets of the gold trees
    parsed: int  # brackets of the parses
    matched: int  # brackets in both
    complete: int  # sentences of which all brackets match
    crossing: int  # brackets of parses that cross one of the gold tree

    @property
    def precision(self) -> float:
        """Share of the parses' brackets that are right."""
        return 100 * self.matched / max(1, self.parsed)

    @property
    def recall(self) -> float:
        """Share of the gold trees' brackets that were found."""
        return 100 * self.matched / max(1, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall: the F1 of Table 4."""
        return 200 * self.matched / max(1, self.gold + self.parsed)

    @property
    def complete_match(self) -> float:
        """Share of the sentences of which all brackets match."""
        return 100 * self.complete / max(1, self.sentences)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets a sentence."""
        return self.crossing / max(1, self.sentences)


# book/3-workshop/11-trees-and-parsing.ipynb, cell evalb
def bracket_scores(
    gold: Sequence[Tree], parses: Sequence[Tree | None]
) -> BracketScores:
    """Score parses against gold trees as EVALB does with COLLINS.prm (section 6.3).

    Where punctuation is left out, two trees may differ in their words: a parse may call
    a comma a noun. Such sentences are skipped, as EVALB skips them. None is a parse
    that is no tree; it has no brackets.

    Raises
    ------
    InputError
        If there are not as many parses as gold trees.
    """
    if len(gold) != len(parses):
        raise InputError(
            f"{len(gold)} gold trees, but {len(parses)} parses: they must be pairs"
        )
    total: Counter[str] = Counter()
    for tree, parse in zip(gold, parses, strict=True):
        gold_brackets, words = brackets(tree)
        parsed_brackets, parsed_words = (
            ([], words) if parse is None else brackets(parse)
        )
        if words != parsed_words:
            total["skipped"] += 1
            continue
        matched = (Counter(gold_brackets) & Counter(parsed_brackets)).total()
        total["sentences"] += 1
        total["gold"] += len(gold_brackets)
        total["parsed"] += len(parsed_brackets)
        total["matched"] += matched
        total["complete"] += len(gold_brackets) == len(parsed_brackets) == matched
        total["crossing"] += crossings(gold_brackets, parsed_brackets)
    names = "sentences skipped gold parsed matched complete crossing".split()
    return BracketScores(*(total[name] for name in names))


# book/3-workshop/11-trees-and-parsing.ipynb, cell strict
def strict_bracket_scores(
    gold: Sequence[Tree], parses: Sequence[Tree | None]
) -> BracketScores:
    """As `bracket_scores`, but a parse that it would skip counts, without brackets."""
    compared: list[Tree | None] = [
        None if parse and bracket_scores([tree], [parse]).skipped else parse
        for tree, parse in zip(gold, parses, strict=False)
    ]
    return bracket_scores(gold, compared)
