# Made by `make export` from book/4-synthetic-corpus/1-lexicon.ipynb
"""Nouns, names and adjectives in both languages."""

# book/4-synthetic-corpus/1-lexicon.ipynb, cell lexicon-imports
import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeVar

from aiayn.base_config import BaseConfig
from aiayn.errors import InputError

Item = TypeVar("Item")


# book/4-synthetic-corpus/1-lexicon.ipynb, cell noun
@dataclass(frozen=True)
class Noun(BaseConfig):
    """A noun: two English forms, and the German forms from which all eight follow.

    Both plurals are empty for a noun such as milk.
    """

    kind: str
    singular: str
    plural: str
    gender: Literal["m", "f", "n"]
    nominative: str
    genitive: str
    german_plural: str

    @property
    def weak(self) -> bool:
        """Whether the singular ends as in the genitive in all other cases but one."""
        return self.gender == "m" and not self.genitive.endswith("s")

    def english(self, plural: bool) -> str:
        """The English form."""
        return self.plural if plural and self.plural else self.singular

    def german(self, case: str, plural: bool) -> str:
        """The German form in the `case` nom, acc, dat or gen."""
        if plural and self.plural:
            form = self.german_plural
            return form + "n" if case == "dat" and form[-1] not in "ns" else form
        oblique = case == "gen" or (self.weak and case != "nom")
        return self.genitive if oblique else self.nominative

    @cached_property
    def pronoun(self) -> str:
        """The English pronoun for one of them."""
        neuter = "she" if self.singular == "girl" else "it"
        people = {"m": "he", "f": "she", "n": neuter}
        return people[self.gender] if self.kind == "person" else "it"


# book/4-synthetic-corpus/1-lexicon.ipynb, cell read-table
def read_table(name: str, make: Callable[..., Item]) -> list[Item]:
    """What `make` makes of each row of a table; its arguments are the columns.

    Raises
    ------
    InputError
        If there is a mistake in a row; the message names file and line.
    """
    text = files("aiayn.synthetic.grammar").joinpath(name).read_text(encoding="utf-8")
    table = csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    lines = [(k, row) for k, row in enumerate(table, 1) if row and row[0][:1] != "#"]
    (_, columns), *rows = lines
    items = []
    for number, row in rows:
        try:
            if len(row) != len(columns):
                raise InputError(f"{len(row)} columns, expected {len(columns)}")
            cells = ("" if cell == "-" else cell for cell in row)
            items.append(make(**dict(zip(columns, cells, strict=True))))
        except ValueError as error:
            raise InputError(f"{name}, line {number}: {error}") from error
    return items


def grouped(pairs: Iterable[tuple[str, Item]]) -> dict[str, tuple[Item, ...]]:
    """The items of each group, in their order."""
    groups: dict[str, tuple[Item, ...]] = {}
    for group, item in pairs:
        groups[group] = (*groups.get(group, ()), item)
    return groups


# book/4-synthetic-corpus/1-lexicon.ipynb, cell nouns
NOUNS = {noun.singular: noun for noun in read_table("nouns.tsv", Noun)}
KINDS = {noun.kind: None for noun in NOUNS.values()}.keys()  # in the table's order
GROUPS = {
    "beings": "person animal bird",
    "things": "tool vessel clothing device furniture vehicle opening",
}


def expand_names(names: str) -> frozenset[str]:
    """The kinds and single nouns in a list, in which beings and things are several."""
    words = {word for name in names.split() for word in GROUPS.get(name, name).split()}
    if unknown := words - NOUNS.keys() - KINDS:
        raise InputError(f"neither nouns nor kinds of nouns: {sorted(unknown)}")
    return frozenset(words)


@cache
def select(names: str) -> tuple[Noun, ...]:
    """The nouns that a list names by their kinds or singly, in the table's order."""
    wanted = expand_names(names)
    return tuple(noun for noun in NOUNS.values() if wanted & {noun.kind, noun.singular})


# book/4-synthetic-corpus/1-lexicon.ipynb, cell names
NAMES = {
    "m": """
        Ben David Leon Martin Oskar Paul Peter Robert Simon Tim Anton Daniel Jan Karl
        Otto""".split(),
    "f": """
        Anna Clara Emma Hannah Julia Maria Nina Sophie Laura Lena Eva Lisa Sarah Ida
        Frieda""".split(),
}
CITIES = "Berlin London Hamburg Madrid Oslo Boston Toronto Potsdam".split()


# book/4-synthetic-corpus/1-lexicon.ipynb, cell adjective
@dataclass(frozen=True)
class Adjective(BaseConfig):
    """An adjective, the stem that takes German endings, and what it can describe."""

    english: str
    german: str
    stem: str
    group: Literal["", "size", "age", "colour"]
    kinds: frozenset[str]


def read_adjective(kinds: str, **columns: Any) -> Adjective:
    """A row of the table."""
    return Adjective(**columns, kinds=expand_names(kinds))


ADJECTIVES = {
    word.english: word for word in read_table("adjectives.tsv", read_adjective)
}


# book/4-synthetic-corpus/1-lexicon.ipynb, cell comparatives
class Comparative(NamedTuple):
    """What some nouns can be made, in English (a word or two) and in German."""

    english: str
    german: str
    nouns: tuple[Noun, ...]


def read_comparative(english: str, german: str, nouns: str) -> Comparative:
    """A row of the table."""
    return Comparative(english, german, select(nouns))


COMPARATIVES = {
    word.english: word for word in read_table("comparatives.tsv", read_comparative)
}
