// Greedy decoding as an animation: a pass of the decoder for each word.
"use strict";
{
  const { make, button, press, drawAll, bar, group } = aiayn;
  const plain = (shape) => `(${shape.join(", ")})`;

  // Fill the table for one pass. A square is strong if its vector is computed in this
  // pass, pale if it was kept, and empty if there is none.
  const draw = (view) => {
    const { passes, source, layers, state } = view, { pass, cache } = state;
    const current = passes[pass], total = passes.length;
    press(view.buttons);
    view.back.disabled = pass === 0;
    view.next.disabled = pass === total - 1;
    view.table.replaceChildren();
    const line = (name, width, fill) => {
      const row = make(view.table, "tr");
      make(row, "th", { scope: "row" }, name);
      for (let t = 0; t < width; t++) fill(make(row, "td", { class: "fi" }), t);
    };
    const square = (kind, hidden, kept) => (cell, t) =>
      make(cell, "i", { class: `${kind} ${hidden(t) ? "no" : kept(t) ? "kept" : ""}` });
    const never = () => false, later = (t) => t > pass;
    const old = (t) => cache && t < pass, first = () => cache && pass > 0;
    line("source", source.length, (cell, t) => { cell.textContent = source[t]; });
    line("memory", source.length, square("m", never, first));
    line("its keys", source.length, square("k", never, first));
    line("its values", source.length, square("v", never, first));
    make(view.table, "tr", { class: "gap" });
    line("target", total, (cell, t) => {
      cell.textContent = later(t) ? "·" : passes[t].reads;
    });
    line("query", total, square("q", (t) => later(t) || old(t), never));
    line("keys", total, square("k", later, old));
    line("values", total, square("v", later, old));
    view.best.replaceChildren();
    for (const [word, share] of current.best) {
      const row = make(view.best, "tr");
      make(row, "th", { scope: "row" }, word);
      bar(make(row, "td"), share, "o");
      make(row, "td", { class: "n" }, `${(100 * share).toFixed(0)}%`);
    }
    view.say.textContent = tell(current, pass + 1, layers, cache);
  };

  // What happens in a pass, and how many positions have been computed so far, with a
  // cache and without.
  const tell = (current, count, layers, cache) => {
    const shape = plain(current.keys), what = `“${current.best[0][0]}”`;
    const done = cache ? count : (count * (count + 1)) / 2;
    const sum = `Positions computed so far: ${done}`
      + (cache ? "." : `, where the cache needs ${count}.`);
    const answer = `The most probable next word is ${what}. ${sum}`;
    if (!cache)
      return `Pass ${count}, without a cache: the encoder runs again, and the decoder `
        + `computes all ${count} positions again, keys and values of shape ${shape} in `
        + `each of its ${layers} layers. ${answer}`;
    if (count === 1)
      return `Pass 1: the encoder has run, and its memory stays. The decoder reads `
        + `“${current.reads}”. Each of its ${layers} layers keeps the memory's keys and `
        + `values, and those of “${current.reads}”, of shape ${shape}. ${answer}`;
    return `Pass ${count} reads “${current.reads}” alone. In each of the ${layers} layers `
      + `its one query meets ${count} keys, ${count - 1} of them from the cache, which `
      + `grows to ${shape}. ${answer}`;
  };

  // Put the buttons into their place, and show the third pass, where there is something
  // to see in the cache.
  const begin = (place, data) => {
    const state = { pass: Math.min(2, data.passes.length - 1), cache: true };
    const view = { ...data, state, buttons: [] };
    let playing = null;
    const stop = () => { clearInterval(playing); playing = null; };
    const choice = (parent, text, change, pressed) => {
      const node = button(parent, text, () => { change(); draw(view); });
      if (pressed) view.buttons.push([node, pressed]);
      return node;
    };
    const show = (pass) => () => { stop(); state.pass = pass(); };
    const row = group(place, "pass");
    view.back = choice(row, "←", show(() => state.pass - 1));
    data.passes.forEach((_, pass) =>
      choice(row, pass + 1, show(() => pass), () => state.pass === pass));
    view.next = choice(row, "→", show(() => state.pass + 1));
    choice(row, "play", () => {
      if (playing) return stop();
      state.pass = 0;
      playing = setInterval(() => {
        state.pass += 1;
        if (state.pass === data.passes.length - 1) stop();
        draw(view);
      }, 1500);
    }, () => playing !== null);
    choice(row, "cache", () => { state.cache = !state.cache; }, () => state.cache);
    view.back.setAttribute("aria-label", "pass before");
    view.next.setAttribute("aria-label", "next pass");
    view.say = make(place, "p", { class: "ai-say", "aria-live": "polite" });
    view.table = make(make(place, "table"), "tbody");
    make(place, "p", {}, "Strong colours: computed in this pass. Pale: kept.");
    view.best = make(make(place, "table"), "tbody");
    draw(view);
  };

  drawAll("aiayn-decoding", begin);
}
