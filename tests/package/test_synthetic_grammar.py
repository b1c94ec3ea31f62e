"""The German phrases of the synthetic corpus, read by a grammarian who knows the
lexicon but not the generator.

The paradigms, and the cases that prepositions and verbs govern, are written out here
once more. What part a word plays is read from the English tree and relations, through
the alignment.
"""

import re
from dataclasses import dataclass
from functools import cache
from itertools import product

from test_synthetic_corpus import COMMON_NOUN, DAYS, Node, everything, read_tree

from aiayn.synthetic import Pair
from aiayn.synthetic.grammar.lexicon import ADJECTIVES, NAMES, NOUNS, Noun

# Paradigms: nominative, accusative, dative, genitive, by gender and in the plural

CASES = ("nom", "acc", "dat", "gen")
DER = {
    "m": "der den dem des",
    "f": "die die der der",
    "n": "das das dem des",
    "p": "die die den der",
}
DIESER = {
    "m": "dieser diesen diesem dieses",
    "f": "diese diese dieser dieser",
    "n": "dieses dieses diesem dieses",
    "p": "diese diese diesen dieser",
}
KEIN = {
    "m": "kein keinen keinem keines",
    "f": "keine keine keiner keiner",
    "n": "kein kein keinem keines",
    "p": "keine keine keinen keiner",
}
PERSONAL = {
    "m": "er ihn ihm -",
    "f": "sie sie ihr -",
    "n": "es es ihm -",
    "p": "sie sie ihnen -",
}
RELATIVE = DER | {"p": "die die denen deren"}
SPEAKERS = {
    "i": "ich mich mir -",
    "we": "wir uns uns -",
    "who": "wer wen wem wessen",
    "what": "was was - -",
}
OWNERS = {"m": "sein", "f": "ihr", "n": "sein", "p": "ihr"}

Reading = tuple[str, str]  # case, and m, f, n or p for plural


def determiners() -> dict[str, set[tuple[str, str, str]]]:
    """Of every determiner's forms: the adjective's declension, case, and gender."""
    table: dict[str, set[tuple[str, str, str]]] = {}

    def add(paradigm: dict[str, str], stem: str, declension: str, genders: str) -> None:
        for gender in genders:
            for case, form in zip(CASES, paradigm[gender].split(), strict=True):
                form = re.sub("^(dies|kein)", stem, form)
                # Ein alter Hund, ein altes Haus: the adjective shows what ein does not.
                bare = form == stem
                table.setdefault(form, set()).add(
                    ("strong" if bare else declension, case, gender)
                )

    add(DER, "", "weak", "mfnp")
    add(DIESER, "dies", "weak", "mfnp")
    add(DIESER, "jed", "weak", "mfn")
    add(DIESER, "all", "weak", "p")
    add(DIESER, "einig", "strong", "p")
    add(DIESER, "viel", "strong", "p")
    add(KEIN, "ein", "weak", "mfn")
    for stem in ("kein", "mein", "unser", "sein", "ihr"):
        add(KEIN, stem, "weak", "mfnp")
    return table


DETERMINERS = determiners()


def adjective_ending(declension: str, case: str, gender: str) -> str:
    """Strong: as dieser, but -en beside the genitive -s of a noun. Weak: -e in five
    places, else -en.
    """
    if declension == "strong":
        form = DIESER[gender].split()[CASES.index(case)]
        return "en" if case == "gen" and gender in "mn" else form.removeprefix("dies")
    return (
        "e"
        if gender != "p" and (case == "nom" or (case == "acc" and gender in "fn"))
        else "en"
    )


def stem(adjective: str) -> str:
    """Müde loses its -e before an ending; dunkel, sauer and teuer lose the e before the
    last sound.
    """
    loses_e = adjective.endswith(("el", "auer", "euer"))
    return adjective[:-2] + adjective[-1] if loses_e else adjective.removesuffix("e")


