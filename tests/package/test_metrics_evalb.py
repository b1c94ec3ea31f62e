"""Labelled bracket scores, against a file worked out by hand (paper, section 6.3)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from aiayn.data.trees import Tree, read_tree
from aiayn.errors import InputError
from aiayn.metrics.evalb import (
    BracketScores,
    bracket_scores,
    brackets,
    strict_bracket_scores,
)

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__)
    .parents[1]
    .joinpath("golden", "evalb.yml")
    .read_text(encoding="utf-8")
)
TOGETHER = CASES.pop()


def trees_of(case: dict[str, Any]) -> tuple[Tree, Tree | None]:
    """The gold tree and the parse of a case."""
    return read_tree(case["gold"]), read_tree(case["parse"]) if case["parse"] else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_sentence_scores_what_was_worked_out_by_hand(case: dict[str, Any]) -> None:
    gold, parse = trees_of(case)
    scores = bracket_scores([gold], [parse])
    if case.get("skipped"):
        assert scores == BracketScores(0, 1, 0, 0, 0, 0, 0)
        return
    expected = (case["gold_brackets"], case["parsed_brackets"], case["matched"])
    assert (scores.gold, scores.parsed, scores.matched) == expected
    assert (scores.sentences, scores.skipped) == (1, 0)
    assert (scores.complete, scores.crossing) == (case["complete"], case["crossing"])


def test_sentences_together_score_what_was_worked_out_by_hand() -> None:
    scores = bracket_scores(*zip(*map(trees_of, CASES), strict=True))
    for name in (
        "precision",
        "recall",
        "f1",
        "complete_match",
        "average_crossing",
        "sentences",
        "skipped",
    ):
        assert getattr(scores, name) == pytest.approx(TOGETHER[name], abs=0.005), name


def test_a_tree_against_itself_is_perfect() -> None:
    trees = [read_tree(case["gold"]) for case in CASES]
    scores = bracket_scores(trees, trees)
    assert (
        scores.f1 == scores.precision == scores.recall == scores.complete_match == 100
    )
    assert scores.crossing == scores.skipped == 0


def test_other_words_are_skipped_and_nothing_scores_nothing() -> None:
    one, other = (
        read_tree("(S (NP (PRP It)) (VP (VBD rained)))"),
        read_tree("(S (NP (PRP It)) (VP (VBD hailed)))"),
    )
    assert bracket_scores([one], [other]).skipped == 1
    nothing = bracket_scores([], [])
    assert (
        nothing.f1,
        nothing.recall,
        nothing.complete_match,
        nothing.average_crossing,
    ) == (0, 0, 0, 0)


def test_strictly_no_sentence_is_left_out() -> None:
    gold, parses = map(list, zip(*map(trees_of, CASES), strict=True))
    for few in (strict_bracket_scores, bracket_scores):
        with pytest.raises(InputError, match=f"{len(gold)} gold trees, but 1 parses"):
            few(gold, parses[:1])
    usual, all_of_them = (
        bracket_scores(gold, parses),
        strict_bracket_scores(gold, parses),
    )
    assert usual.skipped == 1
    assert all_of_them.skipped == 0
    assert all_of_them.sentences == len(CASES)
    assert (all_of_them.matched, all_of_them.parsed) == (usual.matched, usual.parsed)
    left_out = sum(
        len(brackets(tree)[0])
        for case, tree in zip(CASES, gold, strict=True)
        if "skipped" in case
    )
    assert all_of_them.gold == usual.gold + left_out and all_of_them.f1 < usual.f1


def test_punctuation_is_taken_out_before_places_are_counted() -> None:
    found, words = brackets(
        read_tree("(TOP (S (, ,) (NP (NN Tea)) (: --) (VP (VBZ cools)) (PRN (. .))))")
    )
    assert words == ["Tea", "cools"]
    assert sorted(found) == [("NP", 0, 1), ("S", 0, 2), ("VP", 1, 2)]


def test_there_must_be_a_parse_for_each_tree() -> None:
    with pytest.raises(InputError, match="1 gold trees, but 0 parses"):
        bracket_scores([read_tree("(S (NN Tea))")], [])
