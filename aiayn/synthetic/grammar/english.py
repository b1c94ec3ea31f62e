"""English sentences from a meaning, with their trees.

From "Two grammars":
https://github.com/OWNER/aiayn/blob/main/book/4-synthetic-corpus/2-two-grammars.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

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
from aiayn.synthetic.grammar.verbs import BE, HAVE, MODALS, WILL, Verb

Tree = Word | tuple[Any, ...]  # a word, or a label and its parts


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-pronouns
PRONOUNS = {
    "I": ("I", "me", "my"),
    "we": ("we", "us", "our"),
    "he": ("he", "him", "his"),
    "she": ("she", "her", "her"),
    "it": ("it", "it", "its"),
    "they": ("they", "them", "their"),
}


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-noun-phrase
def noun_phrase(thing: Thing, notes: Notes, role: int = 0) -> Tree:
    """A noun phrase; `role` is 0 for a subject, 1 for an object, 2 for an owner."""
    if thing.members:
        first, second = (noun_phrase(member, notes, role) for member in thing.members)
        notes.heads[id(thing)] = [
            word for part in thing.members for word in notes.heads[id(part)]
        ]
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
def pronoun(thing: Thing, notes: Notes, role: int) -> Word:
    """A personal, possessive, relative or question pronoun."""
    if thing.pronoun == "personal":
        text, tag = PRONOUNS[pronoun_of(thing)][role], "PRP$" if role == 2 else "PRP"
    elif thing.pronoun == "relative" and not is_person(thing):
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


def is_person(pronoun: Thing) -> bool:
    """Whether a relative pronoun is who rather than which."""
    return bool(pronoun.antecedent and pronoun.antecedent.kind in ("person", "infant"))


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-plain
def plain_noun_phrase(thing: Thing, notes: Notes) -> Tree:
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
        return [("NP", *branches(owner), Word(ending, "POS", ((thing, "determiner"),)))]
    elif thing.determiner:
        forms = {
            "this": "these" if thing.plural else "this",
            "a": "an" if following[0] in "aeiou" else "a",
        }
        tag = "PRP$" if thing.determiner in ("my", "our") else "DT"
        text = forms.get(thing.determiner, thing.determiner)
        word = Word(text, tag, ((thing, "determiner"),))
    else:
        return []
    notes.relations.append(("determiner", head, word))
    return [word]


def branches(tree: Tree) -> tuple[Tree, ...]:
    """The parts of a tree, without its label."""
    return () if isinstance(tree, Word) else tree[1:]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-phrases
def prepositional_phrase(place: Place, notes: Notes) -> Tree:
    """Preposition and noun phrase; all words of in front of are the one German vor."""
    atoms = ((place, "preposition"),)
    words = [Word(text, "IN", atoms) for text in place.preposition.english.split()]
    phrase = noun_phrase(place.thing, notes, 1)
    heads = notes.heads[id(place.thing)]
    notes.relations.extend(("preposition", words[-1], head) for head in heads)
    return ("PP", *words, phrase)


def adverbial(adverb: Adverb | Place, clause: Clause, slot: str, notes: Notes) -> Tree:
    """Where, how or when."""
    if isinstance(adverb, Place):
        return prepositional_phrase(adverb, notes)
    extra = len(adverb.english) - len(adverb.german)
    words = [
        Word(text, tag, ((clause, f"{slot}{max(k - max(extra, 0), 0)}"),))
        for k, (text, tag) in enumerate(adverb.english)
    ]
    label = {"IN": "PP", "RB": "ADVP"}.get(words[0].tag, "NP")
    return ("PP", words[0], ("NP", *words[1:])) if label == "PP" else (label, *words)


def relative_clause(clause: Clause, notes: Notes) -> Tree:
    """A relative pronoun, then the clause without what the pronoun stands for."""
    missing = clause.subject if clause.subject.pronoun == "relative" else clause.object
    assert missing
    pronoun = noun_phrase(missing, notes, int(missing is clause.object))
    parts: list[Tree] = []
    if missing is not clause.subject:
        parts.append(noun_phrase(clause.subject, notes))
    return ("SBAR", pronoun, ("S", *parts, verb_phrase(clause, notes, missing)))


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-verbs
def verb_words(clause: Clause) -> list[Word]:
    """The finite verb first, then what depends on it, the full verb last."""
    verb, subject = clause.verb, clause.subject
    person, plural = subject.person, subject.many
    third, past = person == 3 and not plural, clause.tense in ("past", "pluperfect")
    own, auxiliary = ((clause, "verb"),), ((clause, "auxiliary"),)

    def finite(
        of: Verb, atoms: tuple[tuple[object, str], ...], modal: bool = False
    ) -> list[Word]:
        form = of.english_finite(person, plural, past)
        if of is BE and past:
            form = "were" if plural else "was"
        elif of is BE:
            form = "are" if plural else "am" if person == 1 else "is"
        tag = "MD" if modal else "VBD" if past else "VBZ" if third else "VBP"
        first, _, rest = form.partition("_")
        words = [Word(first, "VBD" if first in ("had", "wanted") else tag, atoms)]
        return [*words, Word(rest, "TO", atoms)] if rest else words

    base, _, _, participle, ing = verb.english
    if clause.modal:
        atoms = ((clause, "modal"),)
        words = finite(MODALS[clause.modal], atoms, modal=clause.modal != "want")
        return [*words, Word(base, "VB", own)]
    if clause.tense == "future":
        return [*finite(WILL, auxiliary, True), Word(base, "VB", own)]
    if clause.tense in ("perfect", "pluperfect"):
        return [*finite(HAVE, auxiliary), Word(participle, "VBN", own)]
    if clause.progressive:
        return [*finite(BE, own), Word(ing, "VBG", own)]
    if verb is not BE and (clause.negated or clause.asks not in ("", "who")):
        did, tag = ("does", "VBZ") if third else ("do", "VBP")
        did, tag = ("did", "VBD") if past else (did, tag)
        return [Word(did, tag, own), Word(base, "VB", own)]
    return finite(verb, own)


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-verb-phrase
def verb_phrase(
    clause: Clause,
    notes: Notes,
    missing: Thing | None = None,
    inverted: list[Word] | None = None,
) -> Tree:
    """The verb with what follows; `missing` and `inverted` words stand further left."""
    words = verb_words(clause) if inverted is None else inverted
    head, verb, parts = words[-1], clause.verb, list[Tree]()
    subject_heads = notes.heads[id(clause.subject)]
    notes.relations.extend(("subject", head, word) for word in subject_heads)
    objects = ((clause.recipient, "indirect object"), (clause.object, "object"))
    for thing, label in objects:
        if thing and thing is not missing:
            phrase = noun_phrase(thing, notes, 1)
            if verb.preposition and label == "object":
                word = Word(verb.preposition, "IN", ((clause, "verb"),))
                phrase = ("PP", word, phrase)
            parts.append(phrase)
        if thing:
            heads = notes.heads[id(thing)]
            notes.relations.extend((label, head, word) for word in heads)
    if clause.object and clause.object.noun:
        notes.combinations.append(f"{verb.english[0]} {clause.object.noun.singular}")
    if missing and verb.preposition and missing is clause.object:
        parts.append(("PP", Word(verb.preposition, "IN", ((clause, "verb"),))))
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
) -> Tree:
    """Each auxiliary opens a VP around the next; not and often come after the first."""
    tree: Tree = ("VP", words[-1], *parts)
    middle = [Word("not", "RB", ((clause, "not"),))] if clause.negated else []
    if clause.often:
        middle.append(Word(clause.often.english[0][0], "RB", ((clause, "often0"),)))
    if len(words) == 1 and not inverted:
        if clause.verb is BE:  # is not, but often eats
            return ("VP", words[0], *middle, *parts)
        return ("VP", *[("ADVP", word) for word in middle], words[-1], *parts)
    rest = words[1:-1] if inverted else words[:-1]
    if inverted:
        if len(words) == 1:
            return ("VP", *middle, *parts)
        inner = (*rest, tree) if rest else branches(tree)
        return ("VP", *middle, *inner)
    # The one pair that English writes as one word.
    if rest[0].text == "can" and clause.negated:
        rest[0] = Word("cannot", "MD", rest[0].atoms + middle[0].atoms)
        middle = middle[1:]
    return ("VP", rest[0], *middle, *rest[1:], tree)


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-adjective
def adjective_phrase(clause: Clause, head: Word, notes: Notes) -> Tree:
    """What the subject is (very tired), or what the object is made (more difficult)."""
    if clause.comparative:
        texts = clause.comparative.split()
        tags = ("RBR", "JJ") if len(texts) > 1 else ("JJR",)  # more difficult, easier
        words = [
            Word(text, tag, ((clause, "predicate"),))
            for text, tag in zip(texts, tags, strict=True)
        ]
        notes.relations.append(("complement", head, words[-1]))
        return ("ADJP", *words)
    assert clause.predicate
    words = [Word(clause.degree, "RB", ((clause, "degree"),))] if clause.degree else []
    words.append(Word(clause.predicate.english, "JJ", ((clause, "predicate"),)))
    notes.relations.append(("complement", head, words[-1]))
    return ("ADJP", *words)


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell english-sentence
def sentence(clause: Clause, notes: Notes) -> Tree:
    """A clause with what is joined to it, without the final mark."""
    tree = question(clause, notes) if clause.asks else statement(clause, notes)
    if not clause.joined:
        return tree
    conjunction, other = clause.joined
    if conjunction in ("and", "but"):
        word = Word(conjunction, "CC", ((other, "conjunction"),))
        return ("S", tree, Word(",", ",", ()), word, sentence(other, notes))
    tag = "WRB" if conjunction == "when" else "IN"
    word = Word(conjunction, tag, ((other, "conjunction"),))
    bar = ("SBAR", word, sentence(other, notes))
    if clause.before:
        return ("S", bar, Word(",", ",", ()), *branches(tree))
    *rest, last = branches(tree)
    return ("S", *rest, ("VP", *branches(last), bar))


def statement(clause: Clause, notes: Notes) -> Tree:
    """Subject and verb phrase, a time in front of them if it is fronted."""
    subject = noun_phrase(clause.subject, notes)
    front: list[Tree] = []
    if clause.fronted and clause.time:
        front.append(adverbial(clause.time, clause, "time", notes))
    return ("S", *front, subject, verb_phrase(clause, notes))


def question(clause: Clause, notes: Notes) -> Tree:
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
