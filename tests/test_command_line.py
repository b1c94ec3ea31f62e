"""The command `aiayn`: what it does with good input, and the one line it says about bad input."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiayn import laboratory
from aiayn.__main__ import main

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def aiayn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process: exit code, standard output, standard error."""

    def run(*arguments: Any, text: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["aiayn", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        try:
            main()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of eight sentences."""
    folder = tmp_path_factory.mktemp("corpus")
    english = [f"The {a} is {b}." for a in ("dog", "cake") for b in ("tired", "sour", "old", "new")]
    german = [f"{a} ist {b}." for a in ("Der Hund", "Der Kuchen") for b in ("müde", "sauer", "alt", "neu")]
    for split in ("train", "val", "test"):
        (folder / f"{split}.en").write_text("\n".join(english) + "\n", encoding="utf-8")
        (folder / f"{split}.de").write_text("\n".join(german) + "\n", encoding="utf-8")
    return folder


def train_arguments(corpus: Path, out: Path, *more: Any) -> list[Any]:
    """A training of three steps."""
    options = ["--config", "laboratory", "--vocabulary-size", 60, "--steps", 3]
    return ["train", "--data", corpus, "--out", out, *options, *more]


@pytest.fixture
def run(aiayn: Command, corpus: Path, tmp_path: Path) -> Path:
    """The folder of a training that has come to its end."""
    code, _, errors = aiayn(*train_arguments(corpus, tmp_path / "run"))
    assert code == 0, errors
    return tmp_path / "run"


def test_train_translate_evaluate(aiayn: Command, run: Path) -> None:
    assert (run / "metrics.jsonl").read_text().count("\n") >= 2
    code, output, _ = aiayn("evaluate", run, "--split", "test")
    assert code == 0
    assert output.startswith("BLEU ")
    assert "version:" in output


def test_translate_keeps_the_number_of_lines(aiayn: Command, run: Path) -> None:
    text = b"\nThe dog is tired.\n   \nThe cake is sour.\n\n"
    code, output, _ = aiayn("translate", run, text=text)
    assert code == 0
    assert output.count("\n") == text.count(b"\n")
    assert output.startswith("\n")


def test_nothing_in_nothing_out(aiayn: Command, run: Path) -> None:
    assert aiayn("translate", run)[:2] == (0, "")


def test_bytes_that_are_not_utf8(aiayn: Command, run: Path) -> None:
    code, output, errors = aiayn("translate", run, text=b"The dog.\n\xff\xfe\n")
    assert (code, output) == (2, "")
    assert "standard input, line 2: not UTF-8" in errors


def complaint(answer: tuple[int, str, str]) -> str:
    """What a command that refused its input said, in its one line."""
    code, output, errors = answer
    assert code == 2
    assert not output
    assert errors.startswith("aiayn: ")
    assert errors.count("\n") == 1
    return errors


def test_unknown_configuration(aiayn: Command, corpus: Path, tmp_path: Path) -> None:
    answer = aiayn("train", "--data", corpus, "--config", "smal", "--out", tmp_path / "new")
    assert "unknown configuration 'smal': did you mean 'small'?" in complaint(answer)
    assert not (tmp_path / "new").exists()


def test_unknown_corpus_and_split(aiayn: Command, run: Path, tmp_path: Path) -> None:
    answer = aiayn("train", "--data", "multi3k", "--config", "small", "--out", tmp_path / "new")
    assert "multi3k" in complaint(answer)
    assert "test_2017" in complaint(aiayn("evaluate", run, "--split", "test_2017"))


@pytest.mark.parametrize(
    ("english", "message"),
    [
        (b"One.\nTwo.\n", "train.en: 2 lines"),
        (b"One.\n\nThree.\n", "train.en, line 2: empty"),
        (b"One.\nTwo.\n\xe4\n", "train.en, line 3: not UTF-8"),
        (b"One.\n" + b"word " * 300 + b"\nThree.\n", "train.en, line 2: "),
    ],
    ids=["unequal", "empty line", "not utf-8", "too long"],
)
def test_faulty_files_leave_nothing_behind(
    aiayn: Command, tmp_path: Path, english: bytes, message: str
) -> None:
    for split in ("train", "val"):
        (tmp_path / f"{split}.en").write_bytes(english)
        (tmp_path / f"{split}.de").write_bytes(b"Eins.\nZwei.\nDrei.\n")
    answer = aiayn(*train_arguments(tmp_path, tmp_path / "new", "--vocabulary-size", 30))
    assert message in complaint(answer)
    assert not (tmp_path / "new").exists()


def test_an_output_folder_that_cannot_be_written(aiayn: Command, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    answer = aiayn(*train_arguments(corpus, tmp_path / "file" / "run"))
    assert "cannot be written" in complaint(answer)


def test_a_run_is_not_overwritten(aiayn: Command, corpus: Path, run: Path) -> None:
    assert "holds a run already" in complaint(aiayn(*train_arguments(corpus, run)))


def test_a_checkpoint_of_another_shape(aiayn: Command, run: Path) -> None:
    newest = max((run / "checkpoints").iterdir())
    description = (newest / "config.json").read_text()
    (newest / "config.json").write_text(description.replace('"d_ff": 256', '"d_ff": 128'))
    assert "model.safetensors" in complaint(aiayn("translate", run, text=b"The dog.\n"))


@pytest.mark.parametrize("arguments", [["train"], ["fly"], ["translate", "--beam", "many"]])
def test_wrong_flags(aiayn: Command, arguments: list[str]) -> None:
    assert aiayn(*arguments)[0] == 2


def test_a_beam_that_makes_no_sense(aiayn: Command, run: Path) -> None:
    assert "beam" in complaint(aiayn("translate", run, "--beam", 0, text=b"The dog.\n"))


def test_sample_shows_the_laboratory(aiayn: Command) -> None:
    code, out, _ = aiayn("sample", "--n", 3, "--seed", 7, "--with-tree", "--with-alignment")
    assert code == 0
    for line, pair in zip(out.splitlines(), laboratory.sample(3, seed=7), strict=True):
        source, target, tree, alignment = line.split("\t")
        assert (source, target, tree) == (pair.source, pair.target, pair.tree)
        assert [tuple(map(int, link.split("-"))) for link in alignment.split()] == list(pair.alignment)


@pytest.mark.parametrize(
    "flags, says", [(["--n", -1], "cannot be negative"), (["--span", 11], "choose 1 to 10")]
)
def test_sample_refuses_what_there_is_not(aiayn: Command, flags: list[Any], says: str) -> None:
    code, out, errors = aiayn("sample", *flags)
    assert (code, out) == (2, "") and errors.startswith("aiayn: ") and says in errors
