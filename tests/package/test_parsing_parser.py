"""Parsing, constrained and free (paper, section 6.3). The models are tiny, most of them
untrained.
"""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import complaint

from aiayn.data import Pairs, Vocabulary, load_pairs, train_vocabulary
from aiayn.data.trees import IllFormed, delinearise, linearise, read_tree, tree_tokens
from aiayn.data.vocabulary import BOS_ID, EOS_ID
from aiayn.decoding import SearchConfig
from aiayn.metrics.evalb import bracket_scores
from aiayn.model import Transformer, TransformerConfig
from aiayn.parsing import Parser
from aiayn.parsing.parser import PARSING_SEARCH, gold_trees, treebank_tokenize
from aiayn.parsing.well_formed import (
    LONGEST_RUN,
    ParserState,
    TreeConstraint,
    TreeVocabulary,
)
from aiayn.training import TrainingConfig, train_model
from aiayn.training.recipes import BatchConfig, CheckpointConfig, OptimizerConfig
from aiayn.translation import Translator
from aiayn.translation.translator import TooLong, UnknownLetters

TREES = [
    read_tree(f"(S (NP (DT The) (NN {noun})) (VP (VBD {verb}){tail}) (. .))")
    for noun in ("cat", "dog", "cake", "child")
    for verb, tail in (
        ("slept", ""),
        ("saw", " (NP (PRP it))"),
        ("stood", " (ADVP (RB still))"),
    )
]
SENTENCES = [" ".join(tree.words()) for tree in TREES]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """Pieces of the sentences, and the tokens of their trees."""
    return train_vocabulary(SENTENCES, 70, tree_tokens(map(linearise, TREES), "trees"))


