// The page of attention: all heads of a kind as small pictures, one of them (or all of
// its layer) large.
"use strict";
{
  const { make, button, press, drawAll, smallPicture, largest, LargePicture } = aiayn;
  const COLOURS = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a6761d", "#56b4e9", "#888888",
  ];
  const KINDS = {
    encoder: "source → source",
    decoder: "target → target",
    cross: "target → source",
  };

  // The weights of a head, a row for each word (or piece) that looks: the sum over the
  // pieces of a word that is looked at, the mean over those of a word that looks.
  const matrix = ({ kinds, sides, state, bytes }, layer, head) => {
    const [queries, keys, , heads] = kinds[state.kind];
    const [words, pieces, from] = sides[queries], [others, parts, to] = sides[keys];
    const weight = (i, j) => {
      const start = (layer * heads + head) * pieces.length * parts.length;
      return bytes[state.kind][start + i * parts.length + j] / 255;
    };
    if (state.pieces) return pieces.map((_, i) => parts.map((_, j) => weight(i, j)));
    const rows = words.map(() => others.map(() => 0));
    const size = words.map((_, q) => from.filter((each) => each === q).length);
    from.forEach((q, i) => to.forEach((k, j) => {
      rows[q][k] += weight(i, j) / size[q];
    }));
    return rows;
  };

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
        const choose = () => update(view, { layer, head });
        const named = { title: label, "aria-label": label };
        const node = button(view.grid, "", choose, named);
        const rows = matrix(view, layer, head);
        smallPicture(node, rows, rows[0].length).style.aspectRatio = "1";
        view.heads.push([node, layer, head]);
      }
    }
    view.picture.write(names(queries), names(keys));
  };

  // The choice and the weights in a sentence. `looks` holds the heads that are shown.
  const tell = ({ state, picture: { active, queries, keys } }, looks) => {
    const { kind, layer, head, every } = state;
    const heads = every ? "all heads" : `head ${head + 1}`;
    const who = `${kind} (${KINDS[kind]}), layer ${layer + 1}, ${heads}`;
    if (active === null) return `${who}. Choose a word on the left.`;
    const told = looks.map(({ each, rows }) => {
      const best = largest(rows[active], keys, every ? 1 : 4);
      const subject = every ? `head ${each + 1} ` : "";
      return `${subject}looks at ${best || "no word in particular"}`;
    });
    return `${who}. “${queries[active]}”${every ? ":" : ""} ${told.join("; ")}.`;
  };

  // What follows from a choice: lines, shades, and a sentence that says the same.
  const update = (view, change) => {
    const { state, picture } = view;
    Object.assign(state, change);
    const { layer, head, every } = state;
    if ("kind" in change || "pieces" in change) build(view);
    const shown = every
      ? view.heads.filter(([, each]) => each === layer).map(([, , each]) => each)
      : [head];
    const colour = (each) => (every ? COLOURS[each % COLOURS.length] : "");
    for (const [node, at, each] of view.heads) {
      const pressed = at === layer && shown.includes(each);
      node.setAttribute("aria-pressed", pressed);
      node.style.setProperty("--at", pressed ? colour(each) : "");
    }
    press(view.buttons);
    const looks = shown.map((each) => {
      return { each, rows: matrix(view, layer, each), colour: colour(each) };
    });
    picture.draw(looks);
    view.say.textContent = tell(view, looks);
  };

  // Put the buttons and the lists into their place.
  const begin = (place, data) => {
    const { word, ...shown } = data.show;
    const state = { ...shown, pieces: false };
    const view = { ...data, state, bytes: {}, buttons: [] };
    for (const kind in view.kinds) {
      const text = atob(view.kinds[kind][4]);
      view.bytes[kind] = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    }
    const group = (name, kind = "ai-row") =>
      make(place, "div", { class: kind, role: "group", "aria-label": name });
    const toggle = (parent, text, change, pressed) => {
      const node = button(parent, text, () => update(view, change()));
      if (pressed) view.buttons.push([node, pressed]);
    };
    const anyWord = () => Object.assign(view.picture, { word: null, over: null });
    const afresh = (change) => (anyWord(), change);
    const kinds = group("kind of attention");
    for (const kind in KINDS)
      toggle(kinds, kind, () => afresh({ kind }), () => state.kind === kind);
    view.grid = group("heads", "at-grid");
    const choices = group("what is shown");
    const every = () => ({ every: !state.every });
    toggle(choices, "all heads of the layer", every, () => state.every);
    const pieces = () => afresh({ pieces: !state.pieces });
    if (Object.values(view.sides).some(([words, parts]) => words.length < parts.length))
      toggle(choices, "pieces", pieces, () => state.pieces);
    const all = () => view.picture.choose({ word: null });
    button(choices, "all words", all);
    view.say = make(place, "p", { class: "ai-say", "aria-live": "polite" });
    view.picture = new LargePicture(place, () => update(view, {}));
    view.picture.word = word;
    view.picture.from.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      all();
    });
    if (view.unknown.length)
      make(place, "p", {}, `Unknown letters in: ${view.unknown.join(", ")}`);
    update(view, { kind: state.kind });
  };

  drawAll("aiayn-attention", begin);
}
