"""Code in colours, without an element around each word that has none.

In both styles (_config.yml) names and signs are as dark as plain text. An element
around each of them would be nearly half of a page's.
"""

from collections.abc import Iterable
from typing import Any

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Punctuation, Text, Whitespace
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

PLAIN = {Name, Name.Namespace, Punctuation, Whitespace}


class ColouredWords(HtmlFormatter[str]):
    """Writes what has no colour of its own as text."""

    def format(self, tokensource: Iterable[tuple[Any, str]], outfile: Any) -> None:
        """Write the tokens, as Pygments does."""
        tokens = ((Text if kind in PLAIN else kind, text) for kind, text in tokensource)
        super().format(tokens, outfile)


def setup(app: Sphinx) -> dict[str, bool]:
    """Highlight all code of the site so."""
    PygmentsBridge.html_formatter = ColouredWords
    return {"parallel_read_safe": True, "parallel_write_safe": True}
