"""Links from code: names of the package that stand in running text lead to their
entries in the reference. Commands (`aiayn train …`) lead to what the verb can be told.

In a chapter they do so at the first mention, and not in the chapter that explains them:
there the cell itself is near. In the reference, docstrings name their neighbours, and
"section 3.2.1" leads to the chapter.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from modules import Entry, Module, full_name, home_of, module_of, package
from notebooks import PAPER, chapters
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from text_links import ancestors, link_words, within

COMMANDS = "api/command-line"
NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
# What tells a name from an ordinary word, such as train.
TELLING = re.compile(r"\w_|[A-Z]\w*[a-z]|\.|\)$")
SECTIONS = re.compile(
    r"(?<=\bsection )\d(?:\.\d)*|(?<=\bsections )\d(?:\.\d)*|(?<=\bchapter )\d(?:\.\d)*"
)


def parameters(described: list[addnodes.desc]) -> set[str]:
    """The names of the parameters of what is described."""
    found = (each.findall(addnodes.desc_parameter) for each in described)
    return {name[0].astext() for names in found for name in names if name.children}


class CodeLinks(SphinxPostTransform):
    """Link code in running text that names something public of the package."""

    default_priority = 5
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        page, linked = self.env.docname, set[str]()
        for code in list(self.document.findall(nodes.literal)):
            if code.astext().startswith("--") and len(code.astext()) < 30:
                code["classes"].append("aiayn-nowrap")  # a flag is read as a whole
            if within(code, nodes.title, nodes.reference, addnodes.pending_xref):
                continue
            around, text = ancestors(code), code.astext()
            described = [each for each in around if isinstance(each, addnodes.desc)]
            place = self.verb(text, page) or self.entry(text, page, described)
            if place and (page.startswith("api/") or place not in linked):
                linked.add(place)
                path, _, anchor = place.partition("#")
                target = f"{self.app.builder.get_relative_uri(page, path)}#{anchor}"
                options: Any = {"refuri": target, "internal": True}
                options["classes"] = ["aiayn-name"]
                code.replace_self(nodes.reference("", "", code.deepcopy(), **options))
        if page.startswith("api/"):
            self.link_sections(page)

    def verb(self, text: str, page: str) -> str | None:
        """The section about the verb of a command such as `aiayn train --data
        multi30k`.
        """
        known = {program for program, _ in self.env.domains["std"].data["progoptions"]}
        found = re.match(r"aiayn (\w+)", text)
        # As Sphinx writes both the program and the section's id.
        name = f"aiayn-{found[1]}" if found else ""
        return f"{COMMANDS}#{name}" if name in known and page != COMMANDS else None

    def entry(self, text: str, page: str, described: list[addnodes.desc]) -> str | None:
        """The place in the reference of what code names."""
        name = self.mentioned(text, page, described)
        found = self.env.domains["py"].data["objects"].get(name)
        return f"{found.docname}#{found.node_id}" if found else None

    def mentioned(
        self, text: str, page: str, described: list[addnodes.desc]
    ) -> str | None:
        """The full name of what code names, if that is certain, and described
        elsewhere.
        """
        name = re.sub(r"\(.*\)$", "", text)
        objects = self.env.domains["py"].data["objects"]
        if not NAME.fullmatch(name):
            return None
        if module := module_of(self.app, name):
            near = name == "aiayn" or page in (module.chapter, module.page)
            return None if near else name
        modules = package(self.app).values()
        here = next((module for module in modules if module.page == page), None)
        if not TELLING.search(text):
            # An ordinary word: only beside its neighbours, and if no parameter.
            neighbour = here is not None and name in here.entries
            if not (neighbour and described) or name in parameters(described):
                return None
        home, member = self.home(name, here)
        if home is None or home[1] is None or home[0].chapter == page:
            return None
        full = full_name(home[0], home[1].name) + member
        signatures = (node.findall(addnodes.desc_signature) for node in described)
        own = {each for lines in signatures for line in lines for each in line["ids"]}
        return full if full in objects and full not in own else None

    def home(
        self, name: str, here: Module | None
    ) -> tuple[tuple[Module, Entry | None] | None, str]:
        """Where a name is defined, for a reader of the module `here` or of none, and
        what is meant of it.
        """
        modules = package(self.app)
        if name.startswith("aiayn."):
            owner, _, member = name.rpartition(".")
            found = home_of(modules, name)
            return (found, "") if found else (home_of(modules, owner), f".{member}")
        first, dot, member = name.partition(".")
        for module in (here, modules[""]):
            if module and (found := home_of(modules, full_name(module, first))):
                return found, dot + member
        objects = self.env.domains["py"].data["objects"].items()
        # Methods, too: they may be meant; but not where a name is handed on.
        defined = (full for full, entry in objects if not entry.aliased)
        owners = [full for full in defined if full.endswith(f".{first}")]
        return (home_of(modules, owners[0]) if len(owners) == 1 else None), dot + member

    def link_sections(self, page: str) -> None:
        """Lead from the number of a section to the chapter about it."""
        known = chapters(Path(self.app.srcdir, "book"))
        of_paper = [page for page in known if page.startswith(PAPER)]
        about = {known[page][1]: page for page in of_paper}

        def lead(match: re.Match[str]) -> nodes.reference | None:
            section = match[0]
            while section and section not in about:
                section = section.rpartition(".")[0]
            if not section:
                return None
            place = self.app.builder.get_relative_uri(page, about[section])
            return nodes.reference("", match[0], refuri=place, internal=True)

        inside = nodes.reference | nodes.literal
        texts = self.document.findall(nodes.Text)
        outside = [text for text in texts if not isinstance(text.parent, inside)]
        link_words(outside, SECTIONS, lead)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_post_transform(CodeLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
