"""What Colab or GitHub cannot show does not stand in a chapter.

Both know Markdown, formulas between dollars, tables, and a little HTML.
`test_notebooks.py` sees to fences and roles; here is the rest. Every rule is shown to
fire.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from test_notebooks import BOOK, NOTEBOOKS, chapter_name

MARKDOWN = MarkdownIt().enable("table")
# Colab drops style, script, iframe and most attributes; these pass everywhere. A number
# that drags is a plain number where its attributes are dropped.
ALLOWED = re.compile(
    r"</?(details|summary|sub|sup|br|kbd)\s*/?>|<span data-(dial|shows)=[^>]*>|</span>"
)
# GitHub's MathJax refuses the first three since 2023 (github/markup#1688); the others
# change what follows or number formulas, which no two viewers do alike.
REFUSED = re.compile(
    r"\\(operatorname|mbox|phantom|newcommand|renewcommand|def|let|require|label|ref"
    r"|eqref|tag|unicode|href|class)\b"
)
# Of text without code: a pattern, and a text in which it is found.
RULES: dict[str, tuple[str, str]] = {
    "MyST's target": (r"^\([\w-]+\)=\s*$", "(here)=\n# Title"),
    "MyST's block break or comment": (r"^(\+\+\+|% )", "one\n\n% two"),
    "MyST's substitution": (r"\{\{.*\}\}", "the {{ name }}"),
    "GitHub's alert, which Colab shows raw": (r"^> ?\[!\w+\]", "> [!NOTE]\n> so"),
    "a footnote, which Colab shows raw": (r"\[\^\w+\]", "so[^1]"),
    "a task list, which Colab shows raw": (r"^\s*[-*] \[[ x]\] ", "- [ ] read"),
    "a formula between \\( \\) or \\[ \\]": (r"\\[()\[\]]", r"the \(x\)"),
}


def prose(source: str) -> str:
    """The text with its code made blank."""
    source = re.sub(r"^(```|~~~).*?^\1\s*$", "", source, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", source, flags=re.DOTALL)


def formulas(text: str) -> Iterator[str]:
    """What is wrong with formulas, by paragraph (a row of a table counts as one)."""
    for number in re.finditer(REFUSED, text):
        yield f"{number[0]}, which GitHub refuses"
    lines = (re.sub(r"^[\s>]*", "", line) for line in text.splitlines())
    for paragraph in re.split(
        r"\n{2,}",
        "\n".join(f"{line}\n" if line.startswith("|") else line for line in lines),
    ):
        plain, start = paragraph.replace(r"\$", ""), paragraph.strip()[:60]
        if "$$" in plain:
            if not re.fullmatch(r"\s*(?:[-*] |\d+\. )?\$\$[^$]+\$\$\s*", plain):
                yield f"$$ that does not stand alone in its paragraph: {start}"
        elif plain.count("$") % 2:
            yield f"a dollar without its other: {start}"
        elif any(re.match(r"\s|.*\s$", inside) for inside in plain.split("$")[1::2]):
            yield f"a space inside the dollars, so that they are only dollars: {start}"
        elif plain.startswith("|") and any(
            "|" in inside for inside in plain.split("$")[1::2]
        ):
            yield f"| in a formula in a table, which ends the cell: {start}"


def details(source: str) -> Iterator[str]:
    """What is wrong with folded parts: a viewer renders Markdown in them only behind
    blank lines.
    """
    ends = source.count("</details>")
    if (
        not ends
        == source.count("<details>")
        == len(re.findall(r"^<details>", source, re.MULTILINE))
    ):
        yield "<details> that is not closed, or does not begin its line"
    elif (
        len(
            re.findall(
                r"^<details>\s*<summary>[^<]+</summary>\n\s*\n", source, re.MULTILINE
            )
        )
        < ends
    ):
        yield "no blank line after </summary>"
    elif len(re.findall(r"\n\s*\n</details>", source)) < ends:
        yield "no blank line before </details>"


def pieces(source: str) -> Iterator[Token]:
    """Everything that the text is made of."""
    for token in MARKDOWN.parse(source):
        yield token
        yield from token.children or []


def references(source: str, folder: Path) -> Iterator[str]:
    """HTML, links and pictures that a viewer drops or cannot find."""
    for token in pieces(source):
        if token.type in ("html_block", "html_inline"):
            for tag in re.findall(r"<[^>]*>", token.content):
                if not ALLOWED.fullmatch(tag):
                    yield f"HTML that Colab may drop: {tag}"
        target = str(token.attrs.get("src" if token.type == "image" else "href", ""))
        if not target or target.startswith("https://"):
            continue
        path, _, place = target.partition("#")
        if "://" in target or not path or place:
            # http, file; in Colab a heading has no address.
            yield f"a link that not every viewer can follow: {target}"
        elif (
            not (page := (folder / path).resolve()).is_file()
            or BOOK not in page.parents
        ):
            yield f"a link to what is not in book/: {target}"
        if token.type == "image" and not token.content.strip():
            yield f"a picture without words for who cannot see it: {target}"


def faults(source: str, folder: Path = BOOK / "1-paper") -> list[str]:
    """What Colab or GitHub would not show as it is meant."""
    text = prose(source)
    found = [
        name
        for name, (pattern, _) in RULES.items()
        if re.search(pattern, text, re.MULTILINE)
    ]
    return [*found, *formulas(text), *details(source), *references(source, folder)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=chapter_name)
def test_every_viewer_can_show_the_chapter(path: Path) -> None:
    cells = [
        cell
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "markdown"
    ]
    found = {
        cell.id: wrong for cell in cells if (wrong := faults(cell.source, path.parent))
    }
    assert not found, "\n".join(
        f"{cell}: {fault}" for cell, wrong in found.items() for fault in wrong
    )


@pytest.mark.parametrize("name", RULES)
def test_what_is_raw_somewhere_is_found(name: str) -> None:
    assert faults(RULES[name][1]) == [name]
    assert not faults(f"```python\n{RULES[name][1]}\n```") and not faults(
        f"so `{name}` is fine"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"the $\operatorname{softmax}(x)$", "refuses"),
        ("the sum is\n$$x + y$$", "alone"),
        ("$$x$$ and so on", "alone"),
        ("> **Paper.** So:\n> $$x$$", "alone"),
        ("it costs 5 $ a day", "without its other"),
        ("between $ 5 and $ 6", "space inside"),
        ("| a | b |\n|---|---|\n| $|x|$ | y |", "ends the cell"),
        (
            "<details><summary>Solution</summary>\nRow by row:\n\n</details>",
            "no blank line after",
        ),
        (
            "<details><summary>Solution</summary>\n\nRow by row.\n</details>",
            "no blank line before",
        ),
        ("<details><summary>Solution</summary>\n\nRow by row.", "not closed"),
        (
            "> <details><summary>Solution</summary>\n>\n> So.\n>\n> </details>",
            "begin its line",
        ),
        ('<div class="note">so</div>', "may drop"),
        ('so <span style="color: red">red</span>', "may drop"),
        ("<script>alert(1)</script>", "may drop"),
        ("[there](no-such-chapter.ipynb)", "not in book/"),
        ("[there](../../README.md)", "not in book/"),
        ("[there](3-2-attention.ipynb#masks)", "not every viewer"),
        ("[there](#masks)", "not every viewer"),
        ("![two words](../figures/no-such-drawing.svg)", "not in book/"),
        ("![](../figures/figure-1.svg)", "without words"),
        ("![two words](attachment:picture.png)", "not in book/"),
    ],
)
def test_what_breaks_is_found(text: str, said: str) -> None:
    found = faults(text)
    assert any(said in fault for fault in found), found


@pytest.mark.parametrize(
    "text",
    [
        "> **Paper.** So:\n>\n> $$x_1 + y$$\n>\n> and so on.",
        "- one\n\n  $$x$$\n\n- two",
        "costs `$5` and \\$6, or $n$ of them",
        "| a |\n|---|\n| $x$ |\n| $y$ |",
        (
            "<details><summary>Solution</summary>\n\nSo:\n\n"
            "```python\nx = {{}}\n```\n\n</details>"
        ),
        "<details>\n<summary>Solution</summary>\n\nSo.\n\n</details>",
        (
            "[there](3-2-attention.ipynb), [the list](../reference/claims.md),"
            " <https://arxiv.org/abs/1706.03762>"
        ),
        "![two words](../figures/figure-1.svg)",
    ],
)
def test_what_every_viewer_shows_passes(text: str) -> None:
    assert faults(text) == []
