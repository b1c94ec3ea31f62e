"""BLEU in the variants that people quote: on hand-checked lines, on whole test sets,
and on bad input.

tests/golden/bleu.jsonl holds lines of newstest2014 (WMT 2014, references of sacreBLEU's
wmt14/full, German and French), each with its number there and with the tokens that it
must give: written by hand after the rules of the Moses scripts, which give the same.
tests/golden/bleu-scores.json holds what damaged copies of those lines and of whole test
sets score; after a change that is meant, write it anew:
`python tests/package/test_metrics_bleu.py`.
"""

import gzip
import json
import math
import os
import random
from collections import Counter
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from sacrebleu.significance import PairedTest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International
from sacremoses import MosesTokenizer

from aiayn.data import Pairs
from aiayn.errors import InputError
from aiayn.metrics.bleu import bootstrap_scores, corpus_bleu
from aiayn.metrics.bleu_variants import (
    BleuScore,
    bleu_by_variant,
    filtered_lines,
    newstest2014_bleu,
    split_hyphens,
    tokenize_like_multi30k,
    tokenize_like_paper,
    tokenized_bleu,
)

GOLDEN = Path(__file__).parents[1] / "golden"
LINES = [
    json.loads(line)
    for line in (GOLDEN / "bleu.jsonl").read_text(encoding="utf-8").splitlines()
]
FORMS = ["sacrebleu", "sacrebleu-intl", "paper", "tokenised-lowercased"]
PREPARE = {"paper": tokenize_like_paper, "tokenised-lowercased": tokenize_like_multi30k}
SETS = {
    "newstest2014-ende.de": "wmt/newstest2014-ende.de",
    "newstest2014-enfr.fr": "wmt/newstest2014-enfr.fr",
    "newstest2013.de": "wmt/newstest2013.de",
    "test_2016_flickr.de": "multi30k/test_2016_flickr.de.gz",
    "test_2016_flickr.fr": "multi30k/test_2016_flickr.fr.gz",
}


def golden(language: str, form: str = "text") -> list[str]:
    return [line[form] for line in LINES if line["language"] == language]


def lines_of(path: Path) -> list[str]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode(
        "utf-8"
    )
    return text.removesuffix("\n").split("\n")


def read(data: Path, name: str) -> list[str]:
    return lines_of(data / SETS[name])


@cache
def scored(data: Path, name: str) -> dict[str, BleuScore]:
    """A damaged test set in every variant; it takes a second or two."""
    references = read(data, name)
    return bleu_by_variant(damaged(references), references, name[-2:])


def damaged(lines: list[str], seed: int = 0) -> list[str]:
    """Words dropped and exchanged, and in half of the lines typographic quotes made
    plain.
    """
    generator = random.Random(seed)
    found = []
    for line in lines:
        words = [word for word in line.split(" ") if generator.random() > 0.08]
        for i in range(len(words) - 1):
            if generator.random() < 0.1:
                words[i], words[i + 1] = words[i + 1], words[i]
        plain = str.maketrans("„“«»", '""""') if generator.random() < 0.5 else {}
        found.append(" ".join(words).translate(plain))
    return found


