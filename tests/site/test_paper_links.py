"""Paper boxes lead to their sections on arXiv: site/extensions/paper_links.py."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "site" / "extensions"))

from paper_links import linked  # noqa: E402
from sphinx.errors import ExtensionError  # noqa: E402

PAPER = yaml.safe_load(
    (ROOT / "book" / "data" / "paper-sections.yml").read_text(encoding="utf-8")
)


def test_anchors_are_as_arxiv_makes_them() -> None:
    assert re.fullmatch(r"https://arxiv\.org/html/1706\.03762v\d+", PAPER["page"])
    for section, anchor in PAPER["anchors"].items():
        levels = zip(("S", "SS", "SSS"), section.split("."), strict=False)
        assert anchor == ".".join(f"{level}{number}" for level, number in levels)


def test_all_sections_that_boxes_name_are_there() -> None:
    named = set[str]()
    for path in ROOT.glob("book/*/*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for label in re.findall(r"> \*\*Paper[^*]*\*\*", "".join(cell["source"])):
                named |= set(re.findall(r"§(\d(?:\.\d)*)", label))
    assert named <= set(PAPER["anchors"]) and len(named) > 15


def test_a_label_becomes_links() -> None:
    words = [node.astext() for node in linked("Paper §5.2 and §6.1", PAPER)]
    assert words == ["Paper ", "§5.2", " and ", "§6.1"]
    links = [node["refuri"] for node in linked("Paper §5.2 and §6.1", PAPER)[1::2]]
    assert links == [f"{PAPER['page']}#{each}" for each in ("S5.SS2", "S6.SS1")]
    (whole,) = linked("Paper, figure 3", PAPER)
    assert whole["refuri"] == PAPER["page"]
    with pytest.raises(ExtensionError, match=r"has no section 9\.1"):
        linked("Paper §9.1", PAPER)
