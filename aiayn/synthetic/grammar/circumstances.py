# Made by `make export` from book/4-synthetic-corpus/3-sentences.ipynb
"""Manner, company, reason and negation of an event."""

# book/4-synthetic-corpus/3-sentences.ipynb, cell circumstances-imports
from aiayn.synthetic.grammar import adverbials, verbs
from aiayn.synthetic.grammar.adverbials import Draw
from aiayn.synthetic.grammar.lexicon import select
from aiayn.synthetic.grammar.meaning import Clause, Place, Thing
from aiayn.synthetic.grammar.things import (
    OWNED,
    QUANTIFIED,
    determined,
    name,
    plain_thing,
    spot,
)

# book/4-synthetic-corpus/3-sentences.ipynb, cell circumstances-of
# what is not done in a kitchen
NOWHERE = set("make cross visit ride build travel call burn bring throw".split())
TOGETHER = {verb for verb in verbs.TRANSITIVE if verb.english[0] in adverbials.MANNERED}
TOGETHER |= {*verbs.INTRANSITIVE, *verbs.MOTION, *verbs.POSITION}


def add_circumstances(draw: Draw, clause: Clause, extras: float) -> None:
    """Perhaps how it was done, with whom, and where."""
    verb, animal = clause.verb, clause.subject.kind in ("animal", "bird")
    together = verb in TOGETHER and verb.aspect != "state" and not animal
    if verb.english[0] in adverbials.MANNERED and draw.chance(0.18 * extras):
        clause.manner = draw.pick(adverbials.MANNER)
    elif together and draw.chance(0.15 * extras):
        clause.manner = companion(draw, bool(clause.object))
    anywhere = verb.aspect == "action" and verb.english[0] not in NOWHERE
    if anywhere and not clause.place and draw.chance(0.2 * extras):
        clause.place = spot(draw, animal)


def companion(draw: Draw, occupied: bool) -> Place:
    """With whom, or without what."""
    if not occupied and not draw.chance(0.5):
        what = select("clothing umbrella bag map")
        return Place(adverbials.WITHOUT, plain_thing(draw, what, 0.0, 0.0))
    if draw.chance(0.3):
        return Place(adverbials.WITH, name(draw))
    friends = select("friend child dog brother sister cat uncle aunt")
    return Place(adverbials.WITH, determined(plain_thing(draw, friends, 0.15)))


def cause(draw: Draw) -> Place:
    """Because of what, or during what: the genitive."""
    if draw.chance(0.6):
        why = adverbials.BECAUSE_OF
        nouns = select("rain snow storm wind fog heat noise mistake")
    else:
        why, nouns = adverbials.DURING, select("exam game journey storm search")
    return Place(why, determined(plain_thing(draw, nouns, 0.2, 0.0)))


# book/4-synthetic-corpus/3-sentences.ipynb, cell circumstances
def may_be_negated(clause: Clause) -> bool:
    """Whether not can stand there with one meaning only."""
    had_to = clause.modal == "must" and clause.tense == "past"
    if clause.modal == "want" or had_to or clause.often:
        return False
    # Nicht leise, or not at all?
    mannered = clause.manner and not isinstance(clause.manner, Place)
    if mannered or clause.time in (*adverbials.HABIT, adverbials.SOON):
        return False
    return not any(
        thing.determiner in QUANTIFIED or thing.count or thing.relative
        for thing in clause.things()
    )


# book/4-synthetic-corpus/3-sentences.ipynb, cell own
def add_possessive(draw: Draw, clause: Clause) -> None:
    """Now and then the object is the subject's own: its ball, seinen Ball."""
    who, what = clause.subject, clause.object
    if not what or what.owner or what.determiner != "the" or what.kind not in OWNED:
        return
    known = (who.noun or who.name) and who.determiner not in QUANTIFIED
    suited = who.kind == "person" or what.kind != "animal"
    if known and suited and not clause.recipient and draw.chance(0.3):
        what.owner, what.determiner = pronoun_for(who), ""


def pronoun_for(antecedent: Thing) -> Thing:
    """A personal pronoun that refers to it."""
    return Thing(pronoun="personal", plural=antecedent.many, antecedent=antecedent)
