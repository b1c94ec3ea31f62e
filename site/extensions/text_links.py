"""Links in running text: what citations, terms and mentions of sections share."""

import re
from collections.abc import Callable, Iterable, Iterator

from docutils import nodes
from sphinx.addnodes import pending_xref

# Words inside these are not running text.
CLOSED = (
    *(nodes.title, nodes.literal, nodes.literal_block, nodes.math, nodes.raw),
    *(nodes.reference, pending_xref),
)


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    """What a node stands in, innermost first."""
    while (node := node.parent) is not None:
        yield node


def within(node: nodes.Node, *kinds: type[nodes.Node]) -> bool:
    """Whether a node stands in one of these kinds."""
    return any(isinstance(each, kinds) for each in ancestors(node))


def running_text(document: nodes.document) -> list[nodes.Text]:
    """The document's texts in which words may become links."""
    return [text for text in document.findall(nodes.Text) if not within(text, *CLOSED)]


def one_of(words: Iterable[str]) -> re.Pattern[str]:
    """Matches any of these as whole words, the longest first."""
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(
        rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])"
    )


def link_words(
    texts: list[nodes.Text],
    pattern: re.Pattern[str],
    link: Callable[[re.Match[str]], nodes.Node | None],
) -> None:
    """Put a link in the place of every match for which `link` makes one."""
    for text in texts:
        pieces: list[nodes.Node] = []
        done = 0
        for match in pattern.finditer(text):
            if made := link(match):
                pieces += [nodes.Text(text[done : match.start()]), made]
                done = match.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[done:])])