def a_parser(
    vocabulary: Vocabulary,
    search: SearchConfig,
    seed: int = 0,
    constrained: bool = True,
) -> Parser:
    """An untrained parser."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocabulary_size=len(vocabulary), N=1, d_model=16, d_ff=32, h=2, dropout=0.0
    )
    return Parser(Translator(Transformer(config), vocabulary, search), constrained)


# What may follow


def test_the_paper_s_search() -> None:
    assert (PARSING_SEARCH.beam, PARSING_SEARCH.alpha, PARSING_SEARCH.extra_length) == (
        21,
        0.3,
        300,
    )


def test_the_vocabulary_s_brackets_are_found(vocabulary: Vocabulary) -> None:
    trees = TreeVocabulary(vocabulary)
    pieces = {
        vocabulary.pieces([a])[0]: vocabulary.pieces([b])[0]
        for a, b in trees.closing.items()
    }
    assert pieces == {f"▁⟦{label}": f"▁{label}⟧" for label in ("S", "NP", "VP", "ADVP")}
    tags = {piece.strip("▁⟦⟧") for piece in vocabulary.pieces(trees.tags)}
    assert tags == {"DT", "NN", "VBD", "PRP", "RB", "."}


def test_a_vocabulary_without_brackets_is_refused() -> None:
    vocabulary = train_vocabulary(SENTENCES, 50)
    assert "not the vocabulary of a parser" in complaint(
        a_parser, vocabulary, PARSING_SEARCH
    )


@pytest.fixture(scope="module")
def two_labels() -> TreeVocabulary:
    """Two kinds of brackets, one part of speech."""
    return TreeVocabulary(
        train_vocabulary(["a b a b"], 12, tree_tokens(["⟦S ⟦NP ⟦NN⟧ NP⟧ S⟧"], "trees"))
    )


@pytest.mark.parametrize(
    ("words", "limit"), [(1, 4), (1, 6), (2, 5), (2, 7), (3, 7), (2, 4)]
)
def test_what_may_follow_leads_to_all_trees_within_the_limit_and_to_nothing_else(
    two_labels: TreeVocabulary, words: int, limit: int
) -> None:
    (tag,), closing = two_labels.tags, two_labels.closing
    written = {tag: "⟦NN⟧"}
    for token, label in zip(closing, ("NP", "S"), strict=True):
        written |= {token: f"⟦{label}", closing[token]: f"{label}⟧"}

    def is_tree(tokens: tuple[int, ...]) -> bool:
        try:
            delinearise(" ".join(written[token] for token in tokens), ["a"] * words)
        except IllFormed:
            return False
        return True

    def led(prefix: tuple[int, ...], state: ParserState) -> set[tuple[int, ...]]:
        opens, word, closes, ends = state.allowed_actions(limit - len(prefix))
        following = [
            *(closing if opens else ()),
            *[tag] * word,
            *[closes] * (closes >= 0),
        ]
        assert following or ends or not prefix, "a dead end"
        found = set().union(
            *(
                led((*prefix, token), state.advance(token, two_labels))
                for token in following
            )
        )
        return found | ({prefix} if ends else set())

    every = (
        tokens for n in range(limit) for tokens in itertools.product(written, repeat=n)
    )
    assert led((), ParserState((), words)) == {
        tokens for tokens in every if is_tree(tokens)
    }


def test_brackets_do_not_open_for_ever(two_labels: TreeVocabulary) -> None:
    state = ParserState((), 1)
    for _ in range(LONGEST_RUN):
        opens, *_ = state.allowed_actions(1000)
        assert opens
        state = state.advance(next(iter(two_labels.closing)), two_labels)
    assert state.allowed_actions(1000) == (False, True, -1, False)


def test_a_beginning_stands_where_its_parent_stood_and_one_token_on(
    vocabulary: Vocabulary,
) -> None:
    trees = TreeVocabulary(vocabulary)
    (line,) = vocabulary.encode([linearise(TREES[1])])
    allowed = TreeConstraint(trees, [5], [40])
    for length in range(len(line)):
        prefixes = torch.tensor([[[BOS_ID, *line[:length]]]])
        mask = allowed([0], prefixes)
        assert mask.shape == (1, len(vocabulary)) and mask[0, line[length]]
        assert mask[0, EOS_ID] == (line[length] == EOS_ID)


# Searching


@pytest.mark.parametrize(
    "search",
    [SearchConfig(1, 0.3, 12), SearchConfig(4, 0.3, 3), SearchConfig(21, 0.6, 30)],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_led_search_finds_trees_of_the_sentence_s_words(
    vocabulary: Vocabulary, search: SearchConfig, seed: int
) -> None:
    parser = a_parser(vocabulary, search, seed)
    for sentence, found in zip(
        SENTENCES, parser.n_best(SENTENCES, search.beam), strict=True
    ):
        assert found
        for parse in found:
            assert parse.tree is not None
            assert parse.tree.words() == treebank_tokenize(sentence)
            assert linearise(parse.tree) == parse.text and math.isfinite(parse.score)
        assert [parse.score for parse in found] == sorted(
            (parse.score for parse in found), reverse=True
        )


def test_an_untrained_model_that_is_not_led_finds_no_trees(
    vocabulary: Vocabulary,
) -> None:
    parser = a_parser(vocabulary, SearchConfig(4, 0.3, 10), constrained=False)
    assert parser(SENTENCES) == [None] * len(SENTENCES)
    scores = bracket_scores(TREES, parser([tree.words() for tree in TREES]))
    assert (scores.sentences, scores.parsed, scores.f1) == (len(TREES), 0, 0)


def test_a_parse_does_not_depend_on_its_neighbours(vocabulary: Vocabulary) -> None:
    parser = a_parser(vocabulary, SearchConfig(5, 0.3, 15), seed=1)
    assert parser(SENTENCES) == [parser(sentence) for sentence in SENTENCES]


def test_a_text_may_come_as_words(vocabulary: Vocabulary) -> None:
    parser = a_parser(vocabulary, SearchConfig(2, 0.3, 8))
    assert parser("The cat slept.") == parser([["The", "cat", "slept", "."]])[0]
    with pytest.warns(UnknownLetters, match=r"sentence 1 has a letter .* '\(' "):
        assert parser([["(", "⟦S", "["]])[0].words() == ["(", "⟦S", "["]
    assert parser("\ufeffThe\u00a0cat slept\u200b.") == parser("The cat slept.")
    assert parser(["\u200b", "\ufeff \xad"]) == [None, None]


def test_sentences_without_words_and_sentences_too_long(vocabulary: Vocabulary) -> None:
    parser = a_parser(vocabulary, SearchConfig(2, 0.3, 5, max_length=8))
    assert parser("") is None and parser([[], []]) == [None, None] and parser([]) == []
    with pytest.warns(TooLong, match="sentence 2 has 41 tokens, more than 8"):
        trees = parser(["The cat .", "cat " * 40, "cat"])
    assert trees[1] is None
    assert [trees[k].words() for k in (0, 2)] == [["The", "cat", "."], ["cat"]]


def test_a_tree_fits_into_the_learned_positions(vocabulary: Vocabulary) -> None:
    """What cannot fit is left out and named, and no tree is written beyond the last
    position.
    """
    parser = a_parser(vocabulary, SearchConfig(beam=3, alpha=0.3, extra_length=300))
    shape = replace(parser.translator.model.config, positions="learned", max_length=30)
    parser.translator.model = Transformer(shape)
    with pytest.warns(TooLong, match=r"sentence 2 has \d+ tokens, more than 27"):
        found, left_out = parser.n_best([SENTENCES[0], " ".join(SENTENCES)], 3)
    assert left_out == []
    assert all(each.tree.words() == TREES[0].words() for each in found)


def test_there_must_be_room_for_a_tree(vocabulary: Vocabulary) -> None:
    assert "extra_length is too small" in complaint(
        a_parser, vocabulary, SearchConfig(2, 0.3, 2)
    )
    a_parser(vocabulary, SearchConfig(2, 0.3, 2), constrained=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat slept.", "The cat slept ."),
        ("Jan's dog, the boys' house", "Jan 's dog , the boys ' house"),
        ("It didn't, and can't!", "It did n't , and ca n't !"),
        ("a 5.50 well-known e-mail", "a 5.50 well-known e-mail"),
        ("Tea (or milk).", "Tea -LRB- or milk -RRB- ."),
        (
            "The 1990s, a 3-year-old, 1,000-mile walks",
            "The 1990s , a 3-year-old , 1,000-mile walks",
        ),
        ("☕ 日本 \x01 \u2028 ⟦NP", "☕ 日本 \x01 ⟦ NP"),
        ("", ""),
    ],
)
def test_text_is_cut_into_words(text: str, words: str) -> None:
    assert treebank_tokenize(text) == words.split() == treebank_tokenize(words)


# A whole run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A corpus of twelve trees in files of its own, and a small model that has learned
    them.
    """
    folder = tmp_path_factory.mktemp("trees")
    for split in ("train", "val", "test"):
        (folder / f"{split}.en").write_text(
            "\n".join(SENTENCES) + "\n", encoding="utf-8"
        )
        (folder / f"{split}.trees").write_text(
            "\n".join(map(linearise, TREES)) + "\n", encoding="utf-8"
        )
    shape = TransformerConfig(
        vocabulary_size=60, N=1, d_model=32, d_ff=64, h=2, dropout=0.0
    )
    config = TrainingConfig(
        shape,
        batches=BatchConfig(tokens=300),
        optimizer=OptimizerConfig(warmup=40),
        checkpoints=CheckpointConfig(minutes=1000.0, keep=1, average=1),
        steps=120,
    )
    train_model(config, str(folder), "en-trees", folder / "run")
    return folder, folder / "run"


