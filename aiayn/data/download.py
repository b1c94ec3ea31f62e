# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Files published elsewhere: found, or fetched, and checked."""

# book/3-workshop/02-corpora.ipynb, cell checked-download
import hashlib
import os
import urllib.request
from http.client import HTTPException
from importlib import import_module
from pathlib import Path
from typing import Any

from aiayn.data.io import cache_folder, read_bytes, write_atomically
from aiayn.errors import InputError, NotFetched


def check_sha256(content: bytes, expected: str, name: str) -> None:
    """Refuse content that is not what was published.

    Raises
    ------
    InputError
        If the checksum differs.
    """
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        wrong = f"{name}: SHA-256 is {actual}, not {expected}"
        raise InputError(f"{wrong}; delete it and fetch it again")


# book/3-workshop/02-corpora.ipynb, cell import-extra
def import_extra(name: str) -> Any:
    """A library that the extra `datasets` installs; an InputError if it is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        library, *_ = name.split(".")
        needs = f"Parquet and Hugging Face need {library}"
        install = f"pip install {library} (the extra datasets)"
        raise InputError(f"{needs}; {install}") from None


# book/3-workshop/02-corpora.ipynb, cell fetch
def fetch(url: str, path: Path) -> bytes:
    """The content at an address, which could also be put at a path by hand.

    Raises
    ------
    InputError
        If it cannot be fetched; the message names the path.
    """
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            return response.read()
    except (OSError, HTTPException) as error:  # the latter if it breaks off halfway
        wrong = f"{url}: cannot be fetched ({error})"
        put = f"fetch it elsewhere and put it at {path}, or set AIAYN_DATA"
        raise NotFetched(f"{wrong}; {put}") from None


# book/3-workshop/02-corpora.ipynb, cell download
def download(url: str, path: Path, sha256: str) -> None:
    """Fetch a file, check it, and only then give it its name.

    Raises
    ------
    InputError
        If there is no network, or the content is not what was expected.
    """
    content = fetch(url, path)
    check_sha256(content, sha256, url)
    write_atomically(path, content)


# book/3-workshop/02-corpora.ipynb, cell published-file
def place_of(name: str) -> Path:
    """Where a published file is, or will be: below $AIAYN_DATA, or in the cache."""
    data = os.environ.get("AIAYN_DATA")
    if data and os.path.exists(path := Path(data, name)):
        return path
    return cache_folder() / name


def published_file(name: str, url: str, sha256: str) -> Path:
    """A file below $AIAYN_DATA, or in the cache, or fetched now; checked each time.

    Raises
    ------
    InputError
        If its content is not what was published, or it cannot be fetched.
    """
    path = place_of(name)
    if os.path.exists(path):
        check_sha256(read_bytes(path), sha256, str(path))
    else:
        download(url, path, sha256)
    return path


# book/3-workshop/02-corpora.ipynb, cell published-files
def published_files(urls: dict[str, str], sha256: str) -> list[Path]:
    """The same of many small files, by name, with one checksum of all, end to end.

    Raises
    ------
    InputError
        If their content is not what was published, or one cannot be fetched.
    """
    paths = {place_of(name): url for name, url in urls.items()}
    new = {p: fetch(url, p) for p, url in paths.items() if not os.path.exists(p)}
    contents = [new[path] if path in new else read_bytes(path) for path in paths]
    folder = min(paths).parent
    check_sha256(b"".join(contents), sha256, f"{len(paths)} files of {folder}")
    for path, content in new.items():
        write_atomically(path, content)
    return list(paths)
