"""The script of the attention maps.

From "Pages to look at":
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-11-pages-to-look-at.ipynb, cell script-matrix
SCRIPT = """(() => {
const COLOURS = [
  "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a6761d", "#56b4e9", "#888888",
];
const KINDS = {
  encoder: "source → source",
  decoder: "target → target",
  cross: "target → source",
};
const percent = (weight) => `${Math.round(100 * weight)}%`;

const make = (parent, tag, attributes = {}, text = "") => {
  const drawn = ["svg", "path", "rect"].includes(tag);
  const space = drawn ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const node = document.createElementNS(space, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  node.textContent = text;  // never as HTML: the words are the reader's
  parent.append(node);
  return node;
};

// The weights of a head, a row for each word (or piece) that looks: the sum over the
// pieces of a word that is looked at, the mean over those of a word that looks.
const matrix = ({ kinds, sides, state, bytes }, layer, head) => {
  const [queries, keys, , heads] = kinds[state.kind];
  const [words, pieces, from] = sides[queries], [others, parts, to] = sides[keys];
  if (state.pieces) return pieces.map((_, i) => parts.map((_, j) => weight(i, j)));
  const rows = words.map(() => others.map(() => 0));
  const size = words.map((_, q) => from.filter((each) => each === q).length);
  from.forEach((q, i) => to.forEach((k, j) => rows[q][k] += weight(i, j) / size[q]));
  return rows;

  function weight(i, j) {
    const start = (layer * heads + head) * pieces.length * parts.length;
    return bytes[state.kind][start + i * parts.length + j] / 255;
  }
};
"""


# book/11-11-pages-to-look-at.ipynb, cell script-build
SCRIPT += """
// One small picture for each head, and the words on both sides: made anew for another
// kind of attention.
const build = (view) => {
  const { kinds, sides, state } = view;
  const [queries, keys, layers, heads] = kinds[state.kind];
  const names = (side) => sides[side][state.pieces ? 1 : 0];
  view.grid.replaceChildren();
  view.grid.style.gridTemplateColumns = `auto repeat(${heads}, minmax(16px, 72px))`;
  view.heads = [];
  for (let layer = 0; layer < layers; layer++) {
    make(view.grid, "span", {}, `layer ${layer + 1}`);
    for (let head = 0; head < heads; head++) {
      const label = `layer ${layer + 1}, head ${head + 1}`;
      const button = make(view.grid, "button", {
        type: "button",
        title: label,
        "aria-label": label,
      });
      const rows = matrix(view, layer, head);
      const svg = make(button, "svg", {
        viewBox: `0 0 ${rows[0].length} ${rows.length}`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      });
      svg.style.aspectRatio = "1";
      rows.forEach((row, y) => row.forEach((weight, x) => {
        if (weight <= 0.05) return;
        const opacity = weight.toFixed(2);
        make(svg, "rect", { x, y, width: 1, height: 1, opacity });
      }));
      button.onclick = () => update(view, { layer, head });
      view.heads.push([button, layer, head]);
    }
  }
  view.from.replaceChildren();
  view.to.replaceChildren();
  names(queries).forEach((word, index) => {
    const item = make(view.from, "li", { role: "option", title: word }, word);
    item.onfocus = () => update(view, { word: index });
    item.onmouseenter = () => update(view, { over: index });
    item.onmouseleave = () => update(view, { over: null });
  });
  for (const word of names(keys)) {
    const item = make(view.to, "li", { title: word }, word);
    make(item, "small");
  }
  view.size = Math.max(names(queries).length, names(keys).length);
  view.svg.setAttribute("viewBox", `0 0 100 ${view.size}`);
  view.svg.style.height = `${1.6 * view.size}em`;
};
"""


# book/11-11-pages-to-look-at.ipynb, cell script-tell
SCRIPT += """
// `looks` holds the heads that are shown, each with its weights; `active` is the word
// that looks, or null.
const tell = (view, looks, active) => {
  const { kind, layer, head, every } = view.state;
  const heads = every ? "all heads" : `head ${head + 1}`;
  const who = `${kind} (${KINDS[kind]}), layer ${layer + 1}, ${heads}`;
  if (active === null) return `${who}. Choose a word on the left.`;
  const words = [...view.to.children].map((item) => item.title);
  const best = (rows, n) =>
    rows[active]
      .map((weight, j) => [weight, words[j]])
      .sort((a, b) => b[0] - a[0])
      .slice(0, n)
      .filter(([weight]) => weight >= 0.05)
      .map(([weight, word]) => `${word} ${percent(weight)}`)
      .join(", ") || "no word in particular";
  const told = looks.map(([each, rows]) =>
    every ? `head ${each + 1} looks at ${best(rows, 1)}` : `looks at ${best(rows, 4)}`);
  const word = `“${view.from.children[active].title}”`;
  return `${who}. ${word}${every ? ":" : ""} ${told.join("; ")}.`;
};
"""


# book/11-11-pages-to-look-at.ipynb, cell script-update
SCRIPT += """
// What follows from the choice of a head and a word: lines, shades, and a sentence that
// says the same.
const update = (view, change) => {
  const state = Object.assign(view.state, change);
  const { layer, head, every } = state;
  if ("kind" in change || "pieces" in change) build(view);
  const active = state.over ?? state.word;
  const shown = every
    ? view.heads.filter(([, each]) => each === layer).map(([, , each]) => each)
    : [head];
  const looks = shown.map((each) => [each, matrix(view, layer, each)]);
  for (const [button, at, each] of view.heads) {
    const pressed = at === layer && shown.includes(each);
    button.setAttribute("aria-pressed", pressed);
    const colour = every && pressed ? COLOURS[each % COLOURS.length] : "";
    button.style.setProperty("--at", colour);
  }
  for (const [button, pressed] of view.buttons)
    button.setAttribute("aria-pressed", pressed());
  [...view.from.children].forEach((item, index) => {
    item.setAttribute("aria-selected", index === active);
    item.tabIndex = index === (state.word ?? 0) ? 0 : -1;
  });
  view.svg.replaceChildren();
  looks.forEach(([each, rows], k) => {
    const shift = 0.15 * (k - (looks.length - 1) / 2);
    rows.forEach((row, i) => row.forEach((weight, j) => {
      if (weight < 0.03 || (active !== null && active !== i)) return;
      const from = i + 0.5 + shift, to = j + 0.5 + shift;
      const line = `M0 ${from}C40 ${from} 60 ${to} 100 ${to}`;
      const opacity = (0.2 + 0.8 * weight).toFixed(2);
      const path = make(view.svg, "path", { d: line, opacity });
      path.style.strokeWidth = `${(0.5 + 5 * weight).toFixed(1)}px`;
      if (every) path.style.setProperty("--at", COLOURS[each % COLOURS.length]);
    }));
  });
  const most = active === null ? [] : looks.map(([, rows]) => rows[active]);
  [...view.to.children].forEach((item, j) => {
    const weight = Math.max(0, ...most.map((row) => row[j]));
    item.style.setProperty("--seen", weight.toFixed(2));
    item.lastChild.textContent = weight < 0.05 ? "" : ` ${percent(weight)}`;
  });
  view.say.textContent = tell(view, looks, active);
};
"""


# book/11-11-pages-to-look-at.ipynb, cell script-draw
SCRIPT += """
const draw = (place) => {
  const data = JSON.parse(place.querySelector("script").textContent);
  const state = { ...data.show, pieces: false, over: null };
  const view = { ...data, state, bytes: {}, buttons: [] };
  for (const kind in view.kinds) {
    const text = atob(view.kinds[kind][4]);
    view.bytes[kind] = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  }
  place.replaceChildren();
  const group = (name, kind = "at-row") =>
    make(place, "div", { class: kind, role: "group", "aria-label": name });
  const button = (parent, text, change, pressed) => {
    const node = make(parent, "button", { type: "button" }, text);
    node.onclick = () => update(view, change());
    if (pressed) view.buttons.push([node, pressed]);
  };
  const kinds = group("kind of attention");
  const none = { word: null, over: null };
  for (const kind in KINDS)
    button(kinds, kind, () => ({ kind, ...none }), () => state.kind === kind);
  view.grid = group("heads", "at-grid");
  const choices = group("what is shown");
  const every = () => ({ every: !state.every });
  button(choices, "all heads of the layer", every, () => state.every);
  const pieces = () => ({ pieces: !state.pieces, ...none });
  if (Object.values(view.sides).some(([words, parts]) => words.length < parts.length))
    button(choices, "pieces", pieces, () => state.pieces);
  button(choices, "all words", () => ({ word: null }));
  view.say = make(place, "p", { class: "at-say", "aria-live": "polite" });
  const large = make(place, "div", { class: "at-large" });
  view.from = make(large, "ul", { role: "listbox", "aria-label": "words that look" });
  view.svg = make(large, "svg", { preserveAspectRatio: "none", "aria-hidden": "true" });
  const seen = { class: "at-seen", "aria-label": "words that are looked at" };
  view.to = make(large, "ul", seen);
  if (view.unknown.length)
    make(place, "p", {}, `Unknown letters in: ${view.unknown.join(", ")}`);
  view.from.onkeydown = (event) => {
    const last = view.from.children.length - 1, at = state.word ?? 0;
    const next = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: last,
      Escape: at,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();  // Jupyter moves between cells by these keys
    view.from.children[Math.min(last, Math.max(0, next))].focus();
    if (event.key === "Escape") update(view, { word: null });
  };
  update(view, { kind: state.kind });
};
"""


# book/11-11-pages-to-look-at.ipynb, cell script-each
SCRIPT += """
for (const place of document.querySelectorAll(".aiayn-attention:not([data-drawn])")) {
  place.dataset.drawn = "";
  const folded = place.closest("details:not([open])");
  if (folded) folded.addEventListener("toggle", () => draw(place), { once: true });
  else draw(place);
}
})();
"""
