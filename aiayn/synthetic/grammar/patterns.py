# Made by `make export` from book/4-synthetic-corpus/3-sentences.ipynb
"""Sentences in which the antecedent of a pronoun depends on an adjective."""

# book/4-synthetic-corpus/3-sentences.ipynb, cell patterns-imports
from dataclasses import dataclass

from aiayn.errors import InputError
from aiayn.synthetic.grammar import english
from aiayn.synthetic.grammar.adverbials import INTO, TIMES, Draw
from aiayn.synthetic.grammar.circumstances import pronoun_for
from aiayn.synthetic.grammar.lexicon import (
    ADJECTIVES,
    Adjective,
    Noun,
    read_table,
    select,
)
from aiayn.synthetic.grammar.meaning import Clause, Notes, Place, Thing, Word
from aiayn.synthetic.grammar.scenes import making, unrepeated
from aiayn.synthetic.grammar.things import (
    attributes,
    choose_tense,
    name,
    ownable,
    plain_thing,
    thing,
)
from aiayn.synthetic.grammar.verbs import BE, FIT, PARTICLE, PLACING, Verb, find_verb


# book/4-synthetic-corpus/3-sentences.ipynb, cell patterns
@dataclass(frozen=True)
class Pattern:
    """Two things, and the adjectives that decide which of them the pronoun means."""

    verb: Verb
    first: tuple[Noun, ...]
    second: tuple[Noun, ...]
    of_first: tuple[Adjective, ...]
    of_second: tuple[Adjective, ...]
    degree: str
    into: bool


def read_pattern(
    verb: str,
    first: str,
    second: str,
    of_first: str,
    of_second: str,
    degree: str = "too",
    preposition: str = "",
) -> Pattern:
    """A row of the table: a German infinitive, nouns, and adjectives of each."""
    return Pattern(
        find_verb(verb),
        select(first),
        select(second),
        find_adjectives(of_first),
        find_adjectives(of_second),
        degree,
        into=preposition == "into",
    )


def find_adjectives(names: str) -> tuple[Adjective, ...]:
    """The adjectives that a list names."""
    if unknown := set(names.split()) - ADJECTIVES.keys():
        raise InputError(f"not among the adjectives: {sorted(unknown)}")
    return tuple(ADJECTIVES[name] for name in names.split())


PATTERNS = tuple(read_table("patterns.tsv", read_pattern))


# book/4-synthetic-corpus/3-sentences.ipynb, cell pronoun-pair
BOTH_NUMBERS = {
    (False, False): 0.6,
    (True, False): 0.15,
    (False, True): 0.15,
    (True, True): 0.1,
}


def pronoun_sentence(draw: Draw, means_second: bool) -> Clause:
    """The animal did not cross the street because it was too tired, or too wide.

    Two calls that draw the same differ in the adjective, and in what follows from it.
    """
    what = draw.pick(PATTERNS)
    first, second = draw.pick(what.first), draw.pick(what.second)
    plurals = draw.weighted(BOTH_NUMBERS) if second.plural else (False, False)
    while first is second or (not any(plurals) and first.gender == second.gender):
        first, second = draw.pick(what.first), draw.pick(what.second)
    nouns = zip((first, second), plurals, strict=True)
    things = [mentioned(draw, noun, plural) for noun, plural in nouns]
    adjectives = draw.pick(what.of_first), draw.pick(what.of_second)
    agent = what.verb in PLACING
    clause = Clause(name(draw) if agent else things[0], what.verb)
    if what.into:
        clause.place = Place(INTO, things[1])
        clause.object = things[0] if agent else None
    else:
        clause.object = things[1]
    clause.negated = what.degree == "too"
    able = draw.chance(0.25) and clause.negated and what.verb is not FIT
    clause.modal = "can" if able else ""
    if draw.chance(0.2):
        clause.time = draw.pick(TIMES["past"])
    meant, adjective = things[means_second], adjectives[means_second]
    reason = Clause(pronoun_for(meant), BE, predicate=adjective, degree=what.degree)
    clause.joined, clause.before = ("because", reason), draw.chance(0.35)
    return clause


# book/4-synthetic-corpus/3-sentences.ipynb, cell mentioned
# what says nothing about the reason
NEUTRAL = set("red blue green yellow black white brown gray".split())
NEUTRAL |= set("beautiful expensive cheap new curious".split())


def mentioned(draw: Draw, noun: Noun, plural: bool) -> Thing:
    """A thing that a pronoun can refer to."""
    determiner = draw.weighted({"the": 0.75, "my": 0.1, "this": 0.1, "our": 0.05})
    if determiner in ("my", "our") and not ownable(noun):
        determiner = "the"
    drawn = attributes(draw, noun, 0.15)
    neutral = tuple(each for each in drawn if each.english in NEUTRAL)
    return Thing(noun, plural, determiner, adjectives=neutral)


# book/4-synthetic-corpus/3-sentences.ipynb, cell dependency
def particle(draw: Draw, rich: float) -> Clause:
    """Somebody calls somebody up."""
    verb = draw.pick(PARTICLE)
    who = plain_thing(draw, verb.subjects, 0.1)
    return unrepeated(Clause(who, verb, thing(draw, verb.objects, rich)))


def dependency(draw: Draw, span: int) -> Clause:
    """A verb, and `span` words later what completes it: call … up, make … longer."""
    while True:
        scene = making if draw.chance(0.5) else particle
        clause = scene(draw, min(span, 8))
        assert clause.object
        if len(leaves(english.noun_phrase(clause.object, Notes(), 1))) == span:
            break
    choose_tense(draw, clause)
    return clause


def leaves(tree: english.Tree) -> list[Word]:
    """The words of a tree, in order."""
    if isinstance(tree, Word):
        return [tree]
    return [word for part in tree[1:] for word in leaves(part)]
