"""Trees in brackets, trees as sentences, and the treebank's own files (paper, section
6.3).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import complaint

from aiayn import synthetic
from aiayn.data import Pairs, Vocabulary, load_pairs, train_vocabulary
from aiayn.data import corpora as data
from aiayn.data.corpora import trees_of
from aiayn.data.trees import (
    LEFT,
    MAX_DEPTH,
    RIGHT,
    IllFormed,
    Leaf,
    Tree,
    WrongLength,
    cleaned,
    delinearise,
    linearise,
    plain,
    read_tree,
    read_trees,
    tree_tokens,
    treebank,
)
from aiayn.data.vocabulary import EOS_ID
from aiayn.errors import InputError
from aiayn.training import recipe

CAT = "(S (NP (DT The) (NN cat)) (VP (VBD slept)) (. .))"
LINE = "⟦S ⟦NP ⟦DT⟧ ⟦NN⟧ NP⟧ ⟦VP ⟦VBD⟧ VP⟧ ⟦.⟧ S⟧"

names = st.text(
    st.characters(categories=["L", "N", "P"], exclude_characters=f"(){LEFT}{RIGHT}"),
    min_size=1,
)
words = st.text(
    st.characters(categories=["L", "N", "P"], exclude_characters="()"), min_size=1
)
leaves = st.builds(Leaf, names, words)
parts = st.recursive(
    leaves,
    lambda inner: st.builds(
        Tree, names, st.lists(inner, min_size=1, max_size=4).map(tuple)
    ),
    max_leaves=12,
)
trees = st.builds(Tree, names, st.lists(parts, min_size=1, max_size=4).map(tuple))


# Reading and writing


def test_a_tree_is_read_and_written_back() -> None:
    tree = read_tree(CAT)
    assert tree.label == "S" and tree.children[2] == Leaf(".", ".")
    assert tree.words() == ["The", "cat", "slept", "."]
    assert str(tree) == CAT
    assert read_trees(f"{CAT}\n\n(NP\n  (NN tea) )\n", "two") == [
        tree,
        read_tree("(NP (NN tea))"),
    ]


@given(trees)
def test_any_tree_is_read_back(tree: Tree) -> None:
    assert read_tree(str(tree)) == tree


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(S (NN a))\n(S (NP (NN b))\n", "file, line 2: this bracket is not closed"),
        ("(S (NN a))\n\n(S (NN b)))\n", "file, line 3: ')' outside of all brackets"),
        ("(S (NN a)) stray\n", "file, line 1: 'stray' outside of all brackets"),
        ("(S\n(NP)\n(VP (VB go)))", "file, line 2: (NP) holds nothing"),
        ("(S (NP ()))", "file, line 1: () holds nothing"),
        (
            "(S (NP (DT the) cat))",
            "file, line 1: 'cat' stands in (NP …) without brackets",
        ),
        (
            "(S (NN black cat))",
            "file, line 1: 'black' stands in (NN …) without brackets",
        ),
        (
            "( (S (NP (NN a))\n( (S (NN b)) )\n",
            "file, line 2: a bracket without a label",
        ),
        ("(S\n" * (MAX_DEPTH + 1) + "x", "file, line 1: this bracket is not closed"),
    ],
)
def test_faulty_brackets_are_refused_with_file_and_line(text: str, said: str) -> None:
    assert said in complaint(read_trees, text, "file")


def nested(depth: int) -> tuple[str, str]:
    """A tree with so many brackets inside each other, that of its word included; and as
    a sentence.
    """
    opening, closing = "(X " * (depth - 1), ")" * (depth - 1)
    line = " ".join(["⟦X"] * (depth - 1) + ["⟦N⟧"] + ["X⟧"] * (depth - 1))
    return f"{opening}(N a){closing}", line


def test_the_deepest_tree() -> None:
    text, line = nested(MAX_DEPTH)
    tree = read_tree(text)
    assert str(tree) == text and linearise(tree) == line and tree.words() == ["a"]
    assert delinearise(line, ["a"]) == tree == cleaned(tree)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1000, 100_000])
@pytest.mark.parametrize("closed", [True, False])
def test_deeper_trees_are_refused(depth: int, closed: bool) -> None:
    """On one line as on many: without a bound, Python's own would end the program."""
    text, line = nested(depth)
    texts = (
        [text, text.replace(" ", "\n")] if closed else [text.rstrip(")"), "(" * depth]
    )
    for each in texts:
        assert (
            f"file, line 1: this bracket is not closed where {MAX_DEPTH} more"
            in complaint(read_trees, each, "file")
        )
    with pytest.raises(IllFormed, match=f"{MAX_DEPTH} brackets are open at once"):
        delinearise(line if closed else line.partition("⟦N⟧")[0], ["a"])
    message = complaint(
        lambda: list(trees_of(Pairs(["a"], [line], "my.en", "my.trees")))
    )
    assert message.startswith("my.trees, line 1: no tree (")


