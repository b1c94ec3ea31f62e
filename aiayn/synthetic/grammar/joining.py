# Made by `make export` from book/4-synthetic-corpus/3-sentences.ipynb
"""Joins two clauses into one sentence."""

# book/4-synthetic-corpus/3-sentences.ipynb, cell joining-imports
from aiayn.synthetic.grammar import verbs
from aiayn.synthetic.grammar.adverbials import ALREADY, WEIGHTS, Draw
from aiayn.synthetic.grammar.circumstances import may_be_negated, pronoun_for
from aiayn.synthetic.grammar.lexicon import CITIES, Adjective
from aiayn.synthetic.grammar.meaning import Clause, Place, Thing, pronoun_of
from aiayn.synthetic.grammar.scenes import PERSONS, action, subject
from aiayn.synthetic.grammar.things import (
    EXCLUSIVE,
    QUANTIFIED,
    determined,
    name,
    plain_thing,
    predicates_of,
    verbs_with_object,
)


# book/4-synthetic-corpus/3-sentences.ipynb, cell reference
def things_in(clause: Clause) -> list[Thing]:
    """The noun phrases of a clause that a pronoun could be taken to mean."""
    found = clause.things()
    for whole in tuple(found):
        parts = (whole.owner, whole.place and whole.place.thing, *whole.members)
        found += [part for part in parts if part]
    return found


def unmistakable(clause: Clause, candidate: Thing) -> bool:
    """Whether its pronoun can mean nothing else in the clause, in both languages."""
    vague = candidate.determiner in QUANTIFIED or candidate.relative
    if vague or candidate.pronoun or candidate.name in CITIES:
        return False
    if candidate.noun and not candidate.noun.plural:
        return False
    ours = reference_forms(candidate)
    others = (thing for thing in things_in(clause) if thing is not candidate)
    return not any(ours & reference_forms(other) for other in others)


def reference_forms(thing: Thing) -> set[str]:
    """The pronouns that could stand for it."""
    if thing.many:
        return {"they", "sie"}
    german = {"m": "er", "f": "sie", "n": "es"}.get(thing.german_gender, "")
    return {pronoun_of(thing), german}


# book/4-synthetic-corpus/3-sentences.ipynb, cell state-of
def state_of(
    draw: Draw, antecedent: Thing, tense: str, said: Adjective | None
) -> Clause | None:
    """What it was like, with a pronoun for it; None if there is nothing to say."""
    idle = EXCLUSIVE[0] | {"clean", "dirty"}  # no reason for anything
    others = [each for each in predicates_of(antecedent) if each is not said]
    fitting = [each for each in others if each.english not in idle]
    # Of places, "it was dark" would speak of the weather.
    if not fitting or antecedent.kind in ("room", "open", "spot"):
        return None
    state = Clause(pronoun_for(antecedent), verbs.BE, tense=tense)
    state.degree = "very" if draw.chance(0.25) else ""
    state.predicate = draw.pick(fitting)
    return state


# book/4-synthetic-corpus/3-sentences.ipynb, cell join
def join(draw: Draw, clause: Clause, rich: float = 1.0) -> None:
    """Add a clause with because, although, when, if, and or but."""
    tense = "past" if clause.tense in ("past", "pluperfect") else "present"
    name_subject(draw, clause)
    if isinstance(clause.time, Place):  # one reason is enough
        clause.time = None
    candidates = [thing for thing in things_in(clause) if unmistakable(clause, thing)]
    word = draw.weighted(WEIGHTS["joining"])
    other = None
    if word in ("and", "but") and clause.object in candidates and draw.chance(0.5):
        other = continuation(draw, clause, tense)
    elif word != "and" and candidates and draw.chance(0.6):
        other = state_of(draw, draw.pick(candidates), tense, clause.predicate)
    if other is None:
        other = action(draw, 0.4 * rich, 0.3)
        put_into(other, tense)
        name_subject(draw, other)
    perfect = "perfect" in clause.tense  # and pluperfect
    if word == "if" and (tense == "past" or perfect):
        word = "because"
    no_moment = tense == "present" or other.negated or other.tense == "perfect"
    if word == "when" and (no_moment or perfect):
        word = "because"
    if word not in ("and", "but"):
        other.fronted, other.time = False, None if word == "when" else other.time
        if other.subject.determiner in QUANTIFIED:
            determined(other.subject)
        base, _, past, *_ = other.verb.english
        if word == "if" and base != past:  # if she eats, but: if she is putting
            other.progressive = False
        clause.before = draw.chance(0.35) and not clause.fronted and not clause.content
    clause.joined = (word, other)


