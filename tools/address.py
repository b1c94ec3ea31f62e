"""Write the repository's address wherever it stands: python tools/address.py https://github.com/OWNER/NAME

pyproject.toml says what the address is now. Badges, Colab links, install cells and the pages' address all contain
it or its owner and name, so replacing text is enough; nothing else in a file changes, notebooks included.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"https://github\.com/([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+)")


def replaced(text: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """`text` with repository `old` (owner, name) replaced by `new`, also in the address of its pages."""
    for form in ("{}/{}", "{}.github.io/{}"):
        whole = rf"(?<![\w.-]){re.escape(form.format(*old))}(?![\w-])"
        text = re.sub(whole, form.format(*new), text)
    return text


def main() -> None:
    """Replace the old address in every text file that git tracks or would track, and in the chapters' twins."""
    match = ADDRESS.fullmatch(sys.argv[1].removesuffix("/").removesuffix(".git") if len(sys.argv) == 2 else "")
    if match is None:
        sys.exit("usage: make address URL=https://github.com/OWNER/NAME")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    old = ADDRESS.fullmatch(project["project"]["urls"]["Repository"])
    assert old is not None, "pyproject.toml: Repository is not https://github.com/OWNER/NAME"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = {ROOT / name for name in names if name} | set((ROOT / "book").glob("*.py"))
    for path in sorted(path for path in paths if path.is_file() and not path.is_symlink()):
        before = path.read_bytes()
        try:
            after = replaced(before.decode(), old.groups(), match.groups()).encode()
        except UnicodeDecodeError:  # a picture
            continue
        if after != before:
            path.write_bytes(after)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
