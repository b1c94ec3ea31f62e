# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Which columns are source and target, and pairs from what a program has."""

# book/3-workshop/02-corpora.ipynb, cell columns-imports
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from textwrap import shorten
from typing import Any

from aiayn.data.corpora import Pairs
from aiayn.data.lines import check_not_blank, normalize_line, sentence_list
from aiayn.errors import InputError

SomePairs = Pairs | Iterable[Any]


# book/3-workshop/02-corpora.ipynb, cell choose-columns
USUAL_NAMES = [("source", "target"), ("src", "tgt"), ("src", "trg")]
LANGUAGES = {"english": "en", "german": "de", "deutsch": "de", "french": "fr"}
LANGUAGES |= {"spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl"}
LANGUAGES |= {"russian": "ru", "chinese": "zh", "japanese": "ja", "polish": "pl"}


def is_language(name: str, letters: str = "{2,3}") -> bool:
    """Whether it looks like the name of a language, such as en or ENG."""
    return re.fullmatch(f"[a-z]{letters}|[A-Z]{letters}", name) is not None


def languages_of(names: Sequence[str]) -> str | None:
    """The pair of languages that two columns or files are named after, if any."""
    codes = [LANGUAGES.get(name.casefold(), name) for name in names]
    known = all(is_language(code, "{2}") for code in codes)
    return "-".join(codes).casefold() if names and known else None


def choose_columns(
    names: Sequence[str], columns: str | None, pair: str | None, place: str
) -> list[str]:
    """Which columns are source and target, by their names; else an InputError.

    Those that `columns` names, or the languages of `pair`, or the usual names, or the
    only two if both are languages, such as en or English.
    """
    asked = [(pair or "").split("-"), *USUAL_NAMES]
    if columns:
        asked = [columns.split(",")]
    elif not pair and len(names) == 2 and all(map(is_language, names)):
        asked = [names]
    known = {normalize_line(name).casefold(): name for name in names}
    called = [name for name in known if name in LANGUAGES]
    if not (columns or pair) and len(called) == 2:
        asked = [called]
    known = {LANGUAGES[name]: known[name] for name in called} | known
    for wanted in asked:
        chosen = [known.get(name.strip().casefold()) for name in wanted]
        found = [name for name in chosen if name is not None]
        if len(found) == len(chosen) == len({*found}) == 2:
            return found
    listed = ", ".join(repr(name[:20]) for name in names[:10])
    two = ",".join(names[-2:]) if len(names) > 1 else "en,de"
    advice = f"name those of source and target, as in columns='{two}', or count, '1,2'"
    raise InputError(f"{place}: the columns are {listed}; {advice}")


# book/3-workshop/02-corpora.ipynb, cell column-keys
def column_keys(
    row: Sequence[Any] | Mapping[str, Any],
    columns: str | None,
    pair: str | None,
    place: str,
) -> tuple[list[Any], list[str], bool]:
    """Where source and target are in rows like this first one, and their names.

    And whether it is a header.
    """
    if isinstance(row, Mapping):
        names = choose_columns(list(row), columns, pair, place)
        return names, names, False
    if numbers := re.fullmatch(r"(\d+),(\d+)", columns or ""):
        keys = [int(number) - 1 for number in numbers.groups()]
        if len({*keys}) < 2 or not {*keys} <= {*range(len(row))}:
            number = f"{len(row)} columns; columns={columns} are not two of them"
            raise InputError(f"{place}: {number}")
        return keys, [f"{key + 1}" for key in keys], False
    if len(row) < 2:
        advice = "give a table with two (.tsv, .csv, .jsonl), or two plain files"
        raise InputError(f"{place}: one column only; {advice}")
    cells = [normalize_line(str(cell)) for cell in row]
    try:
        names = choose_columns(cells, columns, pair, place)
    except InputError:
        if columns or len(cells) > 2 or all(map(is_language, cells)):
            raise
        return [0, 1], ["1", "2"], False
    return [cells.index(name) for name in names], names, True


# book/3-workshop/02-corpora.ipynb, cell sides
def unwrapped(row: Any) -> Any:
    """The fields of a record; of one such as Hugging Face's, those of `translation`."""
    inner = row.get("translation") if isinstance(row, Mapping) else None
    return inner if isinstance(inner, Mapping) else row


