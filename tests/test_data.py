"""Data and vocabulary: what is wrong with an input is one line that says where it is and what to do."""

import errno
import gzip
import hashlib
import io
import os
import urllib.error
from collections.abc import Callable
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

import aiayn.data
from aiayn import data, laboratory
from aiayn.data import InputError, Pairs, check_sha256, decode_lines, load_pairs, read_bytes, write_atomically
from aiayn.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Vocabulary, load_vocabulary, train_vocabulary

ENGLISH = ["The cat sleeps.", "The cake was sour.", "My hand is warm."]
GERMAN = ["Die Katze schläft.", "Der Kuchen war sauer.", "Meine Hand ist warm."]
PACKED = gzip.compress("\n".join(ENGLISH * 50).encode())


def complaint(action: Callable[..., Any], *arguments: Any) -> str:
    """What an action says of its input: always one line."""
    with pytest.raises(InputError) as caught:
        action(*arguments)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def write(folder: Path, english: bytes | str, german: bytes | str, ending: str = "") -> str:
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
def test_a_folder_of_parallel_files(tmp_path: Path, end: str, last: str, packed: bool) -> None:
    contents = [(end.join(side) + last).encode() for side in (ENGLISH, GERMAN)]
    if packed:
        contents = [gzip.compress(content) for content in contents]
    name = write(tmp_path / "corpus", *contents, ending=".gz" if packed else "")
    pairs = load_pairs(name, "en-de", "train")
    assert (pairs.source, pairs.target) == (ENGLISH, GERMAN) and len(pairs) == 3
    assert load_pairs(name, "de-en", "train").source == GERMAN


def test_lines_end_at_line_feeds_alone() -> None:
    lines = [f"one{mark}still one" for mark in "\v\f\x1c\x1d\x1e\x85\u2028\u2029\r"]
    assert list(decode_lines("\n".join(lines).encode(), "file")) == lines


@pytest.mark.parametrize(
    ("english", "german", "said"),
    [
        ("a\nb\nc\n", "x\ny\n", ["train.en: 3 lines", "train.de: 2 lines", "line k"]),
        ("a\nb\n", "x\ny\nz\n", ["train.en: 2 lines", "train.de: 3 lines"]),
        ("a\n\nc\n", "x\ny\nz\n", ["train.en, line 2: empty", "remove the line from both files"]),
        ("a\nb\nc\n", "x\ny\n \t\n", ["train.de, line 3: empty"]),
        ("a\n\n", "x\n\n", ["train.en, line 2: empty"]),
        ("", "", ["train.en, line 1: empty"]),
        ("a\nb\n", b"x\nsch\xe4l\n", ["train.de, line 2: not UTF-8 (byte 4)", "iconv"]),
        ("a\nb\n".encode("utf-16"), "x\ny\n", ["train.en, line 1: not UTF-8 (byte 1)"]),
        (b"a\nb\xc3", "x\ny\n", ["train.en, line 2: not UTF-8 (byte 2)"]),
    ],
)
def test_faults_in_parallel_files(tmp_path: Path, english: Any, german: Any, said: list[str]) -> None:
    message = complaint(load_pairs, write(tmp_path / "corpus", english, german), "en-de", "train")
    assert message.startswith(str(tmp_path)) and all(part in message for part in said)


@pytest.mark.parametrize(
    "content", [b"plain text", PACKED[:40], PACKED[:-8], PACKED[:12] + b"\0\xff\x12" + PACKED[15:], b""]
)
def test_damaged_gzip_files(tmp_path: Path, content: bytes) -> None:
    if content:
        path = write(tmp_path / "corpus", content, PACKED, ending=".gz")
        assert "train.en.gz: cannot be read (" in complaint(load_pairs, path, "en-de", "train")
    else:  # gzip takes an empty file for an empty text
        (tmp_path / "empty.gz").write_bytes(content)
        assert read_bytes(tmp_path / "empty.gz") == b""


def test_files_that_are_not_there(tmp_path: Path) -> None:
    nothing = complaint(load_pairs, str(tmp_path / "nothing"), "en-de", "train")
    assert "nothing: neither the name of a corpus (multi30k, laboratory) nor a folder" in nothing
    name = write(tmp_path / "corpus", "a\n", "x\n")
    assert "train.fr or train.fr.gz" in complaint(load_pairs, name, "en-fr", "train")
    assert "val.en or val.en.gz" in complaint(load_pairs, name, "en-de", "val")
    (tmp_path / "corpus" / "val.en").mkdir()
    assert "val.en or val.en.gz" in complaint(load_pairs, name, "en-de", "val")
    assert "cannot be read (" in complaint(read_bytes, tmp_path)


@pytest.mark.parametrize("pair", ["en", "english", "en-", "-de", "en-en", "en-de-fr", ""])
def test_pairs_of_languages(pair: str) -> None:
    message = complaint(load_pairs, "multi30k", pair, "train")
    assert f"pair {pair!r}: give two languages, source first, such as en-de" in message


