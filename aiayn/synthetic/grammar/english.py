# Made by `make export` from book/4-synthetic-corpus/2-two-grammars.ipynb
"""English sentences from a meaning, with their trees."""

# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-imports
from typing import Any

from aiayn.synthetic.grammar.meaning import (
    Adverb,
    Clause,
    Notes,
    Place,
    Thing,
    Word,
    pronoun_of,
)
from aiayn.synthetic.grammar.verbs import BE, DO, HAVE, MODALS, WILL

Phrase = tuple[Any, ...]  # a label and its parts, words and other phrases
Tree = Word | Phrase


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-noun-phrase
def noun_phrase(thing: Thing, notes: Notes, role: int = 0) -> Phrase:
    """A noun phrase; `role` is 0 for a subject, 1 for an object, 2 for an owner."""
    if thing.members:
        first, second = (noun_phrase(member, notes, role) for member in thing.members)
        one, other = (notes.heads[id(member)] for member in thing.members)
        notes.heads[id(thing)] = one + other
        return ("NP", first, Word("and", "CC", ((thing, "and"),)), second)
    if thing.pronoun:
        word = pronoun(thing, notes, role)
        return ("NP" if word.tag == "PRP" else "WHNP", word)
    if thing.name:
        word = Word(thing.name, "NNP", ((thing, "noun"),))
        notes.heads[id(thing)] = [word]
        return ("NP", word)
    tree = plain_noun_phrase(thing, notes)
    if thing.place:
        tree = ("NP", tree, prepositional_phrase(thing.place, notes))
    if thing.relative:
        tree = ("NP", tree, relative_clause(thing.relative, notes))
    return tree


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-pronoun
PRONOUNS = {
    "I": ("I", "me", "my"),
    "we": ("we", "us", "our"),
    "he": ("he", "him", "his"),
    "she": ("she", "her", "her"),
    "it": ("it", "it", "its"),
    "they": ("they", "them", "their"),
}


def pronoun(thing: Thing, notes: Notes, role: int) -> Word:
    """A personal, possessive, relative or question pronoun."""
    kind = thing.antecedent.kind if thing.antecedent else "person"
    if thing.pronoun == "personal":
        text, tag = PRONOUNS[pronoun_of(thing)][role], "PRP$" if role == 2 else "PRP"
    elif thing.pronoun == "relative" and kind not in ("person", "infant"):
        text, tag = "which", "WDT"
    elif thing.pronoun == "what":
        text, tag = "what", "WP"
    else:
        text, tag = "whom" if role else "who", "WP"
    word = Word(text, tag, ((thing, "noun"),))
    notes.heads[id(thing)] = [word]
    if thing.antecedent:
        notes.references.append((word, thing.antecedent))
    return word


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-plain
def plain_noun_phrase(thing: Thing, notes: Notes) -> Phrase:
    """Determiner, number, adjectives and noun."""
    assert thing.noun
    text, tag = thing.noun.english(thing.plural), "NNS" if thing.plural else "NN"
    head = Word(text, tag, ((thing, "noun"),))
    notes.heads[id(thing)] = [head]
    modifiers = [Word(thing.count, "CD", ((thing, "count"),))] if thing.count else []
    for k, adjective in enumerate(thing.adjectives):
        modifiers.append(Word(adjective.english, "JJ", ((thing, f"adjective{k}"),)))
        notes.combinations.append(f"{adjective.english} {thing.noun.singular}")
    following = modifiers[0] if modifiers else head
    first = determiner(thing, head, following.text, notes)
    notes.relations.extend(("modifier", head, word) for word in modifiers)
    return ("NP", *first, *modifiers, head)


def determiner(thing: Thing, head: Word, following: str, notes: Notes) -> list[Tree]:
    """What stands first: an article, a possessive pronoun, an owner; or nothing."""
    if thing.owner and thing.owner.pronoun:
        word = pronoun(thing.owner, notes, 2)
    elif thing.owner:
        owner = noun_phrase(thing.owner, notes)
        word = notes.heads[id(thing.owner)][0]
        notes.relations.append(("owner", head, word))
        ending = "'" if thing.owner.plural and word.text.endswith("s") else "'s"
        return [("NP", *owner[1:], Word(ending, "POS", ((thing, "determiner"),)))]
    elif thing.determiner:
        article = "an" if following[0] in "aeiou" else "a"
        forms = {"a": article, "this": "these" if thing.plural else "this"}
        tag = "PRP$" if thing.determiner in ("my", "our") else "DT"
        text = forms.get(thing.determiner, thing.determiner)
        word = Word(text, tag, ((thing, "determiner"),))
    else:
        return []
    notes.relations.append(("determiner", head, word))
    return [word]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-phrases
