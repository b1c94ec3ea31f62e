"""WMT14: one door to its texts, from a folder, through sacrebleu, or streamed once from
Hugging Face.
"""

import errno
import json
import os
import sys
import urllib.error
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aiayn.data import load_pairs, wmt
from aiayn.data.wmt import wmt14_files
from aiayn.errors import InputError

ROWS = [
    {"de": "Die Katze schläft.", "en": "The cat sleeps."},
    {"de": " Der Hund\u2028sieht sie. ", "en": "The dog\nsees\0 her.\r"},
    {"de": "", "en": "Nobody translated this."},
    {"de": "Und das auch nicht.", "en": " \n\t"},
    {"de": "Ende.", "en": "The end."},
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test, and no network."""
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AIAYN_DATA", raising=False)
    monkeypatch.setattr(
        "urllib.request.urlopen", lambda *_, **__: pytest.fail("a file was fetched")
    )
    return tmp_path / "cache"


def complaint(*arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        load_pairs("wmt14", *arguments)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def hugging_face(
    monkeypatch: pytest.MonkeyPatch,
    rows: Callable[[], Iterator[dict[str, str]]] = lambda: iter(ROWS),
) -> list[tuple[Any, ...]]:
    """Let `rows` stand for the archive; gives the list of calls, as it grows."""
    calls: list[tuple[Any, ...]] = []

    class Stream:
        def iter(self, batch_size: int) -> Iterator[dict[str, list[dict[str, str]]]]:
            for row in rows():
                yield {"translation": [row]}

    def snapshot_download(*arguments: Any, **options: Any) -> str:
        calls.append((*arguments, options))
        folder = tmp_path / options["allow_patterns"].partition("/")[0]
        folder.mkdir(exist_ok=True)
        for number in range(2):
            (folder / f"train-{number}.parquet").touch()
        return str(tmp_path)

    def load_dataset(
        kind: str, data_files: list[str], split: str, streaming: bool
    ) -> Stream:
        assert (kind, split, streaming) == ("parquet", "train", True)
        assert [Path(name).name for name in data_files] == [
            "train-0.parquet",
            "train-1.parquet",
        ]
        return Stream()

    tmp_path = Path(os.environ["AIAYN_CACHE"]).parent
    monkeypatch.setitem(
        sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset)
    )
    hub = SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    return calls


def test_test_sets_are_not_looked_for_in_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only AIAYN_DATA names a folder; files of the same name beside a reader's notebook
    are not WMT's.
    """
    (tmp_path / "wmt").mkdir()
    for side in ("en", "de"):
        (tmp_path / "wmt" / f"newstest2013.{side}").write_text("Mine.\n")
    monkeypatch.chdir(tmp_path)
    asked = [tmp_path / "theirs.en", tmp_path / "theirs.de"]
    monkeypatch.setattr(wmt, "newstest_files", lambda *_: asked)
    assert wmt14_files("en-de", "newstest2013") == asked


# The training text


def test_the_training_text_is_streamed_once(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    calls = hugging_face(monkeypatch)
    pairs, turned = (
        load_pairs("wmt14", "en-de", "train"),
        load_pairs("wmt14", "de-en", "train"),
    )
    assert list(pairs.source) == ["The cat sleeps.", "The dog sees  her.", "The end."]
    assert list(pairs.target) == [
        "Die Katze schläft.",
        "Der Hund\u2028sieht sie.",
        "Ende.",
    ]
    assert list(turned.source) == list(pairs.target) and list(turned.target) == list(
        pairs.source
    )
    where = {
        "repo_type": "dataset",
        "revision": wmt.REVISION,
        "allow_patterns": "de-en/train-*",
    }
    assert calls == [("wmt/wmt14", where)]
    report = json.loads((cache / "wmt14" / "en-de" / "report.json").read_text())
    assert report == {"corpus": "wmt/wmt14", "pair": "en-de", "pairs": 3, "dropped": 2}


def test_english_french_has_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    rows = [{"fr": "Le chat dort.", "en": "The cat sleeps."}]
    calls = hugging_face(monkeypatch, lambda: iter(rows))
    assert load_pairs("wmt14", "fr-en", "train").source[0] == "Le chat dort."
    assert (
        calls[0][1]["allow_patterns"] == "fr-en/train-*"
        and (cache / "wmt14" / "en-fr" / "train.fr").exists()
    )


def test_pairs_that_no_reader_would_take_are_left_out(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """What `Lines` refuses must not get into the cache, where nobody can mend it."""
    sides = [
        ("a", "b"),
        ("▁", "b"),
        ("a", "▁ \u3000▁"),
        ("a", "x" * (1 << 20)),
        ("ä" * (1 << 19) + "a", "b"),
    ]
    hugging_face(monkeypatch, lambda: iter([{"en": en, "de": de} for en, de in sides]))
    pairs = load_pairs("wmt14", "en-de", "train")
    assert [len(line) for line in pairs.target] == [1, 1 << 20]
    report = json.loads((cache / "wmt14" / "en-de" / "report.json").read_text())
    assert (report["pairs"], report["dropped"]) == (2, 3)


def test_a_file_that_somebody_removed_is_fetched_again(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    calls = hugging_face(monkeypatch)
    for _ in range(2):
        assert len(load_pairs("wmt14", "en-de", "train")) == 3
        (cache / "wmt14" / "en-de" / "train.de").unlink()
    assert len(calls) == 2


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    message = complaint("en-de", "train")
    assert (
        message == "wmt14 train: needs the datasets library: pip install 'aiayn[train]'"
    )


def breaking_off() -> Iterator[dict[str, str]]:
    yield from ROWS[:2]
    raise RuntimeError("connection lost\nand much more that nobody wants to read")


def test_a_stream_that_breaks_off_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    hugging_face(monkeypatch, breaking_off)
    message = complaint("en-de", "train")
    assert "cannot be fetched from Hugging Face (connection lost); try again" in message
    assert [path.name for path in (cache / "wmt14" / "en-de").iterdir()] == ["lock"]
    hugging_face(monkeypatch)
    assert len(load_pairs("wmt14", "en-de", "train")) == 3


def test_a_full_disk_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    hugging_face(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        assert "No space left on device" in complaint("en-de", "train")
    assert [path.name for path in (cache / "wmt14" / "en-de").iterdir()] == ["lock"]


def test_what_a_killed_process_left_is_removed(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    hugging_face(monkeypatch)
    folder = cache / "wmt14" / "en-de"
    folder.mkdir(parents=True)
    (folder / ".train.de.123.part").write_text("Die Ka")
    # Without a report it counts for nothing.
    (folder / "train.en").write_text("The cat sl")
    assert len(load_pairs("wmt14", "en-de", "train")) == 3
    assert sorted(path.name for path in folder.iterdir()) == [
        "lock",
        "report.json",
        "train.de",
        "train.en",
    ]


def test_a_cache_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("here first")
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "file"))
    hugging_face(monkeypatch)
    assert (
        "cannot be used (" in (message := complaint("en-de", "train"))
        and "AIAYN_CACHE" in message
    )


def test_of_several_that_ask_at_once_one_fetches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = hugging_face(monkeypatch)
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda _: len(load_pairs("wmt14", "en-de", "train")), range(4))
        )
    assert found == [3] * 4 and len(calls) == 1


# The texts to test with


@pytest.mark.parametrize("pair", ["en-cs", "de-fr", "xx-yy"])
def test_other_languages(pair: str) -> None:
    assert (
        f"wmt14 has no {pair} val: pairs are en-de, en-fr, in either direction"
        in complaint(pair, "val")
    )


def test_other_splits() -> None:
    message = complaint("en-de", "newstest2015")
    assert (
        "splits train, val, newstest2013, test, newstest2014, newstest2014-filtered"
        in message
    )


@pytest.mark.parametrize(
    ("split", "name"),
    [
        ("val", "wmt13"),
        ("newstest2014", "wmt14/full"),
        ("test", "wmt14/full"),
        ("newstest2014-filtered", "wmt14"),
    ],
)
def test_sacrebleu_gives_what_is_not_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, split: str, name: str
) -> None:
    asked = []

    def file(side: str) -> Callable[[str, str], Any]:
        def get(test: str, pair: str) -> Any:
            asked.append((test, pair))
            (tmp_path / side).write_text(f"{side} of {pair}\n")
            return str(tmp_path / side) if side == "source" else [str(tmp_path / side)]

        return get

    monkeypatch.setattr("sacrebleu.get_source_file", file("source"))
    monkeypatch.setattr("sacrebleu.get_reference_files", file("reference"))
    pairs = load_pairs("wmt14", "de-en", split)
    assert (pairs.source[0], pairs.target[0]) == (
        "source of de-en",
        "reference of de-en",
    )
    assert asked == [(name, "de-en")] * 2


@pytest.mark.parametrize(
    "error", [urllib.error.URLError("no route"), SystemExit(1), EOFError()]
)
def test_sacrebleu_without_a_network(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: str) -> None:
        raise error

    monkeypatch.setattr("sacrebleu.get_source_file", fail)
    message = complaint("en-fr", "newstest2014")
    assert message.startswith("sacrebleu's wmt14/full: cannot be fetched (")
    assert (
        "wmt/newstest2014-enfr.en and wmt/newstest2014-enfr.fr" in message
        and "AIAYN_DATA" in message
    )


def test_sacrebleu_knows_these_names() -> None:
    from sacrebleu.dataset import DATASETS

    for _, name in wmt.NEWSTEST.values():
        assert all(
            pair in DATASETS[name].langpairs
            for pair in ("en-de", "de-en", "en-fr", "fr-en")
        )


@pytest.mark.parametrize("pair", ["en-de", "de-en", "en-fr", "fr-en"])
@pytest.mark.parametrize(("split", "size"), [("val", 3000), ("newstest2014", 3003)])
def test_a_folder_comes_first(
    data: Path, monkeypatch: pytest.MonkeyPatch, pair: str, split: str, size: int
) -> None:
    monkeypatch.setenv("AIAYN_DATA", str(data))
    pairs = load_pairs("wmt14", pair, split)
    assert len(pairs) == size and pairs.source_name.startswith(str(data))
    alias = {"val": "newstest2013", "newstest2014": "test"}[split]
    assert wmt14_files(pair, alias) == wmt14_files(pair, split)
    words = {"en": " the ", "de": " der ", "fr": " les "}
    for language, side in zip(
        pair.split("-"), (pairs.source, pairs.target), strict=True
    ):
        assert sum(words[language] in line for line in side) > 400


def test_the_two_english_sides_are_not_mixed_up(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIAYN_DATA", str(data))
    assert list(load_pairs("wmt14", "en-de", "test").source) != list(
        load_pairs("wmt14", "en-fr", "test").source
    )
