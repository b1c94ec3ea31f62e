"""The tables of the lexicon: what a mistake in one says, and that none is there."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from aiayn.errors import InputError
from aiayn.synthetic.grammar import adverbials, lexicon, patterns, verbs

FOLDER = Path(lexicon.__file__).parent
READERS = {
    "nouns": lexicon.Noun,
    "adjectives": lexicon.read_adjective,
    "comparatives": lexicon.read_comparative,
    "verbs": verbs.read_verb,
    "adverbs": adverbials.read_adverb,
    "weights": adverbials.read_weight,
    "patterns": patterns.read_pattern,
}


def test_every_table_has_a_reader() -> None:
    assert {path.stem for path in FOLDER.glob("*.tsv")} == READERS.keys()


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        ("nouns", "dog\tdogs\tm", "dog\tdogs\tmw", "gender='mw': should be 'm', 'f'"),
        ("nouns", "dog\tdogs\tm", "dog\tdogs", "6 columns, expected 7"),
        (
            "adjectives",
            "-\tbeings infant",
            "-\tbeing infant",
            r"neither nouns nor kinds of nouns: \['being'\]",
        ),
        (
            "comparatives",
            "journey",
            "jorney",
            r"neither nouns nor kinds of nouns: \['jorney'\]",
        ),
        ("verbs", "sleep sleeps", "sleep", "english=.*at least 5 items"),
        ("verbs", "\thaben\t", "\thabn\t", "auxiliary='habn': should be 'haben'"),
        ("adverbs", "week/NN", "week", "not enough values"),
        ("weights", "0.56", "o.56", "could not convert string to float: 'o.56'"),
        ("patterns", "hungry", "hungri", r"not among the adjectives: \['hungri'\]"),
        ("patterns", "tragen", "trgen", "'trgen' is not the infinitive of a verb"),
    ],
)
def test_a_mistake_in_a_table_is_named_with_file_and_line(
    table: str,
    old: str,
    new: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = (FOLDER / f"{table}.tsv").read_text(encoding="utf-8").splitlines()
    number = next(k for k, line in enumerate(lines, 1) if old in line)
    lines[number - 1] = lines[number - 1].replace(old, new, 1)
    text = "\n".join(["", *lines])  # an empty line counts, and is no row
    (tmp_path / f"{table}.tsv").write_text(text, encoding="utf-8")
    monkeypatch.setattr(lexicon, "files", lambda _: tmp_path)
    make: Any = READERS[table]
    with pytest.raises(InputError, match=f"^{table}.tsv, line {number + 1}: {message}"):
        lexicon.read_table(f"{table}.tsv", make)


@pytest.mark.parametrize(
    ("table", "column"), [("nouns", 1), ("adjectives", 0), ("comparatives", 0)]
)
def test_no_word_stands_twice_in_a_table(table: str, column: int) -> None:
    rows = (FOLDER / f"{table}.tsv").read_text(encoding="utf-8").splitlines()
    counts = Counter(row.split("\t")[column] for row in rows if row[0] != "#")
    assert max(counts.values()) == 1, counts.most_common(1)


def test_a_row_of_names_may_hold_kinds_nouns_and_groups() -> None:
    things = lexicon.select("things bread")
    assert {noun.kind for noun in things} - {"food"} == set(
        lexicon.GROUPS["things"].split()
    )
    assert [noun.singular for noun in things if noun.kind == "food"] == ["bread"]
    with pytest.raises(InputError, match="carot"):
        lexicon.select("fruit carot")