def test_pairs_check_themselves() -> None:
    assert "source: 2 lines, target: 1 lines" in complaint(Pairs, ["a", "b"], ["x"])
    assert "mine.de, line 1: empty" in complaint(Pairs, ["a"], [""], "mine.en", "mine.de")
    assert len(Pairs([], [])) == 0


# What is fetched


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Multi30k with contents of our own, nothing of it here yet; no test touches the network."""
    contents = {
        f"train.{language}": gzip.compress("\n".join(lines).encode(), mtime=0)
        for language, lines in (("en", ENGLISH), ("de", GERMAN))
    }
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(aiayn.data, "MULTI30K_SHA256", sums)
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AIAYN_DATA", raising=False)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("a file was fetched"))
    return contents


def serve(monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], Any]) -> list[str]:
    """Let `answer` stand for the network; gives the list of addresses asked for, as it grows."""
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
        assert (pairs.source, pairs.target) == (ENGLISH, GERMAN)
    assert asked == [f"{aiayn.data.MULTI30K}/train.{language}.gz" for language in ("en", "de")]
    found = sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert found == ["train.de.gz", "train.en.gz"]


def test_the_users_own_copy_comes_first(
    published: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIAYN_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "multi30k").mkdir(parents=True)
    for name, content in published.items():
        (tmp_path / "data" / "multi30k" / f"{name}.gz").write_bytes(content)
    assert load_pairs("multi30k", "de-en", "train").source == GERMAN  # and nothing is fetched
    (tmp_path / "data" / "multi30k" / "train.de.gz").write_bytes(published["train.de"][:-1])
    message = complaint(load_pairs, "multi30k", "en-de", "train")
    assert str(tmp_path / "data" / "multi30k" / "train.de.gz") in message and "SHA-256 is" in message


def test_a_damaged_download_of_last_year(
    published: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cache" / "multi30k" / "train.en.gz"
    write_atomically(path, b"something else")
    assert f"{path}: SHA-256 is" in complaint(load_pairs, "multi30k", "en-de", "train")


@pytest.mark.parametrize("language", ["en-it", "xx-de"])
def test_multi30k_in_other_languages(language: str) -> None:
    assert "languages en, de, fr" in complaint(load_pairs, "multi30k", language, "train")


def test_multi30k_has_other_splits() -> None:
    message = complaint(load_pairs, "multi30k", "en-de", "test")
    assert "multi30k has no test.en: splits are train, val, test_2016_flickr" in message


def test_a_file_gets_its_name_when_it_is_whole(
    published: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, lambda name: io.BytesIO(published[name]))
    rename, seen = os.replace, []

    def replace(part: Path, path: Path) -> None:
        seen.append((Path(part).read_bytes(), Path(path).exists()))
        assert part.parent == path.parent and part.name.startswith(".")
        rename(part, path)

    monkeypatch.setattr("os.replace", replace)
    load_pairs("multi30k", "en-de", "train")
    assert seen == [(published["train.en"], False), (published["train.de"], False)]


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
    published: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], Any]
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
    wanted = aiayn.data.MULTI30K_SHA256["train.en"]
    assert message.startswith("https://") and f"SHA-256 is {hashlib.sha256(b'<html>').hexdigest()}" in message
    assert f"not {wanted}" in message and not list(tmp_path.rglob("*.gz"))


def test_checksums() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # as published for SHA-256
    check_sha256(b"", empty, "nothing")
    assert "something: SHA-256 is" in complaint(check_sha256, b"\0", empty, "something")


# Writing


def test_writing_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here first")
    for path in (tmp_path / "file" / "new", tmp_path / "file" / "folder" / "new"):
        message = complaint(write_atomically, path, b"content")
        assert f"{path}: cannot be written (" in message and "choose another folder or make room" in message
    assert (tmp_path / "file").read_text() == "here first" and os.listdir(tmp_path) == ["file"]


def test_writing_over_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder" / "within").mkdir(parents=True)
    assert "folder: cannot be written (" in complaint(write_atomically, tmp_path / "folder", b"content")
    assert not parts(tmp_path)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    write_atomically(tmp_path / "file", b"old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"os.{call}", full)
    assert "No space left on device" in complaint(write_atomically, tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_writing_again_replaces(tmp_path: Path) -> None:
    for content in (b"old", b"", b"new"):
        write_atomically(tmp_path / "a" / "b" / "file", content)
        assert (tmp_path / "a" / "b" / "file").read_bytes() == content


# Vocabulary

SCRIPTS = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?'\"()-/€%&"
    "äöüßÄÖÜẞéèêçñøåœıİﬁ½²"  # some of them fall apart under Unicode's compatibility forms: here they must not
    "e\u0301 \u0308 ᾧ Ωλόγος Привет שלום مرحبا हिन्दी ไทย 日本語テスト中文 한국어"
    " 👩\u200d🚀🇩🇪 \t\u00a0\u2028\u3000"
)
LETTERS = sorted(set(SCRIPTS) - {" "})


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    words = [*SCRIPTS.split(" "), *" ".join(ENGLISH + GERMAN).split(" "), *LETTERS]
    return train_vocabulary([" ".join(words)] * 2, size=len(LETTERS) + 60)


@given(st.lists(st.lists(st.text(LETTERS, min_size=1), min_size=1).map(" ".join)))
def test_text_comes_back_as_it_was(vocabulary: Vocabulary, sentences: list[str]) -> None:
    encoded = vocabulary.encode(sentences)
    assert vocabulary.decode(encoded) == sentences
    for tokens in encoded:
        assert tokens[-1] == EOS_ID and not {PAD_ID, UNK_ID, BOS_ID, EOS_ID} & set(tokens[:-1])
        assert all(0 <= token < len(vocabulary) for token in tokens)


@given(st.text())
def test_any_text_can_be_encoded(vocabulary: Vocabulary, text: str) -> None:
    tokens = vocabulary.encode([text])[0]
    assert tokens[-1] == EOS_ID and not {PAD_ID, BOS_ID, EOS_ID} & set(tokens[:-1])


def test_what_does_not_come_back(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode(["  two   spaces "])) == ["two spaces"]
    assert "⁇" in vocabulary.decode(vocabulary.encode(["ᚠ"]))[0]
    assert vocabulary.encode([""]) == [[EOS_ID]] and vocabulary.decode([[EOS_ID]]) == [""]


def test_special_tokens_have_their_numbers(vocabulary: Vocabulary) -> None:
    assert (PAD_ID, UNK_ID, BOS_ID, EOS_ID) == (0, 1, 2, 3)
    assert vocabulary.pieces([0, 1, 2, 3]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert vocabulary.decode([[BOS_ID, *vocabulary.encode(["Die Katze"])[0], PAD_ID, PAD_ID]]) == [
        "Die Katze"
    ]
    # written out in a text they are letters, not commands
    assert EOS_ID not in vocabulary.encode(["a </s> b"])[0][:-1]


def test_the_same_text_gives_the_same_vocabulary(vocabulary: Vocabulary, tmp_path: Path) -> None:
    first, again = (train_vocabulary(ENGLISH + GERMAN, 80) for _ in range(2))
    assert first.model == again.model and len(first) == 80
    first.save(tmp_path / "folder" / "vocabulary.model")
    assert load_vocabulary(tmp_path / "folder" / "vocabulary.model").model == first.model


@pytest.mark.parametrize("size", [5, 10_000])
def test_a_vocabulary_that_the_text_does_not_hold(size: int) -> None:
    assert f"a vocabulary of {size} cannot be learned" in complaint(train_vocabulary, ENGLISH, size)


@pytest.mark.parametrize("text", [[], [""], ["", " "]])
def test_a_vocabulary_of_nothing(text: list[str]) -> None:
    assert "a vocabulary of 50 cannot be learned" in complaint(train_vocabulary, text, 50)


def test_long_lines_are_learned_from_too() -> None:
    assert "▁zebra" in (v := train_vocabulary(["a b", "zebra " * 10_000], 15)).pieces(list(range(len(v))))


@pytest.mark.parametrize("content", [b"", b"junk", None])
def test_files_that_hold_no_vocabulary(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "vocabulary.model"
    if content is not None:
        path.write_bytes(content)
    assert f"{path}: no vocabulary (" in complaint(load_vocabulary, path)


def test_a_vocabulary_from_elsewhere(tmp_path: Path) -> None:
    """With other special tokens the end of a sentence would be taken for a word."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(ENGLISH), model_writer=model, model_type="bpe", vocab_size=30, minloglevel=2
    )
    (tmp_path / "vocabulary.model").write_bytes(model.getvalue())
    message = complaint(load_vocabulary, tmp_path / "vocabulary.model")
    assert "special tokens (-1, 0, 1, 2)" in message and "train one with aiayn" in message


