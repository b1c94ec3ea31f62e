"""The playground: the synthetic corpus's model runs in the reader's browser, on pages
with `{playground}`.

Its scripts are site/playground/*.js, one noun each, and are loaded on such
pages only, with the package's picture of heads. The model is written when the site is
built and loaded when a reader asks for it: as a script that holds a safetensors file in
base64, because a page that was opened from disk may load scripts but not fetch files.
"""

import base64
import hashlib
import html
import json
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import safetensors.torch
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from aiayn.analysis.attention_maps import Head, attention_of
from aiayn.data.corpora import load_pairs
from aiayn.data.io import cache_folder, write_atomically
from aiayn.data.vocabulary import EOS_ID, Vocabulary
from aiayn.model.transformer import Transformer
from aiayn.shipped import pretrained
from aiayn.synthetic.corpus import MAX_TRAIN_TOKENS
from aiayn.translation.translator import Translator
from aiayn.visualization.page import attention_table
from aiayn.visualization.widget import read_static

SHARED = (
    "widget.js",
    "heads.js",
    "heads.css",
)  # of the package: aiayn/visualization/static
STYLES = ("inside/heads.css", "playground/playground.css")
SCRIPTS = (
    "inside/widget",
    "inside/heads",
    "playground/vocabulary",
    "playground/transformer",
    "playground/search",
    "playground/weights",
    "playground/marked",
    "playground/beam",
    "playground/heads",
    "playground/page",
)
MODEL = "playground/synthetic-en-de.js"


def known_words(vocabulary: Vocabulary) -> list[str]:
    """The words and marks of all training sentences. To draw these takes a while, so
    the words are kept, for the vocabulary that was learned from the same sentences.
    """
    learned = hashlib.sha256(vocabulary.model).hexdigest()[:16]
    path = cache_folder() / "synthetic" / f"words-{learned}.json"
    if not path.exists():
        lines = load_pairs("synthetic", "en-de", "train").source
        found = {
            word for line in lines for word in re.findall(r"'s\b|[\w-]+|[^\w\s]", line)
        }
        write_atomically(path, json.dumps(sorted(found)).encode())
    return list(json.loads(path.read_text(encoding="utf-8")))


def pieces_in_order(vocabulary: Vocabulary) -> list[str]:
    """All pieces; the browser takes their order for their scores, so the two must
    agree.
    """
    pieces = vocabulary.pieces(list(range(len(vocabulary))))
    scores = [
        vocabulary.processor.GetScore(token) for token in range(EOS_ID + 1, len(pieces))
    ]
    assert scores == sorted(scores, reverse=True), (
        "some pieces were not learned in their order"
    )
    return pieces


def browser_model(model: Transformer, vocabulary: Vocabulary) -> str:
    """The script that carries the model to the browser."""
    shape = model.config
    assert (shape.norm, shape.positions, shape.score) == (
        "post",
        "sinusoidal",
        "scaled",
    )
    assert (
        shape.share_embeddings
        and not shape.attention_bias
        and shape.d_k is None
        and shape.d_v is None
    )
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    del tensors["source_embeddings.weight"]  # the same matrix
    carried = {
        "config": {"N": shape.N, "h": shape.h, "d_model": shape.d_model},
        "longest": MAX_TRAIN_TOKENS,
        "pieces": pieces_in_order(vocabulary),
        "words": known_words(vocabulary),
        "weights": base64.b64encode(safetensors.torch.save(tensors)).decode(),
    }
    text = json.dumps(carried, ensure_ascii=False, separators=(",", ":"))
    return f"Playground.file = {text};\n"


@cache
def trained() -> tuple[Translator, bytes]:
    """The trained model, and the script that carries it to the browser."""
    model, vocabulary = pretrained("synthetic-en-de")
    assert isinstance(model, Transformer)
    return Translator(model, vocabulary), browser_model(model, vocabulary).encode()


def write_files(app: Sphinx, config: Config) -> None:
    """Put scripts, model and what the package shares into a static folder of the
    build's own.
    """
    folder = Path(app.doctreedir, "browser")
    shutil.copytree(
        Path(app.srcdir, "site", "playground"),
        folder / "playground",
        dirs_exist_ok=True,
    )
    (folder / MODEL).write_bytes(trained()[1])
    (folder / "inside").mkdir(exist_ok=True)
    for name in SHARED:
        (folder / "inside" / name).write_text(read_static(name), encoding="utf-8")
    config.html_static_path.append(str(folder))


class Playground(SphinxDirective):
    """`{playground}`: lines of a label and a sentence, as buttons; two stand still.

    Readers without JavaScript, and all before the model is loaded, see what it makes of
    those two.
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        examples = [
            [part.strip() for part in line.split(":", 1)] for line in self.content
        ]
        translator, script = trained()
        # Browsers keep files by their address: another model needs another one.
        version = hashlib.sha256(script).hexdigest()[:8]
        address = f"{'../' * self.env.docname.count('/')}_static/{MODEL}?v={version}"
        told = html.escape(json.dumps(examples))
        shown = still(translator, [sentence for _, sentence in examples[:2]])
        text = f"""
<div class="aiayn-playground" data-model="{address}"
  data-size="{len(script) / 1e6:.1f} MB" data-examples="{told}">
<div class="pg-still">{shown}</div>
<noscript><p>Here you could type a sentence and see all of this for it. That needs
JavaScript, which is switched off in your browser.</p></noscript></div>"""
        return [nodes.raw("", text, format="html")]


def still(translator: Translator, sentences: list[str]) -> str:
    """Sentences translated, and where the sharpest cross-attention head looks."""
    rows = "".join(
        f"<tr><td>{html.escape(sentence)}</td>"
        f'<td lang="de">{html.escape(translator(sentence))}</td></tr>'
        for sentence in sentences
    )
    attention = attention_of(translator, sentences[0])
    last = len(attention.weights["cross"]) - 1
    sharpest = attention.words("cross")[last].amax(dim=-1).mean(dim=-1).argmax()
    head = Head("cross", last, int(sharpest))
    return (
        '<table class="table"><thead><tr><th>English</th><th>German</th></tr></thead>'
        f'{rows}</table><div class="pg-table">{attention_table(attention, head)}</div>'
    )


def load_scripts(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the scripts on pages that hold a playground, and only there."""
    if 'class="aiayn-playground"' in context.get("body", ""):
        for name in STYLES:
            app.add_css_file(name)
        for name in SCRIPTS:
            app.add_js_file(f"{name}.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entrance."""
    app.add_directive("playground", Playground)
    app.connect("config-inited", write_files)
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
