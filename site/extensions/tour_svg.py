"""What the tour's pictures are made of: words, strips of numbers, bars, lines.

All are strings of SVG. Their colours come from classes in site/tour/tour.css; `--i` is
the moment at which something appears when its card is opened.
"""

import re
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from torch import Tensor

WIDTH = 360  # units of every picture, a pixel each on a phone
SHADES = 3  # strengths of colour for a number, above zero or below it
BLOCK = re.compile(r'<g data-block="([\w-]+)">\s*<rect ([^>]+)/>\s*<text[^>]*>([^<]+)')
ARROW = re.compile(r'<path d="(M[^"]+)" fill="none" stroke="var\(--aiayn-(?:ink|muted)')
KINDS = {"embedding": "ochre", "positions": "violet", "attention": "blue"}
KINDS |= {"feed-forward": "green", "norm": "muted", "memory": "ink", "scores": "ochre"}


def words(
    x: float,
    y: float,
    text: str,
    classes: str = "",
    lang: str = "",
    moment: float | None = None,
) -> str:
    """A line of words."""
    attributes = f' class="{classes}"' if classes else ""
    attributes += f' lang="{lang}"' if lang else ""
    attributes += "" if moment is None else f' style="--i:{moment:g}"'
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{escape(text)}</text>'


def rect(
    x: float, y: float, w: float, h: float, classes: str, moment: float = 0
) -> str:
    """A rectangle."""
    return (
        f'<rect class="{classes}" style="--i:{moment:g}" x="{x:g}" y="{y:g}"'
        f' width="{max(w, 0.8):.1f}" height="{h:g}" rx="2"/>'
    )


def path(d: str, classes: str, width: float = 1, moment: float = 0) -> str:
    """A line, which can be drawn from its beginning to its end."""
    return (
        f'<path class="{classes}" style="--i:{moment:g}" d="{d}" pathLength="1"'
        f' stroke-width="{width:.2f}"/>'
    )


def curve(x: float, y: float, to_x: float, to_y: float) -> str:
    """A line that leaves and arrives level."""
    middle = (x + to_x) / 2
    return f"M{x:g} {y:g}C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"


def curve_down(x: float, y: float, to_x: float, to_y: float) -> str:
    """A line that leaves and arrives upright."""
    middle = (y + to_y) / 2
    return f"M{x:g} {y:g}C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"


def strip(
    row: Tensor,
    x: float,
    y: float,
    w: float,
    h: float,
    colour: str,
    full: float,
    moment: float = 0,
) -> str:
    """A vector as a strip of cells, `w` wide; a number of size `full` has all of its
    colour, one below zero is grey.
    """
    levels = [
        max(-SHADES, min(SHADES, round(SHADES * float(number) / full)))
        for number in row
    ]
    runs = dict[int, str]()
    begin = 0
    for level, cells in groupby(levels):
        length = len(list(cells))
        runs[level] = runs.get(level, "") + f"M{begin} 0h{length}"
        begin += length
    cells = "".join(
        f'<path class="{"p" if level > 0 else "n"}{abs(level)}" d="{d}"/>'
        for level, d in sorted(runs.items())
        if level
    )
    return (
        f'<g class="strip {colour}" style="--i:{moment:g}"><g'
        f' transform="translate({x:g} {y + h / 2:g}) scale({w / len(row):.3f} {h:g})">'
        f"{cells}</g></g>"
    )


def legend(y: float, colour: str) -> str:
    """What the colours of strips mean."""
    return (
        f'<rect class="{colour}" x="64" y="{y - 9}" width="10" height="10"/>'
        f"{words(79, y, 'above zero', 'small')}"
        f'<rect class="faded muted" x="166" y="{y - 9}" width="10" height="10"/>'
        f"{words(181, y, 'below zero', 'small')}"
    )


def bars(x: float, y: float, shares: dict[str, float], width: float) -> str:
    """The probabilities of the pronouns, as bars with their names and numbers."""
    most = max(shares.values())
    drawn = ""
    for place, (name, share) in enumerate(shares.items()):
        line, long = y + 22 * place, share * width
        strong, colour = (" strong", "ochre") if share == most else ("", "muted")
        drawn += words(x, line, name, f"german{strong}", "de")
        drawn += rect(x + 28, line - 11, long, 14, f"grow {colour}", place)
        drawn += words(x + 34 + long, line, percent(share), "small ink")
    return drawn


def percent(share: float) -> str:
    """A share, in percent: to a digit more below one percent."""
    return f"{share:.0%}" if share >= 0.01 or share < 0.0005 else f"{share:.1%}"


def blocks(drawing: Path) -> list[tuple[str, str, tuple[float, ...]]]:
    """The blocks of figure 1: their names, words and places."""
    found = list[tuple[str, str, tuple[float, ...]]]()
    for name, attributes, text in BLOCK.findall(drawing.read_text(encoding="utf-8")):
        rect = dict(re.findall(r'([a-z]+)="([^"]+)"', attributes))
        place = tuple(float(rect[side]) for side in ("x", "y", "width", "height"))
        found.append((name, text, place))
    return found


def figure_map(
    drawing: Path,
    lit: Sequence[str],
    scale: tuple[float, float],
    numbers: dict[str, str] | None = None,
) -> str:
    """Figure 1 in small; blocks that are lit have their colour. With `numbers`, blocks
    have their names, and the first of each name its number; arrows are drawn.
    """
    across, down = scale
    drawn, numbered = "", set[str]()
    if numbers:
        for d in ARROW.findall(drawing.read_text(encoding="utf-8")):
            drawn += f'<path class="line muted arrow" d="{d}"/>'
        drawn = f'<g transform="scale({across} {down}) translate(0 -34)">{drawn}</g>'
    for name, text, (x, y, w, h) in blocks(drawing):
        colour = KINDS[name] if name in KINDS else KINDS[name.split("-", 1)[1]]
        on = name in lit or "all" in lit
        left, top = x * across, (y - 34) * down
        wide = w * across
        if numbers and name == "memory":  # its words need room
            left, wide = left - 18, wide + 18
        drawn += (
            f'<rect class="block {colour if on else "quiet"}" x="{left:.1f}"'
            f' y="{top:.1f}" width="{wide:.1f}" height="{h * down:.1f}" rx="2"/>'
        )
        if numbers:
            middle = top + h * down / 2 + 4
            drawn += words(left + 5, middle, text, "tiny")
            if name in numbers and name not in numbered:
                numbered.add(name)
                memory = name == "memory"  # an arrow leaves on its right
                beside = left - 5 if memory else left + wide + 5
                end = " end" if memory else ""
                drawn += words(beside, middle, numbers[name], f"small strong ink{end}")
    return drawn
