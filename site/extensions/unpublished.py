"""Before the book has an address: no link to a repository that does not exist yet.

The placeholder OWNER stands in the address until the first push sets it
(tools/set_url.py). A page that is built before shows such links as plain text, and no
buttons that lead there.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform

NOBODY = "OWNER"
PLACEHOLDER = re.compile(rf"/{NOBODY}[/.]")
BUTTONS = ("use_repository_button", "use_issues_button", "use_source_button")


def drop_buttons(app: Sphinx, config: Config) -> None:
    """Leave out the buttons that lead to the repository and to Colab."""
    options = config.html_theme_options
    if PLACEHOLDER.search(options.get("repository_url", "")):
        options |= dict.fromkeys(BUTTONS, False)
        options["launch_buttons"] = {}


class Unlink(SphinxPostTransform):
    """Turn links to the placeholder into their text."""

    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        for link in list(self.document.findall(nodes.reference)):
            if PLACEHOLDER.search(link.get("refuri", "")):
                link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("config-inited", drop_buttons, priority=900)
    app.add_post_transform(Unlink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
