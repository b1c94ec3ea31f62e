"""Text files, data and vocabulary: what is wrong is one line that says where it is and
what to do.
"""

import contextlib
import errno
import gzip
import hashlib
import io
import itertools
import os
import tracemalloc
import urllib.error
from collections.abc import Callable, Iterator
from functools import partial
from http.client import IncompleteRead
from pathlib import Path
from typing import Any
from unicodedata import is_normalized, normalize

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from small_runs import complaint
from torch import tensor

import aiayn.data.corpora
import aiayn.data.lines
import aiayn.data.packed
import aiayn.data.vocabulary
from aiayn import synthetic
from aiayn.data import (
    Pairs,
    Vocabulary,
    load_pairs,
    load_vocabulary,
    multi30k,
    train_vocabulary,
)
from aiayn.data import corpora as data
from aiayn.data.corpora import corpus_warnings
from aiayn.data.io import atomic_file, cache_folder, read_bytes, write_atomically
from aiayn.data.lines import (
    INVISIBLE,
    SPACES,
    Lines,
    decode_lines,
    decompressed,
    is_blank,
    normalize_line,
)
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from aiayn.errors import InputError

ENGLISH = ["The cat sleeps.", "The cake was sour.", "My hand is warm."]
GERMAN = ["Die Katze schläft.", "Der Kuchen war sauer.", "Meine Hand ist warm."]
# Part of a name below: the same everywhere.
PACKED = gzip.compress("\n".join(ENGLISH * 50).encode(), mtime=0)


@pytest.fixture(autouse=True)
def cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A cache of its own for each test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("AIAYN_CACHE", str(folder))
    return folder


def write(
    folder: Path, english: bytes | str, german: bytes | str, ending: str = ""
) -> str:
    """Write a training split and give the name by which `load_pairs` finds it."""
    folder.mkdir(parents=True, exist_ok=True)
    for language, content in (("en", english), ("de", german)):
        content = content.encode() if isinstance(content, str) else content
        (folder / f"train.{language}{ending}").write_bytes(content)
    return str(folder)


def parts(folder: Path) -> list[Path]:
    return list(folder.rglob("*.part"))


# Files


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_of_parallel_files(
    tmp_path: Path, end: str, last: str, packed: bool
) -> None:
    contents = [(end.join(side) + last).encode() for side in (ENGLISH, GERMAN)]
    if packed:
        contents = [gzip.compress(content) for content in contents]
    name = write(tmp_path / "corpus", *contents, ending=".gz" if packed else "")
    pairs = load_pairs(name, "en-de", "train")
    assert (list(pairs.source), list(pairs.target)) == (ENGLISH, GERMAN)
    assert len(pairs) == 3
    assert list(load_pairs(name, "de-en", "train").source) == GERMAN


SEPARATED = [f"one{mark}still one" for mark in "\v\f\x1c\x1d\x1e\x85\u2028\u2029\r"]


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    content = "\n".join(SEPARATED).encode()
    (tmp_path / "file").write_bytes(content)
    assert (
        list(decode_lines(content, "file"))
        == list(Lines(tmp_path / "file"))
        == SEPARATED
    )


TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\n"), max_size=49
).filter(lambda text: not is_blank(text))
LINES = st.lists(TEXT, min_size=1)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write again and again."""
    return tmp_path_factory.mktemp("scratch") / "file"


@contextlib.contextmanager
def many_seams() -> Iterator[None]:
    """Blocks of a few bytes and an index of many entries, so that every seam is met."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiayn.data.packed, "BLOCK_BYTES", 5)
        patch.setattr(aiayn.data.lines, "LINES_PER_OFFSET", 3)
        for module in (aiayn.data.lines, aiayn.data.packed):
            patch.setattr(module, "MAX_LINE_BYTES", 200)
        yield


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_lines_are_like_a_list(
    scratch: Path, texts: list[str], end: str, last: bool, draw: st.DataObject
) -> None:
    scratch.write_bytes((end.join(texts) + end * last).encode())
    bare = [normalize_line(text) for text in texts]
    ends = st.none() | st.integers(-40, 40)
    part = slice(
        draw.draw(ends),
        draw.draw(ends),
        draw.draw(st.sampled_from([None, 1, 2, -1, -3])),
    )
    index = draw.draw(st.integers(-len(bare), len(bare) - 1))
    with many_seams():
        lines = Lines(scratch)
        assert list(lines) == bare and len(lines) == len(bare)
        assert lines[index] == bare[index] and lines[part] == bare[part]
        for outside in (len(bare), -len(bare) - 1):
            with pytest.raises(IndexError):
                lines[outside]


