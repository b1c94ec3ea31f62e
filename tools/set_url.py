"""Write the repository's address wherever it stands.

python tools/set_url.py https://github.com/someone/their-copy
python tools/set_url.py --first    # that of git's remote, unless an address is there

pyproject.toml says what the address is now. Badges, Colab links, install cells and the
address of the pages contain it, or its owner and name, so replacing text is enough;
nothing else in a file changes.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(
    r"https://github\.com/([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+)"
)
# How git names a repository on GitHub: with a token, or through SSH.
REMOTE = re.compile(r"(?:https://(?:[^/@]+@)?|(?:ssh://)?git@)github\.com[:/](.+)")
NOBODY = "OWNER"  # until somebody has pushed the book


def current() -> str:
    """The address, from the one place where it stands."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["urls"]["Repository"])


def files() -> list[Path]:
    """The files that git tracks or would track."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(listing, cwd=ROOT, text=True).split("\0")
    paths = (ROOT / name for name in names if name)
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def replaced(text: str, old: str, new: str) -> str:
    """`text` with repository `old` replaced by `new`, its pages' address included."""
    (*_, old_owner, old_name), (*_, owner, name) = old.split("/"), new.split("/")
    for form in ("{}/{}", "{}.github.io/{}"):
        whole = rf"(?<![\w.-]){re.escape(form.format(old_owner, old_name))}(?![\w-])"
        text = re.sub(whole, form.format(owner, name), text)
    return text


def pushed_to() -> str:
    """The address that git pushes to; nothing if there is none on GitHub."""
    command = ["git", "remote", "get-url", "origin"]
    remote = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = REMOTE.fullmatch(remote.stdout.strip())
    return f"https://github.com/{found[1]}" if found else ""


def main() -> None:
    """Replace the address in every text file, also in chapters written as text, which
    git ignores.
    """
    old, given = current(), "".join(sys.argv[1:])
    if given == "--first":
        if old.split("/")[-2] != NOBODY:
            sys.exit(0)  # the address that was chosen stays
        given = pushed_to()
    new = given.removesuffix("/").removesuffix(".git")
    if not ADDRESS.fullmatch(new):
        sys.exit("usage: make set-url URL=https://github.com/someone/their-copy")
    for path in [*files(), *(ROOT / "book").rglob("*.py")]:
        before = path.read_bytes()
        try:
            after = replaced(before.decode(), old, new).encode()
        except UnicodeDecodeError:  # a picture
            continue
        if after != before:
            path.write_bytes(after)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
