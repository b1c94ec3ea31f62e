"""The book's drawings: their words can be read on a phone."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PHONE = 330  # pixels, on a screen of 390
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("book/figures/*.svg")), ids=lambda path: path.stem
)
def test_words_on_a_phone(path: Path) -> None:
    """No word is smaller than 10 pixels there; only indices may be."""
    drawing = ElementTree.parse(path).getroot()
    width = float(drawing.attrib["viewBox"].split()[2])
    sizes = [float(text.attrib["font-size"]) for text in drawing.iter(f"{SVG}text")]
    assert sizes
    assert round(min(sizes) * PHONE / width) >= 10
