"""The command line as text: a page with every verb's help, as the program prints it.

The help is asked for at a width at which nothing is broken, and taken apart into
Sphinx's own descriptions of options: these fit a phone, can be searched and linked to.
"""

import contextlib
import io
import os
import re
import sys
from textwrap import indent
from unittest.mock import patch

INTRODUCTION = """\
The package brings a command with it, ``aiayn``; ``python -m aiayn`` is the same. This
page says what ``aiayn VERB --help`` says. The chapter
`{title} <../book/5-launch/1-launch.html>`__ uses it for the paper's runs; the functions
behind the verbs are in :py:mod:`aiayn.cli.options`, :py:mod:`aiayn.cli.train`,
:py:mod:`aiayn.cli.launch`,
:py:mod:`aiayn.cli.inference`, :py:mod:`aiayn.cli.models` and :py:mod:`aiayn.__main__`.

The verbs: {verbs}."""


def help_of(*verb: str) -> str:
    """What `aiayn VERB --help` prints on a screen that is wide enough."""
    from aiayn.__main__ import main  # here, as it loads torch

    # UTF-8, or else the boxes are not drawn.
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        patch.object(sys, "argv", ["aiayn", *verb, "--help"]),
        patch.dict(os.environ, {"COLUMNS": "120", "NO_COLOR": "1"}),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
    ):
        main()
    printed.seek(0)
    return printed.read()


def verbs() -> list[str]:
    """The verbs, in the order of the program's own help."""
    return re.findall(r"^  ([\w-]+)  ", help_of(), re.MULTILINE)


def options(text: str) -> list[tuple[str, str]]:
    """Each option, what it takes, and its help: from the boxes of a verb's help."""
    found: list[tuple[str, str]] = []
    # A box may begin with a sentence of its own, and a line below it.
    text = re.sub(r"(?m)^│ .*│\n│ ─+ *│\n", "", text)
    for line in re.findall(r"^│ (.*?) *│$", text, re.MULTILINE):
        if line.startswith(" ") and found:
            # The help of an option too long to stand beside it goes on.
            head, told = found[-1]
            found[-1] = head, f"{told} {line.strip()}".strip()
        else:
            head, _, told = line.partition("  ")
            found.append((head, told.strip()))
    return [(head, told) for head, told in found if not head.startswith("-h,")]


def described(head: str, told: str) -> str:
    """An option: its default beside its name, as code."""
    told = re.sub(r" ?\((required|default: )\)", "", told)
    told = re.sub(r"\(default: (.*)\)$", r"(default: ``\1``)", told)
    told = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", told)
    if not head.startswith("-"):
        # It has no name of its own, by which one could link to it.
        return f"``{head}``\n{indent(told, '   ')}"
    return f".. option:: {head}\n\n{indent(told, '   ')}"


def form(verb: str, told: list[tuple[str, str]]) -> str:
    """How a verb is called: what it cannot do without, then the rest in one word."""
    needed = [head for head, words in told if "(required)" in words]
    rest = ["[options]"] * (len(needed) < len(told))
    return " ".join(["aiayn", verb, *needed, *rest])


def command_line(title: str) -> str:
    """The page; `title` is that of the chapter on the commands."""
    known = verbs()
    places = ", ".join(f"`{verb} <#aiayn-{verb}>`__" for verb in known)
    introduction = INTRODUCTION.format(title=title, verbs=places)
    parts = ["The command line\n================", introduction]
    for verb in known:
        _, _, text = help_of(verb).partition("\n\n")  # the usage, which is cut short
        about, _, boxes = text.partition("╭")
        boxes, _, examples = boxes.partition("examples:\n")
        told, name, block = options(boxes), f"aiayn {verb}", ".. code-block:: text\n\n"
        parts += [f"{name}\n{'-' * len(name)}", about.strip()]
        parts.append(f"{block}   {form(verb, told)}")
        parts.append(f"For example:\n\n{block}{indent(examples.rstrip(), ' ')}")
        parts += [f".. program:: {name}", *(described(*option) for option in told)]
    return "\n\n".join(parts) + "\n"
