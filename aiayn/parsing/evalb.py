"""Labelled F1 as EVALB counts it.

From "Trees in and out" (paper, section 6.3):
https://github.com/OWNER/aiayn/blob/main/book/11-9-trees-in-and-out.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-9-trees-in-and-out.ipynb, cell evalb-imports
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from aiayn.data.trees import Leaf, Tree
from aiayn.errors import InputError

# book/11-9-trees-in-and-out.ipynb, cell evalb-rules
# Words of these parts of speech are taken out.
DELETED = {",", ":", "``", "''", ".", "-NONE-"}
UNCOUNTED = {"", "TOP", "ROOT", "S1"}
SAME = {"PRT": "ADVP"}

Bracket = tuple[str, int, int]  # label, first word, the word behind the last


def brackets(tree: Tree) -> tuple[list[Bracket], list[str]]:
    """The constituents that count, and the words that remain, by COLLINS.prm."""
    found: list[Bracket] = []
    words: list[str] = []

    def walk(node: Tree | Leaf) -> None:
        if isinstance(node, Leaf):
            if node.tag not in DELETED:
                words.append(node.word)
            return
        first = len(words)
        for child in node.children:
            walk(child)
        label = node.label.partition("-")[0].partition("=")[0]
        if label not in UNCOUNTED and len(words) > first:
            found.append((SAME.get(label, label), first, len(words)))

    walk(tree)
    return found, words


# book/11-9-trees-in-and-out.ipynb, cell crossings
def crossings(gold: list[Bracket], parsed: list[Bracket]) -> int:
    """How many brackets of a parse overlap gold ones, neither inside the other."""
    spans = {(first, last) for _, first, last in gold}
    return sum(
        any(a < first < b < last or first < a < last < b for a, b in spans)
        for _, first, last in parsed
    )


# book/11-9-trees-in-and-out.ipynb, cell bracket-scores
@dataclass(frozen=True)
class BracketScores:
    """What EVALB counts; the shares are per cent.

    Attributes
    ----------
    sentences, skipped, complete : int
        Those that were compared, those that could not be, those of which all brackets
        match.
    gold, parsed, matched, crossing : int
        Brackets of the gold trees, of the parses, in both; those of parses that cross
        one of the gold tree.
    """

    sentences: int
    skipped: int
    gold: int
    parsed: int
    matched: int
    complete: int
    crossing: int

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


# book/11-9-trees-in-and-out.ipynb, cell evalb
def evalb(gold: Sequence[Tree], parses: Sequence[Tree | None]) -> BracketScores:
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
        wanted, words = brackets(tree)
        found, heard = ([], words) if parse is None else brackets(parse)
        if words != heard:
            total["skipped"] += 1
            continue
        matched = (Counter(wanted) & Counter(found)).total()
        total["sentences"] += 1
        total["gold"] += len(wanted)
        total["parsed"] += len(found)
        total["matched"] += matched
        total["complete"] += len(wanted) == len(found) == matched
        total["crossing"] += crossings(wanted, found)
    names = "sentences skipped gold parsed matched complete crossing".split()
    return BracketScores(*(total[name] for name in names))


# book/11-9-trees-in-and-out.ipynb, cell strict
def strict(gold: Sequence[Tree], parses: Sequence[Tree | None]) -> BracketScores:
    """As `evalb`, but a parse that it would skip has no brackets: none is left out."""
    if len(gold) != len(parses):
        raise InputError(
            f"{len(gold)} gold trees, but {len(parses)} parses: they must be pairs"
        )
    pairs = zip(gold, parses, strict=True)
    kept = [
        None if parse and evalb([tree], [parse]).skipped else parse
        for tree, parse in pairs
    ]
    return evalb(gold, kept)