def groups(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def by_definition(translations: list[list[str]], references: list[list[str]]) -> float:
    """BLEU of Papineni et al. (2002), one reference, straight from its formula."""
    logarithms = 0.0
    for n in (1, 2, 3, 4):
        found = total = 0
        for ours, theirs in zip(translations, references, strict=True):
            right = groups(theirs, n)
            for group, count in groups(ours, n).items():
                found += min(count, right[group])
                total += count
        if found == 0:
            return 0.0
        logarithms += math.log(found / total) / 4
    c, r = (sum(len(tokens) for tokens in side) for side in (translations, references))
    return 100 * (1.0 if c > r else math.exp(1 - r / c)) * math.exp(logarithms)


@pytest.mark.parametrize(
    "line", LINES, ids=lambda line: f"{line['language']}-{line['line']}"
)
@pytest.mark.parametrize("form", PREPARE)
def test_lines_are_cut_as_checked_by_hand(line: dict[str, Any], form: str):
    assert PREPARE[form]([line["text"]], line["language"])[0].split() == line[
        form
    ].split(" ")


@pytest.mark.parametrize("language", ["de", "fr"])
def test_the_golden_lines_are_those_of_newstest2014(data: Path, language: str):
    lines = read(data, f"newstest2014-en{language}.{language}")
    for line in LINES:
        if line["language"] == language:
            assert lines[line["line"] - 1] == line["text"]


@pytest.mark.parametrize(
    ("word", "tokens"),
    [
        ("rich-text", "rich ##AT##-##AT## text"),
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("a-b-c-d", "a ##AT##-##AT## b-c ##AT##-##AT## d"),
        ("aa-bb-cc", "aa ##AT##-##AT## bb ##AT##-##AT## cc"),
        ("vis-à-vis", "vis ##AT##-##AT## à ##AT##-##AT## vis"),
        ("Vor- und Nachteile -", "Vor- und Nachteile -"),
        ("a--b", "a ##AT##-##AT## -b"),
        ("a---b", "a ##AT##-##AT## --b"),
        ("–-–", "– ##AT##-##AT## –"),
        ("", ""),
    ],
)
def test_hyphens_are_split_as_perl_does(word: str, tokens: str):
    assert split_hyphens(word) == tokens


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("form", PREPARE)
def test_multi_bleu_is_bleu_by_its_definition(data: Path, name: str, form: str):
    references = read(data, name)
    ours, theirs = (
        PREPARE[form](lines, name[-2:]) for lines in (damaged(references), references)
    )
    expected = by_definition(
        [line.split() for line in ours], [line.split() for line in theirs]
    )
    assert math.isclose(
        tokenized_bleu(ours, theirs, form, "").value, expected, abs_tol=1e-9
    )
    assert 20 < expected < 90


@pytest.mark.parametrize("name", SETS)
def test_the_forms_of_sacrebleu_are_its_own_tokens_counted_by_definition(
    data: Path, name: str
):
    references = read(data, name)
    translations, scores = damaged(references), scored(data, name)
    for form, cut in {
        "sacrebleu": Tokenizer13a(),
        "sacrebleu-intl": TokenizerV14International(),
    }.items():
        ours, theirs = (
            [cut(line).split() for line in side] for side in (translations, references)
        )
        assert math.isclose(
            scores[form].value, by_definition(ours, theirs), abs_tol=1e-9
        )


def all_scored(data: Path | None) -> dict[str, dict[str, BleuScore]]:
    """The golden lines, and the real test sets if there are any."""
    scores = {}
    for language in ("de", "fr"):
        lines = golden(language)
        scores[f"golden lines, {language}"] = bleu_by_variant(
            damaged(lines), lines, language
        )
    return scores | {name: scored(data, name) for name in SETS if data}


@pytest.mark.parametrize("real", [False, True], ids=["golden lines", "test sets"])
def test_what_was_damaged_scores_what_it_did(
    real: bool, request: pytest.FixtureRequest
):
    recorded = json.loads((GOLDEN / "bleu-scores.json").read_text(encoding="utf-8"))
    for name, scores in all_scored(
        request.getfixturevalue("data") if real else None
    ).items():
        assert list(scores) == list(recorded[name]) == FORMS
        for form, score in scores.items():
            assert math.isclose(score.value, recorded[name][form], abs_tol=1e-6), (
                name,
                form,
            )


def test_german_quotes_put_the_papers_form_a_point_above_sacrebleu(data: Path):
    apart = {}
    for name in ("newstest2014-ende.de", "newstest2013.de"):
        scores = scored(data, name)
        apart[name] = scores["paper"].value - scores["sacrebleu"].value
    assert 1.0 < apart["newstest2014-ende.de"] < 1.5
    assert 0.0 < apart["newstest2013.de"] < 0.25


def test_multi30k_has_as_many_tokens_as_wu_and_others_counted(data: Path):
    """Their log of the run with 41.02 BLEU: reflen=12103."""
    references = read(data, "test_2016_flickr.de")
    assert (
        sum(len(line.split()) for line in tokenize_like_multi30k(references, "de"))
        == 12_103
    )
    assert (
        sum(len(MosesTokenizer("de").tokenize(line)) for line in references) == 12_102
    )  # before lower-casing


@pytest.mark.parametrize("language", ["de", "fr"])
def test_the_reference_itself_scores_a_hundred_in_every_form(language: str):
    lines = golden(language)
    for form, score in bleu_by_variant(lines, lines, language).items():
        assert math.isclose(score.value, 100), form


def test_quotes_and_hyphens_count_only_where_the_form_says_so():
    reference = ["Er sagte: „Das ist der Science-Fiction-Film von 2014, sehr gut.“"]
    plain = [reference[0].replace("„", '"').replace("“", '"')]
    for form, score in bleu_by_variant(plain, reference, "de").items():
        assert math.isclose(score.value, 100) == (form in PREPARE), form
    for form, score in bleu_by_variant([reference[0].lower()], reference, "de").items():
        assert math.isclose(score.value, 100) == (form == "tokenised-lowercased"), form


def test_every_score_says_how_it_was_made():
    scores = bleu_by_variant(golden("fr"), golden("fr"), "fr")
    assert list(scores) == FORMS == [score.variant for score in scores.values()]
    signatures = [score.signature for score in scores.values()]
    assert len(set(signatures)) == 4
    assert signatures[0].startswith(
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    )
    assert "tok:intl" in signatures[1]
    assert "moses-fr" in signatures[2]
    assert "hyphens:split" in signatures[2]
    assert "smooth:none" in signatures[2]
    assert "lc:first" in signatures[3]
    assert "case:lc" in signatures[3]
    assert "hyphens" not in signatures[3]


def test_a_score_goes_through_json():
    score = bleu_by_variant(damaged(golden("de")), golden("de"), "de")["paper"]
    assert BleuScore(**json.loads(json.dumps(asdict(score)))) == score


def test_sacrebleu_s_form_is_bleu():
    translations, references = damaged(golden("de")), golden("de")
    score = bleu_by_variant(translations, references, "de")["sacrebleu"]
    assert (score.value, score.signature) == corpus_bleu(translations, references)
    assert score.value == sacrebleu.corpus_bleu(translations, [references]).score


def test_an_empty_translation_counts_as_nothing():
    references = golden("de")
    translations = ["", *references[1:]]
    shorter = sum(
        len(line.split()) for line in tokenize_like_paper(references[1:], "de")
    )
    whole = sum(len(line.split()) for line in tokenize_like_paper(references, "de"))
    scores = bleu_by_variant(translations, references, "de")
    assert math.isclose(scores["paper"].value, 100 * math.exp(1 - whole / shorter))
    for score in bleu_by_variant([""] * len(references), references, "de").values():
        assert score.value == 0


def test_nothing_in_common_is_zero_without_smoothing():
    scores = bleu_by_variant(["x y z w v"], ["Das ist ein kleiner Satz."], "de")
    assert scores["paper"].value == scores["tokenised-lowercased"].value == 0


def test_intervals_are_of_sacrebleu_s_own_draws():
    references = golden("de")
    ours, theirs = damaged(references, seed=1), damaged(references, seed=2)
    metrics = {"BLEU": sacrebleu.metrics.BLEU(), "chrF": sacrebleu.metrics.CHRF()}
    _, judged = PairedTest(
        [("a", ours), ("b", theirs)], metrics, [references], "bs", 1000
    )()
    for system, texts in enumerate((ours, theirs)):
        for name, found in bootstrap_scores(texts, references).items():
            (expected,) = [
                judged[key][system] for key in judged if key.startswith(name)
            ]
            assert (found.name, found.p) == (name, None)
            assert found.value == pytest.approx(expected.score)
            assert (found.high - found.low) / 2 == pytest.approx(expected.ci, rel=0.02)
            assert "bs:1000|seed:12345" in found.signature


def test_a_difference_has_an_interval_and_a_chance():
    references = golden("de")
    good, bad = (
        damaged(references, seed=1),
        damaged(damaged(references, seed=1), seed=2),
    )
    for name, found in bootstrap_scores(good, references, baseline=bad).items():
        one, other = (
            bootstrap_scores(good, references)[name],
            bootstrap_scores(bad, references)[name],
        )
        assert found.value == pytest.approx(one.value - other.value)
        assert 0 < found.low < found.value < found.high
        assert found.p is not None
        assert found.p < 0.05
        back = bootstrap_scores(bad, references, baseline=good)[name]
        assert (back.low, back.high) == pytest.approx((-found.high, -found.low))
        assert back.p == found.p
    for found in bootstrap_scores(good, references, baseline=good).values():
        assert (found.value, found.low, found.high, found.p) == (0, 0, 0, 1)
        assert str(found) == f"{found.name} +0.00 [+0.00, +0.00], p = 1.000"


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="2 translations for 1 references"):
        bootstrap_scores(["Ja."], ["Ja."], baseline=["Ja.", "Nein."])


