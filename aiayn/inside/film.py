"""An animation of greedy decoding, one pass through the decoder for each token.

From "Pages to look at":
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-11-pages-to-look-at.ipynb, cell film-style
import html
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from aiayn.inside.steps_script import STYLE, TOOLS
from aiayn.model.transformer import Transformer

FILM_STYLE = (
    STYLE.replace(".aiayn-steps", ".aiayn-film")
    + """
.aiayn-film { --m: var(--aiayn-memory, #8250df); padding-left: 0.6em; }
.aiayn-film p { margin: 0.4em 0; }
.aiayn-film .st-say { min-height: 6em; }
.aiayn-film table { table-layout: fixed; }
.aiayn-film tr.gap { height: 0.7em; }
.aiayn-film td.fi { padding: 0.1em 0.2em; text-align: center; width: 4.4em; }
.aiayn-film td.fi i {
  border: 1px solid transparent;
  border-radius: 3px;
  display: block;
  height: 1.1em;
}
.aiayn-film i.q { background: var(--q); }
.aiayn-film i.k { background: var(--k); }
.aiayn-film i.v { background: var(--v); }
.aiayn-film i.m { background: var(--m); }
.aiayn-film i.kept { opacity: 0.35; }
.aiayn-film td.fi i.no { background: none; border-color: var(--line); }
@media (max-width: 520px) {
  .aiayn-film td.fi { padding: 0.1em; width: 2.9em; }
  .aiayn-film td.fi { font-size: 12px; overflow: hidden; }
}
"""
)


# book/11-11-pages-to-look-at.ipynb, cell film-draw
FILM_SCRIPT = (
    "(() => {"
    + TOOLS
    + r"""
const plain = (shape) => `(${shape.join(", ")})`;
const draw = (view) => {
  const { frames, source, layers, state } = view, { pass, cache } = state;
  const frame = frames[pass], total = frames.length, count = pass + 1;
  for (const [button, pressed] of view.buttons)
    button.setAttribute("aria-pressed", pressed());
  view.back.disabled = pass === 0;
  view.next.disabled = pass === total - 1;
  view.table.replaceChildren();
  const line = (name, width, cell) => {
    const row = add(view.table, "tr");
    add(row, "th", { scope: "row" }, name);
    for (let t = 0; t < width; t++) cell(add(row, "td", { class: "fi" }), t);
  };
  const square = (kind, hidden, kept) => (cell, t) =>
    add(cell, "i", { class: `${kind} ${hidden(t) ? "no" : kept(t) ? "kept" : ""}` });
  const never = () => false, later = (t) => t > pass;
  const old = (t) => cache && t < pass, first = () => cache && pass > 0;
  line("source", source.length, (cell, t) => { cell.textContent = source[t]; });
  line("memory", source.length, square("m", never, first));
  line("its keys", source.length, square("k", never, first));
  line("its values", source.length, square("v", never, first));
  add(view.table, "tr", { class: "gap" });
  line("target", total, (cell, t) => {
    cell.textContent = later(t) ? "·" : frames[t].reads;
  });
  line("query", total, square("q", (t) => later(t) || old(t), never));
  line("keys", total, square("k", later, old));
  line("values", total, square("v", later, old));
  view.best.replaceChildren();
  for (const [word, share] of frame.best) {
    const row = add(view.best, "tr");
    add(row, "th", { scope: "row" }, word);
    bar(add(row, "td"), share, "o");
    add(row, "td", { class: "n" }, `${(100 * share).toFixed(0)}%`);
  }
  view.say.textContent = words(frame, count, total, layers, cache);
};
"""
)


# book/11-11-pages-to-look-at.ipynb, cell film-say
FILM_SCRIPT += r"""
const words = (frame, count, total, layers, cache) => {
  const shape = plain(frame.keys), what = `“${frame.best[0][0]}”`;
  const done = cache ? count : (count * (count + 1)) / 2;
  const sum = `Positions computed so far: ${done}` +
    (cache ? "." : `, where the cache needs ${count}.`);
  const answer = `The most probable next word is ${what}. ${sum}`;
  if (!cache)
    return `Pass ${count}, without a cache: the encoder runs again, and the decoder `
      + `computes all ${count} positions again, keys and values of shape ${shape} in `
      + `each of its ${layers} layers. ${answer}`;
  if (count === 1)
    return `Pass 1: the encoder has run, and its memory stays. The decoder reads `
      + `“${frame.reads}”. Each of its ${layers} layers keeps the memory's keys and `
      + `values, and those of “${frame.reads}”, of shape ${shape}. ${answer}`;
  return `Pass ${count} reads “${frame.reads}” alone. In each of the ${layers} layers `
    + `its one query meets ${count} keys, ${count - 1} of them from the cache, which `
    + `grows to ${shape}. ${answer}`;
};
"""


# book/11-11-pages-to-look-at.ipynb, cell film-begin
FILM_SCRIPT += r"""
const begin = (place) => {
  const data = JSON.parse(place.querySelector("script").textContent);
  const state = { pass: Math.min(2, data.frames.length - 1), cache: true };
  const view = { ...data, state, buttons: [] };
  place.replaceChildren();
  let playing = null;
  const stop = () => { clearInterval(playing); playing = null; };
  const button = (parent, text, change, pressed) => {
    const node = add(parent, "button", { type: "button" }, text);
    node.onclick = () => { change(); draw(view); };
    if (pressed) view.buttons.push([node, pressed]);
    return node;
  };
  const show = (pass) => () => { stop(); state.pass = pass(); };
  const group = { class: "st-row", role: "group", "aria-label": "pass" };
  const row = add(place, "div", group);
  add(row, "span", {}, "pass:");
  view.back = button(row, "←", show(() => state.pass - 1));
  data.frames.forEach((_, pass) =>
    button(row, pass + 1, show(() => pass), () => state.pass === pass));
  view.next = button(row, "→", show(() => state.pass + 1));
  button(row, "play", () => {
    if (playing) return stop();
    state.pass = 0;
    playing = setInterval(() => {
      state.pass += 1;
      if (state.pass === data.frames.length - 1) stop();
      draw(view);
    }, 1500);
  }, () => playing !== null);
  button(row, "cache", () => { state.cache = !state.cache; }, () => state.cache);
  view.back.setAttribute("aria-label", "pass before");
  view.next.setAttribute("aria-label", "next pass");
  view.say = add(place, "p", { class: "st-say", "aria-live": "polite" });
  view.table = add(add(place, "table"), "tbody");
  add(place, "p", {}, "Strong colours: computed in this pass. Pale: kept.");
  view.best = add(add(place, "table"), "tbody");
  draw(view);
};
for (const place of document.querySelectorAll(".aiayn-film:not([data-drawn])")) {
  place.dataset.drawn = "";
  begin(place);
}
})();
"""


# book/11-11-pages-to-look-at.ipynb, cell film
@dataclass(frozen=True)
class Pass:
    """One pass of the decoder: what it reads, what it has kept, what comes next."""

    reads: str
    keys: list[int]  # shape of the keys that each layer has at the end: (1, h, t, d_k)
    best: list[tuple[str, float]]


@dataclass(frozen=True)
class DecodingFilm:
    """Greedy decoding, pass by pass, to look at in a notebook (section 3.1).

    Attributes
    ----------
    source : list of str
        The words of the source.
    layers : int
        Layers of the decoder.
    frames : list of Pass
        A pass for each word written, the end mark included.
    """

    source: list[str]
    layers: int
    frames: list[Pass]

    def _repr_html_(self) -> str:
        text = json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))
        text = text.replace("<", r"\u003c")  # nothing else could end the script
        data = f'<script type="application/json">{text}</script>'
        place = f'<div class="aiayn-film">{self.table()}{data}</div>'
        script = f"<script>{FILM_SCRIPT}</script>"
        return f"<div><style>{FILM_STYLE}</style>{place}{script}</div>"

    def table(self) -> str:
        """All passes as a table in HTML, for readers without JavaScript."""
        rows = ["<tr><th>pass</th><th>reads</th><th>keys kept</th><th>next</th></tr>"]
        for number, each in enumerate(self.frames, start=1):
            word, share = each.best[0]
            cells = [each.reads, str(tuple(each.keys)), f"{word} ({share:.0%})"]
            found = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            rows.append(f'<tr><th scope="row">{number}</th>{found}</tr>')
        return f"<table>{''.join(rows)}</table>"


# book/11-11-pages-to-look-at.ipynb, cell film-of
@torch.no_grad()
def decoding_film(
    model: Transformer,
    source: Int[Tensor, "1 n"],
    words: Sequence[str],
    start: int,
    end: int,
    longest: int = 50,
) -> DecodingFilm:
    """Film greedy decoding of one source; `words` names the tokens.

    The film ends with the token `end`, or after `longest` passes.
    """
    state = model.start(source)
    token, frames = start, list[Pass]()
    while len(frames) < longest and not (frames and token == end):
        reads = words[token]
        logits = model.step(source.new_tensor([[token]]), state)
        shares, tokens = logits[0].softmax(dim=-1).topk(min(4, len(words)))
        best = [
            (words[int(each)], round(float(share), 3))
            for each, share in zip(tokens, shares, strict=True)
        ]
        kept = state.caches[0].target.kept
        assert kept is not None
        frames.append(Pass(reads, list(kept[0].shape), best))
        token = int(tokens[0])
    names = [words[token] for token in source[0].tolist()]
    return DecodingFilm(names, len(state.caches), frames)