def test_a_parser_is_trained_like_any_model(run: tuple[Path, Path]) -> None:
    for constrained in (False, True):
        parser = Parser.load(run[1], constrained=constrained)
        assert parser([tree.words() for tree in TREES]) == TREES


def test_constraints_do_not_change_the_score_of_a_tree(run: tuple[Path, Path]) -> None:
    constrained, free = (
        Parser.load(run[1], constrained=each) for each in (True, False)
    )
    for one, other in zip(
        constrained.n_best(SENTENCES, 1), free.n_best(SENTENCES, 1), strict=True
    ):
        assert one[0].tree == other[0].tree
        assert one[0].log_probability == pytest.approx(
            other[0].log_probability, abs=1e-5
        )


def test_there_must_be_gold_trees() -> None:
    assert "wsj trees: no tree to compare with" in complaint(
        gold_trees, Pairs([], [], "wsj", "wsj trees")
    )


def test_gold_trees_must_be_trees(run: tuple[Path, Path]) -> None:
    folder = run[0]
    assert gold_trees(load_pairs(str(folder), "en-trees", "test")) == TREES
    (folder / "odd.en").write_text("The cat\nThe dog\n", encoding="utf-8")
    (folder / "odd.trees").write_text(
        "⟦NP ⟦DT⟧ ⟦NN⟧ NP⟧\n⟦NP ⟦DT⟧ NP⟧\n", encoding="utf-8"
    )
    message = complaint(gold_trees, load_pairs(str(folder), "en-trees", "odd"))
    assert "odd.trees, line 2: no tree (1 parts of speech for 2 words)" in message


# The command line


