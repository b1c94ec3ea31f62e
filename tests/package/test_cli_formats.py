"""The command line with files of one's own: trained on, scored and translated."""

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_data_formats import ODD

from aiayn import synthetic
from aiayn.cli.models import models
from aiayn.cli.streams import arriving_lines
from aiayn.data.vocabulary import load_vocabulary
from aiayn.translation.translator import Translator

Command = Callable[..., tuple[int, str, str]]
SHIPPED = "synthetic-en-de"
PAIRS = [(pair.source, pair.target) for pair in synthetic.sample(60, split="test")]
RECIPE = "--recipe synthetic --model.vocabulary-size 120 --model.N 1 --steps 2".split()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with a header and a bad line, and its columns as plain files."""
    rows = [f"{source}\t{target}\n" for source, target in PAIRS]
    (path := tmp_path / "pairs.tsv").write_text(
        "".join(["en\tde\n", *rows, "a\0\tb\n"])
    )
    for name, side in zip(("t.en", "t.de"), zip(*PAIRS, strict=True), strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side[:8]))
    return path


def test_a_table_becomes_a_model(aiayn: Command, table: Path, tmp_path: Path) -> None:
    words = ["train", "--train", table, *RECIPE, "--out", tmp_path / "run"]
    code, _, errors = aiayn(*words)
    assert code == 2 and f"{table}, line 62: a NUL byte" in errors
    assert (
        "--skip-bad-lines leaves such lines out, and --batches.skip-long pairs"
        in errors
    )
    assert not (tmp_path / "run").exists()
    code, _, errors = aiayn(*words, "--skip-bad-lines")
    assert code == 0, errors
    assert f"source: {table}, column en ({PAIRS[0][0]!r}); target: {table}" in errors
    assert (
        "1 of 61 lines are left out" in errors
        and "3 pairs are held out, 57 are" in errors
    )
    learned = tmp_path / "run" / "vocabulary.model"
    words[-1], words[-2:-2] = tmp_path / "other", ["--vocabulary", learned]
    code, _, errors = aiayn(*words, "--skip-bad-lines")
    assert code == 0, errors
    ours, theirs = (
        load_vocabulary(tmp_path / run / "vocabulary.model") for run in ("run", "other")
    )
    assert ours.encode([PAIRS[0][0]]) == theirs.encode([PAIRS[0][0]])
    code, output, _ = aiayn("info", tmp_path / "run")
    assert code == 0
    for fact in (
        r"model +[\d,]+ parameters: .*vocabulary_size 120",
        f"data +{table}, column en; {table}, column de",
        "languages +en-de",
        "pairs +57",
        "scores +validation perplexity",
        f"started by +aiayn train --train {table} .* --out .*run --skip-bad-lines$",
    ):
        assert re.search(f"^{fact}", output, re.MULTILINE), fact
    sides = [tmp_path / "t.en", tmp_path / "t.de"]
    words = ["train", "--train", *sides, "--valid", *sides, *RECIPE]
    code, _, errors = aiayn(*words, "--out", tmp_path / "two", "--batches.skip-long")
    assert code == 0 and f"source: {sides[0]} (" in errors, errors


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--out", "o"], "give either --data, a corpus or a folder, or --train, files"),
        (["--data", "d", "--train", "f", "--out", "o"], "give either --data"),
        (["--data", "d", "--columns", "1,2", "--out", "o"], "give either --data"),
        (["--valid", "f", "--out", "o"], "give either --data"),
        (["--train", "none.tsv", "--out", "o"], "none.tsv: cannot be read"),
    ],
)
def test_texts_that_cannot_be(
    aiayn: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: Any,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = aiayn("train", "--recipe", "synthetic", *words)
    assert code == 2 and says in errors and errors.count("\n") == 1
    assert not Path("o").exists()


@pytest.mark.parametrize(("name", "content", "says"), ODD)
def test_an_odd_file_gives_one_line(
    aiayn: Command, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (path := tmp_path / name).write_bytes(content)
    code, output, errors = aiayn(
        *("train", "--train", path, "--recipe", "synthetic", "--out", tmp_path / "o")
    )
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("aiayn: ") and re.search(says, errors)


def test_scores_without_a_folder(aiayn: Command, table: Path, tmp_path: Path) -> None:
    source, reference = tmp_path / "t.en", tmp_path / "t.de"
    words = ["evaluate", SHIPPED, "--source", source, "--reference", reference]
    code, output, errors = aiayn(*words, "--bleu-variants", "--baseline", SHIPPED)
    assert (code, errors) == (0, "")
    names = [re.split(r" [\d+-]", line)[0] for line in output.splitlines()[:6]]
    scores = ["BLEU", "chrF", "BLEU (paper)"]
    other = [f"difference from {SHIPPED}: {name}" for name in scores]
    assert names == scores + other and "BLEU +0.00 [+0.00, +0.00], p = 1" in output
    words[3] = "-"
    text = source.read_text()
    code, output, errors = aiayn(*words, "--json", "-", text=text)
    record = json.loads(output)
    assert code == 0 and record["data"] == "standard input"
    translator = Translator.load(SHIPPED)
    found = translator.evaluate(PAIRS[:8])
    assert found["BLEU"].value == record["measured"]["BLEU"]["value"]
    assert [*found] == ["BLEU", "chrF", "BLEU (paper)"]
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{en}\t{de}\n" for en, de in PAIRS[:8]))
    assert translator.evaluate(table) == found == translator.evaluate(str(table))
    apart = translator.evaluate(PAIRS[:8], baseline=[de for _, de in PAIRS[:8]])
    assert apart["BLEU"].value == pytest.approx(found["BLEU"].value - 100)
    assert apart["BLEU"].p is not None


@pytest.mark.parametrize(
    ("words", "beam"),
    [
        (["--source", "t.en", "--reference", "t.de"], 4),
        (["--data", "corpus", "--beam", 1], 1),
        (["--source", "t.en", "--reference", "t.de", "--baseline", "marian"], 4),
    ],
)
def test_a_folder_of_hugging_faces_is_scored(
    aiayn: Command, table: Path, monkeypatch: pytest.MonkeyPatch, words: Any, beam: int
) -> None:
    monkeypatch.chdir(table.parent)
    Path("corpus").mkdir()
    for side in ("en", "de"):
        shutil.copy(f"t.{side}", f"corpus/test.{side}")
    assert aiayn("convert", SHIPPED, "marian", "--to", "huggingface")[0] == 0
    code, output, errors = aiayn("evaluate", "marian", *words, "--json", "-")
    assert (code, errors) == (0, "")
    record, translator = json.loads(output), Translator.load("marian", beam=beam)
    found = translator.evaluate(PAIRS[:8])
    assert record["measured"]["BLEU"]["value"] == found["BLEU"].value > 10
    assert (record["beam"], record["pair"]) == (beam, "en-de")
    assert all(each["value"] == 0 for each in record.get("difference", {}).values())


def test_what_a_folder_of_hugging_faces_lacks_is_said(
    aiayn: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "marian"
    assert aiayn("convert", SHIPPED, folder, "--to", "huggingface")[0] == 0
    assert "languages    en-de" in aiayn("info", folder)[1]
    for words, says in (
        (["evaluate", folder], "no test set to score it on"),
        (["evaluate", folder, "--average", 2], "nothing to average"),
        (["convert", folder, tmp_path / "x", "--to", "onnx"], "more than one"),
    ):
        code, _, errors = aiayn(*words)
        assert code == 2 and says in errors and errors.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--source", "t.en"],
            "give --source and --reference, two files; one may be -",
        ),
        (["--source", "-", "--reference", "-"], "two files; one may be -"),
        (["--source", "t.en", "--reference", "short"], "t.en: 8 lines, short: 1 lines"),
        (["--source", "t.en", "--reference", "none"], "none: cannot be read"),
        (
            ["--source", "t.en", "--reference", "t.de", "--split", "test"],
            "take the place of --data and --split",
        ),
    ],
)
def test_scores_that_cannot_be(
    aiayn: Command, table: Path, monkeypatch: pytest.MonkeyPatch, words: Any, says: str
) -> None:
    monkeypatch.chdir(table.parent)
    Path("short").write_text("Ja.\n")
    code, _, errors = aiayn("evaluate", SHIPPED, *words)
    assert code == 2 and says in errors and errors.count("\n") == 1


def test_translate_from_file_to_file(
    aiayn: Command, tmp_path: Path, table: Path
) -> None:
    packed, out = tmp_path / "in.gz", tmp_path / "out.de"
    lines = [source for source, _ in PAIRS[:3]]
    packed.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    words = ["translate", SHIPPED, "--input", packed]
    code, printed, errors = aiayn(*words, "--output", out)
    assert (code, printed, errors) == (0, "", "")
    plain = out.read_text().splitlines()
    assert plain == Translator.load(SHIPPED)(lines)
    assert aiayn(*words, "--output", tmp_path / "out.gz")[0] == 0
    written = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode()
    assert written.splitlines() == plain
    assert "or as .gz" in aiayn(*words, "--output", tmp_path / "out.zip")[2]
    scored = aiayn(*words, "--scores")[1].splitlines()
    assert [line.split("\t")[1] for line in scored] == plain
    found = [
        json.loads(line)
        for line in aiayn(*words, "--json", "--n-best", 2)[1].splitlines()
    ]
    assert [each["source"] for each in found] == lines
    assert [each["translations"][0]["text"] for each in found] == plain
    assert all(len(each["translations"]) == 2 for each in found)
    packed.write_bytes(gzip.compress(b"The dog sleeps.\n" * 9)[:-9])
    for options in ([], ["--output", out]):
        code, _, errors = aiayn(*words, *options)
        assert code == 2 and f"{packed}: cannot be read" in errors
    assert out.read_text().splitlines() == plain  # the old file, whole


def test_bad_lines_may_stay_untranslated(aiayn: Command, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"The dog sleeps.\nbad\xff\nThe dog sleeps.\n")
    words = ["translate", SHIPPED, "--input", path]
    code, _, errors = aiayn(*words)
    assert code == 2 and f"{path}, line 2: not UTF-8" in errors
    assert "; --skip-bad-lines leaves such lines untranslated\n" in errors
    code, printed, errors = aiayn(*words, "--skip-bad-lines")
    assert (code, printed) == (0, "Der Hund schläft.\n\nDer Hund schläft.\n")
    assert "bad lines stay untranslated: 1; the first: " in errors


def test_a_sentence_may_be_an_argument(aiayn: Command, tmp_path: Path) -> None:
    printed = aiayn("translate", SHIPPED, "--beam", 2, "The dog sleeps.")
    assert printed == (0, "Der Hund schläft.\n", "")
    code, _, errors = aiayn("translate", SHIPPED, *"The dog sleeps.".split())
    fault = "more than one argument: put the sentence into quotes"
    assert (code, errors) == (2, f"aiayn: {fault}\n")
    (named := tmp_path / "named").touch()
    code, _, errors = aiayn("translate", SHIPPED, "--beam", 1, named)
    message = f"{named} was translated as text; --input {named} takes the file"
    assert code == 0 and f"aiayn: {message}\n" in errors
    code, _, errors = aiayn("translate", SHIPPED, "Yes.", "--input", tmp_path / "in")
    assert (code, errors) == (2, "aiayn: give either a sentence or --input, a file\n")
    code, _, errors = aiayn("translate", SHIPPED, "--input", tmp_path / "in")
    fault = "cannot be read (No such file or directory)"
    assert (code, errors) == (2, f"aiayn: {tmp_path / 'in'}: {fault}\n")


def test_a_file_is_read_piece_by_piece(tmp_path: Path) -> None:
    (path := tmp_path / "in").write_bytes(b"The dog sleeps.\n" * 100_000)
    sizes = [len(lines) for lines in arriving_lines(path)]
    assert sum(sizes) == 100_000 and max(sizes) <= 1000 and len(sizes) >= 100


def test_what_ships_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    models()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["en-de", SHIPPED, "synthetic-en-trees"]
    assert all("parameters," in row and {*row} & {"BLEU", "F1"} for row in rows)
    assert " ".join(rows[0]).endswith(" (tatoeba val, 200 pairs, one in 12, cased)")