@given(LINES)
def test_a_checksum_stands_for_the_content(scratch: Path, texts: list[str]) -> None:
    sums = []
    for content in ("\n".join(texts), "\n".join(texts), "\n".join(texts) + "x"):
        scratch.write_bytes(content.encode())
        sums.append(Lines(scratch).checksum)
    assert sums[0] == sums[1] != sums[2]


@given(LINES, st.data())
def test_the_place_of_a_fault_is_found(
    scratch: Path, texts: list[str], draw: st.DataObject
) -> None:
    """In whatever block it stands."""
    number = draw.draw(st.integers(0, len(texts)))
    for fault, said in (
        (b"\0", "a NUL byte"),
        (b"a\xff", "not UTF-8 (byte 2)"),
        (b" \xc2\xa0\r", "empty"),
        ("▁ \t▁".encode(), "nothing but ▁"),
        (b"x" * 201, "longer than 200 bytes"),
        (("ä" * 101).encode() * 50, "longer than 200 bytes"),
    ):
        lines = [text.encode() for text in texts]
        lines.insert(number, fault)
        scratch.write_bytes(b"\n".join(lines) + b"\n")
        with many_seams():
            assert f"{scratch}, line {number + 1}: {said}" in complaint(Lines, scratch)


def test_a_file_with_the_mark_of_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("The cat\nsleeps.\n", encoding="utf-8-sig")
    assert list(Lines(tmp_path / "file")) == ["The cat", "sleeps."]


@pytest.mark.parametrize("named", ["", None])
def test_a_cache_that_is_not_named_is_in_the_home_folder(
    named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (
        monkeypatch.delenv("AIAYN_CACHE")
        if named is None
        else monkeypatch.setenv("AIAYN_CACHE", named)
    )
    assert cache_folder() == tmp_path / ".cache" / "aiayn"


def test_a_text_stays_in_its_file(tmp_path: Path) -> None:
    """The index is small beside the text, and no list of the lines is kept."""
    (tmp_path / "file").write_text("A line of text like many others.\n" * 100_000)
    lines = Lines(tmp_path / "file")
    assert lines.starts.nbytes < (tmp_path / "file").stat().st_size / 200
    assert not [
        value for value in vars(lines).values() if isinstance(value, list | bytes)
    ]


@pytest.mark.parametrize(
    ("english", "german", "said"),
    [
        ("a\nb\nc\n", "x\ny\n", "train.en: 3 lines … train.de: 2 lines … line k"),
        ("a\nb\n", "x\ny\nz\n", "train.en: 2 lines … train.de: 3 lines"),
        ("a\n\n", "x\ny\n", "en, line 2: empty … remove it, and its translation"),
        ("a\nb\nc\n", "x\ny\n \t\n", "train.de, line 3: empty"),
        ("", "", "train.en: empty"),
        ("\ufeff\nThe cat\n", "x\ny\n", "train.en, line 1: empty"),
        ("a\n\u3000\u2028\n", "x\ny\n", "train.en, line 2: empty"),
        ("a\nb\n", "x\n▁\n", "de, line 2: nothing but ▁, which counts as a space; re"),
        ("\u2028 ▁\t▁▁\r\nb\n", "x\ny\n", "train.en, line 1: nothing but ▁"),
        ("a\nb\n", "x\ny\0z\n", "train.de, line 2: a NUL byte … UTF-16 … iconv"),
        ("a\nb\n", b"x\nsch\xe4l\n", "train.de, line 2: not UTF-8 (byte 4) … iconv"),
        ("a\nb\n".encode("utf-16"), "x\ny\n", "en, line 1: a NUL byte … UTF-16"),
        (b"a\nb\xc3", "x\ny\n", "train.en, line 2: not UTF-8 (byte 2)"),
        ("a\n", "x\n\n", "train.de, line 2: empty … translation if it has one"),
        *(
            (
                "a\nb\n",
                f"x\n {sign}\n",
                f"train.de, line 2: nothing that can be seen {u}",
            )
            for sign in "\u200b\u2060\xad\u200e\u3164\u2800"
            for u in [f"(U+{ord(sign):04X})"]
        ),
    ],
)
def test_faults_in_parallel_files(
    tmp_path: Path, english: Any, german: Any, said: str
) -> None:
    name = write(tmp_path / "corpus", english, german)
    message = complaint(load_pairs, name, "en-de", "train")
    assert message.startswith(str(tmp_path))
    assert all(part in message for part in said.split(" … "))


@pytest.mark.parametrize("packed", [False, True])
def test_text_is_composed_and_without_marks(tmp_path: Path, packed: bool) -> None:
    """As it is when two files with marks are joined, one of them from a Macintosh."""
    german = [f"\ufeff{GERMAN[0]}", f"{normalize('NFD', GERMAN[0])}", "\ufeff\ufeff ü"]
    contents = ["\n".join(side).encode() for side in (ENGLISH, german)]
    contents = [gzip.compress(each) if packed else each for each in contents]
    name = write(tmp_path / "corpus", *contents, ending=".gz" if packed else "")
    assert list(load_pairs(name, "en-de", "train").target) == [GERMAN[0]] * 2 + ["ü"]
    assert list(decode_lines("\n".join(german).encode(), "file")) == [GERMAN[0]] * 2 + [
        "ü"
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"plain text",
        PACKED[:40],
        PACKED[:-8],
        PACKED[:12] + b"\0\xff\x12" + PACKED[15:],
        b"",
    ],
)
def test_damaged_gzip_files(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "corpus", content, PACKED, ending=".gz")
    said = "cannot be read (" if content else "empty"  # which gzip takes for a text
    assert f"train.en.gz: {said}" in complaint(load_pairs, path, "en-de", "train")
    assert content == b"" or not parts(tmp_path)