def test_sentences_in_and_trees_out(aiayn: Any, run: tuple[Path, Path]) -> None:
    for flags in ([], ["--no-constrained", "--beam", 2, "--alpha", 0], ["--beam", 100]):
        code, output, errors = aiayn(
            "parse", run[1], *flags, text="\n".join(SENTENCES) + "\n"
        )
        assert (code, errors) == (0, "")
        assert output.splitlines() == list(map(str, TREES))


def test_each_line_has_a_line_of_trees(aiayn: Any, run: tuple[Path, Path]) -> None:
    assert aiayn("parse", run[1]) == (0, "", "")
    odd = ["", "The cat slept.", "   ", "☕ (日本) \x01 ⟦NP", "slept", "cat " * 10_000]
    odd.append("Ein Hund .")
    code, output, errors = aiayn("parse", run[1], "--beam", 2, text="\n".join(odd))
    *_, last = trees = output.splitlines()
    assert [k for k, tree in enumerate(trees) if not tree] == [0, 2, 5]
    assert code == 1 and "sentence 6 has 20,001 tokens, more than 1,000" in errors
    assert read_tree(trees[1]).words() == ["The", "cat", "slept", "."]
    assert read_tree(trees[3]).words() == "☕ -LRB- 日本 -RRB- \x01 ⟦ NP".split(" ")
    assert read_tree(last).words() == ["Ein", "Hund", "."]


def test_a_parser_is_evaluated_by_its_brackets(
    aiayn: Any, run: tuple[Path, Path], tmp_path: Path
) -> None:
    (folder, out), file = run, tmp_path / "f1.json"
    code, output, errors = aiayn("evaluate", out, "--beam", 2, "--json", file)
    seen = f"12 of 12 sentences are in {folder}/train.en too, on which the model was"
    assert code == 0 and errors.splitlines() == [
        f"aiayn: {folder}/test.en: {seen} trained",
        f"aiayn: scored on {folder}, as the run says",
    ]
    assert output.startswith("F1 100.00 ") and "12 sentences" in output
    record = json.loads(file.read_text(encoding="utf-8"))
    assert (record["f1"], record["split"], record["beam"]) == (100, "test", 2)
    assert record["command"] == f"aiayn evaluate {out} --beam 2 --json {file}"
    for share in ("complete_match", "strict_f1", "well_formed"):
        assert record[share] == 100
    assert record["in_training"] == record["sentences"] == 12 and record["constrained"]
    assert record["data"] == str(folder)
    code, _, errors = aiayn("evaluate", out, "--no-constrained", "--json", file)
    assert code == 0, errors
    record = json.loads(file.read_text(encoding="utf-8"))
    assert (record["f1"], record["beam"], record["constrained"]) == (100, 21, False)


def test_what_is_odd_about_a_parsers_score_names_the_file(
    aiayn: Any, run: tuple[Path, Path], tmp_path: Path
) -> None:
    tree = "(S (NP (DT The) (NN ☕)) (VP (VBD slept)) (. .))"
    (tmp_path / "test.en").write_text("The ☕ slept .\n", encoding="utf-8")
    (tmp_path / "test.trees").write_text(linearise(read_tree(tree)), encoding="utf-8")
    code, _, errors = aiayn("evaluate", run[1], "--data", tmp_path, "--beam", 2)
    letter = "sentence 1 has a letter unknown to the model, '☕' (U+2615)"
    assert (code, errors) == (0, f"aiayn: {tmp_path}/test.en: {letter}\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["parse", "nowhere"], "nowhere"),
        (["parse", "RUN", "--beam", 0], "beam"),
        (["parse", "RUN", "--alpha", -1], "--alpha -1.0: should be"),
        (["evaluate", "RUN", "--split", "dev"], "dev.en"),
        (["evaluate", "RUN", "--data", "ptb"], "let it name the folder"),
        (
            ["evaluate", "RUN", "--bleu-variants"],
            "F1 is for; leave out --source, --pair, --bleu-variants, --baseline and",
        ),
        (["translate", "RUN"], "a parser; use `aiayn parse`"),
    ],
)
def test_what_a_parser_s_commands_refuse(
    aiayn: Any,
    run: tuple[Path, Path],
    arguments: list[Any],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AIAYN_PTB", raising=False)
    code, output, errors = aiayn(
        *(run[1] if word == "RUN" else word for word in arguments), text="A cat .\n"
    )
    assert (code, output, len(errors.splitlines())) == (2, "", 1)
    assert errors.startswith("aiayn: ") and says in errors
