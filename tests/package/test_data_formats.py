"""Pairs come in any form: each file gives the right pairs, or one line that says what
is wrong with it and what to do.
"""

import gzip
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aiayn import InputError, Pairs, read_pairs
from aiayn.data import formats
from aiayn.data.columns import announce, pairs_of

ROWS = [("The dog sleeps.", "Der Hund schläft."), ('He says "no".', "Er sagt „nein“.")]
TSV = "".join(f"{source}\t{target}\n" for source, target in ROWS).encode()
EN, DE = (
    "".join(f"{line}\n" for line in side).encode() for side in zip(*ROWS, strict=True)
)
JSON = [json.dumps({"id": k, "en": en, "de": de}) for k, (en, de) in enumerate(ROWS)]
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(range(256))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))


def packed(content: bytes, suffix: str) -> bytes:
    """The content as a file with such a name would hold it."""
    if suffix == ".zip":
        path = Path("one.zip")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("folder/", b"")
            archive.writestr("folder/text", content)
        return path.read_bytes()
    return {".gz": gzip.compress, ".xz": lzma.compress}.get(suffix, bytes)(content)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zip"])
@pytest.mark.parametrize(
    ("name", "content", "columns", "says"),
    [
        ("a.tsv", TSV, None, "column 1"),
        ("a.txt", TSV, "1,2", "column 1"),
        ("a.tsv", b"en\tde\n" + TSV, None, "column en"),
        (
            "a.tsv",
            b"\xef\xbb\xbfEN\tDE\r\n" + TSV.replace(b"\n", b"\r\n"),
            None,
            "column EN",
        ),
        ("a.tsv", b"Source\tTarget\n" + TSV, None, "column Source"),
        ("a.tsv", b"a\tb\n" + TSV, "a,b", "column a"),
        (
            "a.tsv",
            b"".join(b"7\t" + line for line in TSV.splitlines(True)),
            "2,3",
            "column 2",
        ),
        (
            "a.csv",
            "de,en\nDer Hund schläft.,The dog sleeps.\n"
            'Er sagt „nein“.,"He says ""no""."\n',
            "en,de",
            "column en",
        ),
        (
            "a.csv",
            'The dog sleeps.;Der Hund schläft.\n"He says ""no"".";Er sagt „nein“.\n',
            None,
            "column 1",
        ),
        ("a.jsonl", "\n".join(JSON), "en,de", "column en"),
        ("a.json", "\n".join(map(json.dumps, ROWS)), None, "column 1"),
        (
            "a.ndjson",
            "\n".join(f'{{"translation": {line}}}' for line in JSON),
            "en,de",
            "column en",
        ),
    ],
)
def test_tables(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes | str,
    columns: str | None,
    says: str,
    suffix: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(f"{name}{suffix}")
    path.write_bytes(
        packed(content if isinstance(content, bytes) else content.encode(), suffix)
    )
    for _ in range(2):  # read, then from the cache
        pairs = read_pairs(path, columns=columns)
        assert [*pairs] == ROWS
        assert pairs.source_name == f"{path}, {says}"
    assert announce(pairs).startswith(
        f"source: {path}, {says} ('The dog sleeps.'); target:"
    )


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zip"])
def test_two_plain_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = Path(f"a.en{suffix}"), Path(f"b.de{suffix}")
    for path, content in zip(paths, (EN, DE), strict=True):
        path.write_bytes(packed(content, suffix))
    pairs = read_pairs(*paths)
    assert [*pairs] == ROWS and pairs.languages == "en-de"
    assert (pairs.source_name, pairs.target_name) == tuple(map(str, paths))


def test_parquet_and_hugging_face(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "default" / "train"
    folder.mkdir(parents=True)
    flat = pa.table(
        {"id": [0, 1], "en": [ROWS[0][0], ROWS[1][0]], "de": [ROWS[0][1], None]}
    )
    pq.write_table(flat, path := tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a.parquet, line 2: None is no text"):
        read_pairs(path, pair="en-de")
    assert [*read_pairs(path, pair="en-de", skip_bad_lines=True)] == ROWS[:1]
    for number, row in enumerate(ROWS):
        nested = pa.table(
            {"translation": [dict(zip(("de", "en"), row[::-1], strict=True))]}
        )
        pq.write_table(nested, folder / f"{number:04}.parquet")
    asked: dict[str, Any] = {}

    class Hub:
        @staticmethod
        def snapshot_download(name: str, **named: Any) -> str:
            asked.update(named, name=name)
            return str(tmp_path)

    real = formats.import_extra
    monkeypatch.setattr(
        formats, "import_extra", lambda name: Hub if "hub" in name else real(name)
    )
    address = "hf://datasets/me/mine/default/train"
    assert [*read_pairs(address, pair="en-de")] == ROWS
    assert asked["name"] == "me/mine" and asked["revision"] == "refs/convert/parquet"
    for wrong in ("hf://datasets/me/mine", "hf://datasets/me/mine/default/test"):
        with pytest.raises(InputError, match=wrong):
            read_pairs(wrong)


def test_an_extra_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    (path := tmp_path / "a.parquet").write_bytes(PNG)
    monkeypatch.setattr("aiayn.data.download.import_module", missing)
    with pytest.raises(InputError, match=r"pip install pyarrow \(the extra datasets\)"):
        read_pairs(path)


ODD: list[tuple[str, bytes, str]] = [
    ("a.tsv", b"", "a.tsv: no pairs; there should be one on each line"),
    ("a.csv", b"", "a.csv: no pairs"),
    ("a.jsonl", b"\n", "a.jsonl, line 1: empty"),
    ("a.parquet", b"", "a.parquet: cannot be read"),
    ("a.parquet", PNG, "a.parquet: cannot be read"),
    ("a.tsv", EN, "a.tsv, line 1: one column only; give a table with two"),
    ("a.csv", b"Hello.\nYes.\n", "a.csv, line 1: one column only"),
    ("a.txt", EN, "a.txt, line 1: one column only"),
    ("a.tsv", b"a\tb\tc\n" * 3, "line 1: the columns are 'a', 'b', 'c'; name those of"),
    ("a.tsv", b"en\tde\tfr\n" * 3, "line 1: the columns are 'en', 'de', 'fr'"),
    ("a.tsv", TSV + b"one\n", "a.tsv, line 3: not 2 columns, but 1"),
    ("a.tsv", TSV + b"one\ttwo\tthree\n", "a.tsv, line 3: not 2 columns, but 3"),
    ("a.tsv", TSV + b"\n" + TSV, "a.tsv, line 3: empty; remove it"),
    ("a.tsv", TSV + b" \tb\n", "a.tsv, line 3: empty; remove it"),
    ("a.tsv", TSV + b"a\0\tb\n", "a.tsv, line 3: a NUL byte, as in UTF-16"),
    ("a.tsv", TSV + b"a\xff\tb\n", r"a.tsv, line 3: not UTF-8 \(byte 2\)"),
    ("a.tsv", TSV.decode().encode("utf-16"), "a.tsv, line 1: a NUL byte, as in UTF-16"),
    ("a.tsv", TSV.decode().encode("latin-1", "replace"), "a.tsv, line 1: not UTF-8"),
    ("a.tsv", PNG, "a.tsv, line 1: not UTF-8"),
    ("a.csv", PNG, "a.csv, line 1: not UTF-8"),
    ("a.jsonl", PNG, "a.jsonl, line 1: not UTF-8"),
    ("a.csv", b'a,b\n"open,c\nd,e\n', "a.csv, line 2: unexpected end of data"),
    ("a.csv", b'a,b\n"x"y,c\n', "a.csv, line 2: ',' expected after"),
    ("a.csv", b"a,b,c\n1,2,3\n", "a.csv, line 1: the columns are 'a', 'b', 'c'"),
    ("a.jsonl", b'{"en": "a"', "a.jsonl, line 1: Expecting"),
    ("a.jsonl", b"[" * 100_000, "a.jsonl, line 1: "),
    ("a.jsonl", b"3\n", "a.jsonl, line 1: neither an object nor a list"),
    ("a.jsonl", b'{"text": "a"}\n', "line 1: the columns are 'text'; name those"),
    ("a.jsonl", b'{"en": "a", "de": "b"}\n["c", "d"]\n', "line 2: not the form"),
    ("a.jsonl", b'{"en": "a", "de": 3}\n', "a.jsonl, line 1: 3 is no text"),
    ("a.jsonl", b'{"en": "a", "de": "b\\nc"}\n', "line 1: a line break within"),
    ("a.jsonl", b'{"en": "a", "de": "\\ud800"}\n', "line 1: half of a character"),
    ("a.jsonl", b'{"en": "a"}\n', "line 1: the columns are 'en'"),
    ("a.tsv.gz", gzip.compress(TSV * 99)[:-9], "a.tsv.gz: cannot be read"),
    ("a.tsv.gz", TSV, "a.tsv.gz: cannot be read"),
    ("a.tsv.xz", lzma.compress(TSV * 99)[:-9], "a.tsv.xz: cannot be read"),
    ("a.tsv.xz", PNG, "a.tsv.xz: cannot be read"),
    ("a.tsv.zip", PNG, "a.tsv.zip: cannot be read"),
    ("a.tsv", b"Same.\tSame.\n" * 20, "source and target are equal everywhere; name"),
    ("a.tsv", b"x" * (2 << 20), "a.tsv, line 1: longer than 1,048,576 bytes"),
]


@pytest.mark.parametrize(("name", "content", "says"), ODD)
def test_odd_files_are_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (path := tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        read_pairs(path)
    assert "\n" not in str(caught.value)
    assert not [*tmp_path.rglob("report.json")]


@pytest.mark.parametrize(
    ("name", "content"),
    [(name, content) for name, content, says in ODD if ", line 3: " in says],
)
def test_bad_lines_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, content: bytes
) -> None:
    (path := tmp_path / name).write_bytes(content)
    pairs = read_pairs(path, skip_bad_lines=True)
    assert {*pairs} == {*ROWS}
    assert " lines are left out; the first: " in caplog.text
    (path := tmp_path / name).write_bytes(content + TSV)
    pairs = read_pairs(path, skip_bad_lines=True)
    assert pairs.line_number(3) == 4  # of the file, for messages


def test_two_files_that_do_not_fit(tmp_path: Path) -> None:
    def write(name: str, content: bytes) -> Path:
        (path := tmp_path / name).write_bytes(content)
        return path

    en, de, table = write("a.en", EN), write("b.de", DE), write("c.tsv", TSV)
    short, bad = write("d.de", DE[:-20]), write("e.de", b"Der\0\nJa.\n")
    wrong: list[tuple[list[Path], dict[str, Any], str]] = [
        ([en, short], {}, r"d.de: 1 lines, .*a.en has more; line k of the one"),
        ([en, bad], {}, "e.de, line 1: a NUL byte"),
        ([en, en], {}, "give one table, or two plain files"),
        ([en, table], {}, "give one table, or two plain files"),
        ([en, de, de], {}, "give one table, or two plain files"),
        ([en, de], {"columns": "en,de"}, "give one table, or two plain files"),
        ([de, en], {"pair": "en-de"}, "b.de would be the source, of en-de; give"),
        ([table], {"columns": "1,1"}, "2 columns; columns=1,1 are not two"),
        ([table], {"columns": "1,3"}, "2 columns; columns=1,3 are not two"),
        ([table], {"columns": "en,de"}, "line 1: the columns are 'The dog sleeps.'"),
        ([tmp_path / "none.tsv"], {}, "none.tsv: cannot be read"),
        ([tmp_path], {}, "it is a folder"),
        ([], {}, "give one table"),
    ]
    for files, options, says in wrong:
        with pytest.raises(InputError, match=says):
            read_pairs(*files, **options)
    kept = read_pairs(en, bad, skip_bad_lines=True)
    assert [*kept] == [(ROWS[1][0], "Ja.")] and kept.line_number(1) == 2


class Frame:
    """As much of a data frame as is used of one."""

    def __init__(self, **columns: Any) -> None:
        self.data, self.columns = columns, [*columns]

    def __getitem__(self, name: str) -> Any:
        return self.data[name]


SIDES = {"en": [en for en, _ in ROWS], "de": [de for _, de in ROWS]}
RECORDS = [{"de": de, "en": en, "id": "7"} for en, de in ROWS]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "make",
    [
        lambda: ROWS,
        lambda: iter(ROWS),
        lambda: (list(row) for row in ROWS),
        lambda: Pairs(*SIDES.values()),
        lambda: RECORDS,
        lambda: ({"translation": row} for row in RECORDS),
        lambda: SIDES,
        lambda: Frame(**SIDES),
        lambda: Frame(id=range(2), **SIDES),
    ],
)
def test_what_a_program_has(make: Callable[[], Any]) -> None:
    pairs = pairs_of(make(), pair="en-de")
    assert [*pairs] == ROWS


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            [{"id": "7", "left": "a", "right": "b"}],
            "name those of source and target, as in columns='left,right', or count",
        ),
        ([{"text": "a"}], "pair 1: the columns are 'text'; name those of source"),
        (Frame(text=["a", "b"]), "the table: the columns are 'text'; name those"),
        (Frame(en=["a", "b"], de=["a", None]), "column de, line 2: None is no text"),
        (Frame(en=["a", "b"], de=["a"]), "column en: 2 lines, column de: 1 lines"),
        (list("ab"), r"pair 1 is 'a': give \(sentence, translation\), or Pairs\("),
        ((["a", "b", "c"], ["d", "e", "f"]), r"pair 1 is \['a', 'b', 'c'\]: give"),
        ([("Same.", "Same.")] * 20, "source: source and target are equal everywhere"),
        ([{"en": "a", "de": "b"}, {"en": "a"}], "pair 2 is {'en': 'a'}: give"),
        ([], "no pairs"),
        (7, "pair 1 is 7"),
    ],
)
def test_what_cannot_be_right_is_refused(text: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        pairs_of(text)


def test_the_columns_may_be_named() -> None:
    pairs = pairs_of([{"english": "a", "german": "b"}], columns="german,english")
    assert [*pairs] == [("b", "a")] and pairs.source_name == "column german"


def test_a_column_that_is_asked_for_is_taken() -> None:
    rows = [{"English": "far", "en": "near", "de": "nah"}]
    assert [*pairs_of(rows, columns="en,de")] == [("near", "nah")]


def test_columns_may_have_the_names_of_languages() -> None:
    rows = [{"id": "7", "German": "b", "English": "a"}]
    for pair, sides in ((None, ("b", "a")), ("en-de", ("a", "b"))):
        pairs = pairs_of(rows, pair=pair)
        assert [*pairs] == [sides] and pairs.languages == (pair or "de-en")