def prepositional_phrase(place: Place, notes: Notes) -> Phrase:
    """Preposition and noun phrase; all words of in front of are the one German vor."""
    atoms = ((place, "preposition"),)
    words = [Word(text, "IN", atoms) for text in place.preposition.english.split()]
    phrase = noun_phrase(place.thing, notes, 1)
    notes.relate("preposition", words[-1], place.thing)
    return ("PP", *words, phrase)


def adverbial(adverb: Adverb | Place, clause: Clause, slot: str, notes: Notes) -> Tree:
    """Where, how or when."""
    if isinstance(adverb, Place):
        return prepositional_phrase(adverb, notes)
    extra = max(len(adverb.english) - len(adverb.german), 0)
    words = [
        Word(text, tag, ((clause, f"{slot}{max(k - extra, 0)}"),))
        for k, (text, tag) in enumerate(adverb.english)
    ]
    label = {"IN": "PP", "RB": "ADVP"}.get(words[0].tag, "NP")
    return ("PP", words[0], ("NP", *words[1:])) if label == "PP" else (label, *words)


def relative_clause(clause: Clause, notes: Notes) -> Phrase:
    """A relative pronoun, then the clause without what the pronoun stands for."""
    missing = clause.subject if clause.subject.pronoun == "relative" else clause.object
    assert missing
    pronoun = noun_phrase(missing, notes, int(missing is clause.object))
    others = () if missing is clause.subject else (noun_phrase(clause.subject, notes),)
    return ("SBAR", pronoun, ("S", *others, verb_phrase(clause, notes, missing)))


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-verbs
def verb_words(clause: Clause) -> list[Word]:
    """The finite verb first, then what depends on it, the full verb last."""
    verb, subject = clause.verb, clause.subject
    third = subject.person == 3 and not subject.many
    past = clause.tense in ("past", "pluperfect")
    base, _, _, participle, ing = verb.english
    full = [(base, "VB", "verb")]
    if clause.modal:
        helper, role = MODALS[clause.modal], "modal"
    elif clause.tense == "future":
        helper, role = WILL, "auxiliary"
    elif clause.tense in ("perfect", "pluperfect"):
        helper, role, full = HAVE, "auxiliary", [(participle, "VBN", "verb")]
    elif clause.progressive:
        helper, role, full = BE, "verb", [(ing, "VBG", "verb")]
    elif verb is not BE and (clause.negated or clause.asks not in ("", "who")):
        helper, role = DO, "verb"
    else:
        helper, role, full = verb, "verb", []
    form = helper.english_finite(subject.person, subject.many, past)
    finite, _, to = form.partition("_")
    modal = helper.english[-1] == "-" and not to  # no -ing form: can, but not want to
    tag = "MD" if modal else "VBD" if past else "VBZ" if third else "VBP"
    words = [(finite, tag, role), *([(to, "TO", role)] if to else []), *full]
    return [Word(text, tag, ((clause, role),)) for text, tag, role in words]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-verb-phrase
