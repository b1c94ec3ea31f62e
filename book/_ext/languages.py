"""Languages: German words in emphasis, and cells of tables with a German sentence, are
marked as German.

A screen reader then pronounces them as German. Authors mark nothing: what the
laboratory's German has and its English has not is German. A word that both have, such
as *in* or *hat*, stays as it is when it stands alone.
"""

import re
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

WORD = re.compile(r"[^\W\d_]+")
# In the chapters, but not in the laboratory
MORE = {"torte", "tarte", "teig", "durfte", "anrufen", "aufwachen"}


def words(text: str) -> list[str]:
    """The words of a text, without regard to case."""
    return [word.lower() for word in WORD.findall(text)]


@cache
def german() -> tuple[set[str], set[str]]:
    """The words of the laboratory's German, and those of them that its English does not
    have.
    """
    from aiayn.laboratory.corpus import sample  # here, because it takes a second

    pairs = sample(6000)
    known = {word for pair in pairs for word in words(pair.target)} | MORE
    return known, known - {word for pair in pairs for word in words(pair.source)}


def is_german(text: str) -> bool:
    """Whether all words may be German, and one of them can be nothing else."""
    known, only = german()
    found = words(text)
    return all(word in known for word in found) and any(word in only for word in found)


class Languages(SphinxPostTransform):
    """Give what is German the class of which docutils makes the attribute `lang`."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for node in self.document.findall(
            lambda node: isinstance(node, nodes.emphasis | nodes.entry)
        ):
            if is_german(node.astext()):
                node["classes"].append("language-de")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_post_transform(Languages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
