"""Words that this book made up once, and for which the field has others."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = (
    "laborator(y|ies)",
    "ledger",
    "memory attention",
    "own products",
    "steps in a row",
    "written-out form",
)
TEXTS = {
    **{
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for pattern in ("*.md", "book/**/*.md", "book/data/*.yml", "aiayn/**/*.py")
        for path in ROOT.glob(pattern)
    },
    **{
        path.relative_to(ROOT).as_posix(): "\n".join(
            "".join(cell["source"])
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
            if cell["cell_type"] == "markdown"
        )
        for path in ROOT.glob("book/*/*.ipynb")
    },
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_our_own_occurs_nowhere(word: str) -> None:
    assert not [
        name for name, text in TEXTS.items() if re.search(rf"(?i)\b{word}\b", text)
    ]