def verb_phrase(
    clause: Clause,
    notes: Notes,
    missing: Thing | None = None,
    inverted: list[Word] | None = None,
) -> Phrase:
    """The verb with what follows; `missing` and `inverted` words stand further left."""
    words = inverted or verb_words(clause)
    head, verb, parts = words[-1], clause.verb, list[Tree]()
    notes.relate("subject", head, clause.subject)
    if clause.recipient:
        parts.append(noun_phrase(clause.recipient, notes, 1))
        notes.relate("indirect object", head, clause.recipient)
    if clause.object:
        absent = clause.object is missing
        phrase = [] if absent else [noun_phrase(clause.object, notes, 1)]
        if verb.preposition:
            word = Word(verb.preposition, "IN", ((clause, "verb"),))
            phrase = [("PP", word, *phrase)]
        parts += phrase
        notes.relate("object", head, clause.object)
        if noun := clause.object.noun:
            notes.combinations.append(f"{verb.english[0]} {noun.singular}")
    if verb.particle:
        parts.append(("PRT", word := Word(verb.particle, "RP", ((clause, "verb"),))))
        notes.relations.append(("particle", head, word))
    if clause.predicate or clause.comparative:
        parts.append(adjective_phrase(clause, head, notes))
    # quickly to the park, but in the park with a friend
    late = isinstance(clause.manner, Place)
    for slot in ("place", "manner", "time") if late else ("manner", "place", "time"):
        adverb = getattr(clause, slot)
        if adverb and not (slot == "time" and clause.fronted):
            parts.append(adverbial(adverb, clause, slot, notes))
    if clause.content:
        that = Word("that", "IN", ((clause.content, "conjunction"),))
        parts.append(("SBAR", that, sentence(clause.content, notes)))
    return nested_verb_phrase(clause, words, parts, inverted is not None)


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell nest
def nested_verb_phrase(
    clause: Clause, words: list[Word], parts: list[Tree], inverted: bool
) -> Phrase:
    """Each auxiliary opens a VP around the next; not and often come after the first."""
    middle = [Word("not", "RB", ((clause, "not"),))] if clause.negated else []
    if clause.often:
        middle.append(Word(clause.often.english[0][0], "RB", ((clause, "often0"),)))
    inner = ("VP", words[-1], *parts)
    if inverted and len(words) < 3:
        return ("VP", *middle, *words[1:], *parts)
    if inverted:
        return ("VP", *middle, *words[1:-1], inner)
    if len(words) == 1 and clause.verb is BE:  # is not, but often eats
        return ("VP", words[0], *middle, *parts)
    if len(words) == 1:
        return ("VP", *[("ADVP", word) for word in middle], words[0], *parts)
    first, *rest = words[:-1]
    if first.text == "can" and clause.negated:  # the one pair written as one word
        first = Word("cannot", "MD", first.atoms + middle.pop(0).atoms)
    return ("VP", first, *middle, *rest, inner)


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-adjective
def adjective_phrase(clause: Clause, head: Word, notes: Notes) -> Phrase:
    """What the subject is (very tired), or what the object is made (more difficult)."""
    atoms = ((clause, "predicate"),)
    if clause.comparative:
        texts = clause.comparative.split()
        tags = ("RBR", "JJ") if len(texts) > 1 else ("JJR",)  # more difficult, easier
        words = [Word(text, tag, atoms) for text, tag in zip(texts, tags, strict=True)]
    else:
        assert clause.predicate
        degree = [Word(clause.degree, "RB", ((clause, "degree"),))]
        words = degree if clause.degree else []
        words.append(Word(clause.predicate.english, "JJ", atoms))
    notes.relations.append(("complement", head, words[-1]))
    return ("ADJP", *words)


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-sentence
def sentence(clause: Clause, notes: Notes) -> Phrase:
    """A clause with what is joined to it, without the final mark."""
    tree = question(clause, notes) if clause.asks else statement(clause, notes)
    if not clause.joined:
        return tree
    conjunction, other = clause.joined
    tag = {"and": "CC", "but": "CC", "when": "WRB"}.get(conjunction, "IN")
    word = Word(conjunction, tag, ((other, "conjunction"),))
    if tag == "CC":
        return ("S", tree, Word(",", ",", ()), word, sentence(other, notes))
    bar = ("SBAR", word, sentence(other, notes))
    if clause.before:
        return ("S", bar, Word(",", ",", ()), *tree[1:])
    *rest, last = tree
    return (*rest, (*last, bar))


def statement(clause: Clause, notes: Notes) -> Phrase:
    """Subject and verb phrase, a time in front of them if it is fronted."""
    subject = noun_phrase(clause.subject, notes)
    time = clause.time if clause.fronted else None
    front = [adverbial(time, clause, "time", notes)] if time else []
    return ("S", *front, subject, verb_phrase(clause, notes))


def question(clause: Clause, notes: Notes) -> Phrase:
    """The finite verb before the subject, and a question word before that."""
    if clause.asks == "who":
        who = noun_phrase(clause.subject, notes)
        return ("SBARQ", who, ("SQ", verb_phrase(clause, notes)))
    words = verb_words(clause)
    missing = clause.object if clause.asks == "what" else None
    asked = noun_phrase(missing, notes, 1) if missing else None
    subject = noun_phrase(clause.subject, notes)
    inner = ("SQ", words[0], subject, verb_phrase(clause, notes, missing, words))
    if clause.asks == "whether":
        return inner
    word = Word(clause.asks, "WRB", ((clause, "asks"),))
    return ("SBARQ", asked or ("WHADVP", word), inner)
