"""WMT14: one door to its texts, from a folder, through sacrebleu, or fetched once from
Hugging Face.
"""

import json
import os
import sys
import urllib.error
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import small_runs

from aiayn.data import load_pairs, wmt
from aiayn.data.wmt import wmt14_files

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


complaint = partial(small_runs.complaint, load_pairs, "wmt14")


def write_parquet(folder: Path, rows: list[dict[str, Any]], files: int = 2) -> None:
    """Rows as the archive has them, shared by so many files."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // files)
    for number in range(files):
        part = pa.array(rows[number * size :][:size])
        path = folder / f"train-{number:05}-of-{files:05}.parquet"
        parquet.write_table(pa.table({"translation": part}), path, row_group_size=2)


def hugging_face(
    monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]] = ROWS
) -> list[tuple[Any, ...]]:
    """Let `rows` stand for the archive; gives the list of calls, as it grows."""
    calls: list[tuple[Any, ...]] = []

    def snapshot_download(*arguments: Any, **options: Any) -> str:
        calls.append((*arguments, options))
        name = options["allow_patterns"].partition("/")[0]
        write_parquet(archive / name, rows)
        return str(archive)

    archive = Path(os.environ["AIAYN_CACHE"]).parent / "archive"
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


def test_the_training_text_is_fetched_once(
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
    assert list(turned.source) == list(pairs.target)
    assert list(turned.target) == list(pairs.source)
    where = {
        "repo_type": "dataset",
        "revision": wmt.REVISION,
        "allow_patterns": "de-en/train-*",
    }
    assert calls == [("wmt/wmt14", where)]
    report = json.loads((cache / "wmt14" / "en-de" / "report.json").read_text())
    counts = {"pair": "en-de", "pairs": 3, "dropped": 2}
    assert report == {"corpus": "wmt/wmt14", "revision": wmt.REVISION, **counts}


def test_english_french_has_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    rows = [{"fr": "Le chat dort.", "en": "The cat sleeps."}]
    calls = hugging_face(monkeypatch, rows)
    assert load_pairs("wmt14", "fr-en", "train").source[0] == "Le chat dort."
    assert calls[0][1]["allow_patterns"] == "fr-en/train-*"
    assert (cache / "wmt14" / "en-fr" / "train.fr").exists()


def test_pairs_that_no_reader_would_take_are_left_out(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """What `Lines` refuses must not get into the cache, where nobody can mend it."""
    sides = [
        ("a", "b"),
        ("▁", "b"),
        ("a", "▁ \u3000▁"),
        ("a", " \n\r\0 "),
        (None, "b"),
        ("a", "x" * (1 << 20)),
        ("ä" * (1 << 19) + "a", "b"),
    ]
    hugging_face(monkeypatch, [{"en": en, "de": de} for en, de in sides])
    pairs = load_pairs("wmt14", "en-de", "train")
    assert [len(line) for line in pairs.target] == [1, 1 << 20]
    report = json.loads((cache / "wmt14" / "en-de" / "report.json").read_text())
    assert (report["pairs"], report["dropped"]) == (2, 5)


def test_lines_without_a_plain_letter_are_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = ["?", "ß", "– ", "Привет", "你好", "½", "🙂"]
    hugging_face(monkeypatch, [{"en": line, "de": line} for line in lines])
    pairs = load_pairs("wmt14", "en-de", "train")
    assert list(pairs.source) == [line.strip() for line in lines]


def test_a_file_that_somebody_removed_is_fetched_again(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    calls = hugging_face(monkeypatch)
    for _ in range(2):
        assert len(load_pairs("wmt14", "en-de", "train")) == 3
        (cache / "wmt14" / "en-de" / "train.de").unlink()
    assert len(calls) == 2


@pytest.mark.parametrize("module", ["huggingface_hub", "pyarrow.compute"])
def test_without_a_library(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    library = module.partition(".")[0]
    said = f"need {library}; pip install {library} (the extra datasets)"
    assert said in complaint("en-de", "train")


def cut_off(folder: Path) -> None:
    path = folder / "train-00001-of-00002.parquet"
    path.write_bytes(path.read_bytes()[:-40])


FAULTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "one is missing": (
        lambda folder: (folder / "train-00001-of-00002.parquet").unlink(),
        "train-00001-of-00002.parquet is not there",
    ),
    "all are missing": (
        lambda folder: [path.unlink() for path in list(folder.iterdir())],
        "train-00000-of-00001.parquet is not there",
    ),
    "cut off": (cut_off, "Parquet"),
}


def spoil_downloads(
    monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], Any]
) -> None:
    """Do this to each folder that was fetched."""
    hub = sys.modules["huggingface_hub"]
    real = hub.snapshot_download

    def spoilt(*arguments: Any, **options: Any) -> str:
        folder = real(*arguments, **options)
        spoil(Path(folder, "de-en"))
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", spoilt)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_download_that_is_not_whole_leaves_nothing(
    fault: str, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    spoil, said = FAULTS[fault]
    hugging_face(monkeypatch)
    with monkeypatch.context() as patch:
        spoil_downloads(patch, spoil)
        message = complaint("en-de", "train")
    assert "cannot be fetched from Hugging Face (" in message and said in message
    assert [path.name for path in (cache / "wmt14" / "en-de").iterdir()] == ["lock"]
    assert len(load_pairs("wmt14", "en-de", "train")) == 3


def test_a_connection_that_breaks_off(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("connection lost\nand much more that nobody wants to read")

    hugging_face(monkeypatch)
    monkeypatch.setattr(sys.modules["huggingface_hub"], "snapshot_download", fails)
    message = complaint("en-de", "train")
    assert "cannot be fetched from Hugging Face (connection lost); try again" in message


def test_what_a_killed_process_left_is_removed(monkeypatch: Any, cache: Path) -> None:
    hugging_face(monkeypatch)
    folder = cache / "wmt14" / "en-de"
    folder.mkdir(parents=True)
    (folder / ".train.de.123.part").write_text("Die Ka")
    # Without a report it counts for nothing.
    (folder / "train.en").write_text("The cat sl")
    assert len(load_pairs("wmt14", "en-de", "train")) == 3
    found = sorted(path.name for path in folder.iterdir())
    assert found == ["lock", "report.json", "train.de", "train.en"]


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


OTHERS = "pairs are en-de, en-fr, in either direction"
SPLITS = "splits train, val, newstest2013, test, newstest2014, newstest2014-filtered"


@pytest.mark.parametrize(
    ("pair", "split", "says"),
    [
        *((p, "val", f"has no {p} val: {OTHERS}") for p in ("en-cs", "de-fr", "xx-yy")),
        ("en-de", "newstest2015", SPLITS),
    ],
)
def test_other_languages_and_splits(pair: str, split: str, says: str) -> None:
    assert says in complaint(pair, split)


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
    assert "wmt/newstest2014-enfr.en and wmt/newstest2014-enfr.fr" in message
    assert "AIAYN_DATA" in message


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