def sides_of(
    row: Any, keys: list[Any], width: int, name: str, number: int
) -> list[str]:
    """Source and target of a row, as `Pairs` wants them; else an InputError."""
    if isinstance(row, InputError):
        raise row
    place = f"{name}, line {number}"
    if isinstance(row, Mapping) != isinstance(keys[0], str):
        raise InputError(f"{place}: not the form of the lines before")
    if isinstance(row, Mapping):
        cells = [row.get(key) for key in keys]
    elif len(row) != width:
        raise InputError(f"{place}: not {width} columns, but {len(row)}")
    else:
        cells = [row[key] for key in keys]
    sides = list[str]()
    for cell in cells:
        sides += map(normalize_line, sentence_list([cell], f"{name}, line", number - 1))
        check_not_blank(sides[-1:], name, number - 1)
    if any("\n" in side for side in sides):
        raise InputError(f"{place}: a line break within; remove it")
    return sides


def check_sides_differ(pairs: int, same: int, name: str) -> None:
    """Raise an InputError if a text is its own translation, line by line."""
    if pairs == same >= 10:  # of a few, all may be names
        advice = "name another column or file; to learn copying, give Pairs"
        raise InputError(f"{name}: source and target are equal everywhere; {advice}")


# book/3-workshop/02-corpora.ipynb, cell pairs-of
def pairs_of(
    text: SomePairs, columns: str | None = None, pair: str | None = None
) -> Pairs:
    """Pairs, from whatever a program has of them.

    Parameters
    ----------
    text : Pairs or iterable
        Pairs of strings or dictionaries, one after another; a data frame, or a
        dictionary of lists.
    columns, pair : str, optional
        As for `read_pairs`.

    Raises
    ------
    InputError
        If one of them is no pair, or it is not clear which columns are meant.
    """
    if isinstance(text, Pairs):
        return text
    if (frame := table_columns(text)) is not None:
        chosen = choose_columns([*frame], columns, pair, "the table")
        return pairs_in_memory([frame[name] for name in chosen], chosen)
    # Of these Python would take the letters, the keys, or any order.
    unfit = (str, bytes, Path, Mapping, Set)
    whole = isinstance(text, unfit) or not isinstance(text, Iterable)
    rows: list[Any] = [text] if whole else list(text)
    if not rows:
        raise InputError("no pairs: give a list of (sentence, translation)")
    first = unwrapped(rows[0])
    chosen = []
    if isinstance(first, Mapping) and all(isinstance(name, str) for name in first):
        chosen = choose_columns([*first], columns, pair, "pair 1")
    pairs = []
    for number, row in enumerate(map(unwrapped, rows), start=1):
        single = isinstance(row, unfit) or not isinstance(row, Iterable)
        sides = () if single else tuple(row)
        if chosen and isinstance(row, Mapping):
            sides = tuple(row.get(name) for name in chosen)
        if len(sides) != 2 or not all(isinstance(side, str) for side in sides):
            give = "give (sentence, translation), or Pairs(sentences, translations)"
            raise InputError(f"pair {number} is {row!r:.60}: {give}")
        pairs.append(sides)
    return pairs_in_memory([*zip(*pairs, strict=True)], chosen)


# book/3-workshop/02-corpora.ipynb, cell in-memory
def table_columns(text: Any) -> dict[str, Iterable[Any]] | None:
    """The columns of a data frame or of a dictionary of lists, by name; else None."""
    names: Any = text if isinstance(text, Mapping) else getattr(text, "columns", ())
    columns = {str(name): text[name] for name in names}
    for each in columns.values():
        if isinstance(each, str) or not isinstance(each, Iterable):
            return None
    return columns or None


def pairs_in_memory(sides: Sequence[Iterable[Any]], columns: list[str]) -> Pairs:
    """Two columns as `Pairs`, under their names."""
    names = [f"column {name}" for name in columns] or ["source", "target"]
    source, target = (
        [normalize_line(line) for line in sentence_list(side, f"{name}, line")]
        for side, name in zip(sides, names, strict=True)
    )
    same = sum(map(str.__eq__, source, target))
    check_sides_differ(len(source), same, names[0])
    return Pairs(source, target, *names, languages=languages_of(columns))


def announce(pairs: Pairs) -> str:
    """Which side of a text is the source, and which the target, with the first pair."""
    sides = {"source": pairs.source_name, "target": pairs.target_name}
    firsts = (shorten(side[0], 60) for side in (pairs.source, pairs.target))
    return "; ".join(
        f"{role}: {first!r}" if role == name else f"{role}: {name} ({first!r})"
        for (role, name), first in zip(sides.items(), firsts, strict=True)
    )