STEMS = {adjective.english: stem(adjective.german) for adjective in ADJECTIVES.values()}
STEMS |= {"last": "letzt", "next": "nächst"}
INFLECTED = {
    stem + ending for stem, ending in product(STEMS.values(), "e en em er es".split())
}
COMPARED = {
    "difficult": "schwieriger",
    "dangerous": "gefährlicher",
    "expensive": "teurer",
    "important": "wichtiger",
    "interesting": "interessanter",
    "boring": "langweiliger",
    "easier": "einfacher",
    "shorter": "kürzer",
    "longer": "länger",
}
TIME_NOUNS = {
    "Woche": "f",
    "Jahr": "n",
    "Monat": "m",
    "Tag": "m",
    "Morgen": "m",
    "Abend": "m",
}
TIME_NOUNS |= dict.fromkeys(
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(), "m"
)


@cache
def declined(noun: Noun) -> dict[str, set[Reading]]:
    """The readings of every form; all of a weak noun's singular but the nominative ends
    in -n.
    """
    oblique = noun.genitive if noun.weak else noun.nominative
    singular = (noun.nominative, oblique, oblique, noun.genitive)
    table: dict[str, set[Reading]] = {}
    for case, form in zip(CASES, singular, strict=True):
        table.setdefault(form, set()).add((case, noun.gender))
    if noun.plural:
        plural = noun.german_plural
        for case in CASES:
            form = plural + "n" * (case == "dat" and not plural.endswith(("n", "s")))
            table.setdefault(form, set()).add((case, "p"))
    return table


NOUN_FORMS: dict[str, set[Reading]] = {
    name: {(case, g) for case in CASES[:3]} for name, g in TIME_NOUNS.items()
}
for noun in NOUNS.values():
    for form, readings in declined(noun).items():
        NOUN_FORMS.setdefault(form, set()).update(readings)
PERSONS = {name: gender for gender, names in NAMES.items() for name in names}

# Government

CONTRACTED = {
    "am": "an dem",
    "ans": "an das",
    "beim": "bei dem",
    "im": "in dem",
    "ins": "in das",
    "vom": "von dem",
}
CONTRACTED |= {"zum": "zu dem", "zur": "zu der"}
GOVERNED = dict.fromkeys("aus bei mit nach von zu".split(), "dat") | {
    "durch": "acc",
    "ohne": "acc",
}
GOVERNED |= {"wegen": "gen", "während": "gen"}
TWO_WAY = set("an auf hinter in neben unter vor".split())
PREPOSITIONS = TWO_WAY | set(GOVERNED)
DATIVE_VERBS = re.compile(
    "hilf|half|helf|geholf|dank|gedank|folg|gefolg|vertrau|antwort|geantwort"
)
PLACING = {"put", "puts", "putting", "throw", "throws", "threw", "throwing", "thrown"}
ADVERBS = set(
    "gestern morgen bald nachts heute jetzt oft immer manchmal nie selten schon "
    "leise langsam schnell vorsichtig heimlich".split()
)

# Reading a sentence


@dataclass
class Word:
    """A German word, the token it comes from (im is two words), and the English words
    it translates.
    """

    text: str
    token: int
    english: list[Node]

    def is_a(self, *tags: str) -> bool:
        """Whether it translates a word with such a tag."""
        return any(leaf.label in tags for leaf in self.english)


@dataclass
class Phrase:
    """A pronoun, a name, or determiner, adjectives and noun: from where to where, and
    how it can be read.
    """

    start: int
    end: int
    readings: set[Reading]
    leaf: Node  # the English pronoun, name or noun


def words_of(pair: Pair, leaves: list[Node]) -> list[Word]:
    words = []
    for token, text in enumerate(pair.target_tokens):
        english = [leaves[i] for i, j in pair.alignment if j == token]
        noun = (
            text in NOUN_FORMS
            and text != "Morgen"
            and any(leaf.label in COMMON_NOUN for leaf in english)
        )
        if token == 0 and not (
            noun or any(leaf.label == "NNP" and leaf.text in text for leaf in english)
        ):
            # Schloss, Reisen may be verbs here, Junge an adjective; Morgen is tomorrow.
            text = text.lower()
        words += [
            Word(part, token, english) for part in CONTRACTED.get(text, text).split()
        ]
    return words


def forms(paradigm: dict[str, str], text: str) -> set[Reading]:
    return {
        (case, g)
        for g in paradigm
        for case, form in zip(CASES, paradigm[g].split(), strict=True)
        if form == text
    }