def in_all_variants(translations: list[str], references: list[str]) -> Any:
    return bleu_by_variant(translations, references, "de")


@pytest.mark.parametrize("bleu", [in_all_variants, corpus_bleu])
@pytest.mark.parametrize(
    ("translations", "references", "says"),
    [
        *(
            (["eins"] * count, ["eins", "zwei"], f"{count} translations for 2 refer")
            for count in (0, 1, 3)
        ),
        ([], [], "nothing to compare"),
        *((["a", "b"], ["a", empty], "reference 2 is empty") for empty in ("", " \t")),
    ],
)
def test_texts_that_do_not_fit_are_refused(
    bleu: Any, translations: list[str], references: list[str], says: str
):
    with pytest.raises(InputError, match=says):
        bleu(translations, references)


@pytest.mark.parametrize("language", ["en-de", "German", "", "xx", "DE"])
def test_a_language_without_rules_is_refused(language: str):
    with pytest.raises(InputError, match=rf"language '{language}'.* one of .*de, .*fr"):
        bleu_by_variant(["eins"], ["eins"], language)


def newstest2014(data: Path) -> Pairs:
    target = read(data, "newstest2014-ende.de")
    source = lines_of(data / "wmt/newstest2014-ende.en")
    return Pairs(source, target, "newstest2014-ende.en", "newstest2014-ende.de")


