# Made by `make export` from book/4-synthetic-corpus/3-sentences.ipynb
"""Events: what happens, and who takes part."""

# book/4-synthetic-corpus/3-sentences.ipynb, cell scenes-imports
from collections.abc import Callable, Sequence

from aiayn.synthetic.grammar import adverbials, verbs
from aiayn.synthetic.grammar.adverbials import Draw
from aiayn.synthetic.grammar.circumstances import (
    add_circumstances,
    add_possessive,
    cause,
    may_be_negated,
)
from aiayn.synthetic.grammar.lexicon import CITIES, COMPARATIVES, Noun, select
from aiayn.synthetic.grammar.meaning import Clause, Place, Thing
from aiayn.synthetic.grammar.things import (
    WILLING,
    choose_tense,
    determined,
    name,
    place,
    plain_thing,
    predicates_of,
    spot,
    thing,
)

PERSONS = select("person")
DESTINATIONS = select(
    "school church museum hotel library castle station beach market island lake square"
)


# book/4-synthetic-corpus/3-sentences.ipynb, cell subject
# gender, plural, person: I, we, he, she, they
FREE_PRONOUNS = (
    ("", False, 1),
    ("", True, 1),
    ("m", False, 3),
    ("f", False, 3),
    ("", True, 3),
)


def subject(draw: Draw, nouns: Sequence[Noun], rich: float = 1.0) -> Thing:
    """Who does it: a thing, now and then two, or a free pronoun, or nobody."""
    if nouns[0].kind == "person" and len(nouns) > 9:
        if draw.chance(0.1):
            gender, many, person = draw.pick(FREE_PRONOUNS)
            return Thing(pronoun="personal", plural=many, gender=gender, person=person)
        if draw.chance(0.05):
            first = name(draw)
            by_name = draw.chance(0.5)
            second = name(draw) if by_name else plain_thing(draw, PERSONS, 0.1, 0.0)
            if second.name != first.name:
                return Thing(members=(first, determined(second)))
    who = thing(draw, nouns, rich)
    if who.determiner == "a" and not who.relative and draw.chance(0.07):
        who.determiner = "no"
    return who


# book/4-synthetic-corpus/3-sentences.ipynb, cell transitive
def transitive(draw: Draw, rich: float) -> Clause:
    """Somebody does something to something."""
    verb = draw.pick(verbs.PARTICLE if draw.chance(0.22) else verbs.TRANSITIVE)
    who = subject(draw, verb.subjects, rich)
    return unrepeated(Clause(who, verb, thing(draw, verb.objects, rich)))


def unrepeated(clause: Clause) -> Clause:
    """Without relative clauses of the same verb, or that end alike: … woke up up."""
    for part in (clause.subject, clause.object):
        if part and part.relative:
            other = part.relative.verb
            same = other.english[0] == clause.verb.english[0]
            if same or (other.particle and clause.verb.particle):
                part.relative = None
    return clause


def intransitive(draw: Draw, rich: float) -> Clause:
    """Somebody does something."""
    verb = draw.pick(verbs.INTRANSITIVE)
    return unrepeated(Clause(subject(draw, verb.subjects, rich), verb))


def ditransitive(draw: Draw, rich: float) -> Clause:
    """Somebody gives somebody something."""
    verb = draw.pick(verbs.DITRANSITIVE)
    recipient = thing(draw, PERSONS, rich * 0.5)
    recipient.relative = None  # showing the child who slept ten coins
    who = subject(draw, verb.subjects, rich)
    return Clause(who, verb, plain_thing(draw, verb.objects), recipient)


# book/4-synthetic-corpus/3-sentences.ipynb, cell motion
def motion(draw: Draw, rich: float) -> Clause:
    """Somebody goes somewhere: to takes the dative, into and through the accusative."""
    verb = draw.pick(verbs.MOTION)
    clause = Clause(subject(draw, verb.subjects, rich), verb)
    clause.place = destination(draw, verb.english[0], clause.subject.kind != "person")
    return clause


def destination(draw: Draw, verb: str, wild: bool) -> Place:
    """Where one goes, or an animal."""
    if verb == "climb":
        down = draw.chance(0.2)
        direction = adverbials.OUT_OF if down else adverbials.ONTO
        where = select("car bus boat" if down else "table bed sofa shelf")
        return Place(direction, plain_thing(draw, where, 0.2, 0.0))
    if verb in ("travel", "drive", "fly") and draw.chance(0.5):
        return Place(adverbials.TO_CITY, Thing(name=draw.pick(CITIES), gender="n"))
    if verb in ("travel", "drive"):
        direction, where = adverbials.TO, DESTINATIONS
    elif wild:
        where = select("house garden forest park barn village")
        direction = draw.pick((adverbials.INTO, adverbials.OUT_OF))
    else:
        ways = {
            adverbials.INTO: adverbials.ROOMS,
            adverbials.OUT_OF: adverbials.ROOMS,
            adverbials.THROUGH: select("forest park city village garden"),
            adverbials.TO: DESTINATIONS,
        }
        direction = draw.pick(tuple(ways)[: 3 if verb == "jump" else 4])
        where = ways[direction]
    return Place(direction, determined(plain_thing(draw, where, 0.2, 0.02)))


