# Made by `make export` from book/4-synthetic-corpus/2-two-grammars.ipynb
"""German sentences from a meaning, with their word order."""

# book/4-synthetic-corpus/2-two-grammars.ipynb, cell german-imports
from aiayn.synthetic.grammar.declension import (
    NUMBERS,
    determiner,
    ending,
    gender_of,
    pronoun,
)
from aiayn.synthetic.grammar.lexicon import COMPARATIVES
from aiayn.synthetic.grammar.meaning import Adverb, Atoms, Clause, Place, Thing, Word
from aiayn.synthetic.grammar.verbs import AUXILIARIES, MODALS, WILL

Words = list[Word]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell german-noun-phrase
def noun_phrase(thing: Thing, case: str, denial: Atoms = ()) -> Words:
    """A noun phrase in a case; with `denial`, the atoms of not, it begins with kein."""
    noun_atom = ((thing, "noun"),)
    if thing.members:
        first, second = (noun_phrase(member, case) for member in thing.members)
        return [*first, Word("und", "", ((thing, "and"),)), *second]
    if thing.pronoun:
        return [Word(pronoun(thing, case), "", noun_atom)]
    if thing.name:
        return [Word(thing.name + "s" * (case == "gen"), "", noun_atom)]
    assert thing.noun
    form, table = determiner(thing, case, bool(denial))
    owner, words = thing.owner, Words()
    if owner and owner.name:
        words = noun_phrase(owner, "gen")
        words[0].atoms += ((thing, "determiner"),)
    elif owner and owner.pronoun:
        words = [Word(form, "", ((owner, "noun"),))]
    elif form:
        words = [Word(form, "", (*denial, (thing, "determiner")))]
    if thing.count:
        count = NUMBERS.get(thing.count, thing.count)
        words.append(Word(count, "", ((thing, "count"),)))
    gender = gender_of(thing)
    for k, adjective in enumerate(thing.adjectives):
        text = adjective.stem + ending(table, case, gender)
        words.append(Word(text, "", ((thing, f"adjective{k}"),)))
    words.append(Word(thing.noun.german(case, thing.plural), "", noun_atom))
    if owner and not owner.name and not owner.pronoun:
        words += noun_phrase(owner, "gen")
    if thing.place:
        words += prepositional_phrase(thing.place)
    if thing.relative:
        words += [comma(), *relative_clause(thing.relative), comma()]
    return words


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell german-phrases
CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "an das": "ans",
    "zu dem": "zum",
    "zu der": "zur",
    "von dem": "vom",
    "bei dem": "beim",
}


def prepositional_phrase(place: Place) -> Words:
    """Preposition and noun phrase, contracted (im) unless a relative clause follows."""
    preposition = Word(place.preposition.german, "", ((place, "preposition"),))
    words = noun_phrase(place.thing, place.preposition.case)
    joined = CONTRACTIONS.get(f"{preposition.text} {words[0].text}")
    if joined and place.thing.determiner == "the" and not place.thing.relative:
        return [Word(joined, "", preposition.atoms + words[0].atoms), *words[1:]]
    return [preposition, *words]


def adverbial(adverb: Adverb | Place | None, clause: Clause, slot: str) -> Words:
    """Where, how or when."""
    if adverb is None:
        return []
    if isinstance(adverb, Place):
        return prepositional_phrase(adverb)
    return [
        Word(text, "", ((clause, f"{slot}{k}"),))
        for k, text in enumerate(adverb.german)
    ]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell relative-clause
def comma() -> Word:
    """One of two in a row, or before the final mark, goes (`finish_sentence`)."""
    return Word(",", "", ())


def relative_clause(clause: Clause) -> Words:
    """The relative pronoun first, the verb last."""
    missing = clause.subject if clause.subject.pronoun == "relative" else clause.object
    assert missing
    case = "nom" if missing is clause.subject else clause.verb.case
    pronoun = noun_phrase(missing, case)
    subject = [] if missing is clause.subject else noun_phrase(clause.subject, "nom")
    finite, tail = verb_words(clause, last=True)
    return [*pronoun, *subject, *middle_field(clause, missing), *tail, finite]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell german-verbs
def verb_words(clause: Clause, last: bool) -> tuple[Word, Words]:
    """The finite verb, and what stands at the end; a `last` verb keeps its prefix."""
    verb, subject = clause.verb, clause.subject
    past = clause.tense in ("past", "pluperfect")
    agreement = (subject.person, subject.many, past)
    infinitive, _, _, _, participle = verb.german
    own: Atoms = ((clause, "verb"),)
    if clause.modal:
        forbidden = clause.modal == "must" and clause.negated
        helper = MODALS["not-must" if forbidden else clause.modal]
        role, rest = "modal", infinitive
    elif clause.tense == "future":
        helper, role, rest = WILL, "auxiliary", infinitive
    elif clause.tense in ("perfect", "pluperfect"):
        helper, role, rest = AUXILIARIES[verb.auxiliary], "auxiliary", participle
    else:
        form = verb.german_finite(*agreement)
        if last:
            return Word(verb.prefix + form, "", own), []
        return Word(form, "", own), [Word(verb.prefix, "", own)] if verb.prefix else []
    finite = Word(helper.german_finite(*agreement), "", ((clause, role),))
    return finite, [Word(verb.prefix + rest, "", own)]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell middle
