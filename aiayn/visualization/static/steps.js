// Attention of one word and one head, step by step.
"use strict";
{
  const { make, button, press, drawAll, bar, group } = aiayn;
  const NAMES = ["dot products", "scale", "mask", "softmax", "weighted sum"];
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const number = (x) => (x === -Infinity ? "−∞" : x.toFixed(2).replace("-", "−"));

  // A vector as a strip: a bar for each component, up or down, in the colour of its
  // kind.
  const strip = (parent, vector, colour, most) => {
    const width = 5 * vector.length;
    const svg = make(parent, "svg", { width, height: 28, role: "img" });
    svg.setAttribute("aria-label", vector.map(number).join(", "));
    vector.forEach((x, i) => {
      const height = Math.min(1, Math.abs(x) / most) * 14;
      const y = x > 0 ? 14 - height : 14;
      make(svg, "rect", { x: 5 * i, y, width: 4, height, fill: `var(--${colour})` });
    });
    make(svg, "line", { x1: 0, x2: width, y1: 14, y2: 14, stroke: "var(--line)" });
  };

  // All that follows from the choice of a word and a head, in the order of the formula.
  const compute = ({ Q, K, V, state }) => {
    const { head, word, scale, mask } = state;
    const q = Q[head][word], d = q.length;
    const dots = K[head].map((k) => dot(q, k));
    const scaled = scale ? dots.map((s) => s / Math.sqrt(d)) : dots;
    const seen = mask ? scaled.map((s, j) => (j > word ? -Infinity : s)) : scaled;
    const top = Math.max(...seen);
    const powers = seen.map((s) => Math.exp(s - top));
    const total = powers.reduce((a, b) => a + b, 0);
    const weights = powers.map((p) => p / total);
    const parts = V[head].map((v, j) => v.map((x) => x * weights[j]));
    const output = parts.reduce((sum, part) => sum.map((x, i) => x + part[i]));
    return { q, d, dots, scaled, seen, weights, parts, output };
  };

  // Fill the table anew after a choice. What belongs to a later step is hidden, but
  // keeps its space.
  const draw = (view) => {
    const { words, K, V, state } = view;
    const { step, word, head } = state;
    const found = compute(view);
    const largest = (rows) => Math.max(...rows.flat().map(Math.abs));
    const most = { q: largest(view.Q[head]), k: largest(K[head]), v: largest(V[head]) };
    const show = (from) => (step >= from ? "" : "st-hidden");
    // a phone has room for one of these two
    const [raw, scaled] = step === 0 ? ["", "st-wide"] : ["st-wide", ""];
    press(view.buttons);
    view.back.disabled = step === 0;
    view.next.disabled = step === NAMES.length - 1;
    const best = found.weights.indexOf(Math.max(...found.weights));
    const row = state.row ?? best;
    view.query.replaceChildren();
    make(view.query, "span", {}, `query of “${words[word]}”, head ${head + 1}:`);
    strip(view.query, found.q, "q", most.q);
    const table = view.table;
    table.replaceChildren();
    const heads = make(make(table, "thead"), "tr");
    const titles = [
      ["", 0], ["key", 0], ["q · k", 0, raw], [`÷ √${found.d}`, 1, scaled],
      ["weight", 3], ["", 3, "st-wide"], ["value", 4], ["weight × value", 4, "st-wide"],
    ];
    for (const [title, from, wide = ""] of titles)
      make(heads, "th", { scope: "col", class: `${show(from)} ${wide}` }, title);
    const body = make(table, "tbody");
    words.forEach((each, j) => {
      const line = make(body, "tr", j === row ? { "data-on": "" } : {});
      const masked = state.mask && step >= 2 && j > word;
      make(line, "th", { scope: "row", class: masked ? "st-masked" : "" }, each);
      const cell = (from, kind = "", text = "") =>
        make(line, "td", { class: `${kind} ${show(from)}` }, text);
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
    view.output.className = `ai-row ${show(4)}`;
    make(view.output, "span", {}, `output for “${words[word]}”, the sum:`);
    strip(view.output, found.output, "o", most.v);
    view.say.textContent = tell(view, found, row, best);
  };

  // A sentence for each step.
  const tell = ({ words, state }, found, row, best) => {
    const me = `“${words[state.word]}”`, other = `“${words[row]}”`;
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
        : row > state.word
          ? `${other} comes after ${me} and is hidden: its score becomes minus infinity.`
          : `${other} does not come after ${me}, so it stays visible.`,
      `The softmax turns scores into weights that sum to one. ${other} gets `
        + `${(100 * found.weights[row]).toFixed(1)}% of the attention of ${me}.`,
      "Each value is multiplied by its weight, and the sum is what this head passes on "
        + `for ${me}. The largest part comes from “${words[best]}”.`,
    ];
    return all[state.step];
  };

  // Put the buttons into their place.
  const begin = (place, data) => {
    const state = {
      step: 4, row: null, scale: true, mask: false, word: data.word, head: data.head,
    };
    const view = { ...data, state, buttons: [] };
    const choice = (parent, text, change, pressed) => {
      const node = button(parent, text, () => {
        Object.assign(state, change());
        draw(view);
      });
      if (pressed) view.buttons.push([node, pressed]);
      return node;
    };
    const words = group(place, "word");
    data.words.forEach((each, word) =>
      choice(words, each, () => ({ word, row: null }), () => state.word === word));
    const heads = group(place, "head");
    data.Q.forEach((_, head) =>
      choice(heads, head + 1, () => ({ head, row: null }), () => state.head === head));
    choice(heads, "scale", () => ({ scale: !state.scale }), () => state.scale);
    const mask = () => ({ mask: !state.mask, row: null });
    choice(heads, "causal mask", mask, () => state.mask);
    const steps = group(place, "step");
    view.back = choice(steps, "←", () => ({ step: state.step - 1 }));
    NAMES.forEach((name, step) =>
      choice(steps, name, () => ({ step }), () => state.step === step));
    view.next = choice(steps, "→", () => ({ step: state.step + 1 }));
    view.back.setAttribute("aria-label", "step back");
    view.next.setAttribute("aria-label", "next step");
    view.say = make(place, "p", { class: "ai-say", "aria-live": "polite" });
    view.query = make(place, "div", { class: "ai-row" });
    view.table = make(place, "table");
    view.output = make(place, "div");
    draw(view);
  };

  drawAll("aiayn-steps", begin);
}