def test_one_tree_means_one() -> None:
    assert "2 trees" in complaint(read_tree, CAT * 2)
    assert "0 trees" in complaint(read_tree, " ")


# The Penn Treebank

WSJ = """
( (S
    (NP-SBJ-1 (NNP Mr.) (NNP Vinken) )
    (VP (VBZ is)
      (VP (VBN said)
        (SBAR (-NONE- 0)
          (S (NP-SBJ (-NONE- *-1) )
            (VP=2 (TO to) (VP (VB pay) (PP-CLR (-NONE- *T*)))))) ))
    (. .) ))
( (NP (-NONE- *) ))
"""


def test_traces_function_tags_and_what_is_empty_are_removed() -> None:
    kept, nothing = read_trees(WSJ, "wsj")
    assert str(cleaned(kept)) == (
        "(S (NP (NNP Mr.) (NNP Vinken)) (VP (VBZ is) (VP (VBN said)"
        " (SBAR (S (VP (TO to) (VP (VB pay))))))) (. .))"
    )
    assert cleaned(nothing) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(TOP (S (NN a)))", "(S (NN a))"),
        ("(ROOT (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))"),
        ("( (NN a))", "(TOP (NN a))"),
        ("(NP (-LRB- -LRB-) (NN a))", "(NP (-LRB- -LRB-) (NN a))"),
    ],
)
def test_the_outermost_bracket(text: str, expected: str) -> None:
    assert str(cleaned(read_tree(text))) == expected


@pytest.fixture
def ptb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like the treebank's, with one sentence in each section."""
    for section in range(25):
        path = (
            tmp_path
            / "parsed"
            / "mrg"
            / "wsj"
            / f"{section:02}"
            / f"wsj_{section:02}01.mrg"
        )
        path.parent.mkdir(parents=True)
        path.write_text(f"\n( (S (NP-SBJ (CD {section}) ) (VP (VBD slept) ) (. .) ))\n")
    monkeypatch.setenv("AIAYN_PTB", str(tmp_path))
    return tmp_path


def test_sections_are_split_as_usual(ptb: Path) -> None:
    for split, sections in (("train", range(2, 22)), ("val", [22]), ("test", [23])):
        assert [tree.words()[0] for tree in treebank(ptb, split)] == [
            str(section) for section in sections
        ]
    pairs = load_pairs("ptb", "en-trees", "test")
    assert pairs.source == ["23 slept ."]
    assert pairs.target == ["⟦S ⟦NP ⟦CD⟧ NP⟧ ⟦VP ⟦VBD⟧ VP⟧ ⟦.⟧ S⟧"]


def test_a_treebank_that_is_not_whole(
    ptb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = next(ptb.rglob("wsj_0701.mrg"))
    copy = ptb / path.name
    copy.write_text("( (S (NP (NN a))\n( (S (NN b)) )\n")
    assert f"{path.name} have one name" in complaint(treebank, ptb, "train")
    path.unlink()
    assert f"{copy}, line 2: a bracket without a label" in complaint(
        treebank, ptb, "train"
    )
    copy.unlink()
    assert "no file wsj_07NN.mrg" in complaint(load_pairs, "ptb", "en-trees", "train")
    assert "splits are train, val, test" in complaint(
        load_pairs, "ptb", "en-trees", "dev"
    )
    assert "ptb has no en-de train" in complaint(load_pairs, "ptb", "en-de", "train")
    monkeypatch.delenv("AIAYN_PTB")
    assert "let it name the folder" in complaint(load_pairs, "ptb", "en-trees", "val")


# Trees as sentences


def test_a_tree_as_a_sentence() -> None:
    tree = read_tree(CAT)
    assert linearise(tree) == LINE
    assert delinearise(LINE, tree.words()) == tree


@given(trees)
def test_any_tree_comes_back_from_its_sentence(tree: Tree) -> None:
    assert delinearise(linearise(tree), tree.words()) == tree


@pytest.mark.parametrize(
    "text",
    [
        "",
        "⟦NN⟧",  # a word is no tree
        "⟦S ⟦NN⟧",
        "⟦NN⟧ S⟧",
        "⟦S S⟧",
        "⟦S ⟦NN⟧ NP⟧",
        "⟦S ⟦NN⟧ S⟧ S⟧",
        "⟦S ⟦NN⟧ S⟧ ⟦S ⟦NN⟧ S⟧",
        "⟦S ⟦NN⟧ S⟧ ⟦NN⟧",
        "⟦S cat S⟧",
    ],
)
def test_what_is_no_tree(text: str) -> None:
    with pytest.raises(IllFormed) as caught:
        delinearise(text, ["cat"])
    assert not isinstance(caught.value, WrongLength)


@pytest.mark.parametrize(
    "given_words", [[], ["The", "cat", "slept"], ["The", "cat", "slept", "well", "."]]
)
def test_a_tree_of_other_words(given_words: list[str]) -> None:
    with pytest.raises(WrongLength, match="4 parts of speech"):
        delinearise(LINE, given_words)


def test_trees_of_a_corpus() -> None:
    pairs = Pairs(["The cat slept .", "cat"], [LINE, "⟦S ⟦NN⟧ S⟧"])
    assert [str(tree) for tree in trees_of(pairs)] == [CAT, "(S (NN cat))"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("⟦S ⟦NN⟧", "1 brackets are open at the end"),
        ("Die Katze schläft.", "Die cannot follow here"),
        ("⟦S ⟦NN⟧ ⟦NN⟧ S⟧", "2 parts of speech for 1 words"),
        ("x" * 100_000, f"{'x' * 40} cannot follow here"),
        ("⟦S S⟧", "S⟧ cannot follow here"),
    ],
)
def test_trees_that_are_none_have_a_line(target: str, said: str) -> None:
    """Those before it are there already: a corpus of millions is read one by one."""
    found = trees_of(
        Pairs(["The cat slept .", "cat"], [LINE, target], "my.en", "my.trees")
    )
    assert str(next(found)) == CAT
    message = complaint(lambda: next(found))
    assert message.startswith(f"my.trees, line 2: no tree ({said}")
    assert len(message) < 200
    assert "my.en; mend it" in message


