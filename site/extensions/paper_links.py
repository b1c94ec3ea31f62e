"""The paper's own words: the label of a Paper box leads to its section on arXiv."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

SECTION = re.compile(r"§(\d(?:\.\d)*)")


@cache
def sections(path: Path) -> dict[str, Any]:
    """The page's address, and the anchor of each section."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def linked(label: str, paper: dict[str, Any]) -> list[nodes.Node]:
    """A label with its sections as links; the whole of it, if it names none."""
    page, anchors = paper["page"], paper["anchors"]
    if not SECTION.search(label):
        return [nodes.reference("", label, refuri=page)]
    parts: list[nodes.Node] = []
    for k, text in enumerate(SECTION.split(label)):
        if k % 2 == 0:
            parts += [nodes.Text(text)] if text else []
        elif text in anchors:
            address = f"{page}#{anchors[text]}"
            parts.append(nodes.reference("", f"§{text}", refuri=address))
        else:
            raise ExtensionError(f"paper-sections.yml has no section {text}")
    return parts


class PaperLinks(SphinxTransform):
    """Make links of the sections that labels of Paper boxes name."""

    default_priority = 650  # after the citations

    def apply(self, **kwargs: Any) -> None:
        paper = sections(Path(self.app.srcdir, "book", "data", "paper-sections.yml"))
        for box in self.document.findall(nodes.container):
            if "aiayn-box-paper" in box["classes"]:
                label = box[0]
                label[:] = linked(label.astext(), paper)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_transform(PaperLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
