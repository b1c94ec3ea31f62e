"""Pack the chapters to take away: python tools/notebooks_zip.py OUTPUT.

The archive holds what the notebooks need to run and to be read anywhere: themselves,
their drawings, the results of long runs and the licence. The same commit makes the same
bytes.
"""

import re
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import normpath

import set_url

ROOT = set_url.ROOT
TOP = "aiayn-notebooks"
PAGE = re.compile(rb"(?<=\]\()[\w./-]+\.md")  # Markdown that is linked
README = """\
# Attention Is All You Need, as a book you can run: the notebooks

Needs Python 3.11 or newer. In this folder:

    python -m venv .venv
    . .venv/bin/activate            (on Windows: work in WSL)
    pip install "aiayn[book] @ git+{address}" jupyterlab
    jupyter lab 0-start/1-one-page.ipynb

On Linux without a GPU, set PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
before pip, and it leaves out gigabytes of CUDA. The first chapter that looks into the
trained model trains it, in some five minutes.

- `0-start/` to `5-launch/`: the chapters, with their outputs; those of `1-paper/` are
  numbered as the paper's sections
- `how-to/`: the how-to pages
- `figures/`: drawings
- `runs/`: results of long runs, which chapters read

The book as a site, its tests and its history: {address}
"""


def tracked(*patterns: str) -> list[str]:
    """The files that git tracks, by pattern."""
    listing = ["git", "ls-files", "-z", "--", *patterns]
    try:
        names = subprocess.check_output(listing, cwd=ROOT, text=True)
    except (OSError, subprocess.CalledProcessError):
        clone = f"git clone {set_url.current()}"
        sys.exit(f"the notebooks are packed from a git checkout: {clone}")
    return sorted(filter(None, names.split("\0")))


def online(name: str, link: re.Match[bytes]) -> bytes:
    """A page that is not in the archive, where the repository has it."""
    path = normpath(PurePosixPath("book", name).parent / link[0].decode())
    return f"{set_url.current()}/blob/main/{path}".encode()


def contents() -> dict[str, bytes]:
    """The archive's files."""
    found = tracked("book/*.ipynb", "book/figures/*.svg", "book/runs/*.json")
    files = {name[len("book/") :]: (ROOT / name).read_bytes() for name in found}
    for name in files:  # the site's other pages are not in the archive
        if name.endswith(".ipynb"):
            files[name] = PAGE.sub(partial(online, name), files[name])
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files["README.md"] = README.format(address=set_url.current()).encode()
    return dict(sorted(files.items()))


def pack(output: Path) -> None:
    """Write the archive: names in order, one date for all."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(output, "w") as archive:
        for name, content in contents().items():
            entry = zipfile.ZipInfo(f"{TOP}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # else it would say on which system it was made
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
