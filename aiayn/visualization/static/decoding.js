// Decoding as a film: each pass adds a column of the beam, and a token to the target.
"use strict";
{
  const { make, button, press, drawAll } = aiayn;
  const WIDTH = 100, GAP = 18; // of a column, as in decoding.css
  const PAUSE = 3500; // ms that a pass stays when all are played
  const percent = (share) => (share < 0.005 ? "<1%" : `${Math.round(100 * share)}%`);
  const quote = (tokens) => `“${tokens.join(" ")}”`;
  const newest = (prefix) => prefix.tokens.at(-1) ?? "<s>";

  // The hypotheses of a pass that are still in the beam at the pass shown; of the last
  // pass, those of the answer.
  const alive = ({ passes, answer }, shown) => {
    const ended = shown === passes.length - 1;
    const [last, place] = ended ? answer : [shown];
    const kept = passes.map(() => new Set());
    kept[last] = ended ? new Set([place]) : new Set(passes[shown].keys());
    for (let pass = last; pass > 0; pass--)
      for (const each of kept[pass]) kept[pass - 1].add(passes[pass][each].origin);
    return kept;
  };

  // What the beam has at a pass: the next tokens that it keeps, as pairs of place and
  // token.
  const chosen = ({ passes, answer, end }, pass) =>
    pass + 1 < passes.length
      ? passes[pass + 1].map((prefix) => [prefix.origin, newest(prefix)])
      : [[answer[1], end]];

  // The target after a pass, by the best hypothesis.
  const target = ({ passes, answer, end }, pass) =>
    pass + 1 < passes.length
      ? passes[pass + 1][0].tokens
      : [...passes[answer[0]][answer[1]].tokens, end];

  const drawPass = (view, pass, kept) => {
    const now = pass === view.state.pass;
    const column = make(view.at.beam, "div", { class: `film-pass${now ? " now" : ""}` });
    make(column, "b", {}, `pass ${pass + 1}`);
    const next = chosen(view, pass);
    return view.passes[pass].map((prefix, place) => {
      const lost = kept[pass].has(place) ? "" : " lost";
      const box = make(column, "div", { class: `film-prefix${lost}` });
      make(box, "p", {}, `${newest(prefix)} →`);
      const rows = prefix.best.map(([token, share]) => {
        const stays = next.some(([from, word]) => from === place && word === token);
        const about = { class: stays ? "kept" : "", style: `--share: ${100 * share}%` };
        const row = make(box, "div", about);
        make(row, "i", {}, token);
        make(row, "span", {}, percent(share));
        return [token, row];
      });
      return { box, lost, rows: new Map(rows) };
    });
  };

  // From each hypothesis to the token that it comes from, and from the source to the
  // best hypothesis of the pass shown.
  const drawLines = (view, columns, words) => {
    const frame = view.film.getBoundingClientRect();
    view.lines.replaceChildren();
    const line = (from, to, down, about) => {
      const [x, y] = [from[0] - frame.left, from[1] - frame.top];
      const [u, v] = [to[0] - frame.left, to[1] - frame.top];
      const bend = down
        ? `${x} ${(y + v) / 2} ${u} ${(y + v) / 2}`
        : `${(x + u) / 2} ${y} ${(x + u) / 2} ${v}`;
      make(view.lines, "path", { d: `M${x} ${y}C${bend} ${u} ${v}`, ...about });
    };
    for (const [pass, boxes] of columns)
      view.passes[pass].forEach((prefix, place) => {
        const from = columns.get(pass - 1)?.[prefix.origin].rows.get(newest(prefix));
        if (!from) return;
        const [start, end] = [from, boxes[place].box].map((node) => node.getBoundingClientRect());
        const about = { class: boxes[place].lost, "stroke-width": 1.5 };
        line([start.right, start.top + start.height / 2], [end.left, end.top + 10], false, about);
      });
    const best = columns.get(view.state.pass)[0].box.getBoundingClientRect();
    view.passes[view.state.pass][0].looks.forEach((share, place) => {
      if (share < 0.05) return;
      const word = words[place].getBoundingClientRect();
      const about = { class: "looks", "stroke-width": 1 + 4 * share, opacity: 0.3 + 0.7 * share };
      line([word.left + word.width / 2, word.bottom], [best.left + WIDTH / 2, best.top], true, about);
    });
  };

  const draw = (view, flies = false) => {
    const { passes, source, state } = view, { pass, cache } = state;
    press(view.buttons);
    view.scrubber.value = pass + 1;
    view.number.textContent = `pass ${pass + 1} of ${passes.length}`;
    view.at.source.replaceChildren();
    make(view.at.source, "b", {}, "source");
    const words = source.map((word, place) =>
      make(view.at.source, "span", { style: `--share: ${passes[pass][0].looks[place]}` }, word));

    const room = Math.floor((view.film.clientWidth + GAP) / (WIDTH + GAP));
    const kept = alive(view, pass), columns = new Map();
    view.at.beam.replaceChildren();
    for (let each = Math.max(0, pass - Math.max(room, 1) + 1); each <= pass; each++)
      columns.set(each, drawPass(view, each, kept));

    // A bar under each position that the decoder has computed: strong if in this pass.
    const written = target(view, pass);
    view.at.target.replaceChildren();
    make(view.at.target, "b", {}, "target");
    ["<s>", ...written].forEach((word, place) => {
      const kind = place > pass ? "picked" : place === pass || !cache ? "now" : "";
      make(view.at.target, "span", { class: kind }, word);
    });
    drawLines(view, columns, words);
    view.count.replaceChildren();
    const all = ((pass + 1) * (pass + 2)) / 2;
    make(view.count, "b", {}, `Positions computed: ${cache ? pass + 1 : all}`);
    view.count.append(cache ? ` (without the cache ${all})` : ` (with the cache ${pass + 1})`);
    view.say.textContent = tell(view);
    if (flies) fly(view, columns);
  };

  // The token that was picked flies from the beam to the target.
  const fly = (view, columns) => {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const word = view.at.target.lastElementChild, to = word.getBoundingClientRect();
    for (const { rows } of columns.get(view.state.pass)) {
      const from = rows.get(word.textContent);
      if (!from?.classList.contains("kept")) continue;
      const at = from.getBoundingClientRect();
      const start = `translate(${at.left - to.left}px, ${at.top - to.top}px)`;
      word.animate({ transform: [start, "none"] }, { duration: 500, easing: "ease-in-out" });
      return;
    }
  };

  const tell = (view) => {
    const { passes, source, state: { pass, cache } } = view, [best, other] = passes[pass];
    const [first, second] = best.best;
    const work = pass === 0 ? "The encoder has run once. "
      : cache ? `One new position; ${pass} from the cache. `
      : `All ${pass + 1} positions computed again. `;
    const most = source[best.looks.indexOf(Math.max(...best.looks))];
    const next = `After ${quote([newest(best)])} the decoder looks most at ${quote([most])}: `
      + `${quote([first[0]])} ${percent(first[1])}, ${quote([second[0]])} ${percent(second[1])}. `;
    if (pass === passes.length - 1)
      return `${work}${next}The translation is ${quote(target(view, pass).slice(0, -1))}`
        + (other ? `; ${quote(other.tokens)} has lost.` : ".");
    const beam = passes[pass + 1].map((prefix) => quote(prefix.tokens));
    return `${work}${next}The beam keeps ${beam.join(" and ")}.`;
  };

  // Give text and target the height that they need at most, so that nothing moves.
  const reserve = (view) => {
    const { state, passes, say, at: { target } } = view, now = state.pass;
    for (const node of [say, target]) {
      node.style.minHeight = "";
      node.most = 0;
    }
    for (state.pass = 0; state.pass < passes.length; state.pass++) {
      draw(view);
      for (const node of [say, target]) node.most = Math.max(node.most, node.offsetHeight);
    }
    for (const node of [say, target]) node.style.minHeight = `${node.most}px`;
    state.pass = now;
    draw(view);
  };

  const begin = (place, data) => {
    const state = { pass: 0, cache: true }, last = data.passes.length - 1;
    const view = { ...data, state, buttons: [], at: {} };
    let playing = null;
    const stop = () => {
      clearInterval(playing);
      playing = null;
      view.player.textContent = "play";
    };
    const show = (pass) => {
      if (pass < 0 || pass > last) return;
      const onwards = pass === state.pass + 1;
      state.pass = pass;
      if (pass === last) stop();
      draw(view, onwards);
    };
    const play = () => {
      if (playing) return stop();
      playing = setInterval(() => show(state.pass + 1), PAUSE);
      view.player.textContent = "pause";
      show(state.pass === last ? 0 : state.pass + 1);
    };
    const row = make(place, "div", { class: "ai-row", role: "group", "aria-label": "film" });
    view.player = button(row, "play", play);
    const range = { type: "range", min: 1, max: last + 1, value: 1, "aria-label": "pass" };
    view.scrubber = make(row, "input", range);
    view.scrubber.oninput = () => { stop(); show(view.scrubber.value - 1); };
    view.number = make(row, "output");
    view.buttons.push([button(row, "cache", () => {
      state.cache = !state.cache;
      draw(view);
    }), () => state.cache]);
    place.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) { stop(); show(state.pass + step); }
      else if (event.key === " " && event.target.tagName !== "BUTTON") play();
      else return;
      event.preventDefault();
    };
    view.film = make(place, "div", { class: "film" });
    view.lines = make(view.film, "svg", { class: "film-lines", "aria-hidden": "true" });
    for (const part of ["source", "beam", "target"])
      view.at[part] = make(view.film, "div", { class: `film-${part}` });
    const rows = Math.max(...data.passes.map((beam) => beam.length));
    view.at.beam.style.setProperty("--rows", rows);
    view.count = make(place, "p", { class: "film-count" });
    view.say = make(place, "p", { class: "ai-say", "aria-live": "polite" });
    let width = null;
    new ResizeObserver(() => {
      if (width !== view.film.clientWidth) reserve(view);
      width = view.film.clientWidth;
    }).observe(view.film);
    matchMedia("print").addEventListener("change", ({ matches }) => matches && show(last));
  };

  drawAll("aiayn-decoding", begin);
}