# book/4-synthetic-corpus/3-sentences.ipynb, cell continuation
def name_subject(draw: Draw, clause: Clause) -> None:
    """Say who he, she or they is, not to be taken for somebody in the other clause."""
    if clause.subject.pronoun and clause.subject.person == 3:
        clause.subject = name(draw)


def put_into(clause: Clause, tense: str) -> None:
    """Make it past or present; an event cannot be present, so it has happened."""
    if clause.often or clause.modal or clause.progressive or clause.tense != tense:
        clause.often, clause.modal, clause.time, clause.fronted = None, "", None, False
        over = tense == "present" and clause.verb.aspect == "event"
        clause.tense = "perfect" if over else tense
        clause.progressive = tense == "present" and clause.verb.aspect == "action"


def continuation(draw: Draw, clause: Clause, tense: str) -> Clause | None:
    """Somebody else acts on the same thing: Anna bought a cake, and Ben ate it."""
    what = clause.object
    assert what
    verbs = verbs_with_object(what.noun or PERSONS[0])
    verb = draw.pick(verbs) if verbs else clause.verb
    timeless = ("state", "event") if tense == "present" else ("state",)
    if verb is clause.verb or verb.aspect in timeless:
        return None
    by_name = verb.subjects[0].kind == "person" and draw.chance(0.5)
    who = name(draw) if by_name else determined(plain_thing(draw, verb.subjects, 0.15))
    other = Clause(who, verb, pronoun_for(what), tense=tense)
    other.progressive = tense == "present"
    other.negated = may_be_negated(other) and draw.chance(0.12)
    return other


# book/4-synthetic-corpus/3-sentences.ipynb, cell saying
def reported_speech(draw: Draw, rich: float = 1.0) -> Clause:
    """Somebody says, thinks or knows that something is the case."""
    verb = draw.pick(verbs.SAYING)
    past = verb.aspect == "action" or draw.chance(0.6)
    who = subject(draw, verb.subjects, 0.5)
    clause = Clause(who, verb, tense="past" if past else "present")
    content = action(draw, 0.6 * rich, 0.4)
    content.fronted = False
    name_subject(draw, content)
    if past and content.tense in ("present", "perfect", "future"):
        content.tense = "past" if content.verb is verbs.BE else "pluperfect"
        content.progressive, content.often = False, None
        content.time = content.time if isinstance(content.time, Place) else None
    if content.modal:
        content.modal = "can" if content.modal == "should" else content.modal
        content.tense = clause.tense
        content.time = None
    clause.content = content
    return clause


# book/4-synthetic-corpus/3-sentences.ipynb, cell asking
WHAT = set(
    """eat drink write read buy sell find lose carry wash clean repair draw see hear
    explain forget understand need hide steal build bake cook cut open close""".split()
)


def question_clause(draw: Draw) -> Clause:
    """A question, with who, what, why, when, where, or none of them."""
    clause = action(draw, 0.5, 0.6)
    clause.fronted = False
    clause.often = None if clause.often is ALREADY else clause.often
    if clause.modal == "want" or (clause.modal == "must" and clause.tense == "past"):
        clause.modal, clause.time = "can", None
    if clause.subject.determiner == "no":
        clause.subject.determiner = "a"
    wanted = draw.weighted(WEIGHTS["asking"])
    clause.asks = wanted if wanted in askable(clause) else "whether"
    if clause.asks == "where":
        clause.place = None
    elif clause.asks == "who":
        clause.subject = Thing(pronoun="who", gender="m")
    elif clause.asks == "what":
        clause.object = Thing(pronoun="what", gender="n")
    return clause


# book/4-synthetic-corpus/3-sentences.ipynb, cell askable
def askable(clause: Clause) -> set[str]:
    """The question words that make sense of it."""
    verb, what = clause.verb, clause.object
    words = {"why"}
    if clause.negated or clause.often:
        return words
    if not clause.time and clause.tense in ("past", "future"):
        words.add("when")
    elsewhere = (*verbs.MOTION, *verbs.DITRANSITIVE, verbs.MAKE)
    somewhere = verb.aspect == "action" and verb not in elsewhere
    if somewhere and not isinstance(clause.time, Place):
        words.add("where")
    own = what and what.owner and what.owner.pronoun  # who read his book?
    if clause.subject.noun and clause.subject.kind == "person" and not own:
        words.add("who")
    lifeless = what and what.noun and what.kind != "person"
    if lifeless and verb in verbs.TRANSITIVE and verb.english[0] in WHAT:
        words.add("what")
    return words