# Real data


@pytest.mark.parametrize("pair", ["en-de", "en-fr", "fr-de"])
@pytest.mark.parametrize(("split", "size"), [("train", 29_000), ("val", 1014), ("test_2016_flickr", 1000)])
def test_multi30k_is_as_large_as_published(data: Path, pair: str, split: str, size: int) -> None:
    pairs = load_pairs("multi30k", pair, split)
    assert len(pairs) == size and pairs.source_name.startswith(str(data))


def test_multi30k_is_in_the_languages_that_it_says(data: Path) -> None:
    pairs = load_pairs("multi30k", "en-de", "test_2016_flickr")
    assert sum(" the " in f" {line} ".lower() for line in pairs.source) > 200
    assert sum(" der " in f" {line} ".lower() for line in pairs.target) > 100


def test_the_laboratory_comes_through_the_same_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(data.LABORATORY_PAIRS, "val", 20)
    pairs, turned = load_pairs("laboratory", "en-de", "val"), load_pairs("laboratory", "de-en", "val")
    assert pairs.source == [pair.source for pair in laboratory.sample(20, split="valid")]
    assert (pairs.source, pairs.target) == (turned.target, turned.source)
    with pytest.raises(InputError, match="laboratory has no en-fr val: languages are en-de and de-en"):
        load_pairs("laboratory", "en-fr", "val")
    with pytest.raises(InputError, match=r"laboratory has no en-de test_2016_flickr: .*splits train, val"):
        load_pairs("laboratory", "en-de", "test_2016_flickr")
