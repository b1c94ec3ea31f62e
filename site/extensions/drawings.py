"""Drawings: the book's SVGs, `![what it shows](../figures/NAME.svg)`, put into the
page.

A picture in a file of its own cannot know whether the reader has chosen light or dark;
inside the page it can. On GitHub and in Colab the same file is shown as a picture. So a
drawing keeps to these rules:

* It has a viewBox, and a first <rect> of the colour of paper as its ground: GitHub may
  be dark.
* It takes its colours from the page (site/static/book.css), each with a fallback for
  white paper, written out in attributes, as in stroke="var(--aiayn-ink, #24292f)"; a
  <style> element would leak into the page. They are ink #24292f (lines, words), muted
  #57606a (what stands back), rule #d0d7de (frames), paper #ffffff, and the accents blue
  #1d5b99, red #a93a2c, green #2f6f4f, violet #6b4c9a, ochre #85590b. A pale fill is an
  accent with fill-opacity=".12".
* Its ids, if it has any, begin with the file's name: a page may hold several drawings.
* Words are <text font-family="sans-serif">. On a phone the drawing is about 330 pixels
  wide, and no word should be smaller than 10 pixels there. So it is about 400 units
  wide and rather high, with words of 13 to 16 units and its panels below each other or
  in two columns. style="max-width:25rem" (to 31rem) keeps it compact on a desktop.
"""

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


class Drawings(SphinxPostTransform):
    """Replace a local SVG by its text; its alternative text becomes its name."""

    default_priority = 5  # before Sphinx (100 and later) looks after pictures
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for image in list(self.document.findall(nodes.image)):
            if image["uri"].endswith(".svg") and "://" not in image["uri"]:
                text = Path(self.app.srcdir, image["uri"]).read_text(encoding="utf-8")
                box = re.search(r'viewBox="\S+ \S+ (\S+)', text)
                if box is None:
                    LOGGER.warning("%s has no viewBox", image["uri"], location=image)
                    continue
                _, given, rest = re.split(r"<svg([^>]*)>", text, maxsplit=1)
                name = html.escape(image.get("alt", ""))
                # An attribute given twice counts as first given, so a drawing may set
                # its own width.
                attributes = (
                    f'class="aiayn-drawing" role="img" aria-label="{name}"{given}'
                    f' width="{box[1]}"'
                )
                image.replace_self(
                    nodes.raw("", f"<svg {attributes}>{rest}", format="html")
                )


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_post_transform(Drawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
