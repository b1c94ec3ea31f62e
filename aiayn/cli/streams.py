# Made by `make export` from book/5-launch/1-launch.ipynb
"""Lines that are read as they come and written as they are done."""

# book/5-launch/1-launch.ipynb, cell streams-imports
import gzip
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from aiayn.data.io import atomic_file, cause, open_file
from aiayn.data.lines import decode_lines
from aiayn.data.packed import MAX_LINE_BYTES, UNPACKING_ERRORS, unpacking
from aiayn.errors import InputError

# book/5-launch/1-launch.ipynb, cell told-at-the-end
LINES_AT_ONCE = 1000  # lines that are translated at a time, at most
INPUT = "standard input"


def decoded_lines(
    text: bytes, name: str, before: int, faults: list[str] | None
) -> list[str]:
    """The lines of a text; where `faults` are collected, a bad one becomes empty."""
    if faults is None:
        return list(decode_lines(text, name, before))
    lines = list[str]()
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), before):
        try:
            lines += decode_lines(line + b"\n", name, number)
        except InputError as error:
            faults.append(str(error))
            lines.append("")
    return lines if text else []


# book/5-launch/1-launch.ipynb, cell arriving-lines
def arriving_lines(
    path: Path | None = None, faults: list[str] | None = None
) -> Iterator[list[str]]:
    """The lines of a file or of standard input, as many at a time as are there."""
    name = str(path) if path else INPUT
    with ExitStack() as opened:
        stream: Any = sys.stdin.buffer
        try:
            if path is not None:
                raw = opened.enter_context(open_file(path))
                stream = opened.enter_context(unpacking(raw, path))
            text, number, more = b"", 0, True
            while more:
                arrived = stream.read1(1 << 16)
                text, more = text + arrived, bool(arrived)
                end = text.rfind(b"\n") + 1 if more else len(text)
                lines = decoded_lines(text[:end], name, number, faults)
                for first in range(0, len(lines), LINES_AT_ONCE):
                    yield lines[first : first + LINES_AT_ONCE]
                text, number = text[end:], number + len(lines)
                if len(text) > MAX_LINE_BYTES:
                    place = f"{name}, line {number + 1}"
                    long = f"longer than {MAX_LINE_BYTES:,} bytes, for a sentence"
                    raise InputError(f"{place}: {long}; split it")
        except UNPACKING_ERRORS as error:
            raise InputError(f"{name}: cannot be read ({cause(error)})") from None


# book/5-launch/1-launch.ipynb, cell blocks-of-lines
def blocks(
    unit: str,
    source: Path | None = None,
    faults: list[str] | None = None,
    shown: bool = True,
) -> Iterator[tuple[int, list[str]]]:
    """These lines, with the number of those before; what is printed then goes out.

    A bar shows how many there have been, unless it would stand among what is `shown`.
    """
    bar = sys.stderr.isatty() and not (shown and sys.stdout.isatty())
    with tqdm(unit=unit, disable=not bar) as progress:
        before = 0
        for lines in arriving_lines(source, faults):
            yield before, lines
            sys.stdout.flush()
            before += len(lines)
            progress.update(len(lines))
    if faults:
        more = f"bad lines stay untranslated: {len(faults):,}; the first: {faults[0]}"
        print(f"aiayn: {more}", file=sys.stderr)


@contextmanager
def line_writer(path: Path | None) -> Iterator[Callable[[str], Any]]:
    """What takes lines: standard output, or a file that is there once it is whole."""
    if path is None:
        yield print
        return
    if path.suffix in (".xz", ".zip"):
        raise InputError(f"{path}: is written plain or as .gz; name it so")
    with ExitStack() as opened:
        file: Any = opened.enter_context(atomic_file(path))
        if path.suffix == ".gz":
            file = opened.enter_context(gzip.open(file, "wb"))
        yield lambda line: file.write(f"{line}\n".encode())
