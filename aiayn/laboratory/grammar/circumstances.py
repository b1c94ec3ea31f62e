"""What can be said (laboratory).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/10-3-scenes.ipynb
"""

__all__ = [
    "NOWHERE",
    "TOGETHER",
    "add_circumstances",
    "companion",
    "cause",
    "may_be_negated",
    "own_thing",
    "pronoun_for",
]


# book/10-3-scenes.ipynb, cell circumstances-imports
from aiayn.laboratory.grammar import adverbials, verbs
from aiayn.laboratory.grammar.adverbials import Draw
from aiayn.laboratory.grammar.lexicon import select
from aiayn.laboratory.grammar.meaning import Clause, Place, Thing
from aiayn.laboratory.grammar.things import OWNED, QUANTIFIED, determined, name, plain_thing, spot

# book/10-3-scenes.ipynb, cell circumstances-of
# what is not done in a kitchen
NOWHERE = set("make cross visit ride build travel call burn bring throw".split())
TOGETHER = {verb for verb in verbs.TRANSITIVE if verb.english[0] in adverbials.MANNERED}
TOGETHER |= {*verbs.INTRANSITIVE, *verbs.MOTION, *verbs.POSITION}


def add_circumstances(draw: Draw, clause: Clause, extras: float) -> None:
    """Perhaps how it was done, with whom, and where."""
    verb, animal = clause.verb, clause.subject.kind in ("animal", "bird")
    if verb.english[0] in adverbials.MANNERED and draw.chance(0.18 * extras):
        clause.manner = draw.pick(adverbials.MANNER)
    elif not animal and verb in TOGETHER and verb.aspect != "state" and draw.chance(0.15 * extras):
        clause.manner = companion(draw, bool(clause.object))
    anywhere = verb.aspect == "action" and verb.english[0] not in NOWHERE
    if anywhere and not clause.place and draw.chance(0.2 * extras):
        clause.place = spot(draw, animal)


# book/10-3-scenes.ipynb, cell circumstances
def companion(draw: Draw, occupied: bool) -> Place:
    """With whom, or without what."""
    if occupied or draw.chance(0.5):
        friends = select("friend child dog brother sister cat uncle aunt")
        return Place(
            adverbials.WITH, name(draw) if draw.chance(0.3) else determined(plain_thing(draw, friends, 0.15))
        )
    return Place(adverbials.WITHOUT, plain_thing(draw, select("clothing umbrella bag map"), 0.0, 0.0))


def cause(draw: Draw) -> Place:
    """Because of what, or during what: the genitive."""
    if draw.chance(0.6):
        nouns, why = select("rain snow storm wind fog heat noise mistake"), adverbials.BECAUSE_OF
    else:
        nouns, why = select("exam game journey storm search"), adverbials.DURING
    return Place(why, determined(plain_thing(draw, nouns, 0.2, 0.0)))


def may_be_negated(clause: Clause) -> bool:
    """Whether not can stand there with one meaning only."""
    wanting = clause.modal == "want" or (clause.modal == "must" and clause.tense == "past")
    manner = clause.manner and not isinstance(clause.manner, Place)  # nicht leise, or not at all?
    if wanting or manner or clause.often or clause.time in (*adverbials.HABIT, adverbials.SOON):
        return False
    phrases = [phrase.thing for phrase in (clause.place, clause.manner) if isinstance(phrase, Place)]
    things = [thing for thing in (clause.subject, clause.object, clause.recipient, *phrases) if thing]
    return not any(thing.determiner in QUANTIFIED or thing.count or thing.relative for thing in things)


def own_thing(draw: Draw, clause: Clause) -> None:
    """Now and then the object is the subject's own: its ball, seinen Ball."""
    who, what = clause.subject, clause.object
    if not (what and what.noun and what.kind in OWNED and what.determiner == "the" and not what.owner):
        return
    known = (who.noun or who.name) and who.determiner not in QUANTIFIED and not clause.recipient
    if known and (who.kind == "person" or what.kind != "animal") and draw.chance(0.3):
        what.owner, what.determiner = pronoun_for(who), ""


def pronoun_for(antecedent: Thing) -> Thing:
    """A personal pronoun that refers to it."""
    return Thing(pronoun="personal", plural=antecedent.many, antecedent=antecedent)