def test_a_packed_file_that_would_fill_the_memory(tmp_path: Path) -> None:
    """A line of 64 MB is not read to its end."""
    bomb = gzip.compress(b"The cat sleeps.\n" + b"x" * (1 << 26), 1)
    name = write(tmp_path / "corpus", bomb, PACKED, ending=".gz")
    tracemalloc.start()
    message = complaint(load_pairs, name, "en-de", "train")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "train.en.gz, line 2: longer than 1,048,576 bytes" in message
    assert peak < 1 << 25 and not parts(tmp_path)


def test_a_packed_file_is_unpacked_once(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, twin = tmp_path / "text.gz", tmp_path / "other name.gz"
    for file in (path, twin):
        file.write_bytes(PACKED)
    plain = decompressed(path)
    assert plain.read_bytes() == gzip.decompress(PACKED) and plain.is_relative_to(cache)
    monkeypatch.setattr("gzip.open", lambda *_: pytest.fail("unpacked again"))
    assert decompressed(path) == decompressed(twin) == plain
    assert decompressed(plain) == plain
    monkeypatch.undo()
    path.write_bytes(gzip.compress(b"another text"))
    monkeypatch.setenv("AIAYN_CACHE", str(cache))
    assert decompressed(path) != plain
    assert decompressed(path).read_bytes() == b"another text"


def test_the_longest_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * (1 << 20) + b"\ny")
    assert [len(line) for line in Lines(tmp_path / "file")] == [1 << 20, 1]


def test_files_that_are_not_there(tmp_path: Path) -> None:
    nothing = complaint(load_pairs, str(tmp_path / "nothing"), "en-de", "train")
    names = "tatoeba, multi30k, wmt14, synthetic, ptb, craft"
    assert f"nothing: neither the name of a corpus ({names}) nor a folder" in nothing
    name = write(tmp_path / "corpus", "a\n", "x\n")
    assert "train.fr or train.fr.gz" in complaint(load_pairs, name, "en-fr", "train")
    assert "val.en or val.en.gz" in complaint(load_pairs, name, "en-de", "val")
    (tmp_path / "corpus" / "val.en").mkdir()
    assert "val.en or val.en.gz" in complaint(load_pairs, name, "en-de", "val")
    for action in (read_bytes, Lines):
        assert f"{tmp_path}: cannot be read (" in complaint(action, tmp_path)
    assert "cannot be read (" in complaint(decompressed, tmp_path / "nothing.gz")


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop"])
def test_what_is_no_file_is_neither_read_nor_replaced(
    kind: str, tmp_path: Path
) -> None:
    """Nobody waits for who writes into a pipe, and /dev/null stays what it is."""
    path = tmp_path / "train.en"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/null" if kind == "device" else "train.en")
    before = path.lstat()
    for action, fault in (
        (read_bytes, "cannot be read ("),
        (Lines, "cannot be read ("),
        (lambda path: write_atomically(path, b"content"), "cannot be written ("),
        (load_vocabulary, "no vocabulary ("),
    ):
        message = complaint(action, path)
        assert message.startswith(f"{path}: {fault}")
        assert "; name a file)" in message or "symbolic links" in message
    assert path.lstat().st_ino == before.st_ino and os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("pair", "split", "says"),
    [
        *(
            (pair, "train", f"pair {pair!r}: give two languages, source first, such as")
            for pair in ("en", "english", "en-", "-de", "en-en", "en-de-fr", "")
        ),
        ("en-it", "train", "languages en, de, fr"),
        ("xx-de", "train", "languages en, de, fr"),
        ("en-de", "test", "no test.en: splits are train, val, test_2016_flickr"),
    ],
)
def test_what_multi30k_does_not_have(pair: str, split: str, says: str) -> None:
    assert says in complaint(load_pairs, "multi30k", pair, split)