# Data and vocabulary


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A small synthetic corpus."""
    for split in ("train", "val"):
        monkeypatch.setitem(
            data.SYNTHETIC_PAIRS, split, 300 if split == "train" else 50
        )
    yield


def test_the_synthetic_corpus_has_trees(few: None) -> None:
    pairs = load_pairs("synthetic", "en-trees", "val")
    drawn = synthetic.sample(50, split="valid")
    assert pairs.source == [" ".join(pair.source_tokens) for pair in drawn]
    for source, target, pair in zip(pairs.source, pairs.target, drawn, strict=True):
        assert str(delinearise(target, source.split())) == pair.tree
    with pytest.raises(InputError, match="synthetic has no trees-en val"):
        load_pairs("synthetic", "trees-en", "val")


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """Pieces of a few sentences, and the tokens of their trees."""
    drawn = synthetic.sample(200)
    lines = [linearise(read_tree(pair.tree)) for pair in drawn]
    lines.append(
        "⟦PRP$⟧ ⟦``⟧ ⟦''⟧ ⟦,⟧ ⟦:⟧ ⟦\"⟧ ⟦-LRB-⟧ ⟦#⟧ ⟦WHNP WHNP⟧ ⟦PRT|ADVP PRT|ADVP⟧"
    )
    return train_vocabulary(
        [" ".join(pair.source_tokens) for pair in drawn],
        400,
        tree_tokens(lines, "trees"),
    )


def test_each_token_of_a_tree_is_one_piece(vocabulary: Vocabulary) -> None:
    for pair in synthetic.sample(200):
        line = linearise(read_tree(pair.tree))
        (tokens,) = vocabulary.encode([line])
        assert len(tokens) == len(line.split()) + 1
        assert vocabulary.decode([tokens]) == [line]
    strange = (
        "⟦PRP$⟧ ⟦``⟧ ⟦''⟧ ⟦,⟧ ⟦:⟧ ⟦\"⟧ ⟦-LRB-⟧ ⟦#⟧ ⟦WHNP ⟦PRT|ADVP PRT|ADVP⟧ WHNP⟧"
    )
    (tokens,) = vocabulary.encode([strange])
    assert len(tokens) == len(strange.split()) + 1 and tokens[-1] == EOS_ID
    assert vocabulary.decode([tokens]) == [strange]


def test_lines_that_are_no_linearised_trees_are_refused() -> None:
    message = complaint(tree_tokens, [LINE, CAT], "train.trees")
    assert "train.trees, line 2: " in message and "is no part of a tree" in message


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1)
        | st.sampled_from(["⟦NP", "NP⟧", "⟦NN⟧", "▁⟦NP", "x⟦NP", "(NP", "NP"])
    )
)
def test_words_of_a_sentence_are_never_tokens_of_trees(
    vocabulary: Vocabulary, words: list[str]
) -> None:
    sentence = " ".join(map(plain, words))
    (tokens,) = vocabulary.encode([sentence])
    assert not any(
        LEFT in piece or RIGHT in piece for piece in vocabulary.pieces(tokens)
    )


def test_recipes_of_parsers() -> None:
    wsj, semi, theirs = recipe("wsj"), recipe("wsj-semi"), recipe("wsj-t2t")
    for paper, size in ((wsj, 16_000), (semi, 32_000)):
        shape = paper.model
        assert (shape.N, shape.d_model, shape.vocabulary_size) == (4, 1024, size)
        assert (shape.h, shape.d_ff, paper.optimizer.warmup, paper.batches.tokens) == (
            8,
            2048,
            4000,
            25_000,
        )
    assert (theirs.model.N, theirs.model.d_ff, theirs.model.dropout) == (6, 2048, 0.2)
    assert (theirs.optimizer.warmup, theirs.optimizer.rate_factor) == (16_000, 5.0)
