# Made by `make export` from book/3-workshop/06-low-resource.ipynb
"""What happens to text before it is tokenized: nothing, or lower case."""

# book/3-workshop/06-low-resource.ipynb, cell normalization
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def normalization_rules(lowercase: bool) -> Iterator[str]:
    """A file that tells sentencepiece to make letters small; no name if it must not."""
    if not lowercase:
        yield ""
        return
    letters = (chr(code) for code in range(sys.maxunicode + 1))
    table = ((letter, letter.lower()) for letter in letters)
    rules = (
        f"{ord(old):X}\t{' '.join(f'{ord(part):X}' for part in new)}\n"
        for old, new in table
        if old != new
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lowercase.tsv"
        path.write_text("".join(rules), encoding="ascii")
        yield str(path)