# book/4-synthetic-corpus/3-sentences.ipynb, cell position
BESIDE = (adverbials.BEHIND, adverbials.NEXT_TO, adverbials.IN_FRONT_OF)
BIG = select("house tree church castle bench car truck tower")


def position(draw: Draw, rich: float) -> Clause:
    """Somebody or something sits, stands or lies somewhere: the dative."""
    verb = draw.pick(verbs.POSITION)
    clause = Clause(subject(draw, verb.subjects, rich), verb)
    kind, sits = clause.subject.kind, verb.english[0] == "sit"
    if kind in ("tool", "text", "vessel", "clothing") or (sits and draw.chance(0.5)):
        nouns = adverbials.SEATS if sits else adverbials.SURFACES
        where = plain_thing(draw, nouns, 0.25, 0.05)
        preposition = draw.pick((adverbials.ON, adverbials.UNDER, *BESIDE))
        clause.place = Place(preposition, where)
    elif draw.chance(0.4):
        clause.place = Place(draw.pick(BESIDE), plain_thing(draw, BIG, 0.2, 0.0))
    else:
        clause.place = spot(draw, kind in ("animal", "bird"))
    return clause


# book/4-synthetic-corpus/3-sentences.ipynb, cell placing
def placement(draw: Draw, rich: float) -> Clause:
    """Somebody puts something somewhere: the same prepositions with the accusative."""
    verb = draw.pick(verbs.PLACING)
    who = subject(draw, verb.subjects, rich)
    clause = Clause(who, verb, plain_thing(draw, verb.objects))
    if draw.chance(0.4):
        preposition, where = adverbials.INTO, select("bag box suitcase basket drawer")
    else:
        preposition = adverbials.PUT_ON if draw.chance(0.7) else adverbials.PUT_UNDER
        where = adverbials.SURFACES
    clause.place = Place(preposition, plain_thing(draw, where, 0.25, 0.05))
    return clause


# book/4-synthetic-corpus/3-sentences.ipynb, cell being
WHAT_IS = (
    PERSONS,
    select("beings"),
    select(
        "tool vessel clothing device vehicle text room open drink fruit dish matter"
    ),
)


def copular_clause(draw: Draw, rich: float) -> Clause:
    """Somebody or something is somehow, or somewhere."""
    clause = Clause(subject(draw, draw.pick(WHAT_IS), rich), verbs.BE)
    kind = clause.subject.kind
    fitting = predicates_of(clause.subject)
    movable = kind not in ("room", "open", "matter", "drink")
    if not fitting or (movable and draw.chance(0.3)):
        clause.place = place(draw, kind)
    else:
        clause.predicate = draw.pick(fitting)
        clause.degree = "very" if draw.chance(0.25) else ""
    return clause


def making(draw: Draw, rich: float) -> Clause:
    """Something makes something more difficult."""
    if draw.chance(0.7):
        who = determined(plain_thing(draw, verbs.MAKE.subjects, 0.15))
    else:
        who = thing(draw, PERSONS, rich)
    comparative = draw.pick(tuple(COMPARATIVES.values()))
    what = determined(thing(draw, comparative.nouns, rich))
    return Clause(who, verbs.MAKE, what, comparative=comparative.english)


# book/4-synthetic-corpus/3-sentences.ipynb, cell action
ACTIONS: dict[Callable[[Draw, float], Clause], float] = {
    transitive: 0.4,
    intransitive: 0.13,
    ditransitive: 0.1,
    motion: 0.1,
    position: 0.07,
    placement: 0.06,
    copular_clause: 0.09,
    making: 0.05,
}
# what one can be on a Tuesday
PASSING = set(
    """tired hungry thirsty sick happy sad lonely nervous angry clean dirty wet dry cold
    hot empty full""".split()
)


def action(draw: Draw, rich: float = 1.0, extras: float = 1.0) -> Clause:
    """A clause with tense, and perhaps with not, how, where and when."""
    clause = draw.weighted(ACTIONS)(draw, rich)
    if clause.verb is verbs.BE:
        what = clause.predicate
        passing = bool(clause.place or (what and what.english in PASSING))
        tenses = adverbials.WEIGHTS["state" if passing else "quality"]
        choose_tense(draw, clause, tenses, 0.35 * extras * passing)
    else:
        choose_tense(draw, clause, None, 0.35 * extras)
    if clause.subject.kind in WILLING:
        add_circumstances(draw, clause, extras)
    happens = clause.verb.aspect != "state" and clause.verb is not verbs.MAKE
    if happens and not clause.time and draw.chance(0.05 * extras):
        clause.time = cause(draw)
    if clause.object and clause.object.relative:
        # What follows would seem to belong to that clause.
        clause.place = clause.manner = clause.time = None
    clause.negated = may_be_negated(clause) and draw.chance(0.13)
    movable = bool(clause.time) and not isinstance(clause.time, Place)
    clause.fronted = movable and draw.chance(0.25)
    add_possessive(draw, clause)
    return clause
