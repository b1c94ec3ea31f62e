# Made by `make export` from book/4-synthetic-corpus/3-sentences.ipynb
"""Noun phrases: who and what a sentence can be about."""

# book/4-synthetic-corpus/3-sentences.ipynb, cell things-imports
from collections.abc import Sequence
from functools import cache

from aiayn.synthetic.grammar.adverbials import (
    ALREADY,
    AT_SPOT,
    BEHIND,
    FUTURE,
    HABIT,
    IN,
    NEXT_TO,
    OFTEN,
    ON,
    OUTDOORS,
    PAST,
    SPOTS,
    SURFACES,
    TIMES,
    UNDER,
    WEIGHTS,
    Draw,
)
from aiayn.synthetic.grammar.lexicon import (
    ADJECTIVES,
    CITIES,
    NAMES,
    Adjective,
    Noun,
    expand_names,
    select,
)
from aiayn.synthetic.grammar.meaning import Adverb, Clause, Place, Thing
from aiayn.synthetic.grammar.verbs import BE, INTRANSITIVE, PARTICLE, TRANSITIVE, Verb

# book/4-synthetic-corpus/3-sentences.ipynb, cell adjectives-of
# of each group, a thing has one at most
EXCLUSIVE = [
    set(group.split())
    for group in """light red blue green yellow black white brown gray; happy sad lonely
    angry; new old young; sick healthy strong weak tired; clean dirty; heavy light; rich
    poor; interesting boring; empty full; wet dry; small big; cheap expensive; hot cold;
    wide narrow; sweet sour; difficult simple; brave nervous; fresh ripe""".split(";")
]


@cache
def adjectives_of(kind: str) -> tuple[Adjective, ...]:
    """The adjectives that can describe such a noun."""
    return tuple(each for each in ADJECTIVES.values() if kind in each.kinds)


def predicates_of(thing: Thing) -> list[Adjective]:
    """What one can say of it that does not repeat or deny its attributes."""
    said = {adjective.english for adjective in thing.adjectives}
    taken = said.union(*(group for group in EXCLUSIVE if group & said))
    return [each for each in adjectives_of(thing.kind) if each.english not in taken]


# book/4-synthetic-corpus/3-sentences.ipynb, cell attributes
def attributes(draw: Draw, noun: Noun, share: float) -> tuple[Adjective, ...]:
    """None, one, or two different adjectives."""
    fitting = adjectives_of(noun.kind)
    if not fitting or not draw.chance(share):
        return ()
    first = draw.pick(fitting)
    if draw.chance(0.2):
        second = draw.pick(fitting)
        pair = {first.english, second.english}
        if second is not first and not any(pair <= group for group in EXCLUSIVE):
            groups = ("", "size", "age", "colour")  # the big old red car
            both = sorted((first, second), key=lambda each: groups.index(each.group))
            return tuple(both)
    return (first,)


# book/4-synthetic-corpus/3-sentences.ipynb, cell determiner-weights
QUANTIFIED = ("every", "no", "all", "some", "many")
COUNTS = "two three four five six seven eight nine ten eleven twelve".split()
OWNED = expand_names("things text animal dish food") - {"opening"}
LOCATED = OWNED | {"bird", "fruit", "person"}
PARENTS = select("mother father grandmother grandfather")
FAMILY = PARENTS + select("aunt uncle brother sister daughter")
KIN = FAMILY + select("friend child teacher doctor guest")


# book/4-synthetic-corpus/3-sentences.ipynb, cell plain-thing
def plain_thing(
    draw: Draw,
    nouns: Sequence[Noun],
    attribute_share: float = 0.3,
    plural_share: float = 0.25,
) -> Thing:
    """A noun with determiner and adjectives."""
    noun = draw.pick(nouns)
    plural = bool(noun.plural) and noun not in PARENTS and draw.chance(plural_share)
    number = "plural" if plural else "singular" if noun.plural else "mass"
    kind = draw.weighted(WEIGHTS[number])
    if kind in ("my", "our") and not ownable(noun):
        kind = "the"
    elif kind in ("a", "this") and noun in FAMILY:  # somebody's, not any
        kind = "my" if kind == "a" else "our"
    elif kind in ("", "some", "many", "count") and noun in FAMILY:
        kind = "my"
    adjectives = attributes(draw, noun, attribute_share)
    thing = Thing(noun, plural, kind, adjectives=adjectives)
    if kind == "count":
        words = 0.9 if noun.kind == "person" else 0.6
        thing.determiner, thing.count = "", count(draw, words)
    return thing


# book/4-synthetic-corpus/3-sentences.ipynb, cell determined
def ownable(noun: Noun) -> bool:
    """Whether one says my of it."""
    return noun.kind in OWNED or noun in KIN


def determined(thing: Thing) -> Thing:
    """The same with the, where it would speak of some, many or a number."""
    vague = thing.determiner in ("", *QUANTIFIED) and not (thing.owner or thing.name)
    if vague or thing.count:
        thing.determiner, thing.count = "the", ""
    return thing


def count(draw: Draw, words: float) -> str:
    """A number word up to twelve, or digits: nothing to translate, only to copy."""
    if draw.chance(words):
        return draw.pick(COUNTS)
    return str(13 + int(draw.random() * 987))


def name(draw: Draw) -> Thing:
    """A person by name."""
    gender = draw.pick("mf")
    return Thing(name=draw.pick(NAMES[gender]), gender=gender)