def test_the_filtered_set_is_found_whatever_its_order(data: Path):
    """Two English lines stand twice in newstest2014, with different translations."""
    full = newstest2014(data)
    assert len(full) == 3003 and len(set(full.source)) == 3001
    lines = random.Random(0).sample(range(3003), 2737)
    filtered = Pairs(
        [full.source[line] for line in lines], [full.target[line] for line in lines]
    )
    assert filtered_lines(full, filtered) == lines


def test_translations_of_the_full_set_are_scored_on_both():
    references = golden("de")
    full = Pairs([f"line {number}" for number in range(len(references))], references)
    lines = [9, 3, 4, 5, 0]
    filtered = Pairs(
        [full.source[line] for line in lines], [full.target[line] for line in lines]
    )
    translations = damaged(references)
    scores = newstest2014_bleu(translations, full, filtered, "de")
    assert list(scores) == ["wmt14/full", "wmt14"]
    assert scores["wmt14/full"] == bleu_by_variant(translations, references, "de")
    part = [translations[line] for line in lines]
    assert scores["wmt14"] == bleu_by_variant(part, filtered.target, "de")


def test_a_set_that_is_no_part_of_the_full_one_is_refused():
    full = Pairs(["a", "b"], ["A", "B"], "full.en", "full.de")
    with pytest.raises(InputError, match=r"other.en, line 2: full.en has no such pair"):
        filtered_lines(full, Pairs(["a", "b"], ["A", "A"], "other.en", "other.de"))


if __name__ == "__main__":
    found = all_scored(Path(os.environ["AIAYN_DATA"]))
    values = {
        name: {form: score.value for form, score in scores.items()}
        for name, scores in found.items()
    }
    (GOLDEN / "bleu-scores.json").write_text(
        json.dumps(values, indent=1) + "\n", encoding="utf-8"
    )