def phrase_at(words: list[Word], end: int) -> Phrase | None:
    """The phrase that ends here, with all its readings: none if its words disagree."""
    word = words[end]
    leaf = next((leaf for leaf in word.english if leaf.label in NOMINAL), None)
    if (
        leaf is None
        or word.text in PREPOSITIONS
        or (word.text in DETERMINERS and word.is_a("DT"))
    ):
        return None
    if leaf.label in ("PRP", "WP", "WDT"):
        speakers = forms(SPEAKERS, word.text)
        paradigm = PERSONAL if leaf.label == "PRP" else RELATIVE
        readings = {
            (case, "p" if who == "we" else "m") for case, who in speakers
        } or forms(paradigm, word.text)
        return Phrase(end, end, readings, leaf)
    if word.text.removesuffix("s") in PERSONS and leaf.label == "NNP":
        cases = CASES[3:] if word.text not in PERSONS else CASES[:3]
        return Phrase(
            end, end, set(product(cases, PERSONS[word.text.removesuffix("s")])), leaf
        )
    if leaf.label == "NNP" and word.text == leaf.text:  # a city
        return Phrase(end, end, {("dat", "n")}, leaf)
    if word.text not in NOUN_FORMS:
        return None
    start = end
    while start and words[start - 1].text in INFLECTED:
        start -= 1
    adjectives, numbered = words[start:end], start > 0 and words[start - 1].is_a("CD")
    start -= numbered
    options = set(product(["strong"], CASES, "p" if numbered else "mfnp"))
    if (
        start
        and words[start - 1].text in DETERMINERS
        and not words[start - 1].is_a("PRP", "WP", "WDT")
    ):
        start -= 1
        options = {
            o for o in DETERMINERS[words[start].text] if not numbered or o[2] == "p"
        }
    elif start and words[start - 1].is_a("POS"):
        start -= 1
    table = (
        NOUN_FORMS
        if word.text in TIME_NOUNS
        else declined(BY_ENGLISH[leaf.text.lower()])
    )
    readings = {
        (case, gender)
        for declension, case, gender in options
        & {(d, *r) for d in ("strong", "weak") for r in table[word.text]}
        if all(
            a.text in agreeing(a, adjective_ending(declension, case, gender))
            for a in adjectives
        )
    }
    return Phrase(start, end, readings, leaf)


def agreeing(adjective: Word, ending: str) -> set[str]:
    return {
        STEMS[leaf.text.lower()] + ending
        for leaf in adjective.english
        if leaf.label == "JJ"
    }


NOMINAL = ("NN", "NNS", "NNP", "PRP", "WP", "WDT")
BY_ENGLISH = {
    noun.english(plural): noun for noun in NOUNS.values() for plural in (False, True)
}


@dataclass
class Sentence:
    """A pair, taken apart."""

    pair: Pair

    def __post_init__(self) -> None:
        self.leaves = list(read_tree(self.pair.tree).leaves())
        self.words = words_of(self.pair, self.leaves)
        found = (phrase_at(self.words, end) for end in range(len(self.words)))
        self.phrases = [phrase for phrase in found if phrase]
        self.roles = {
            self.leaves[d]: (name, self.leaves[h]) for name, h, d in self.pair.relations
        }
        self.antecedents: dict[Node, list[Node]] = {}
        for pronoun, noun in self.pair.coreference:
            self.antecedents.setdefault(self.leaves[pronoun], []).append(
                self.leaves[noun]
            )

    def translations(self, *leaves: Node) -> list[Word]:
        return [
            word for word in self.words if any(leaf in word.english for leaf in leaves)
        ]

    def case(self, phrase: Phrase) -> str:
        """The case in which a phrase has to stand."""
        before = self.words[phrase.start - 1].text if phrase.start else ""
        role, head = self.roles.get(phrase.leaf, ("time", phrase.leaf))
        if role == "time":
            assert self.words[phrase.end].text in TIME_NOUNS
            assert before not in PREPOSITIONS - {"an"}
            return "dat" if before == "an" else "acc"
        if role == "preposition":
            assert before in PREPOSITIONS
            return GOVERNED.get(before) or ("acc" if is_motion(head) else "dat")
        assert before not in PREPOSITIONS
        if role == "object":
            return (
                "dat"
                if any(
                    DATIVE_VERBS.match(word.text) for word in self.translations(head)
                )
                else "acc"
            )
        return {"subject": "nom", "indirect object": "dat", "owner": "gen"}[role]

    def gender(self, leaf: Node) -> str:
        """m, f or n, or p in the plural: the noun's own; of a pronoun, that of what it
        stands for.
        """
        if leaf.label in ("NN", "NNS"):
            (text,) = {
                word.text for word in self.translations(leaf) if word.text in NOUN_FORMS
            }
            return (
                "p"
                if leaf.label == "NNS"
                else next(iter({g for _, g in NOUN_FORMS[text]} - {"p"}))
            )
        if leaf.label == "NNP":
            return "m" if leaf.text in DAYS else PERSONS.get(leaf.text, "n")
        heads = self.antecedents.get(leaf, [])
        if heads:
            return "p" if len(heads) > 1 else self.gender(heads[0])
        return {"she": "f", "her": "f", "they": "p", "we": "p", "us": "p"}.get(
            leaf.text.lower(), "m"
        )


