# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Reading and writing files safely, and the cache folder."""

# book/3-workshop/02-corpora.ipynb, cell files-imports
import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from aiayn.errors import InputError


# book/3-workshop/02-corpora.ipynb, cell open-file
def printable(text: object) -> str:
    """What a file says, as it may stand in a message of one line."""
    letters = str(text)[:200]
    return "".join(letter if letter.isprintable() else "?" for letter in letters)


def regular_file(path: Path) -> Path:
    """The path itself; an OSError if it leads to what is no file.

    Pipes and devices may never end.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise OSError(f"it is {kind}; name a file")
    return path


def cause(error: Exception) -> str:
    """What went wrong with a file, without its name."""
    return getattr(error, "strerror", None) or str(error)


def open_file(path: Path) -> BufferedReader:
    """Open a file to read; an InputError if it cannot be read, or is none."""
    try:
        return regular_file(path).open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({cause(error)})") from None


def read_bytes(path: Path) -> bytes:
    """The content of a file; an InputError as `open_file`'s."""
    with open_file(path) as file:
        return file.read()


# book/3-workshop/02-corpora.ipynb, cell cache-folder
def cache_folder() -> Path:
    """Where downloads and encoded texts are kept: $AIAYN_CACHE, or ~/.cache/aiayn."""
    named = os.environ.get("AIAYN_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "aiayn"


@contextlib.contextmanager
def usable_cache(folder: Path) -> Iterator[None]:
    """Let an OSError within become an InputError that names the folder of the cache."""
    try:
        yield
    except (OSError, NotImplementedError) as error:  # the latter if locks are missing
        wrong = f"{folder}: cannot be used ({cause(error)})"
        raise InputError(f"{wrong}; let AIAYN_CACHE name another folder") from None


@contextlib.contextmanager
def cache_lock(folder: Path) -> Iterator[None]:
    """Be the only process in a folder of the cache; half files of killed ones go."""
    with usable_cache(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            for part in folder.glob(".*.part"):
                part.unlink()
            yield


# book/3-workshop/02-corpora.ipynb, cell atomic-file
@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that gets its name when it is whole.

    Until then there is the old one, or none.

    Raises
    ------
    InputError
        If the folder cannot be written to, the disk is full, or it is no file.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            regular_file(path)  # or /dev/null would be replaced
        with replacement(path) as file:
            yield file
    except OSError as error:
        cached = path.is_relative_to(cache_folder())
        choose = f"{'let AIAYN_CACHE name' if cached else 'choose'} another folder"
        wrong = f"{path}: cannot be written ({cause(error)})"
        raise InputError(f"{wrong}; {choose} or make room") from None


@contextlib.contextmanager
def replacement(path: Path) -> Iterator[BinaryIO]:
    """A new file that replaces what `path` leads to, with its mode, when whole."""
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".aiayn-{secrets.token_hex(8)}.part")  # hard to guess
    try:
        with part.open("xb") as file:  # x: a new file, and not through a link
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):  # usually there is no old one
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):  # usually it has been renamed
            part.unlink()


# book/3-workshop/02-corpora.ipynb, cell write-atomically
def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that there is always either the old one or the whole new one.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    with atomic_file(path) as file:
        file.write(content)
