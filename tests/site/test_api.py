"""The reference of the package on the built site, and the ways between it, the chapters
and the source.
"""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from playwright.sync_api import Browser, expect
from sphinx.util.inventory import InventoryFile
from test_site import PAGES, SITE, address, anchors, dead, parsed

__all__ = ["address"]  # a fixture

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`"),
]

PACKAGE = Path(__file__).parents[2] / "aiayn"
MODULES = [
    path.relative_to(PACKAGE).with_suffix("") for path in sorted(PACKAGE.rglob("*.py"))
]
CHAPTERS = [
    page for page in PAGES if (PACKAGE.parent / page).with_suffix(".ipynb").is_file()
]


def qualified(module: Path) -> str:
    """The name by which Python knows a module."""
    return ".".join(["aiayn", *module.parts]).removesuffix(".__init__")


def reference(module: Path) -> Path:
    """The page of a module."""
    name = qualified(module).removeprefix("aiayn").removeprefix(".") or "index"
    return SITE.resolve() / "api" / f"{name}.html"


def public_names(module: Path) -> list[str]:
    """What an `__init__` imports as itself, and what a module defines for others."""
    text = (PACKAGE / module).with_suffix(".py").read_text(encoding="utf-8")
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            names += [each.name for each in node.names if each.asname == each.name]
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [ast.unparse(each) for each in node.targets]
    return [name for name in names if name.isidentifier() and name[0] != "_"]


def targets(page: Path, links: list[lxml.html.HtmlElement]) -> list[str]:
    """Where links lead, if they lead anywhere."""
    found = [link.get("href") for link in links]
    assert found
    assert not [target for target in found if dead(page, target)]
    return found


@pytest.mark.parametrize("module", MODULES, ids=qualified)
def test_every_public_name_has_an_entry(module: Path) -> None:
    """A name that a module defines is described on its page; one that it hands on leads
    to where it is.
    """
    page = reference(module)
    names = public_names(module)
    handed_on = [
        name for name in names if f"{qualified(module)}.{name}" not in anchors(page)
    ]
    for name in handed_on:
        (link,) = parsed(page).xpath(f"//table//td[1]//a[normalize-space()='{name}']")
        (target,) = targets(page, [link])
        assert target.endswith((f".{name}", f"#module-{qualified(module)}.{name}"))


@pytest.mark.parametrize("module", MODULES, ids=qualified)
def test_every_entry_leads_to_its_cell_and_source(module: Path) -> None:
    """The line below a signature leads to the cell of the chapter, and to the same
    place in the source.
    """
    page = reference(module)
    entries = parsed(page).xpath("//dl[contains(@class, 'py')][not(ancestor::dl)]")
    for entry in entries:
        line = entry.find_class("aiayn-place")[0]
        links = line.xpath(
            "./a[contains(@class, 'reference')][not(contains(@class, 'aiayn-name'))]"
        )
        cell, source = targets(page, links)
        assert re.fullmatch(r"\.\./book/[\w/-]+\.html#cell-[\w-]+", cell)
        name = ".".join(module.parts).removesuffix(".__init__")
        assert source == f"../aiayn/{name}.html#{cell.partition('#')[2]}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_badge_leads_to_source_and_reference(chapter: str) -> None:
    """Above an exported cell stand two links: to its text in the package, and to what
    is said of it. Beside the paper there is a third, to the cell itself.
    """
    page = SITE.resolve() / chapter
    for badge in parsed(page).find_class("aiayn-badge"):
        cell = badge.getparent().get("id")
        source, about, *itself = targets(page, badge.findall("a"))
        names = [node.get("id") for node in badge.getparent().findall("span")]
        assert [place.partition("#")[2] for place in itself] == names
        assert source.startswith("../../aiayn/")
        assert source.endswith(f"#{cell}")
        assert about.startswith("../../api/")
        if "#" in about:  # the entry leads back to this very cell
            path, _, place = about.partition("#")
            entry = (
                parsed((page.parent / path).resolve())
                .get_element_by_id(place)
                .getparent()
            )
            assert entry.xpath(
                ".//p[contains(@class, 'aiayn-place')]"
                f"/a[contains(@href, '{chapter}#{cell}')]"
            )


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_mentions(chapter: str) -> None:
    """A chapter's text leads to an entry once, and not from a heading or from within
    another link.
    """
    page = SITE.resolve() / chapter
    links = parsed(page).find_class("aiayn-name")
    if links:
        found = targets(page, links)
        assert len(found) == len(set(found))
        assert not parsed(page).xpath(
            "//*[self::h1 or self::h2 or self::h3 or self::a]//a[@class='aiayn-name']"
        )


def test_mentions_are_of_the_name_that_is_meant() -> None:
    """Names of the package are found, with arguments or without; ordinary words and
    tags are left alone.
    """
    found = {
        (chapter, link.text_content(), link.get("href").partition("#")[2])
        for chapter in CHAPTERS
        for link in parsed(SITE.resolve() / chapter).find_class("aiayn-name")
    }
    assert (
        "book/1-paper/5-0-training.html",
        "Translator.load",
        "aiayn.translation.translator.Translator.load",
    ) in found
    assert (
        "book/1-paper/6-3-constituency-parsing.html",
        "beam_search",
        "aiayn.decoding.beam_search.beam_search",
    ) in found
    assert ("book/5-launch/1-launch.html", "aiayn launch", "aiayn-launch") in found
    assert (
        "book/5-launch/1-launch.html",
        "aiayn evaluate --average 20",
        "aiayn-evaluate",
    ) not in found  # mentioned before
    assert not {"train", "attention", "step", "IN", "aiayn"} & {
        text for _, text, _ in found
    }


def test_signatures_show_shapes_and_defaults() -> None:
    """Shapes stand as in the source, defaults under the names that they have there."""
    page = parsed(SITE.resolve() / "api" / "model.attention.html")
    masks = page.get_element_by_id("aiayn.model.attention.padding_mask").text_content()
    assert 'tokens: Int[Tensor, "batch n"]' in masks
    search = parsed(SITE.resolve() / "api" / "decoding.beam_search.html")
    assert (
        "search: SearchConfig = PAPER_SEARCH"
        in search.get_element_by_id(
            "aiayn.decoding.beam_search.beam_search"
        ).text_content()
    )
    config = parsed(
        SITE.resolve() / "api" / "model.configuration.html"
    ).get_element_by_id("aiayn.model.configuration.TransformerConfig")
    assert "d_model: int = 512" in config.text_content()  # inherited
    assert 'norm: Norm = "post"' in config.text_content()


@pytest.mark.parametrize(
    "verb",
    [
        "train",
        "launch",
        "translate",
        "evaluate",
        "convert",
        "parse",
        "sweep",
        "estimate",
        "generate-corpus",
    ],
)
def test_the_command_line_has_every_option(
    verb: str, aiayn: Callable[..., tuple[Any, str, str]]
) -> None:
    """Every option that a verb's own help tells of is on the page, and the verb can be
    linked to.
    """
    _, told, _ = aiayn(verb, "--help")
    page = parsed(SITE.resolve() / "api" / "command-line.html")
    (section,) = page.xpath(f"//section[@id='aiayn-{verb}']")
    shown = {name.text_content() for name in section.find_class("descname")}
    assert shown == set(re.findall(r"(?<![\w-])--[a-z][\w-]*(?:\.[\w-]+)?", told)) - {
        "--help"
    }


def test_the_command_line_has_every_verb(
    aiayn: Callable[..., tuple[Any, str, str]],
) -> None:
    """The page has a section for each verb that the program knows."""
    _, told, _ = aiayn("--help")
    verbs = re.findall(r"^  ([\w-]+)  ", told, re.MULTILINE)
    page = parsed(SITE.resolve() / "api" / "command-line.html")
    assert page.xpath("//section/@id")[1:] == [f"aiayn-{verb}" for verb in verbs]


def test_other_books_can_link_to_it() -> None:
    """Sphinx's inventory knows names where they are defined, in `__init__`, and in
    `aiayn`.
    """
    with (SITE / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: path)
    front = inventory["py:class"]["aiayn.Transformer"]
    assert front[2].endswith(
        "api/model.transformer.html#aiayn.model.transformer.Transformer"
    )
    assert "aiayn.model.attention.MultiHeadAttention" in inventory["py:class"]
    assert inventory["py:class"]["aiayn.model.Transformer"][2] == front[2]


def test_search_finds_a_class(browser: Browser, address: str) -> None:
    """A reader who types a class's name is led to its entry."""
    page = browser.new_page()
    page.goto(f"{address}search.html?q=MultiHeadAttention")
    entry = page.locator(
        "#search-results"
        " a[href*='api/model.attention.html#aiayn.model.attention.MultiHeadAttention']"
    )
    expect(entry.first).to_be_visible(timeout=60_000)
    page.close()
