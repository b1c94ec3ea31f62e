"""Whether arXiv has the anchors of book/data/paper-sections.yml.

python tools/check_paper_sections.py
"""

import re
import sys
import urllib.request
from pathlib import Path

import yaml

SECTIONS = Path(__file__).parents[1] / "book" / "data" / "paper-sections.yml"


def main() -> None:
    """Name the anchors that are missing."""
    paper = yaml.safe_load(SECTIONS.read_text(encoding="utf-8"))
    with urllib.request.urlopen(paper["page"], timeout=60) as response:
        ids = set(re.findall(r'id="([^"]+)"', response.read().decode("utf-8")))
    missing = [f"{k}: {v}" for k, v in paper["anchors"].items() if v not in ids]
    if missing:
        sys.exit(f"{paper['page']} lacks {', '.join(missing)}")
    print(f"{paper['page']} has all {len(paper['anchors'])} sections")


if __name__ == "__main__":
    main()