VAGUE = ("a", "", "some", "many")


def middle_field(clause: Clause, missing: Thing | None = None) -> Words:
    """What stands between finite verb and end: time, objects, not, manner, place."""
    denial: Atoms = ((clause, "not"),) if clause.negated else ()
    thing = clause.object if clause.object is not missing else None
    vague = bool(thing and thing.noun and not thing.owner and thing.determiner in VAGUE)
    counted = bool(thing and (thing.count or thing.determiner in ("some", "many")))
    absent = vague and not counted
    time = [] if clause.fronted else adverbial(clause.time, clause, "time")
    often = adverbial(clause.often, clause, "often")
    manner = adverbial(clause.manner, clause, "manner")
    recipient = noun_phrase(clause.recipient, "dat") if clause.recipient else []
    kein = denial if absent else ()
    what = noun_phrase(thing, clause.verb.case, kein) if thing else []
    how = [Word("nicht", "", denial)] if denial and not absent else []
    if thing and thing.pronoun == "personal":
        words = [*what, *time, *often, *recipient, *how, *manner]
    elif vague and isinstance(clause.manner, Adverb):
        # heimlich ein Auto, but das Auto heimlich
        words = [*time, *often, *recipient, *how, *manner, *what]
    elif clause.often and clause.often.german == ("schon",):
        # schon ein Buch, but das Buch schon
        pair = [*often, *what] if vague else [*what, *often]
        words = [*time, *recipient, *pair, *how, *manner]
    else:
        words = [*time, *often, *recipient, *what, *how, *manner]
    return words + adverbial(clause.place, clause, "place") + adjective_words(clause)


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell adjective-words
DEGREES = {"very": "sehr", "too": "zu", "so": "so"}


def adjective_words(clause: Clause) -> Words:
    """A predicate has no ending in German."""
    atoms: Atoms = ((clause, "predicate"),)
    if clause.comparative:
        return [Word(COMPARATIVES[clause.comparative].german, "", atoms)]
    if not clause.predicate:
        return []
    predicate = Word(clause.predicate.german, "", atoms)
    if not clause.degree:
        return [predicate]
    return [Word(DEGREES[clause.degree], "", ((clause, "degree"),)), predicate]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell conjunctions
CONJUNCTIONS = {
    "because": "weil",
    "although": "obwohl",
    "if": "wenn",
    "that": "dass",
    "and": "und",
    "but": "aber",
}
QUESTIONS = {"why": "warum", "when": "wann", "where": "wo"}


def conjunction(word: str, clause: Clause) -> Word:
    """when is als for what happened once, and wenn for the rest."""
    past = clause.tense in ("past", "perfect", "pluperfect")
    text = ("als" if past else "wenn") if word == "when" else CONJUNCTIONS[word]
    return Word(text, "", ((clause, "conjunction"),))


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell verb-last
def verb_last(word: str, clause: Clause) -> Words:
    """A subordinate clause."""
    finite, tail = verb_words(clause, last=True)
    inner = [*noun_phrase(clause.subject, "nom"), *middle_field(clause), *tail, finite]
    return [conjunction(word, clause), *inner, *attached(clause)]


def attached(clause: Clause) -> Words:
    """The clauses that follow: what is said, and what is joined if not `before`."""
    words = [comma(), *verb_last("that", clause.content)] if clause.content else []
    if not clause.joined:
        return words
    word, other = clause.joined
    if word in ("and", "but"):
        return [*words, comma(), conjunction(word, other), *sentence(other)]
    return words if clause.before else [*words, comma(), *verb_last(word, other)]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell german-sentence
def sentence(clause: Clause) -> Words:
    """A main clause: one part (none in a yes-or-no question), finite verb, the rest."""
    finite, tail = verb_words(clause, last=False)
    subject, missing, front = noun_phrase(clause.subject, "nom"), None, Words()
    if clause.joined and clause.before:
        front = [*verb_last(*clause.joined), comma()]
    elif clause.fronted:
        front = adverbial(clause.time, clause, "time")
    elif clause.asks in QUESTIONS:
        front = [Word(QUESTIONS[clause.asks], "", ((clause, "asks"),))]
    elif clause.asks == "what" and clause.object:
        missing, front = clause.object, noun_phrase(clause.object, clause.verb.case)
    elif clause.asks != "whether":
        front, subject = subject, []
    rest = [*subject, *middle_field(clause, missing), *tail, *attached(clause)]
    return [*front, finite, *rest]
