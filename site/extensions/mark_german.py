"""German in emphasis, and in cells of tables, is marked as German.

A screen reader then pronounces it as German. Authors mark nothing: what has a letter or
a small word that English has not is German. A noun that stands alone stays as it is.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

GERMAN = re.compile(
    "[äöüß]|\\b(?:am|als|auf|das|dass|dem|den|der|die|durfte|ein|eine|einige|er|es|ihre?"
    "|im|ist|keine?n?|mein|mit|muss|musste|nach|nicht|nie|rief|sah|schon|seinen|sie|und"
    "|waren|weil|wird|zur?)\\b",
    re.IGNORECASE,
)


class MarkGerman(SphinxPostTransform):
    """Give what is German the class of which docutils makes the attribute `lang`."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for node in self.document.findall(
            lambda node: isinstance(node, nodes.emphasis | nodes.entry)
        ):
            if GERMAN.search(node.astext()):
                node["classes"].append("language-de")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_post_transform(MarkGerman)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
