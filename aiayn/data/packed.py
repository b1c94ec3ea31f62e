# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Plain and packed files, read in blocks of whole lines."""

# book/3-workshop/02-corpora.ipynb, cell line-blocks
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from aiayn.data.io import cause, open_file, printable
from aiayn.errors import InputError

BLOCK_BYTES = 1 << 22  # bytes read at a time
MAX_LINE_BYTES = 1 << 20  # bytes in a line
PACKED = (".gz", ".xz", ".zip")
# Whatever goes wrong where a packed file is damaged, or has a password.
UNPACKING_ERRORS: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


def unpacking(raw: BufferedReader, path: Path) -> Any:
    """What an open file holds, to be read: unpacked if it is .gz, .xz or .zip."""
    if path.suffix == ".gz":
        return gzip.open(raw)
    if path.suffix == ".xz":
        return lzma.open(raw)
    if path.suffix != ".zip":
        return raw
    archive = zipfile.ZipFile(raw)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        listed = ", ".join(map(printable, names[:10]))
        raise InputError(f"{path}: {len(names)} files in it ({listed}); unzip it")
    return archive.open(names[0])


# book/3-workshop/02-corpora.ipynb, cell blocks-of-file
def line_blocks(path: Path) -> Iterator[bytes]:
    """A file, plain or packed, in blocks of some megabytes, each of whole lines.

    Raises
    ------
    InputError
        If the file is not there, cannot be read, or is not packed as its name says.
    """
    try:
        with open_file(path) as raw, unpacking(raw, path) as file:
            while block := file.read(BLOCK_BYTES):
                # The rest of the last line, or enough of it to see that it is too long.
                yield block + file.readline(MAX_LINE_BYTES + 1)
    except UNPACKING_ERRORS as error:
        raise InputError(f"{path}: cannot be read ({cause(error)})") from None
