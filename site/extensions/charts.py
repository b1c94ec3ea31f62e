"""Charts: a Vega-Lite output is drawn in the reader's browser by a script that the site
itself carries.

A chart comes as {"application/vnd.vegalite…+json": spec, "image/png": …, "text/plain":
description}. The page gets the spec, a drawing area that already has the chart's
height, and the picture for readers without JavaScript. Vega (0.9 MB) is bundled from
vl-convert when the site is built; charts.js, on the pages that hold a chart, loads it
when it is needed and does the rest.
"""

import html
import json
import re
from pathlib import Path
from typing import Any

import vl_convert
from docutils import nodes
from notebooks import Notebook, before_parsing, code_cells
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform

VEGA_LITE = "6.4"
VEGA_SCRIPT = "vega.js"
CHART = re.compile(r"application/vnd\.vegalite\.v\d+\+json")
# Filled by chart-data.js when it is opened; without JavaScript the picture and the
# description have to do.
DATA = """<details class="aiayn-data pst-js-only">\
<summary>Data of this chart</summary></details>"""
OPEN, CLOSE = '<script type="application/json" class="aiayn-spec">', "</script>"


def mark_charts(app: Sphinx, docname: str, notebook: Notebook) -> None:
    """Turn every chart's spec into the one kind of HTML output that `DrawCharts` looks
    for.
    """
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            data = output.get("data", {})
            for mime in [mime for mime in data if CHART.fullmatch(mime)]:
                # Inside a script element only "</" could end the text early; JSON may
                # write it as "<\/".
                compact: Any = {"separators": (",", ":"), "ensure_ascii": False}
                spec = json.dumps(data.pop(mime), **compact)
                data["text/html"] = OPEN + spec.replace("</", r"<\/") + CLOSE


class DrawCharts(SphinxPostTransform):
    """Put the drawing area and the picture in place of a chart's outputs."""

    # Before myst-nb (4) keeps one MIME type of the bundle and drops the picture.
    default_priority = 3
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for script in list(self.document.findall(nodes.raw)):
            text = script.astext()
            if not text.startswith(OPEN):
                continue
            bundle = script.parent.parent
            spec = json.loads(text.removeprefix(OPEN).removesuffix(CLOSE))
            fallback = list(bundle.findall(nodes.image))[:1]
            for image in fallback:
                image["alt"] = spec.get("description", "")
            opening = raw(f"{opening_tag(spec)}{text}<noscript>")
            closing = raw(f"</noscript></div>{DATA}")
            bundle.replace_self([opening, *fallback, closing])


def raw(text: str) -> nodes.raw:
    """HTML, as a node."""
    return nodes.raw("", text, format="html")


def opening_tag(spec: dict[str, Any]) -> str:
    """The drawing area's tag: it keeps the chart's room free, so that the text below
    does not jump.
    """
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    assert size is not None, svg[:200]
    width, height = size.groups()
    # On a phone a plot gets narrower; a single one keeps its height. Pictures without
    # axes, whose proportions matter, are scaled as a whole.
    plot = '"axis": null' not in json.dumps(spec)
    single = (
        plot
        and isinstance(spec.get("width"), int | float)
        and not {"mark", "layer"}.isdisjoint(spec)
        and {"row", "column", "facet"}.isdisjoint(spec.get("encoding", {}))
    )
    whole = f"aspect-ratio: {width} / {height}; max-width: {width}px"
    room = f"min-height: {height}px" if single else whole
    name = html.escape(spec.get("description", ""))
    return (
        f'<div class="aiayn-chart" style="{room}"{" data-plot" * plot}'
        f' role="figure" aria-label="{name}"><div class="aiayn-view"></div>'
    )


def bundle_vega(app: Sphinx, config: Config) -> None:
    """Write Vega and its embedder as one script into a static folder of the build's
    own.
    """
    folder = Path(app.doctreedir, "vega")
    folder.mkdir(parents=True, exist_ok=True)
    # The wrapper keeps the bundle's thousands of names out of the page's.
    script = "(()=>{" + vl_convert.javascript_bundle(vl_version=VEGA_LITE) + "})();"
    (folder / VEGA_SCRIPT).write_text(script, encoding="utf-8")
    config.html_static_path.append(str(folder))


def load_scripts(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the scripts on pages that hold a chart, and only there."""
    if 'class="aiayn-chart"' in context.get("body", ""):
        app.add_js_file("charts.js", defer="defer", **{"data-vega": VEGA_SCRIPT})
        app.add_js_file("chart-data.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    before_parsing(app, mark_charts)
    app.add_post_transform(DrawCharts)
    app.connect("config-inited", bundle_vega)
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
