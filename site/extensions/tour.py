"""`{tour}`: "One word decides", a guided tour in cards through a model that translates.

The cards' texts are in book/data/tour.yml, their numbers come from the package
(tour_numbers.py), and their pictures are drawn when the site is built
(tour_drawings.py). All cards stand in the page as plain HTML, with the pictures for
both sentences; without scripts, and on paper, they are a numbered strip.
site/tour/tour.js shows one at a time.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from figure import DRAWING
from notebooks import chapters
from page_files import load_where
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tour_drawings import Drawings
from tour_numbers import WORDS, Tour, named, tour
from tour_svg import WIDTH, figure_map, percent

CARDS = "book/data/tour.yml"
HEIGHT = 340


class TourDirective(SphinxDirective):
    """`{tour}`: all cards, with their pictures and numbers."""

    def run(self) -> list[nodes.Node]:
        for file in (CARDS, DRAWING):
            self.env.note_dependency(file)
        folder = Path(self.env.srcdir)
        cards = yaml.safe_load((folder / CARDS).read_text(encoding="utf-8"))
        titles = chapters(folder / "book")
        for card in cards:
            page = f"book/{card['chapter']}"
            card["address"] = self.address(page)
            card["leads_to"] = titles[page][0]
        context = tour_context(tour(), cards, folder / DRAWING, self.address)
        text = self.env.app.builder.templates.render("tour.html", context)
        return [nodes.raw("", text, format="html")]

    def address(self, page: str) -> str:
        """Where a page of the book is, seen from this one."""
        return self.env.app.builder.get_relative_uri(self.env.docname, page)


def tour_context(
    tour: Tour, cards: list[dict[str, Any]], drawing: Path, address: Any
) -> dict[str, Any]:
    """What the template puts in: numbers in the texts, pictures, and the data."""
    numbers = figures(tour)
    drawings = {word: Drawings(tour, word, drawing) for word in WORDS}
    for card in cards:
        texts = card["text"]
        if isinstance(texts, str):
            texts = {"": texts}
        card["texts"] = {
            word: marked(text.format(**numbers), address)
            for word, text in texts.items()
        }
        card["pictures"] = {
            word: getattr(drawings[word], card["name"])() for word in WORDS
        }
        card["map"] = figure_map(drawing, card["blocks"], (0.19, 0.14))
    # Inside a script element only "</" could end the text early; JSON may write "<\/".
    data = json.dumps(tour.data(), ensure_ascii=False, separators=(",", ":"))
    return {
        "cards": cards,
        "words": WORDS,
        "first": tour.decider.word,
        "size": (WIDTH, HEIGHT),
        "data": data.replace("</", r"<\/"),
    }


def figures(tour: Tour) -> dict[str, Any]:
    """The numbers that the texts mention, as they are shown."""
    decider, pull, noun = tour.decider.head, tour.pulls(), tour.names_the_noun()
    source = tour.source[WORDS[0]]
    it, last = source.index("it"), source.index(WORDS[0])
    differences = tour.differences()
    found = {
        "tokens": len(source),
        "d_model": tour.model.config.d_model,
        "heads": len(tour.heads),
        "others": len(tour.heads) - 1,
        "pull": f"layer {pull.layer + 1}, head {pull.head + 1}",
        "decider": named(decider),
        "noun": named(noun),
        "differs_it": percent(differences[it]),
        "differs_last": percent(differences[last]),
    }
    for word in WORDS:
        (other,) = {"es", "sie"} - {tour.pronoun[word]}
        place = tour.place[word]
        found |= {
            f"pull_{word}": percent(float(tour.weights(word, pull)[it, last])),
            f"{word}_pronoun": tour.pronoun[word],
            f"{word}_other": other,
            f"{word}_decider": percent(float(tour.weights(word, decider)[place].max())),
            f"{word}_noun": percent(float(tour.weights(word, noun)[place].max())),
        }
    return found


def marked(text: str, address: Any) -> str:
    """The text as HTML: *English* and _German_ in italics, and links."""

    def link(match: re.Match[str]) -> str:
        page, mark, place = match[2].partition("#")
        return f'<a href="{address(f"book/{page}")}{mark}{place}">{match[1]}</a>'

    text = escape(text, quote=False)
    text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", link, text)
    text = re.sub(r"\b_([^_]+)_\b", r'<em lang="de">\1</em>', text)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)


def compute(app: Sphinx) -> None:
    """Find the numbers, or stop, before the pages are read side by side."""
    tour()


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("tour", TourDirective)
    app.connect("builder-inited", compute)
    load_where(app, 'class="aiayn-tour"', "tour.css", "tour.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
