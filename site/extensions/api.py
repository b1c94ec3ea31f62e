"""The reference of the package: its pages, and the ways to and from them.

* When the build starts, a page for every module, an index and the command line are
  written into the build's own folder, api/: nothing of them is tracked.
* Names in signatures lead to what they name. Those that come from other libraries lead
  nowhere, as their documentation is on other hosts; a name that a module does not know
  at all is a warning still.
"""

import builtins
import re
import shutil
import tomllib
import typing
from pathlib import Path
from typing import Any

from command_line import command_line
from docutils import nodes
from modules import full_name, home_of, module_of, package
from notebooks import chapters
from reference import Reference, heading, names_table
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.domains.python import ObjectEntry
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

DESCRIPTION = "book/data/package.toml"
INDEX = """\
Reference of aiayn
==================

Every module of ``aiayn`` is written by a chapter of the book. This is what each of them
holds. An entry leads to the cell that explains it, and to its source. The verbs of the
command ``aiayn`` have :doc:`a page of their own <command-line>`.

What ``import aiayn`` gives
---------------------------

.. py:module:: aiayn

.. rst-class:: aiayn-place

{places}

{front}

All modules
-----------

{modules}
"""


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages of the reference where Sphinx will look for them."""
    folder, modules = Path(app.srcdir, "api"), package(app)
    described = tomllib.loads(Path(app.srcdir, DESCRIPTION).read_text(encoding="utf-8"))
    groups_of_modules = described["modules"].values()
    told = {name: words for group in groups_of_modules for name, words in group.items()}
    if difference := modules.keys() ^ told.keys() ^ {""}:
        raise ExtensionError(
            f"{DESCRIPTION} and the package differ: {', '.join(sorted(difference))}"
        )
    book = chapters(Path(app.srcdir, "book"))
    titles = {page: title for page, (title, _) in book.items()}
    reference = Reference(modules, titles, told)
    front = {
        group: reference.table(modules[""], names)
        for group, names in described["front"].items()
    }
    lists = dict[str, str]()
    for group, rows in described["modules"].items():
        linked = [(f":py:mod:`aiayn.{name}`", words) for name, words in rows.items()]
        lists[group] = names_table(linked, 44)
    places = reference.places(modules[""], None)
    index = INDEX.format(places=places, front=groups(front), modules=groups(lists))
    command = command_line(titles["book/5-launch/1-launch"])
    pages = {"index": index, "command-line": command}
    pages |= {name: reference.page(module) for name, module in modules.items() if name}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    # jupyter-book leaves out what the table of contents does not name; these pages the
    # index names.
    kept = [each for each in config.exclude_patterns if not each.startswith("api/")]
    config.exclude_patterns = kept


def groups(tables: dict[str, str]) -> str:
    """Tables, each under its title."""
    return "\n\n".join(
        f"{heading(name, '~')}\n\n{table}" for name, table in tables.items()
    )


def note_front_door(app: Sphinx, env: BuildEnvironment) -> None:
    """Let what `import aiayn` gives, or a folder of it, be found by that name too, in
    this book and from others.
    """
    modules, objects = package(app), env.domains["py"].data["objects"]
    for front in modules.values():
        for name in front.public:
            home = home_of(modules, front.imports.get(name, ""))
            if home and home[1] and (entry := objects.get(full_name(home[0], name))):
                place = entry.docname, entry.node_id, entry.objtype
                alias = ObjectEntry(*place, aliased=True)
                objects.setdefault(full_name(front, name), alias)


def lead_home(app: Sphinx, doctree: nodes.document) -> None:
    """Give a name in a signature its full form, through the imports of the module in
    which it stands.

    By the short form alone Sphinx would find every class of that name, in whatever
    module.
    """
    for node in doctree.findall(addnodes.pending_xref):
        module = module_of(app, node.get("py:module"))
        if node.get("refdomain") == "py" and module is not None:
            name = node["reftarget"]
            dotted = module.imports.get(name, full_name(module, name))
            home = home_of(package(app), dotted)
            if home and home[1]:
                node["reftarget"] = full_name(home[0], home[1].name)
                node["refspecific"] = False
                node["reftype"] = "obj"  # a type may be a constant: A = Literal[...]


def foreign_name(
    app: Sphinx,
    env: BuildEnvironment,
    node: addnodes.pending_xref,
    shown: nodes.TextElement,
) -> nodes.Element | None:
    """Let a name from another package, or from Python, stand without a link."""
    module = module_of(app, node.get("py:module"))
    if node.get("refdomain") != "py" or module is None:
        return None
    root = node["reftarget"].partition(".")[0]
    foreign = (
        root in module.imports or hasattr(builtins, root) or root in typing.__all__
    )
    return shown if foreign or root in module.entries else None


class Quotes(SphinxTransform):
    """Strings in signatures have the quotes that the source has."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        for line in self.document.findall(addnodes.desc_signature):
            for text in list(line.findall(nodes.Text)):
                if "'" in text and '"' not in text:
                    text.parent.replace(text, nodes.Text(text.replace("'", '"')))


PARAMETERS = re.compile(r'<dl>\n(<dd><em class="sig-param">.*?)</dl>\n', re.DOTALL)


def finish_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give pages of the reference their style, the way to the next and back, and long
    signatures lines that a screen reader can read.

    Sphinx writes the parameters of a long signature as a list of definitions without
    anything defined.
    """
    if page.startswith("api/"):
        app.add_css_file("api.css")
        named = (each for each in package(app).values() if each.name)
        modules = {each.page: each.qualified for each in named}
        if page in modules:
            pages = sorted(modules)
            at = pages.index(page)
            for side, near in (("prev", at - 1), ("next", at + 1)):
                if 0 <= near < len(pages):
                    link = app.builder.get_relative_uri(page, pages[near])
                    context[side] = {"link": link, "title": modules[pages[near]]}
        context["body"] = PARAMETERS.sub(in_spans, context["body"])


def in_spans(parameters: re.Match[str]) -> str:
    """The parameters of a signature, without the list."""
    start = '<span class="aiayn-parameter">'
    return parameters[1].replace("<dd>", start).replace("</dd>", "</span>")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    # After the table of contents has been read.
    app.connect("config-inited", write_pages, priority=900)
    app.connect("env-updated", note_front_door)
    app.connect("doctree-read", lead_home)
    app.connect("missing-reference", foreign_name)
    app.connect("html-page-context", finish_page)
    app.add_transform(Quotes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
