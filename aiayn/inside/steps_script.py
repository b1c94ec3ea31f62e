"""The style sheet and the script of that picture.

From "Pages to look at":
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-11-pages-to-look-at.ipynb, cell steps-style
STYLE = """
.aiayn-steps {
  --q: var(--aiayn-query, #2f7fd0);
  --k: var(--aiayn-key, #d0473a);
  --v: var(--aiayn-value, #1a9e6b);
  --o: var(--aiayn-output, #b8860b);
  --line: color-mix(in srgb, currentColor 25%, transparent);
  font: 14px/1.5 system-ui, sans-serif;
  max-width: 44rem;
  text-align: left;
}
.aiayn-steps .st-row {
  align-items: center;
  display: flex;
  flex-wrap: wrap;
  gap: 0.35em;
  margin: 0.5em 0;
}
.aiayn-steps button {
  background: none;
  border: 1px solid var(--line);
  border-radius: 4px;
  color: inherit;
  cursor: pointer;
  font: inherit;
  margin: 0;
  padding: 0.1em 0.5em;
}
.aiayn-steps button[aria-pressed=true] {
  background: color-mix(in srgb, var(--q) 22%, transparent);
  border-color: var(--q);
}
.aiayn-steps button[disabled] { cursor: default; opacity: 0.4; }
.aiayn-steps :focus-visible { outline: 2px solid var(--q); outline-offset: 1px; }
"""


# book/11-11-pages-to-look-at.ipynb, cell steps-style-table
STYLE += """
.aiayn-steps table {
  border-collapse: collapse;
  display: table;
  margin: 0.3em 0;
  width: auto;
}
.aiayn-steps :is(th, td, caption) {
  background: none;
  border: 0;
  font-weight: 400;
  padding: 0.1em 0.5em 0.1em 0;
  text-align: left;
  vertical-align: middle;
  white-space: nowrap;
}
.aiayn-steps thead th {
  border-bottom: 1px solid var(--line);
  font-size: 12px;
  vertical-align: bottom;
}
.aiayn-steps tbody tr[data-on] {
  background: color-mix(in srgb, currentColor 8%, transparent);
}
.aiayn-steps td.n { font-variant-numeric: tabular-nums; text-align: right; }
.aiayn-steps .st-hidden { visibility: hidden; }
.aiayn-steps .st-masked { opacity: 0.35; }
.aiayn-steps svg { display: block; }
.aiayn-steps .st-say { margin: 0.4em 0; min-height: 4.5em; }
@media (max-width: 520px) {
  .aiayn-steps :is(th, td) { padding-right: 0.3em; }
  .aiayn-steps .st-wide { display: none; }
}
"""


# book/11-11-pages-to-look-at.ipynb, cell steps-script
TOOLS = r"""
const SVG = "http://www.w3.org/2000/svg";
const add = (parent, tag, attributes = {}, text = "") => {
  const drawn = ["svg", "rect", "line"].includes(tag);
  const node = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  node.textContent = text;  // never as HTML: the words are the reader's
  parent.append(node);
  return node;
};
const bar = (parent, share, colour) => {
  const svg = add(parent, "svg", { width: 50, height: 12, "aria-hidden": "true" });
  add(svg, "rect", { width: 50 * share, height: 12, fill: `var(--${colour})` });
};
"""
SCRIPT = (
    "(() => {"
    + TOOLS
    + r"""
const NAMES = ["dot products", "scale", "mask", "softmax", "weighted sum"];
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const number = (x) => x === -Infinity ? "−∞" : x.toFixed(2).replace("-", "−");

// A vector as a strip: a bar for each component, up or down, in the colour of its kind.
const strip = (parent, vector, colour, most) => {
  const width = 5 * vector.length;
  const svg = add(parent, "svg", { width, height: 28, role: "img" });
  svg.setAttribute("aria-label", vector.map(number).join(", "));
  vector.forEach((x, i) => {
    const height = Math.min(1, Math.abs(x) / most) * 14;
    const y = x > 0 ? 14 - height : 14;
    add(svg, "rect", { x: 5 * i, y, width: 4, height, fill: `var(--${colour})` });
  });
  add(svg, "line", { x1: 0, x2: width, y1: 14, y2: 14, stroke: "var(--line)" });
};
"""
)


# book/11-11-pages-to-look-at.ipynb, cell steps-compute
SCRIPT += r"""
// All that follows from the choice of a word and a head, in the order of the formula.
const compute = ({ Q, K, V, state }) => {
  const { head, word, scale, mask } = state;
  const q = Q[head][word], d = q.length;
  const dots = K[head].map((k) => dot(q, k));
  const scaled = scale ? dots.map((s) => s / Math.sqrt(d)) : dots;
  const seen = mask ? scaled.map((s, j) => j > word ? -Infinity : s) : scaled;
  const top = Math.max(...seen);
  const powers = seen.map((s) => Math.exp(s - top));
  const total = powers.reduce((a, b) => a + b, 0);
  const weights = powers.map((p) => p / total);
  const parts = V[head].map((v, j) => v.map((x) => x * weights[j]));
  const output = parts.reduce((sum, part) => sum.map((x, i) => x + part[i]));
  return { q, d, dots, scaled, seen, weights, parts, output };
};
"""


# book/11-11-pages-to-look-at.ipynb, cell steps-draw
SCRIPT += r"""
const draw = (view) => {
  const { words, K, V, state } = view;
  const { step, word, head } = state;
  const found = compute(view);
  const largest = (rows) => Math.max(...rows.flat().map(Math.abs));
  const most = { q: largest(view.Q[head]), k: largest(K[head]), v: largest(V[head]) };
  const show = (from) => step >= from ? "" : "st-hidden";
  // a phone has room for one of these two
  const [raw, scaled] = step === 0 ? ["", "st-wide"] : ["st-wide", ""];
  for (const [button, pressed] of view.buttons)
    button.setAttribute("aria-pressed", pressed());
  view.back.disabled = step === 0;
  view.next.disabled = step === NAMES.length - 1;
  const best = found.weights.indexOf(Math.max(...found.weights));
  const row = state.row ?? best;
  view.query.replaceChildren();
  add(view.query, "span", {}, `query of “${words[word]}”, head ${head + 1}:`);
  strip(view.query, found.q, "q", most.q);
  const table = view.table;
  table.replaceChildren();
  const heads = add(add(table, "thead"), "tr");
  const titles = [
    ["", 0], ["key", 0], ["q · k", 0, raw], [`÷ √${found.d}`, 1, scaled],
    ["weight", 3], ["", 3, "st-wide"], ["value", 4], ["weight × value", 4, "st-wide"],
  ];
  for (const [title, from, wide = ""] of titles)
    add(heads, "th", { scope: "col", class: `${show(from)} ${wide}` }, title);
  const body = add(table, "tbody");
  words.forEach((each, j) => {
    const line = add(body, "tr", j === row ? { "data-on": "" } : {});
    const masked = state.mask && step >= 2 && j > word;
    add(line, "th", { scope: "row", class: masked ? "st-masked" : "" }, each);
    const cell = (from, kind = "", text = "") =>
      add(line, "td", { class: `${kind} ${show(from)}` }, text);
    strip(cell(0), K[head][j], "k", most.k);
    cell(0, `n ${raw}`, number(found.dots[j]));
    cell(1, `n ${scaled}`, number(step >= 2 ? found.seen[j] : found.scaled[j]));
    cell(3, "n", `${(100 * found.weights[j]).toFixed(0)}%`);
    bar(cell(3, "st-wide"), found.weights[j], "q");
    strip(cell(4), V[head][j], "v", most.v);
    strip(cell(4, "st-wide"), found.parts[j], "o", most.v);
    line.onmouseenter = () => {
      if (state.row === j) return;
      state.row = j;
      draw(view);
    };
  });
  view.output.replaceChildren();
  view.output.className = `st-row ${show(4)}`;
  add(view.output, "span", {}, `output for “${words[word]}”, the sum:`);
  strip(view.output, found.output, "o", most.v);
"""


# book/11-11-pages-to-look-at.ipynb, cell steps-say
SCRIPT += r"""
  const me = `“${words[word]}”`, other = `“${words[row]}”`;
  const all = [
    `The query of ${me} times the key of ${other} is ${number(found.dots[row])}. `
      + "A large product means that the two match.",
    state.scale
      ? `Divided by √${found.d} = ${number(Math.sqrt(found.d))}, the score of ${other} `
        + `is ${number(found.scaled[row])}.`
      : "The scale is switched off: scores stay as they are.",
    !state.mask
      ? "The encoder has no mask but for padding: every word sees all others. "
        + "Switch the causal mask on to see what a decoder does."
      : row > word
        ? `${other} comes after ${me} and is hidden: its score becomes minus infinity.`
        : `${other} does not come after ${me}, so it stays visible.`,
    `The softmax turns scores into weights that sum to one. ${other} gets `
      + `${(100 * found.weights[row]).toFixed(1)}% of the attention of ${me}.`,
    "Each value is multiplied by its weight, and the sum is what this head passes on "
      + `for ${me}. The largest part comes from “${words[best]}”.`,
  ];
  view.say.textContent = all[step];
};
"""


# book/11-11-pages-to-look-at.ipynb, cell steps-begin
SCRIPT += r"""
const begin = (place) => {
  const data = JSON.parse(place.querySelector("script").textContent);
  const state = {
    step: 4, row: null, scale: true, mask: false, word: data.word, head: data.head,
  };
  const view = { ...data, state, buttons: [] };
  place.replaceChildren();
  const group = (name) => {
    const attributes = { class: "st-row", role: "group", "aria-label": name };
    const row = add(place, "div", attributes);
    add(row, "span", {}, `${name}:`);
    return row;
  };
  const button = (parent, text, change, pressed) => {
    const node = add(parent, "button", { type: "button" }, text);
    node.onclick = () => {
      Object.assign(state, change());
      draw(view);
    };
    if (pressed) view.buttons.push([node, pressed]);
    return node;
  };
  const words = group("word");
  data.words.forEach((each, word) =>
    button(words, each, () => ({ word, row: null }), () => state.word === word));
  const heads = group("head");
  data.Q.forEach((_, head) =>
    button(heads, head + 1, () => ({ head, row: null }), () => state.head === head));
  button(heads, "scale", () => ({ scale: !state.scale }), () => state.scale);
  const mask = () => ({ mask: !state.mask, row: null });
  button(heads, "causal mask", mask, () => state.mask);
  const steps = group("step");
  view.back = button(steps, "←", () => ({ step: state.step - 1 }));
  NAMES.forEach((name, step) =>
    button(steps, name, () => ({ step }), () => state.step === step));
  view.next = button(steps, "→", () => ({ step: state.step + 1 }));
  view.back.setAttribute("aria-label", "step back");
  view.next.setAttribute("aria-label", "next step");
  view.say = add(place, "p", { class: "st-say", "aria-live": "polite" });
  view.query = add(place, "div", { class: "st-row" });
  view.table = add(place, "table");
  view.output = add(place, "div");
  draw(view);
};

for (const place of document.querySelectorAll(".aiayn-steps:not([data-drawn])")) {
  place.dataset.drawn = "";
  begin(place);
}
})();
"""