# book/4-synthetic-corpus/3-sentences.ipynb, cell rich-thing
def thing(draw: Draw, nouns: Sequence[Noun], rich: float = 1.0) -> Thing:
    """A noun phrase that may also have an owner, a place or a relative clause.

    The last two come `rich` times as often.
    """
    if nouns[0].kind == "person" and len(nouns) > 9 and draw.chance(0.2):
        return name(draw)
    phrase = plain_thing(draw, nouns, 0.3 * rich)
    noun = phrase.noun
    assert noun
    definite = phrase.determiner == "the"
    if definite and noun.kind in OWNED and draw.chance(0.16):
        if draw.chance(0.4):
            owner = name(draw)
        else:
            owner = plain_thing(draw, select("person"), 0.15, 0.1)
        owner.determiner, owner.count = "" if owner.name else "the", ""
        phrase.owner, phrase.determiner = owner, ""
    elif phrase.determiner in ("the", "a") and draw.chance(0.05 * rich):
        phrase.relative = relative(draw, phrase)
    elif definite and noun.kind in LOCATED and draw.chance(0.06 * rich):
        phrase.place = place(draw, noun.kind)
    return phrase


# book/4-synthetic-corpus/3-sentences.ipynb, cell place
def place(draw: Draw, kind: str) -> Place:
    """Where it is: on the table if it can lie there, else in a room or at some spot."""
    if kind in ("tool", "text", "fruit", "vessel", "clothing") and draw.chance(0.6):
        preposition = draw.pick((ON, UNDER, BEHIND, NEXT_TO))
        return Place(preposition, plain_thing(draw, SURFACES, 0.15, 0.0))
    if kind == "vehicle":
        return at(draw, select("street garage field barn square station"))
    if kind in ("furniture", "device"):
        return at(draw, select("house kitchen school office hotel library cellar"))
    return spot(draw, kind in ("animal", "bird"))


def spot(draw: Draw, animal: bool = False) -> Place:
    """In a room, in a city, or at some other spot."""
    if draw.chance(0.12) and not animal:
        return Place(IN, Thing(name=draw.pick(CITIES), gender="n"))
    return at(draw, OUTDOORS if animal else SPOTS)


def at(draw: Draw, nouns: Sequence[Noun]) -> Place:
    """At one of these, with the preposition that goes with it."""
    where = determined(plain_thing(draw, nouns, 0.15, 0.02))
    assert where.noun
    return Place(AT_SPOT.get(where.noun, IN), where)


# book/4-synthetic-corpus/3-sentences.ipynb, cell relative
@cache
def verbs_with_object(noun: Noun) -> tuple[Verb, ...]:
    """What can be done to it."""
    return tuple(verb for verb in TRANSITIVE + PARTICLE if noun in verb.objects)


@cache
def verbs_with_subject(noun: Noun) -> tuple[Verb, ...]:
    """What it can do alone."""
    return tuple(verb for verb in INTRANSITIVE if noun in verb.subjects)


def relative(draw: Draw, antecedent: Thing) -> Clause | None:
    """A clause about a thing, in which a relative pronoun stands for it."""
    pronoun = Thing(pronoun="relative", plural=antecedent.plural, antecedent=antecedent)
    assert antecedent.noun
    alone = verbs_with_subject(antecedent.noun)
    others = verbs_with_object(antecedent.noun)
    if others and (not alone or draw.chance(0.6)):
        verb = draw.pick(others)
        by_name = draw.chance(0.3) and verb.subjects[0].kind == "person"
        subject = name(draw) if by_name else plain_thing(draw, verb.subjects, 0.15)
        clause = Clause(subject, verb, pronoun)
    elif alone:
        clause = Clause(pronoun, draw.pick(alone))
    else:
        return None
    choose_tense(draw, clause, {"past": 0.7, "present": 0.15, "pluperfect": 0.15}, 0.15)
    return clause


# book/4-synthetic-corpus/3-sentences.ipynb, cell tenses
WILLING = ("person", "infant", "animal", "bird")


# book/4-synthetic-corpus/3-sentences.ipynb, cell choose-tense
def choose_tense(
    draw: Draw,
    clause: Clause,
    tenses: dict[str, float] | None = None,
    time_share: float = 0.35,
) -> None:
    """Tense, modal verb and a time that goes with them."""
    verb = clause.verb
    if verb.aspect == "state" and verb is not BE:
        time_share = 0.0
    tense = draw.weighted(tenses or WEIGHTS[verb.aspect])
    if tense == "present" and verb.aspect == "event":
        tense = "past"
    timed = draw.chance(time_share)
    times: tuple[Adverb, ...] = TIMES.get(tense, ())
    if tense == "modal":
        modals = ("can", "must", "want") if draw.chance(0.6) else ("should", "can")
        clause.modal = draw.pick(modals)
        tense = "past" if clause.modal != "should" and draw.chance(0.5) else "present"
        times = PAST if tense == "past" else FUTURE
        if clause.modal == "want" and clause.subject.kind not in WILLING:
            clause.modal = "can"
    elif tense == "present" and verb.aspect == "action":
        clear = verb.english[0] != verb.english[2]  # they put: now or then?
        if timed and clear and clause.subject.kind in WILLING and draw.chance(0.4):
            if draw.chance(0.5) and clause.subject.determiner not in QUANTIFIED:
                clause.often, timed = draw.pick(OFTEN), False
            times = HABIT
        else:
            clause.progressive = True
    elif tense == "perfect" and timed:
        clause.often, timed = ALREADY, False
    clause.tense = tense
    if timed and times:
        clause.time = draw.pick(times)
