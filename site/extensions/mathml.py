"""Formulas are MathML, set when the site is built.

A page needs no script for them, its text does not move while it loads, and screen
readers read them. Their letters are those of STIX Two Math (site/static/fonts).
"""

import html
import re
from itertools import pairwise
from xml.etree.ElementTree import Element, tostring

from docutils import nodes
from latex2mathml.converter import convert_to_element
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.writers.html5 import HTML5Translator

UPRIGHT = re.compile(r"\\(?:mathrm|operatorname)(?=\{\w{2,}\})")
FUNCTIONS = {"cos", "sin", "tanh", "log", "ln", "max", "min"}
THIN = "0.167em"
# Names of several letters, which TeX has as products: screen readers would spell them.
NAMES = ("pos", "PE", "lp", "lrate", "model", "num", "step", "warmup")
SEPARATOR = "\u2063"  # is not seen


def is_function(element: Element) -> bool:
    """Whether it is log, or log with a base."""
    while element.tag in {"msub", "msup", "msubsup", "munder"}:
        element = element[0]
    return element.tag in {"mi", "mo"} and element.text in FUNCTIONS


def space_functions(row: Element) -> None:
    """Set thin spaces around the names of functions: log n, but log(n)."""
    for index, element in reversed(list(enumerate(row))):
        if not is_function(element):
            continue
        after = row[index + 1] if index + 1 < len(row) else None
        if after is not None and after.tag != "mo":
            row.insert(index + 1, Element("mspace", width=THIN))
        if index and row[index - 1].tag not in {"mo", "mspace"}:
            row.insert(index, Element("mspace", width=THIN))


def join_names(row: Element) -> None:
    """Make names of several letters one element; an index belongs to all of it."""
    bases = [base_of(element) for element in row]
    letters = "".join(
        base.text if base.tag == "mi" and len(base.text or "") == 1 else " "
        for base in bases
    )
    found = [
        (match.start(), name)
        for name in NAMES
        for match in re.finditer(rf"(?<![A-Za-z]){name}(?![A-Za-z])", letters)
    ]
    for start, name in sorted(found, reverse=True):
        *before, last = range(start, start + len(name))
        if all(row[place] is bases[place] for place in before):
            bases[last].text = "".join(map(italic, name))
            for place in reversed(before):
                row.remove(row[place])


def base_of(element: Element) -> Element:
    """What an element's indices belong to."""
    return element[0] if element.tag in {"msub", "msup", "msubsup"} else element


def italic(letter: str) -> str:
    """The letter as it stands for a quantity."""
    first = 0x1D434 - ord("A") if letter.isupper() else 0x1D44E - ord("a")
    return chr(first + ord(letter))


def separate(row: Element) -> None:
    """Let screen readers pause between formulas that stand side by side."""
    for index, element in reversed(list(enumerate(row))):
        if element.tag == "mspace" and element.get("width") == "2em":
            row.insert(index, Element("mo"))
            row[index].text = SEPARATOR


def mark_signs(row: Element) -> None:
    """Set a minus close to its number: (0, −1), but 2 − 1."""
    for before, element in pairwise(row):
        begins = before.tag == "mo" and before.text not in {")", "]", "|", "⌉", "!"}
        if begins and element.tag == "mo" and element.text in {"−", "-"}:
            element.set("form", "prefix")


def mathml(tex: str, *, display: bool = False) -> str:
    """A formula of TeX as a MathML element, which keeps its TeX as a note.

    The converter sets a function's name as an operator with no space around it, and
    upright words of several letters as text, which screen readers would spell out of
    the formula's order.
    """
    kind = "block" if display else "inline"
    tex = UPRIGHT.sub(r"\\text", tex).replace("{aligned}", "{align*}")
    root = convert_to_element(tex, display=kind)
    for element in root.iter():
        element.text = html.unescape(element.text or "") or None
    for row in [*root.iter("mrow"), *root.iter("mtd")]:
        join_names(row)
        separate(row)
        space_functions(row)
        mark_signs(row)
    for element in root.iter():
        match element.tag, element.text or "":
            case "mtext", word if word.isalpha():
                element.tag = "mi"
            case "mo", word if word in FUNCTIONS or word in ("…", "∞"):
                element.tag = "mi"
            case "mo", "/" | "|":
                element.attrib.update(lspace="0", rspace="0", stretchy="false")
            case "mi", "⌈" | "⌉":
                element.tag = "mo"
            case "mspace", _ if element.get("width") == "negativethinmathspace":
                element.set("width", f"-{THIN}")
    return tostring(root, encoding="unicode")


def visit_math(writer: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula, with its TeX for the search's index."""
    display = isinstance(node, nodes.math_block)
    tag = "div" if display else "span"
    tex = node.astext().strip()
    classes = "math notranslate nohighlight"
    start = writer.starttag(node, tag, "", CLASS=classes)  # a block's id comes with it
    start = start.replace(">", f' data-tex="{html.escape(tex)}">', 1)
    writer.body.append(f"{start}{mathml(tex, display=display)}</{tag}>")
    raise nodes.SkipNode


def use_mathml(app: Sphinx, config: Config) -> None:
    """Take this instead of MathJax, which jupyter-book asks for."""
    config.html_math_renderer = "mathml"


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    writes = (visit_math, None)
    app.add_html_math_renderer(
        "mathml", inline_renderers=writes, block_renderers=writes
    )
    app.connect("config-inited", use_mathml)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