def test_pairs_check_themselves() -> None:
    assert "source: 2 lines, target: 1 lines" in complaint(Pairs, ["a", "b"], ["x"])
    assert "mine.de, line 1: empty" in complaint(
        Pairs, ["a"], [""], "mine.en", "mine.de"
    )
    assert "mine.en, line 2: empty" in complaint(
        Pairs, ["a", " \u2028"], ["x", ""], "mine.en", "mine.de"
    )
    assert "source, line 2: nothing but ▁" in complaint(Pairs, ["a", "▁ ▁"], ["x", ""])
    assert len(Pairs([], [])) == 0


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bad \ud83d", "half of a character, a surrogate; decode the text anew"),
        ("bad\0", "a NUL byte, as in UTF-16; decode the text anew"),
        (None, "None is no text; give a string"),
        (7, "7 is no text; give a string"),
        ("\u200b", "nothing that can be seen (U+200B)"),
        ("a\nb", "a line break within; remove it"),
    ],
    ids=ascii,
)
def test_pairs_in_memory_are_checked_as_files_are(line: Any, says: str) -> None:
    sides = {"source": (["a", line], ["x", "y"]), "target": (["a", "b"], ["x", line])}
    for side, pairs in sides.items():
        assert complaint(Pairs, *pairs).startswith(f"{side}, line 2: {says}")


def test_what_two_texts_have_in_common() -> None:
    train = Pairs([f"s{k}" for k in range(20)], [f"t{k}" for k in range(20)])
    assert list(corpus_warnings(train, Pairs(["s21", "s22"], ["t1", "t2"]))) == []
    other = Pairs(["s1", "s1", "s30", "new"], ["t1"] * 4, "test.en", "test.de")
    (said,) = corpus_warnings(train, other)
    assert (
        said == "test.en: 2 of 4 sentences are in source too; scores on them say little"
    )
    (said,) = corpus_warnings(train, Pairs(["s1", "new"], ["t1", "x"]))
    assert said.startswith("valid: 1 of 2 sentences are in the training text too")
    (said,) = corpus_warnings(
        Pairs(train.source, train.source, "a.en", "a.de"), Pairs(["x"], ["y"])
    )
    assert said == "a.en and a.de: 20 of 20 lines are the same"
    assert list(corpus_warnings(train, Pairs([], []))) == []


