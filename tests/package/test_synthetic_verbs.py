"""The German verbs of the synthetic corpus: where they stand, what goes with what, and
whom they agree with.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from test_synthetic_corpus import Node
from test_synthetic_grammar import ADVERBS, PREPOSITIONS, Sentence, Word, sentences

from aiayn.synthetic.grammar import verbs

# The persons and numbers of every finite form.
FINITE: dict[str, set[tuple[int, bool]]] = {}
INFINITIVES, PARTICIPLES, PREFIXED = set[str](), set[str](), set[tuple[str, str]]()
GROUPS = (
    verbs.INTRANSITIVE,
    verbs.TRANSITIVE,
    verbs.PARTICLE,
    verbs.DITRANSITIVE,
    verbs.MOTION,
    verbs.POSITION,
    verbs.PLACING,
    verbs.SAYING,
)
PREFIXES = set("ab an auf aus ein nieder um weg zurück".split())
HABEN = set("habe hat haben hatte hatten".split())
SEIN = set("bin ist sind war waren".split())
MODAL = set(
    """
    werde wird werden kann können konnte konnten muss müssen musste mussten
    will wollen wollte wollten sollte sollten darf dürfen durfte durften
    """.split()
)
WITH_SEIN = set(
    """
    gewesen gegangen gerannt gelaufen gesprungen gefahren geflogen geklettert gereist
    geschwommen gefolgt aufgewacht aufgestanden zurückgekommen angekommen umgefallen
    verschwunden
    """.split()
)


PAST = set[str]()
# The English forms of the verb of every German form.
TRANSLATED: dict[str, set[str]] = {}


def learn(verb: verbs.Verb) -> None:
    """Every finite form of a verb, alone and with its prefix, and its infinitive and
    participle.
    """
    infinitive, first, third, past, participle = verb.german
    plural = "sind" if infinitive == "sein" else infinitive
    persons = {first: [(1, False)], third: [(3, False)], plural: [(1, True), (3, True)]}
    for form, found in [
        *persons.items(),
        (past, [(1, False), (3, False)]),
        (past + ("n" if past.endswith("e") else "en"), [(1, True), (3, True)]),
    ]:
        for whole in {form, verb.prefix + form}:
            FINITE.setdefault(whole, set()).update(found)
            PAST.update({whole} if form.startswith(past) else ())
            TRANSLATED.setdefault(whole, set()).update(verb.english)
        PREFIXED.add((verb.prefix, form))
    if first == third:
        FINITE[first] |= {(1, False), (3, False)}
    for whole in (verb.prefix + infinitive, verb.prefix + participle):
        TRANSLATED.setdefault(whole, set()).update(verb.english)
    INFINITIVES.add(verb.prefix + infinitive)
    PARTICIPLES.add(verb.prefix + participle)


for group in (
    *GROUPS,
    (verbs.MAKE, verbs.FIT, verbs.BE, verbs.HAVE, verbs.WILL),
    verbs.MODALS.values(),
):
    for verb in group:
        learn(verb)

SUBORDINATORS = set("weil obwohl wenn als dass".split())


@dataclass
class Clause:
    """A clause as a row of letters, and the word at which each begins.

    N, G, T: a phrase, an owner's, a time; P: preposition; A: adverb; X: nicht; E, D:
    degree, predicate; V: a finite form, I: what is not finite, or a prefix, B: what may
    be either; W, R, S: question word, relative pronoun, conjunction; C, Q: a
    subordinate or a relative clause inside.
    """

    kind: str
    letters: str = ""
    starts: list[int] = field(default_factory=list)

    def add(self, letter: str, start: int) -> None:
        self.letters += letter
        self.starts.append(start)

    @property
    def finite(self) -> int:
        """The word that is the finite verb."""
        letters = self.letters if self.kind == "main" else self.letters[::-1]
        place = min(letters.find(letter) % 99 for letter in "VB")
        return self.starts[place if self.kind == "main" else -1 - place]


def letters_of(sentence: Sentence) -> Iterator[tuple[str, int]]:
    """What the words are, one letter a phrase."""
    words, starts = (
        sentence.words,
        {phrase.start: phrase for phrase in sentence.phrases},
    )
    k = 0
    while k < len(words):
        word, phrase = words[k], starts.get(k)  # the longest: Annas Hund, not Annas
        if phrase and phrase.leaf.label in ("WP", "WDT"):
            yield ("W" if word.text.startswith("w") else "R"), k
        elif phrase:
            role, _ = sentence.roles.get(phrase.leaf, ("time", None))
            yield {"time": "T", "owner": "G"}.get(role, "N"), k
        else:
            yield letter_of(word.text, word, k + 1 in starts), k
        k = phrase.end + 1 if phrase else k + 1


def letter_of(text: str, word: Word, before_phrase: bool) -> str:
    finite, apart = text in FINITE, text in INFINITIVES | PARTICIPLES
    choices = {
        ",": text == ",",
        "": text in (".", "?"),
        "P": text in PREPOSITIONS and before_phrase,
        "D": word.is_a("JJ", "JJR"),
        "E": text in ("sehr", "zu", "so"),
        "W": text in ("warum", "wann", "wo"),
        "S": text in SUBORDINATORS,
        "U": (
            text == "und"
            and any(leaf.parent and leaf.parent.label == "NP" for leaf in word.english)
        ),
        "&": text in ("und", "aber"),
        "X": text == "nicht",
        "A": text in ADVERBS,
        "I": text in PREFIXES or (apart and not finite),
        "V": finite and not apart,
        "B": finite and apart,
    }
    fitting = [letter for letter, fits in choices.items() if fits]
    assert fitting, f"no use for {text!r}"
    return fitting[0]


def clauses(sentence: Sentence) -> list[Clause]:
    """The clauses of a sentence, from commas and conjunctions alone."""
    found, letters = [Clause("main")], [*letters_of(sentence)]
    stack = found[:]
    for (before, _), (letter, start), (following, _) in zip(
        [(",", 0), *letters], letters, [*letters[1:], ("", 0)], strict=False
    ):
        if letter == "," and following in "SR":
            while (
                following == "S"
                and stack[-1].kind != "main"
                and stack[-1].letters[-1] in "VB"
            ):
                stack.pop()
        elif letter == "," and following != "&":
            stack.pop()
        elif letter == "&":
            stack = [Clause("main")]
            found.append(stack[0])
        elif letter in ("S", "R"):
            assert before == ",", "a comma before every subordinate clause"
            stack[-1].add("C" if letter == "S" else "Q", start)
            stack.append(Clause(letter, letter, [start]))
            found.append(stack[-1])
        elif letter not in (",", ""):
            stack[-1].add(letter, start)
    return found


SUBJECT = "N(G|UN)?(PN)?Q?"
FRONT = f"(C|W|A|AT|T|PT|{SUBJECT})"
MIDDLE = "[NGTPAXUQ]*(E?D)?"


def test_the_verb_has_its_place() -> None:
    """Second in statements, first in yes/no questions, last in subordinate clauses; its
    rest at the end.
    """
    for sentence in sentences():
        first, *others = clauses(sentence)
        asked = sentence.pair.target.endswith("?")
        front = "W?" if asked else FRONT
        assert re.fullmatch(f"{front}[VB]{MIDDLE}[IB]?C*", first.letters), (
            first,
            sentence.pair,
        )
        for clause in others:
            start = {"main": f"{FRONT}[VB]", "S": f"S{SUBJECT}", "R": "R"}[clause.kind]
            end = "[IB]?C*" if clause.kind == "main" else "[IB]?[VB]C*"
            assert re.fullmatch(start + MIDDLE + end, clause.letters), (
                clause,
                sentence.pair,
            )


def test_the_parts_of_a_verb_belong_together() -> None:
    """Participle or infinitive as the auxiliary asks, haben or sein as the verb does,
    prefixes that exist.
    """
    for sentence in sentences():
        for clause in clauses(sentence):
            texts = [sentence.words[k].text for k in clause.starts]
            finite = sentence.words[clause.finite].text
            verbal = zip(clause.starts, texts, clause.letters, strict=True)
            (last,) = [
                text for k, text, c in verbal if c in "IB" and k != clause.finite
            ] or [""]
            if finite in MODAL:
                assert last in INFINITIVES, sentence.pair
            elif finite in HABEN:
                assert last in PARTICIPLES - WITH_SEIN, sentence.pair
            elif finite in SEIN:
                assert last in WITH_SEIN | {""}, sentence.pair
            else:
                assert clause.kind != "main" or (last, finite) in PREFIXED, (
                    sentence.pair
                )
                assert clause.kind == "main" or not last, sentence.pair


def test_a_verb_is_translated_by_its_german_verb() -> None:
    for sentence in sentences():
        for role, head in sentence.roles.values():
            if role == "subject" and head.text.lower() not in ("am", "are", "were"):
                forms = [
                    TRANSLATED.get(word.text, set())
                    for word in sentence.translations(head)
                ]
                assert head.text.lower() in set().union(*forms), sentence.pair


def test_als_is_for_the_past() -> None:
    for sentence in sentences():
        for clause in clauses(sentence):
            conjunction = sentence.words[clause.starts[0]]
            if clause.kind == "S" and conjunction.is_a("WRB"):
                past = sentence.words[clause.finite].text in PAST
                assert conjunction.text == ("als" if past else "wenn"), sentence.pair


def test_the_finite_verb_agrees_with_its_subject() -> None:
    for sentence in sentences():
        finite = {clause.finite for clause in clauses(sentence)}
        subjects: dict[Node, list[Node]] = {}
        for leaf, (role, head) in sentence.roles.items():
            if role == "subject":
                subjects.setdefault(head, []).append(leaf)
        assert len(subjects) == len(finite)
        for head, heads in subjects.items():
            group = verb_group(head)
            (word,) = {k for k in finite if set(group) & set(sentence.words[k].english)}
            plural = len(heads) > 1 or sentence.gender(heads[0]) == "p"
            person = 1 if heads[0].text.lower() in ("i", "we") else 3
            assert (person, plural) in FINITE[sentence.words[word].text], sentence.pair
            third = person == 3 and not plural
            english = group[0]
            assert english.label in (
                ("VBZ",) if third else ("VBP",)
            ) or english.label in ("VBD", "MD")
            if english.text in ("was", "were"):
                assert (english.text == "was") == (not plural), sentence.pair


def verb_group(head: Node) -> list[Node]:
    """The verbs of the clause of a verb, the finite one first."""
    node, found = head.parent, list[Node]()
    while node and node.label in ("VP", "SQ"):
        found = [
            part for part in node.parts if part.text and part.label[:2] in ("VB", "MD")
        ] + found
        node = node.parent
    return found