def is_motion(preposition: Node) -> bool:
    """Whether one gets there (into the house, put on the table) or is there already."""
    phrase = preposition.parent
    assert phrase and phrase.parent
    verb = [part for part in phrase.parent.parts if part.label.startswith("VB")]
    # As in: threw the book away in the garden.
    apart = any(part.label == "PRT" for part in phrase.parent.parts)
    return preposition.text in ("into", "onto") or bool(
        verb and verb[0].text in PLACING and not apart
    )


@cache
def sentences() -> list[Sentence]:
    return list(map(Sentence, everything()))


def test_every_phrase_agrees_within_and_stands_in_its_case() -> None:
    for sentence in sentences():
        for phrase in sentence.phrases:
            gender = sentence.gender(phrase.leaf)
            assert (sentence.case(phrase), gender) in phrase.readings, (
                phrase,
                sentence.pair,
            )
            assert phrase.leaf.text.lower() != "they" or gender == "p"


def test_every_noun_pronoun_and_determiner_is_in_a_phrase() -> None:
    for sentence in sentences():
        covered = {
            k
            for phrase in sentence.phrases
            for k in range(phrase.start, phrase.end + 1)
        }
        for k, word in enumerate(sentence.words):
            if word.is_a("NN", "NNS", "PRP", "WDT") and (
                word.text[0].isupper() or word.is_a("PRP", "WDT")
            ):
                assert k in covered, (word, sentence.pair)
            if word.is_a("DT", "PRP$", "POS", "CD") and word.text not in (
                *PREPOSITIONS,
                *ADVERBS,
                "heute",
            ):
                assert k in covered, (word, sentence.pair)


def test_adjectives_stand_with_their_noun_or_have_no_ending() -> None:
    for sentence in sentences():
        phrases = {phrase.leaf: phrase for phrase in sentence.phrases}
        for leaf in sentence.leaves:
            role, head = sentence.roles.get(leaf, ("", leaf))
            texts = [word.text for word in sentence.translations(leaf)]
            if role == "modifier":
                phrase = phrases[head]
                assert texts[0] in [
                    word.text for word in sentence.words[phrase.start : phrase.end]
                ]
            elif leaf.label == "JJ" and leaf.text.lower() in ("last", "next"):
                assert re.search(
                    f"{texts[0]} ({'|'.join(TIME_NOUNS)})",
                    sentence.pair.target,
                    re.IGNORECASE,
                )
            elif role == "complement":
                assert leaf.parent
                more = {part.label for part in leaf.parent.parts} & {"JJR", "RBR"}
                assert texts == [
                    COMPARED[leaf.text] if more else ADJECTIVES[leaf.text].german
                ]


def test_possessives_agree_with_their_owner() -> None:
    for sentence in sentences():
        for leaf in sentence.leaves:
            if leaf.label == "PRP$":
                stem = {"my": "mein", "our": "unser"}.get(leaf.text.lower()) or OWNERS[
                    sentence.gender(leaf)
                ]
                assert [
                    word.text
                    for word in sentence.translations(leaf)
                    if word.text.startswith(stem)
                ], sentence.pair
