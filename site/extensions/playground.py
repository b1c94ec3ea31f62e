"""The playground: shipped translators run in the reader's browser, on pages with
`{playground}`.

Its scripts are site/playground/*.js, one noun each, and are loaded on such
pages only, with the package's picture of heads. The models' files are written when the
site is built and fetched when a reader types or chooses an example
(playground_models.py).
"""

import html
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from page_files import load_where
from playground_models import browser_model, compact, head_of
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from aiayn.analysis.attention_maps import Head, attention_of
from aiayn.translation.translator import Translator
from aiayn.visualization.page import attention_table
from aiayn.visualization.widget import read_static

# Of the package: aiayn/visualization/static.
SHARED = "widget.js", "heads.js", "heads.css"
STYLES = ("inside/heads.css", "playground/playground.css")
SCRIPTS = ["inside/widget.js", "inside/heads.js"]
SCRIPTS += [
    f"playground/{name}.js"
    for name in """\
part vocabulary matrix transformer search tensors pair lens answer engine stored pieces
marked notes beam heads german ablations choice words completion form depth copying
pairs link tools page""".split()
]
MODELS = ("synthetic-en-de", "en-de")
FOLDER = "playground/models"


def write_files(app: Sphinx, config: Config) -> None:
    """Put scripts, model and what the package shares into a static folder of the
    build's own.
    """
    folder = Path(app.doctreedir, "browser")
    source = Path(app.srcdir, "site", "playground")
    shutil.copytree(source, folder / "playground", dirs_exist_ok=True)
    (folder / FOLDER).mkdir(exist_ok=True)
    for model in MODELS:
        for name, script in browser_model(model).scripts.items():
            (folder / FOLDER / name).write_text(script, encoding="utf-8")
    (folder / "inside").mkdir(exist_ok=True)
    for name in SHARED:
        (folder / "inside" / name).write_text(read_static(name), encoding="utf-8")
    config.html_static_path.append(str(folder))


class Playground(SphinxDirective):
    """`{playground}`: for each model a line with its name, the head that is shown large
    at first, what it knows, and a sentence about it; then its examples, lines of a
    label and a sentence, or of a label and two sentences side by side.

        # en-de | cross 3 1 | everyday English | It has {parameters} parameters.
        a wish: I would like a table for four people, please.
        he or she: He is a doctor. | She is a doctor.

    Readers without JavaScript see what the first model makes of its first two examples;
    links to the box for a sentence, #pg-source, lead them there.
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        folder = f"{'../' * self.env.docname.count('/')}_static/{FOLDER}"
        models = list[dict[str, Any]]()
        for line in filter(None, self.content):
            if line.startswith("#"):
                models.append(model_entry(line, folder))
            else:
                label, text = line.split(":", 1)
                sentences = [part.strip() for part in text.split("|")]
                kind = "pairs" if len(sentences) > 1 else "examples"
                models[-1][kind].append([label.strip(), *sentences])
        heads = [model.pop("head") for model in models]
        for model in models:
            answer = browser_model(model["name"]).answer
            model["answers"] = [answer(sentence) for _, sentence in model["examples"]]
        first = models[0]
        sentences = [sentence for _, sentence in first["examples"][:2]]
        translator = browser_model(first["name"]).translator
        shown = still(translator, sentences, heads[0])
        data = compact(models).replace("<", "\\u003c")
        text = f"""
<div class="aiayn-playground"><script type="application/json">{data}</script>
<div class="pg-still" id="pg-source">{shown}</div>
<noscript><p>Here you could type a sentence and see all of this for it. That needs
JavaScript, which is switched off in your browser.</p></noscript></div>"""
        return [nodes.raw("", text, format="html")]


def model_entry(line: str, folder: str) -> dict[str, Any]:
    """What the page's scripts learn of a model, of its line in the directive."""
    name, opens, label, about = (part.strip() for part in line[1:].split("|"))
    model, head = browser_model(name), head_of(opens)
    return {
        "name": name,
        "N": model.model.config.N,
        "h": model.model.config.h,
        "head": head,
        "opens": " ".join(map(str, head)),
        "label": label,
        "about": about.format(**model.facts),
        "size": model.facts["size"],
        "addresses": model.addresses(folder),
        "words": model.known,
        "examples": list[list[str]](),
        "pairs": list[list[str]](),
    }


def still(translator: Translator, sentences: list[str], head: Head) -> str:
    """Sentences translated, and where a head looks in the first of them."""
    rows = "".join(
        f"<tr><td>{html.escape(sentence)}</td>"
        f'<td lang="de">{html.escape(translator(sentence))}</td></tr>'
        for sentence in sentences
    )
    table = attention_table(attention_of(translator, sentences[0]), head)
    return (
        '<table class="table"><thead><tr><th>English</th><th>German</th></tr></thead>'
        f'{rows}</table><div class="pg-table">{table}</div>'
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("playground", Playground)
    app.connect("config-inited", write_files)
    load_where(app, 'class="aiayn-playground"', *STYLES, *SCRIPTS)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