# What is fetched


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Multi30k with contents of our own, nothing of it here yet; no test touches the
    network.
    """
    contents = {
        f"train.{language}": gzip.compress("\n".join(lines).encode(), mtime=0)
        for language, lines in (("en", ENGLISH), ("de", GERMAN))
    }
    sums = {
        name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
    }
    monkeypatch.setattr(multi30k, "MULTI30K_SHA256", sums)
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AIAYN_DATA", raising=False)
    monkeypatch.setattr(
        "urllib.request.urlopen", lambda *_, **__: pytest.fail("a file was fetched")
    )
    return contents


def serve(monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], Any]) -> list[str]:
    """Let `answer` stand for the network; gives the list of addresses asked for, as it
    grows.
    """
    asked: list[str] = []

    def urlopen(url: str, timeout: float) -> Any:
        asked.append(url)
        return answer(url.rpartition("/")[2].removesuffix(".gz"))

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    return asked


def test_multi30k_is_fetched_once(
    published: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serve(monkeypatch, lambda name: io.BytesIO(published[name]))
    for _ in range(2):
        pairs = load_pairs("multi30k", "en-de", "train")
        assert (list(pairs.source), list(pairs.target)) == (ENGLISH, GERMAN)
    assert asked == [
        f"{multi30k.MULTI30K}/train.{language}.gz" for language in ("en", "de")
    ]
    found = sorted(path.name for path in (tmp_path / "cache" / "multi30k").iterdir())
    assert found == ["train.de.gz", "train.en.gz"]


def test_the_users_own_copy_comes_first(
    published: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIAYN_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "multi30k").mkdir(parents=True)
    for name, content in published.items():
        (tmp_path / "data" / "multi30k" / f"{name}.gz").write_bytes(content)
    # Nothing is fetched.
    assert list(load_pairs("multi30k", "de-en", "train").source) == GERMAN
    (tmp_path / "data" / "multi30k" / "train.de.gz").write_bytes(
        published["train.de"][:-1]
    )
    message = complaint(load_pairs, "multi30k", "en-de", "train")
    assert str(tmp_path / "data" / "multi30k" / "train.de.gz") in message
    assert "SHA-256 is" in message


class Broken(io.BytesIO):
    """An answer that ends before its end."""

    def read(self, *_: Any) -> bytes:
        raise IncompleteRead(b"half of it", 1000)


def refuse(_: str) -> None:
    raise urllib.error.URLError("Temporary failure in name resolution")


def time_out(_: str) -> None:
    raise TimeoutError("timed out")


@pytest.mark.parametrize("answer", [refuse, time_out, lambda _: Broken()])
def test_no_network(
    published: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[str], Any],
) -> None:
    serve(monkeypatch, answer)
    message = complaint(load_pairs, "multi30k", "en-de", "train")
    path = tmp_path / "cache" / "multi30k" / "train.en.gz"
    assert "train.en.gz: cannot be fetched (" in message
    assert f"put it at {path}, or set AIAYN_DATA" in message
    assert not path.exists() and not parts(tmp_path)


def test_a_login_page_instead_of_the_file(
    published: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, lambda _: io.BytesIO(b"<html>"))
    message = complaint(load_pairs, "multi30k", "en-de", "train")
    wanted = multi30k.MULTI30K_SHA256["train.en"]
    assert message.startswith("https://")
    assert f"SHA-256 is {hashlib.sha256(b'<html>').hexdigest()}" in message
    assert f"not {wanted}" in message and not list(tmp_path.rglob("*.gz"))


# Writing


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("cached", [False, True])
def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, cache: Path, monkeypatch: Any, call: str, cached: bool
) -> None:
    path = (cache if cached else tmp_path) / "folder" / "file"
    write_atomically(path, b"old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"os.{call}", full)
    message = complaint(write_atomically, path, b"new")
    choose = "let AIAYN_CACHE name" if cached else "choose"
    assert "No space left on device" in message
    assert message.endswith(f"; {choose} another folder or make room")
    assert path.read_bytes() == b"old" and os.listdir(path.parent) == ["file"]


def test_what_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "file") as file:
        file.write(b"half of it")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_a_fault_of_the_input_is_not_taken_for_one_of_the_output(
    tmp_path: Path,
) -> None:
    def action() -> None:
        with atomic_file(tmp_path / "file") as file:
            file.write(read_bytes(tmp_path / "nothing"))

    assert complaint(action).startswith(f"{tmp_path / 'nothing'}: cannot be read (")
    assert os.listdir(tmp_path) == []


# Vocabulary

SCRIPTS = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?'\"()-/€%&"
    # Some of them fall apart under Unicode's compatibility forms: here they must not.
    "äöüßÄÖÜẞéèêçñøåœıİﬁ½²"
    "e\u0301 \u0308 ᾧ Ωλόγος Привет שלום مرحبا हिन्दी ไทย 日本語テスト中文 한국어"
    " 👩\u200d🚀🇩🇪 \t\u00a0\u2028\u3000"
)
LETTERS = sorted(set(SCRIPTS) - {" "})


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    words = [*SCRIPTS.split(" "), *" ".join(ENGLISH + GERMAN).split(" "), *LETTERS]
    return train_vocabulary([" ".join(words)] * 2, size=len(LETTERS) + 60)


COMPOSED = st.text(LETTERS, min_size=1).filter(partial(is_normalized, "NFC"))


@given(st.lists(st.lists(COMPOSED, min_size=1).map(" ".join)))
def test_text_comes_back_as_it_was(
    vocabulary: Vocabulary, sentences: list[str]
) -> None:
    encoded = vocabulary.encode(sentences)
    assert vocabulary.decode(encoded) == sentences
    for tokens in encoded:
        assert tokens[-1] == EOS_ID
        assert not {PAD_ID, UNK_ID, BOS_ID, EOS_ID} & set(tokens[:-1])
        assert all(0 <= token < len(vocabulary) for token in tokens)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"The dog.\nThe\0cat.",
            "2: a NUL byte, as in UTF-16; convert the file, say with",
        ),
        ("a\nb\n".encode("utf-16"), "1: a NUL byte"),
        ("猫\n".encode("utf-32"), "1: a NUL byte"),
        (b"a\n\nb\n\xe4b\n", "4: not UTF-8 (byte 1)"),
        (b"\xef\xbb\xbfa\nb\xed\xa0\x80", "2: not UTF-8 (byte 2)"),  # half a letter
    ],
)
def test_standard_input_that_is_no_text(content: bytes, said: str) -> None:
    message = complaint(lambda: list(decode_lines(content, "standard input")))
    assert f"standard input, line {said}" in message


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"\n a \n\n\n", ["", "a", "", ""]),
        (b"", []),
        (b"\xef\xbb\xbfThe dog.\n", ["The dog."]),  # the mark of the encoding
    ],
)
def test_lines_of_standard_input(content: bytes, lines: list[str]) -> None:
    assert list(decode_lines(content, "standard input")) == lines


def test_only_what_counts_as_blank_has_no_tokens(vocabulary: Vocabulary) -> None:
    letters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    silent = [
        a
        for a, tokens in zip(letters, vocabulary.encode(letters), strict=True)
        if tokens == [EOS_ID]
    ]
    known = set(map(vocabulary.processor.IdToPiece, range(len(vocabulary))))
    assert {*SPACES} == {"▁", "\u2800", *filter(str.isspace, letters)}
    assert {*silent} == {" ", "▁"} | ({*SPACES, *INVISIBLE} - known)
    assert {"\xad", "\u200b", "\u2060", "\u3164", "\ufeff"} < {
        *filter(is_blank, silent)
    }


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\ufeffThe cat sleeps.", "The cat sleeps."),
        ("\u200b The\xadcat sleeps.\u2060", "Thecat sleeps."),
        ("The\u2009cat\u2800sleeps.\v", "The cat sleeps."),
        (normalize("NFD", "Der Hund schläft für Ångström"), None),
        ("The\u00a0cat\tsleeps.", "The\u00a0cat\tsleeps."),  # letters it has learned
    ],
)
def test_what_a_vocabulary_reads(
    vocabulary: Vocabulary, text: str, read: str | None
) -> None:
    tokens = vocabulary.encode(text)
    read = normalize("NFC", text) if read is None else read
    assert tokens == vocabulary.encode(read) and UNK_ID not in tokens[:-1][:4]


def test_no_sentence_is_left_out_of_a_vocabulary() -> None:
    """sentencepiece skips those with U+2585, its sign for unknown letters."""
    lines = [f"Load ▁▂▃▄▅▆▇█ quiz {digit} Ω" for digit in range(10)]
    learned = train_vocabulary([*ENGLISH, *lines], 80)
    unknown = [
        letter for letter in {*"".join(lines)} if UNK_ID in learned.encode(letter)
    ]
    assert unknown == ["▅"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "kind", [list, tuple, iter, np.array, lambda tokens: [*np.array(tokens)], tensor]
)
def test_one_sentence_is_not_decoded_letter_by_letter(
    vocabulary: Vocabulary, kind: Any
) -> None:
    tokens: Any = vocabulary.encode("The cat sleeps.")
    with pytest.raises(TypeError, match="put one into a list"):
        vocabulary.decode(kind(tokens))
    assert vocabulary.decode([kind(tokens)]) == ["The cat sleeps."]
    with pytest.raises(TypeError, match="put one into a list"):
        vocabulary.decode([kind([0.5, 1.5])])


def test_sentences_may_come_in_any_sequence(vocabulary: Vocabulary) -> None:
    sentences = ["The dog sleeps.", "Der Hund schläft."]
    assert (
        vocabulary.encode(tuple(sentences))
        == vocabulary.encode(iter(sentences))
        == vocabulary.encode(sentences)
    )
    assert vocabulary.encode("The dog sleeps.") == vocabulary.encode(sentences)[0]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_any_text_can_be_encoded(vocabulary: Vocabulary, text: str) -> None:
    tokens = vocabulary.encode([text])[0]
    assert tokens[-1] == EOS_ID and not {PAD_ID, BOS_ID, EOS_ID} & set(tokens[:-1])


def test_what_does_not_come_back(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode(["  two   spaces "])) == ["two spaces"]
    assert "⁇" in vocabulary.decode(vocabulary.encode(["ᚠ"]))[0]
    assert vocabulary.encode([""]) == [[EOS_ID]]
    assert vocabulary.decode([[EOS_ID]]) == [""]


def test_special_tokens_have_their_numbers(vocabulary: Vocabulary) -> None:
    assert (PAD_ID, UNK_ID, BOS_ID, EOS_ID) == (0, 1, 2, 3)
    assert vocabulary.pieces([0, 1, 2, 3]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert vocabulary.decode(
        [[BOS_ID, *vocabulary.encode(["Die Katze"])[0], PAD_ID, PAD_ID]]
    ) == ["Die Katze"]
    # written out in a text they are letters, not commands
    assert EOS_ID not in vocabulary.encode(["a </s> b"])[0][:-1]


def test_the_same_text_gives_the_same_vocabulary(
    vocabulary: Vocabulary, tmp_path: Path
) -> None:
    first, again = (train_vocabulary(ENGLISH + GERMAN, 80) for _ in range(2))
    assert first.model == again.model and len(first) == 80
    first.save(tmp_path / "folder" / "vocabulary.model")
    assert (
        load_vocabulary(tmp_path / "folder" / "vocabulary.model").model == first.model
    )


def test_a_vocabulary_that_the_text_does_not_hold() -> None:
    message = complaint(train_vocabulary, ENGLISH, 10_000)
    most = int(
        message.removeprefix(
            "a vocabulary_size of 10000 cannot be learned: the text holds "
        ).split()[0]
    )
    assert message.endswith(" pieces at most; ask for fewer, or bring more text")
    assert len(train_vocabulary(ENGLISH, most)) == most
    with pytest.raises(InputError):
        train_vocabulary(ENGLISH, most + 1)


def test_a_vocabulary_too_small_for_the_letters() -> None:
    message = complaint(train_vocabulary, ENGLISH, 5)
    least = 4 + len(set("▁".join(["", *ENGLISH]).replace(" ", "▁")))
    assert (
        f"the letters and the special tokens alone take {least} pieces; ask for more"
        in message
    )
    assert len(train_vocabulary(ENGLISH, least)) == least


@pytest.mark.parametrize(
    ("text", "size", "says"),
    [
        *((text, 50, "50 cannot be learned: ") for text in ([], [""], ["", " "])),
        *((ENGLISH, size, f"{size} cannot be learned: ") for size in (4, 0, 2**25)),
    ],
)
def test_a_vocabulary_of_nothing_or_of_a_size_that_none_has(
    text: list[str], size: int, says: str
) -> None:
    assert says in complaint(train_vocabulary, text, size)


def model(**options: Any) -> bytes:
    """A vocabulary that sentencepiece has learned with other settings than ours."""
    written, usual = (
        io.BytesIO(),
        {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "vocab_size": 40},
    )
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(ENGLISH * 9),
        model_writer=written,
        model_type="bpe",
        normalization_rule_name="identity",
        minloglevel=2,
        **usual | options,
    )
    return written.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        # the end of a sentence would be taken for a word
        (
            lambda: model(pad_id=-1, unk_id=0, bos_id=1, eos_id=2),
            r"special tokens \(-1, 0, 1, 2\); train\(vocabulary=…\) takes it",
        ),
        (lambda: b"", ""),
        (lambda: b"junk", ""),
    ],
)
def test_files_that_hold_no_vocabulary(
    tmp_path: Path, content: Callable[[], bytes], said: str
) -> None:
    (tmp_path / "vocabulary.model").write_bytes(content())
    with pytest.raises(InputError, match=f"vocabulary.model: no vocabulary .*{said}"):
        load_vocabulary(tmp_path / "vocabulary.model")


def test_unseen_letters_are_written_as_bytes() -> None:
    vocabulary = train_vocabulary(ENGLISH, 300, byte_fallback=True)
    text = "Жук – a beetle 🪲"
    assert UNK_ID not in vocabulary.encode(text)
    assert vocabulary.decode([vocabulary.encode(text)]) == [text]
    line_feed, nothing = (
        vocabulary.processor.PieceToId(piece) for piece in ("<0x0A>", "<0x00>")
    )
    the, cat = vocabulary.encode(ENGLISH[:2])
    assert "\n" not in vocabulary.decode([[*the[:-1], line_feed, nothing, *cat]])[0]
    assert UNK_ID in train_vocabulary(ENGLISH, 40).encode(text)


def test_a_sentence_is_a_line_whatever_the_vocabulary(tmp_path: Path) -> None:
    """Sentencepiece knows rules for rewriting text after it was decoded, too."""
    (tmp_path / "rules").write_text("6C 65\tA\n")  # le becomes a line feed
    rewriting = Vocabulary(model(denormalization_rule_tsv=str(tmp_path / "rules")))
    assert rewriting.decode(rewriting.encode(["The cat sleeps."])) == ["The cat s eps."]


def test_sentences_with_line_feeds_teach_none() -> None:
    learned = train_vocabulary(["The cat\nsleeps."] * 3, 18)
    assert not any("\n" in piece for piece in learned.pieces(list(range(18))))


def test_of_a_large_corpus_some_sentences_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Evenly from all of it, the same ones each time, and from an iterator."""
    monkeypatch.setattr(aiayn.data.vocabulary, "MAX_SENTENCES", 200)
    # A sentence each, of a letter of its own.
    letters = [chr(0x4E00 + number) for number in range(2000)]
    drawn = [
        {piece.strip("▁") for piece in v.pieces(list(range(4, len(v))))} & set(letters)
        for v in (
            train_vocabulary((f"{letter} a" for letter in letters), 4 + 202 + 2)
            for _ in range(2)
        )
    ]
    assert drawn[0] == drawn[1] and len(drawn[0]) == 200
    places = sorted(letters.index(letter) for letter in drawn[0])
    assert all(
        60 < sum(low <= place < low + 1000 for place in places) < 140
        for low in (0, 1000)
    )


