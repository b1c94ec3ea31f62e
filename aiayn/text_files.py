"""Training data and batching (paper, section 5.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-1-data-and-batching.ipynb
"""

__all__ = [
    "InputError",
    "check_filled",
    "check_block",
    "decode_lines",
    "BLOCK",
    "STRIDE",
    "line_blocks",
    "survey",
    "Lines",
    "cache_folder",
    "atomic_file",
    "write_atomically",
    "unpacked",
    "gunzip",
    "read_bytes",
]


# book/05-1-data-and-batching.ipynb, cell text-files-imports
import codecs
import contextlib
import gzip
import hashlib
import mmap
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, overload

import numpy as np


# book/05-1-data-and-batching.ipynb, cell input-error
class InputError(ValueError):
    """Something outside the program is wrong; the message says what, where, and what to do."""


# book/05-1-data-and-batching.ipynb, cell check-block
def check_filled(lines: Sequence[str], name: str, before: int = 0) -> None:
    """Raise an InputError for the first line that is blank; `before` lines came earlier."""
    if not all(map(str.strip, lines)):
        number = next(number for number, line in enumerate(lines, before + 1) if not line.strip())
        raise InputError(f"{name}, line {number}: empty; remove the line from both files")


def check_block(block: bytes, name: str, before: int = 0) -> None:
    """Raise an InputError if whole lines of a file hold a NUL byte, are not UTF-8, or are blank."""
    nul = block.find(b"\0")
    if nul >= 0:
        line = before + block.count(b"\n", 0, nul) + 1
        raise InputError(f"{name}, line {line}: a NUL byte, as in UTF-16; convert the file, say with iconv")
    block = block if before else block.removeprefix(codecs.BOM_UTF8)
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = before + block.count(b"\n", 0, error.start) + 1
        byte = error.start - block.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{name}, line {line}: not UTF-8 (byte {byte}); convert it, say with iconv"
        ) from None
    check_filled(text.removesuffix("\n").split("\n"), name, before)


# book/05-1-data-and-batching.ipynb, cell decode-lines
def decode_lines(content: bytes, name: str) -> Iterator[str]:
    """Text lines, blank ones too, cut at line feeds alone: other separators may stand inside a sentence.

    Raises
    ------
    InputError
        If a line is not UTF-8.
    """
    content = content.removeprefix(codecs.BOM_UTF8)  # some editors begin a file with it
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), start=1):
        try:
            yield line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}, line {number}: not UTF-8 (byte {error.start + 1}); convert it, say with iconv"
            ) from None


# book/05-1-data-and-batching.ipynb, cell line-blocks
BLOCK = 1 << 22  # bytes read at a time
STRIDE = 64  # lines from one whose place in the file is kept to the next


def line_blocks(path: Path) -> Iterator[bytes]:
    """A file in pieces of some megabytes, each of whole lines; a last line without line feed gets one.

    Raises
    ------
    InputError
        If the file is not there or cannot be read.
    """
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                block += file.readline()
                yield block if block.endswith(b"\n") else block + b"\n"
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


# book/05-1-data-and-batching.ipynb, cell survey
def survey(path: Path, name: str) -> tuple[int, np.ndarray, str]:
    """Check a text file; its number of lines, where every `STRIDE`-th begins and the last ends, a checksum.

    Raises
    ------
    InputError
        If it cannot be read, is empty, holds a NUL byte or a blank line, or is not UTF-8.
    """
    number, position, starts, digest = 0, 0, [np.empty(0, int)], hashlib.blake2b(digest_size=20)
    for block in line_blocks(path):
        check_block(block, name, number)
        digest.update(block)
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
        begins = position + np.concatenate([[0], ends[:-1]])
        starts.append(begins[-number % STRIDE :: STRIDE])
        number, position = number + len(ends), position + len(block)
    if not number:
        raise InputError(f"{name}: empty; there should be a sentence on each line")
    return number, np.append(np.concatenate(starts), position), digest.hexdigest()


# book/05-1-data-and-batching.ipynb, cell lines
class Lines(Sequence[str]):
    """The lines of a text file, checked once and then read where they are wanted.

    The text stays in its file, which is mapped into memory. Lines end at line feeds alone, since other
    separators may stand inside a sentence; spaces around a line are left out, carriage returns too.
    Messages call the file `name`; `checksum` stands for its content. `survey` says what is refused.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.number, self.starts, self.checksum = survey(path, name or str(path))
        with path.open("rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.map[:3] == codecs.BOM_UTF8:  # some editors begin a file with it
            self.starts[0] = 3

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[str]:
        for start in range(0, self.number, 100 * STRIDE):
            yield from self[start : start + 100 * STRIDE]

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if not isinstance(index, slice):
            number = range(self.number)[index]  # numpy's integers, too
            return self.read(number, number + 1)[0]
        wanted = range(self.number)[index]
        start = min(wanted[0], wanted[-1]) if wanted else 0
        lines = self.read(start, max(wanted[0], wanted[-1]) + 1) if wanted else []
        return [lines[number - start] for number in wanted]

    def read(self, start: int, stop: int) -> list[str]:
        """Lines `start` up to `stop`, counted from 0."""
        first = start // STRIDE
        text = self.map[self.starts[first] : self.starts[-(-stop // STRIDE)]].decode("utf-8")
        lines = text.removesuffix("\n").split("\n")
        return [line.strip() for line in lines[start - first * STRIDE : stop - first * STRIDE]]


# book/05-1-data-and-batching.ipynb, cell cache-folder
def cache_folder() -> Path:
    """Where downloads and encoded texts are kept: $AIAYN_CACHE, or ~/.cache/aiayn."""
    named = os.environ.get("AIAYN_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "aiayn"


# book/05-1-data-and-batching.ipynb, cell atomic-file
@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that gets its name when it is whole: until then there is the old one, or none.

    Raises
    ------
    InputError
        If the folder cannot be written to, or the disk is full.
    """
    if not path.name:
        raise InputError(f"{path}: is a folder; name a file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error}); choose another folder or make room") from None
    finally:
        with contextlib.suppress(OSError):  # usually it has got its name, and is there no more
            part.unlink()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that at every moment there is either the old one or the whole new one.

    Raises
    ------
    InputError
        If the folder cannot be written to, or the disk is full.
    """
    with atomic_file(path) as file:
        file.write(content)


# book/05-1-data-and-batching.ipynb, cell unpacked
def unpacked(path: Path) -> Path:
    """The path of the plain text: of a .gz file, a copy in the cache that is named after its checksum.

    Raises
    ------
    InputError
        If the file cannot be read, is no gzip file although its name says so, or the copy cannot be written.
    """
    if path.suffix != ".gz":
        return path
    try:
        with path.open("rb") as packed:
            plain = cache_folder() / "unpacked" / hashlib.file_digest(packed, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not os.path.exists(plain):
        with atomic_file(plain) as file:
            for block in gunzip(path):
                file.write(block)
    return plain


def gunzip(path: Path) -> Iterator[bytes]:
    """The content of a .gz file, some megabytes at a time."""
    try:
        with gzip.open(path) as file:
            while block := file.read(BLOCK):
                yield block
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


# book/05-1-data-and-batching.ipynb, cell read-bytes
def read_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises
    ------
    InputError
        If it is not there or cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
