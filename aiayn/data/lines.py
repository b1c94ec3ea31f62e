# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Lines of text files, checked once and then read on demand."""

# book/3-workshop/02-corpora.ipynb, cell text-files-imports
import hashlib
import mmap
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, overload

import numpy as np

from aiayn.data.io import atomic_file, cache_folder, cache_lock, open_file
from aiayn.data.packed import MAX_LINE_BYTES, PACKED, line_blocks
from aiayn.errors import InputError

# book/3-workshop/02-corpora.ipynb, cell readable
BYTE_ORDER_MARK = "\ufeff"  # the byte order mark, with which some editors begin a file
# What shows as a space, and ▁, which a vocabulary takes for one.
SPACES = "▁\u2800" + "".join(filter(str.isspace, map(chr, range(0x3001))))
# What does not show at all, such as the soft hyphen and signs of direction.
_FIRST_AND_LAST = """\
00AD-00AD 034F-034F 061C-061C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E
2060-206F 3164-3164 FE00-FE0F FEFF-FEFF FFA0-FFA0
"""
_RANGES = (pair.split("-") for pair in _FIRST_AND_LAST.split())
INVISIBLE = "".join(
    chr(code)
    for first, last in _RANGES
    for code in range(int(first, 16), int(last, 16) + 1)
)
NOT_SEEN = re.compile(f"[{re.escape(SPACES.replace(' ', '') + INVISIBLE)}]")


def normalize_line(line: str) -> str:
    """A line as it is read: in composed letters (NFC), without spaces around it.

    Byte order marks at its beginning go, too, which `cat` leaves inside a file.
    """
    return unicodedata.normalize("NFC", line.strip().lstrip(BYTE_ORDER_MARK).lstrip())


def is_blank(line: str) -> bool:
    """Whether nothing of a line can be seen."""
    return not line.strip(SPACES + INVISIBLE)


def normalize_spaces(text: str, processor: Any) -> str:
    """A text for sentencepiece's `processor`: composed, as by `normalize_line`.

    What shows as a space and is no piece becomes one; what does not show is left out.
    """
    text = unicodedata.normalize("NFC", text)
    for letter in set(NOT_SEEN.findall(text)):
        if processor.PieceToId(letter) == processor.unk_id():
            text = text.replace(letter, " " * (letter in SPACES))
    return text


# book/3-workshop/02-corpora.ipynb, cell sentence-list
def check_list(lines: Any) -> None:
    """Raise a TypeError at what is no list of sentences.

    A single sentence would be taken letter by letter, of a dictionary there would be
    the keys, and a set has no order.
    """
    unfit = isinstance(lines, str | bytes | Mapping | Set)
    if unfit or not isinstance(lines, Iterable):
        kind = type(lines).__name__
        raise TypeError(f"a {kind} is no list of sentences: put them into a list")


def checked_sentences(lines: Any, name: str, before: int = 0) -> Iterator[str]:
    """Sentences in memory, one after another; `before` came earlier.

    Raises
    ------
    InputError
        If a line is no text, or has a NUL byte or half of a character.
    TypeError
        As `check_list` does.
    """
    check_list(lines)
    for number, line in enumerate(lines, start=before + 1):
        fault = ""
        if not isinstance(line, str):
            fault = f"{line!r:.60} is no text; give a string"
        elif "\0" in line:
            fault = "a NUL byte, as in UTF-16; decode the text anew"
        elif not line.isascii() and re.search("[\ud800-\udfff]", line):
            fault = "half of a character, a surrogate; decode the text anew"
        if fault:
            raise InputError(f"{name} {number}: {fault}")
        yield line


def sentence_list(lines: Any, name: str, before: int = 0) -> list[str]:
    """Sentences in memory as a list, refused as `checked_sentences` does."""
    return list(checked_sentences(lines, name, before))


# book/3-workshop/02-corpora.ipynb, cell check-block
def check_not_blank(lines: Sequence[str], name: str, before: int = 0) -> None:
    """Raise an InputError for the first blank line; `before` lines came earlier."""
    if any(map(is_blank, lines)):
        number = next(number for number, line in enumerate(lines) if is_blank(line))
        line, what = normalize_line(lines[number]), "empty"
        if "▁" in line:
            what = "nothing but ▁, which counts as a space"
        elif line:
            what = f"nothing that can be seen (U+{ord(line[0]):04X})"
        place = f"{name}, line {before + number + 1}"
        remedy = "remove it, and its translation if it has one"
        raise InputError(f"{place}: {what}; {remedy}")


def check_block(block: bytes, name: str, before: int = 0) -> None:
    """Raise an InputError if a line is too long, blank, not UTF-8, or has a NUL byte.

    The block is made of whole lines of a file, and `before` lines came earlier.
    """
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    too_long = np.diff(ends, prepend=-1, append=len(block)) - 1 > MAX_LINE_BYTES
    if too_long.any():
        place = f"{name}, line {before + int(too_long.argmax()) + 1}"
        long = f"longer than {MAX_LINE_BYTES:,} bytes, for a sentence; split it"
        raise InputError(f"{place}: {long}")
    lines = decode_block(block, name, before).removesuffix("\n").split("\n")
    check_not_blank(lines, name, before)


