# Made by `make export` from book/4-synthetic-corpus/1-lexicon.ipynb
"""Verbs in both languages, with all their forms."""

# book/4-synthetic-corpus/1-lexicon.ipynb, cell verbs-imports
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from aiayn.base_config import BaseConfig
from aiayn.errors import InputError
from aiayn.synthetic.grammar.lexicon import Noun, grouped, read_table, select

# book/4-synthetic-corpus/1-lexicon.ipynb, cell verb
Forms = Annotated[tuple[str, ...], Field(min_length=5, max_length=5)]


@dataclass(frozen=True)
class Verb(BaseConfig):
    """A verb in both languages, and what can do it to what.

    `english` holds base, third person, past, participle and -ing form; `particle` is
    what stands apart (call … up), `preposition` what goes with the object (look for).
    `german` holds infinitive, first and third person, past, and participle, all without
    `prefix`, which German splits off in main clauses (anrufen: ruft … an). `case` is
    that of the object; `state` verbs have no progressive.
    """

    english: Forms
    german: Forms
    particle: str
    preposition: str
    prefix: str
    auxiliary: Literal["haben", "sein"]
    case: Literal["acc", "dat"]
    aspect: Literal["action", "state", "event"]
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]

    def german_finite(self, person: int, plural: bool, past: bool) -> str:
        """The form that agrees with the subject."""
        infinitive, first, third, imperfect, _ = self.german
        if not past:
            many = "sind" if infinitive == "sein" else infinitive
            return many if plural else first if person == 1 else third
        ending = "n" if imperfect.endswith("e") else "en"
        return imperfect + ending if plural else imperfect

    def english_finite(self, person: int, plural: bool, past: bool) -> str:
        """The form that agrees with the subject."""
        base, third, imperfect, _, _ = self.english
        if base == "be" and (plural or person == 1):
            present = "are" if plural else "am"
            return present if not past else "were" if plural else imperfect
        return imperfect if past else base if plural or person == 1 else third


# book/4-synthetic-corpus/1-lexicon.ipynb, cell read-verbs
def read_verb(
    group: str, english: str, german: str, subjects: str, objects: str, **columns: Any
) -> tuple[str, Verb]:
    """A row of the table, with its group."""
    verb = Verb(
        english=tuple(english.split()),
        german=tuple(german.split()),
        subjects=select(subjects),
        objects=select(objects),
        **columns,
    )
    return group, verb


VERBS = grouped(read_table("verbs.tsv", read_verb))


def find_verb(infinitive: str) -> Verb:
    """The first verb of the table with a German infinitive, such as anrufen."""
    for verb in (verb for group in VERBS.values() for verb in group):
        if verb.prefix + verb.german[0] == infinitive:
            return verb
    raise InputError(f"{infinitive!r} is not the infinitive of a verb")


# book/4-synthetic-corpus/1-lexicon.ipynb, cell verb-groups
INTRANSITIVE, TRANSITIVE = VERBS["intransitive"], VERBS["transitive"]
PARTICLE, DITRANSITIVE = VERBS["particle"], VERBS["ditransitive"]
MOTION, POSITION, PLACING = VERBS["motion"], VERBS["position"], VERBS["placing"]
SAYING = VERBS["saying"]
MAKE, FIT = find_verb("machen"), find_verb("passen")
BE, HAVE = find_verb("sein"), find_verb("haben")
DO, WILL = find_verb("tun"), find_verb("werden")
MODALS = {
    "can": find_verb("können"),
    "must": find_verb("müssen"),
    "want": find_verb("wollen"),
    "should": find_verb("sollten"),
    "not-must": find_verb("dürfen"),
}
AUXILIARIES = {"haben": HAVE, "sein": BE}
