# Made by `make export` from book/4-synthetic-corpus/2-two-grammars.ipynb
"""Things, places, times and clauses, before they become words."""

# book/4-synthetic-corpus/2-two-grammars.ipynb, cell meaning-imports
from dataclasses import dataclass, field

from aiayn.synthetic.grammar.lexicon import Adjective, Noun
from aiayn.synthetic.grammar.verbs import Verb


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell thing
@dataclass(eq=False, slots=True)
class Thing:
    """What a noun phrase stands for: a noun, name or pronoun, or two `members` joined.

    `pronoun` is personal, relative, who or what; `antecedent` is what a pronoun refers
    to.
    """

    noun: Noun | None = None
    plural: bool = False
    determiner: str = ""
    count: str = ""
    adjectives: tuple[Adjective, ...] = ()
    owner: "Thing | None" = None
    place: "Place | None" = None
    relative: "Clause | None" = None
    name: str = ""
    gender: str = ""
    person: int = 3
    pronoun: str = ""
    antecedent: "Thing | None" = None
    members: "tuple[Thing, ...]" = ()

    @property
    def kind(self) -> str:
        """The kind of its noun; names and pronouns stand for persons here."""
        return self.noun.kind if self.noun else "person"

    @property
    def many(self) -> bool:
        """Whether verbs agree with it in the plural."""
        return self.plural or bool(self.members)

    @property
    def german_gender(self) -> str:
        """m, f or n: the noun's, the name's, or that of what a pronoun refers to."""
        if self.antecedent:
            return self.antecedent.german_gender
        return self.noun.gender if self.noun else self.gender


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell pronoun-of
def pronoun_of(thing: Thing) -> str:
    """I, we, he, she, it or they, whichever stands for it in English."""
    if thing.person == 1:
        return "we" if thing.plural else "I"
    if thing.many:
        return "they"
    if thing.antecedent:
        return pronoun_of(thing.antecedent)
    if thing.noun:
        return thing.noun.pronoun
    return {"m": "he", "f": "she"}.get(thing.gender, "it")


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell place
@dataclass(frozen=True)
class Preposition:
    """Its English words, and the German one with the case that it governs."""

    english: str
    german: str
    case: str


@dataclass(eq=False, slots=True)
class Place:
    """A prepositional phrase: where, where to, with whom, because of what."""

    preposition: Preposition
    thing: Thing


@dataclass(frozen=True)
class Adverb:
    """A phrase that does not change: English words with their tags, and German words.

    Words are aligned from the right; the first German word gets what is left over.
    """

    english: tuple[tuple[str, str], ...]
    german: tuple[str, ...]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell clause
@dataclass(eq=False, slots=True)
class Clause:
    """Who does what to whom, where, how and when.

    `tense` is present, past, perfect, pluperfect or future; `modal` a key of `MODALS`;
    `asks` is "", whether, who, what, why, when or where. `predicate` is what the
    subject is, or what `make` makes of its object; a `degree` may go with it. `content`
    is the clause of what is said, `joined` a conjunction and another clause, which
    stands first if `before`.
    """

    subject: Thing
    verb: Verb
    object: "Thing | None" = None
    recipient: "Thing | None" = None
    predicate: Adjective | None = None
    comparative: str = ""
    degree: str = ""
    tense: str = "past"
    progressive: bool = False
    modal: str = ""
    negated: bool = False
    place: "Place | None" = None
    manner: "Adverb | Place | None" = None
    time: "Adverb | Place | None" = None
    often: Adverb | None = None
    fronted: bool = False
    asks: str = ""
    content: "Clause | None" = None
    joined: "tuple[str, Clause] | None" = None
    before: bool = False

    def things(self) -> list[Thing]:
        """Its noun phrases, those in prepositional phrases too."""
        phrases = (self.place, self.manner, self.time)
        around = [phrase.thing for phrase in phrases if isinstance(phrase, Place)]
        things = (self.subject, self.object, self.recipient, *around)
        return [thing for thing in things if thing]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell words
Atoms = tuple[tuple[object, str], ...]


@dataclass(eq=False, slots=True)
class Word:
    """A word of a sentence, its tag, and the parts of the meaning that it expresses.

    Two words that express the same part are translations of each other, and aligned.
    """

    text: str
    tag: str
    atoms: Atoms
    index: int = -1


@dataclass(eq=False, slots=True)
class Notes:
    """What is noted while writing: heads, relations, coreference, combinations."""

    heads: dict[int, list[Word]] = field(default_factory=dict)
    relations: list[tuple[str, Word, Word]] = field(default_factory=list)
    references: list[tuple[Word, Thing]] = field(default_factory=list)
    combinations: list[str] = field(default_factory=list)

    def relate(self, name: str, head: Word, thing: Thing) -> None:
        """Note how a phrase, by its heads, depends on a word."""
        self.relations.extend((name, head, word) for word in self.heads[id(thing)])