# book/3-workshop/02-corpora.ipynb, cell decode-lines
def decode_block(block: bytes, name: str, before: int = 0) -> str:
    """The text of whole lines; an InputError if it has a NUL byte or is not UTF-8."""
    nul = block.find(b"\0")
    if nul >= 0:
        line = before + block.count(b"\n", 0, nul) + 1
        convert = "convert the file, say with iconv"
        raise InputError(f"{name}, line {line}: a NUL byte, as in UTF-16; {convert}")
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = before + block.count(b"\n", 0, error.start) + 1
        byte = error.start - block.rfind(b"\n", 0, error.start)
        fault = f"not UTF-8 (byte {byte}); convert it, say with iconv"
        raise InputError(f"{name}, line {line}: {fault}") from None


def decode_lines(content: bytes, name: str, before: int = 0) -> Iterator[str]:
    """Lines of a text, blank ones too, cut at line feeds alone; of no text, none.

    `before` lines came earlier.

    Raises
    ------
    InputError
        If a line is not UTF-8, or holds a NUL byte.
    """
    lines = decode_block(content, name, before).removesuffix("\n").split("\n")
    yield from map(normalize_line, lines if content else [])


# book/3-workshop/02-corpora.ipynb, cell survey
LINES_PER_OFFSET = 64  # lines from one whose place in the file is kept to the next


def scan_file(path: Path, name: str) -> tuple[int, np.ndarray, str]:
    """Check a text file; how many lines it has, where they begin, and a checksum.

    Only every `LINES_PER_OFFSET`-th beginning is kept, and the end of the last line.

    Raises
    ------
    InputError
        If it cannot be read, is empty, is not UTF-8, or holds a NUL byte, a blank line
        or one that is too long.
    """
    number, position, starts = 0, 0, [np.empty(0, int)]
    digest = hashlib.blake2b(digest_size=20)
    for block in line_blocks(path):
        block = block if block.endswith(b"\n") else block + b"\n"  # the last line
        check_block(block, name, number)
        digest.update(block)
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
        begins = position + np.concatenate([[0], ends[:-1]])
        starts.append(begins[-number % LINES_PER_OFFSET :: LINES_PER_OFFSET])
        number, position = number + len(ends), position + len(block)
    if not number:
        raise InputError(f"{name}: empty; there should be a sentence on each line")
    return number, np.append(np.concatenate(starts), position), digest.hexdigest()


# book/3-workshop/02-corpora.ipynb, cell lines
class Lines(Sequence[str]):
    """The lines of a text file, checked once and then read where they are wanted.

    The text stays in its file, which is mapped into memory. Lines end at line feeds
    alone, and are what `normalize_line` makes of them. Messages call the file `name`;
    `checksum` stands for its content. `scan_file` says what is refused.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.number, self.starts, self.checksum = scan_file(path, name or str(path))
        with open_file(path) as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[str]:
        for start in range(0, self.number, 100 * LINES_PER_OFFSET):
            yield from self[start : start + 100 * LINES_PER_OFFSET]

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if not isinstance(index, slice):
            number = range(self.number)[index]  # numpy's integers, too
            return self.read(number, number + 1)[0]
        indices = range(self.number)[index]
        if not indices:
            return []
        start, last = sorted((indices[0], indices[-1]))
        lines = self.read(start, last + 1)
        return [lines[number - start] for number in indices]

    def read(self, start: int, stop: int) -> list[str]:
        """Lines `start` up to `stop`, counted from 0."""
        first = start // LINES_PER_OFFSET
        begin, end = self.starts[first], self.starts[-(-stop // LINES_PER_OFFSET)]
        lines = self.map[begin:end].decode("utf-8").removesuffix("\n").split("\n")
        skipped = first * LINES_PER_OFFSET
        wanted = lines[start - skipped : stop - skipped]
        return [normalize_line(line) for line in wanted]


# book/3-workshop/02-corpora.ipynb, cell unpacked
def decompressed(path: Path) -> Path:
    """The path of the plain text; of a packed file, of a copy in the cache.

    The copy is named after the checksum of the packed file.

    Raises
    ------
    InputError
        If the file or a line of it is at fault, or the copy cannot be written.
    """
    if path.suffix not in PACKED:
        return path
    with open_file(path) as packed:
        checksum = hashlib.file_digest(packed, "sha256").hexdigest()
    plain = cache_folder() / "unpacked" / checksum
    if not os.path.exists(plain):
        with cache_lock(plain.parent):
            if not os.path.exists(plain):  # nobody made it while we waited
                decompress(path, plain)
    return plain


def decompress(path: Path, plain: Path) -> None:
    """Write the text of a packed file to another one, and check it on the way."""
    number = 0
    with atomic_file(plain) as file:
        for block in line_blocks(path):
            check_block(block, str(path), number)
            number += block.count(b"\n")
            file.write(block)
