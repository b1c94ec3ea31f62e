"""CRAFT: its own split by article, trees cleaned as the Penn Treebank's, short ones to
learn from.
"""

import hashlib
import logging
from pathlib import Path
from typing import Any

import pytest
from small_runs import complaint

from aiayn.data import craft, load_pairs
from aiayn.data.corpora import trees_of
from aiayn.data.trees import LEFT, RIGHT

NUMBERS = [str(number) for number in range(61)]
SIXTY, LONG = (
    f"(NP {' '.join(f'(CD {number})' for number in numbers)})"
    for numbers in (NUMBERS[1:], NUMBERS)
)
MAY = "(PP-LOC (IN in) (NP (NN \u200aMay\u2009)))"
HEADING = "( (HEADING (NP (NNS Results))) )\n"
ARTICLES = {
    "train": {
        "11": f"( (TITLE (NP-1 (NP (NNS Mice)) {MAY}) ) )\n( {LONG} )\n( {SIXTY} )\n",
        "12": "( (S (NP-SBJ (-NONE- *)) (VP (VB See) (NP (NN A\u00a0)))) )\n"
        f"( (NP (-LRB- -LRB-) (HYPH -)) )\n{HEADING}",
    },
    "dev": {"21": f"{HEADING}( {LONG} )\n\n"},
    "test": {"31": f"( {LONG} )\n( (NP (-LRB- -LRB-) (CD 1)) )\n{HEADING}"},
}
TREES = "structural-annotation/treebank/penn"
IDS = "articles/ids"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four short articles, as CRAFT publishes its 97, with their checksums."""
    folder, sums = tmp_path / "published", {}
    (folder / TREES).mkdir(parents=True)
    (folder / IDS).mkdir(parents=True)
    for stem, texts in ARTICLES.items():
        for name, text in texts.items():
            (folder / TREES / f"{name}.tree").write_text(text, encoding="utf-8")
        listed = "".join(f"{name}\n" for name in texts)
        (folder / IDS / f"craft-ids-{stem}.txt").write_text(listed)
        both = {"txt": listed, "tree": "".join(texts.values())}
        for ending, text in both.items():
            sums[f"{stem}.{ending}"] = hashlib.sha256(text.encode()).hexdigest()
    monkeypatch.setattr(craft, "CRAFT_SHA256", sums)
    monkeypatch.setattr(craft, "CRAFT", folder.as_uri())
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AIAYN_DATA", raising=False)
    return folder


def test_trees_are_cleaned_and_long_ones_are_not_learned_from(
    published: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    train, val, test = (
        load_pairs("craft", "en-trees", split) for split in ("train", "val", "test")
    )
    sixty = " ".join(NUMBERS[1:])
    assert train.source == ["Mice in May", sixty, "See A", "-LRB- -", "Results"]
    assert val.source == ["Results", " ".join(NUMBERS)]
    assert test.source == [" ".join(NUMBERS), "-LRB- 1", "Results"]
    assert [str(tree) for tree in trees_of(train)][:3:2] == [
        "(TITLE (NP (NP (NNS Mice)) (PP (IN in) (NP (NN May)))))",
        "(S (VP (VB See) (NP (NN A))))",
    ]
    assert "1 of 6 trees are left out, of more than 60 words" in caplog.text


def test_what_is_fetched_is_kept(published: Path) -> None:
    first = load_pairs("craft", "en-trees", "train")
    for path in published.rglob("*.*"):
        path.unlink()
    assert load_pairs("craft", "en-trees", "train") == first
    message = complaint(load_pairs, "craft", "en-trees", "val")
    assert "craft-ids-dev.txt: cannot be fetched" in message


def test_a_fetch_that_breaks_off(published: Path, tmp_path: Path) -> None:
    (lost := published / TREES / "12.tree").rename(tmp_path / "12.tree")
    message = complaint(load_pairs, "craft", "en-trees", "train")
    assert "12.tree: cannot be fetched" in message and "set AIAYN_DATA" in message
    (tmp_path / "12.tree").rename(lost)
    assert len(load_pairs("craft", "en-trees", "train")) == 5


@pytest.mark.parametrize("name", [f"{TREES}/12.tree", f"{IDS}/craft-ids-train.txt"])
def test_a_damaged_file(
    published: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (published / name).write_text("( (NP (NN Login)) )\n")
    here = "/cache/craft" if name.endswith(".tree") else published.as_uri()
    message = complaint(load_pairs, "craft", "en-trees", "train")
    assert f"{here}/{Path(name).parent}" in message and "SHA-256 is" in message
    assert not list((tmp_path / "cache").rglob(Path(name).name))
    published.rename(published.with_name("craft"))
    monkeypatch.setenv("AIAYN_DATA", str(tmp_path))
    message = complaint(load_pairs, "craft", "en-trees", "train")
    assert f"{tmp_path}/craft/{Path(name).parent}" in message


@pytest.mark.parametrize(
    ("pair", "split"), [("en-de", "train"), ("trees-en", "val"), ("en-trees", "dev")]
)
def test_what_there_is_not(pair: str, split: str) -> None:
    message = complaint(load_pairs, "craft", pair, split)
    assert message.startswith(f"craft has no {pair} {split}: the pair is en-trees")


def test_a_parser_of_it(aiayn: Any, published: Path, tmp_path: Path) -> None:
    words = ["--data", "craft", "--pair", "en-trees", "--recipe", "parser"]
    words += "--model.vocabulary-size 60 --model.N 1 --model.d-model 16".split()
    words += "--model.d-ff 16 --model.h 2 --batches.tokens 300 --steps 2".split()
    code, output, errors = aiayn("prepare", *words)
    assert (code, output) == (0, "ready: train 5 pairs, val 2 pairs, test 3 pairs\n")
    assert "craft train: 1 of 6 trees are left out" in errors
    for path in published.rglob("*.*"):  # all of it has been fetched
        path.unlink()
    code, output, errors = aiayn("train", *words, "--out", tmp_path / "run")
    assert code == 0, errors
    code, output, errors = aiayn("evaluate", tmp_path / "run", "--beam", 1)
    assert code == 0 and output.startswith("F1 ") and "3 sentences" in output
    assert "craft test words: 1 of 3 sentences are in craft train words too" in errors


@pytest.mark.parametrize(
    ("split", "counts", "kinds"),
    [
        pytest.param(
            *("train", (18_324, 445_354, 60), (29, 44)), marks=pytest.mark.nightly
        ),
        ("val", (2780, 67_652, 257), (28, 45)),
        ("test", (9099, 232_619, 205), (28, 44)),
    ],
)
def test_every_tree_of_the_articles(
    data: Path, split: str, counts: tuple[int, ...], kinds: tuple[int, ...]
) -> None:
    if not (data / "craft").is_dir():
        pytest.skip("needs craft/ in AIAYN_DATA")
    pairs = load_pairs("craft", "en-trees", split)
    lengths = [len(source.split()) for source in pairs.source]
    assert (len(pairs), sum(lengths), max(lengths)) == counts
    tokens = {token for target in pairs.target for token in target.split()}
    opening = {token[1:] for token in tokens if not token.endswith(RIGHT)}
    tags = {token[1:-1] for token in tokens if token[0] + token[-1] == LEFT + RIGHT}
    assert (len(opening), len(tags)) == kinds
    assert {"TITLE", "HEADING", "CAPTION", "CIT", "NML"} <= opening
    assert "-NONE-" not in tags and all(map(str.isalpha, opening))