def test_of_a_small_corpus_all_sentences_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = [*ENGLISH, *GERMAN] * 40
    whole = train_vocabulary(itertools.chain(text), 80)
    monkeypatch.setattr(aiayn.data.vocabulary, "MAX_SENTENCES", len(text))
    again = train_vocabulary(text, 80)
    assert whole.pieces(list(range(80))) == again.pieces(list(range(80)))


def test_long_lines_are_learned_from_too() -> None:
    assert "▁zebra" in (v := train_vocabulary(["a b", "zebra " * 10_000], 15)).pieces(
        list(range(len(v)))
    )


# Real data


@pytest.mark.parametrize("pair", ["en-de", "en-fr", "fr-de"])
@pytest.mark.parametrize(
    ("split", "size"), [("train", 29_000), ("val", 1014), ("test_2016_flickr", 1000)]
)
def test_multi30k_is_as_large_as_published(
    data: Path, pair: str, split: str, size: int
) -> None:
    pairs = load_pairs("multi30k", pair, split)
    assert len(pairs) == size and pairs.source_name.startswith(str(data))


def test_multi30k_is_in_the_languages_that_it_says(data: Path) -> None:
    pairs = load_pairs("multi30k", "en-de", "test_2016_flickr")
    assert sum(" the " in f" {line} ".lower() for line in pairs.source) > 200
    assert sum(" der " in f" {line} ".lower() for line in pairs.target) > 100


def test_the_synthetic_corpus_comes_through_the_same_door(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(data.SYNTHETIC_PAIRS, "val", 20)
    pairs, turned = (
        load_pairs("synthetic", "en-de", "val"),
        load_pairs("synthetic", "de-en", "val"),
    )
    assert pairs.source == [pair.source for pair in synthetic.sample(20, split="valid")]
    assert (pairs.source, pairs.target) == (turned.target, turned.source)
    with pytest.raises(
        InputError, match="synthetic has no en-fr val: languages are en-de and de-en"
    ):
        load_pairs("synthetic", "en-fr", "val")
    with pytest.raises(
        InputError,
        match=r"synthetic has no en-de test_2016_flickr: .*splits train, val",
    ):
        load_pairs("synthetic", "en-de", "test_2016_flickr")
