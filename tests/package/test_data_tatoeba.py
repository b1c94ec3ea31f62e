"""Tatoeba: the same splits for everybody, and no test sentence in training."""

import hashlib
import zipfile
from pathlib import Path

import pytest
from small_runs import complaint

from aiayn.data import load_pairs, tatoeba
from aiayn.data.tatoeba import comparable, tatoeba_archive

ARCHIVE = """\
Go!\tGeh!
Go!\tLos!
I am ill.\tIch bin krank.
I'm ill.\tIch bin krank!
Tom  sleeps.\tTom schläft.
Who is it?\tWer ist es?
Nobody came.\tNiemand kam.
No one came.\tNiemand kam.
I saw it.\tIch sah es.
"""
TEST = {"eng": "i am ill\nTom slept.\n", "deu": "Ich war krank.\nTOM SCHLÄFT!\n"}


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small archive and test set in $AIAYN_DATA, with their checksums."""
    folder = tmp_path / "tatoeba"
    (folder / "deu-eng").mkdir(parents=True)
    with zipfile.ZipFile(folder / "deu-eng.zip", "w") as archive:
        archive.writestr("deu.txt", ARCHIVE)
    for code, text in TEST.items():
        path = folder / "deu-eng" / f"tatoeba-test-v2021-08-07.{code}"
        path.write_text(text, encoding="utf-8")
    sums = {
        path.name.replace("tatoeba-test-v2021-08-07", "deu-eng"): hashlib.sha256(
            path.read_bytes()
        ).hexdigest()
        for path in folder.rglob("*.*")
        if path.is_file()
    }
    monkeypatch.setattr(tatoeba, "TATOEBA_SHA256", sums)
    monkeypatch.setattr(tatoeba, "HELD_OUT", 2)
    monkeypatch.setenv("AIAYN_DATA", str(tmp_path))
    return folder


def test_what_shares_a_side_is_left_out(published: Path) -> None:
    train, val, test = (
        load_pairs("tatoeba", "en-de", split) for split in ("train", "val", "test")
    )
    rows = [tuple(row.split("\t")) for row in ARCHIVE.splitlines()]
    # "I am ill", "Tom schläft" and the second translation of the first are the test's.
    usable = [rows[k] for k in (0, 1, 3, 5, 6, 7, 8)]
    held_out = list(zip(val.source, val.target, strict=True))
    assert len({comparable(english) for english, _ in held_out}) == 2
    assert held_out == [row for row in usable if row[0] in set(val.source)]
    rest = [row for row in usable if row not in held_out]
    german = {comparable(each) for each in val.target}
    assert list(zip(train.source, train.target, strict=True)) == [
        row for row in rest if comparable(row[1]) not in german
    ]
    assert list(test.target) == ["Ich war krank.", "TOM SCHLÄFT!"]


def test_the_other_direction_has_the_same_pairs(published: Path) -> None:
    for split in ("train", "val", "test"):
        there, back = (load_pairs("tatoeba", p, split) for p in ("en-de", "de-en"))
        assert (there.source, there.target) == (back.target, back.source)


def test_a_damaged_archive(published: Path) -> None:
    (published / "deu-eng.zip").write_bytes(b"PK")
    message = complaint(load_pairs, "tatoeba", "en-de", "train")
    assert "deu-eng.zip: SHA-256 is" in message


@pytest.mark.parametrize(
    ("pair", "split"), [("en-it", "train"), ("de-fr", "val"), ("en-de", "test2016")]
)
def test_what_there_is_not(pair: str, split: str) -> None:
    message = complaint(load_pairs, "tatoeba", pair, split)
    assert message.startswith(f"tatoeba has no {pair} {split}: pairs are en-de")


@pytest.mark.parametrize(
    ("pair", "sizes"),
    [("en-de", (156_781, 2452, 17_565)), ("en-fr", (150_117, 2804, 12_681))],
)
def test_no_training_sentence_is_a_test_sentence(
    data: Path, pair: str, sizes: tuple[int, ...]
) -> None:
    if not (data / "tatoeba").is_dir():
        pytest.skip("needs tatoeba/ in AIAYN_DATA")
    splits = [load_pairs("tatoeba", pair, split) for split in ("train", "val", "test")]
    assert tuple(map(len, splits)) == sizes
    for side in ("source", "target"):
        train, val, test = (set(map(comparable, getattr(s, side))) for s in splits)
        assert not train & val and not train & test and not val & test
    published = {comparable(english) for english, _ in tatoeba_archive(pair[-2:])}
    assert comparable(EVERYDAY) not in published


# The README's first translation.
EVERYDAY = "We missed the last bus, so we walked home in the rain."
