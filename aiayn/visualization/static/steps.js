// Attention of one word and one head, step by step.
"use strict";
{
  const { make, button, press, drawAll, toolbar, number, percent, largest } = aiayn;
  const NAMES = ["products", "sums", "scores", "weights", "output"];
  const PAUSE = 2600;  // ms that a step stays when all are played
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

  // All that follows from the choice of a word and a head, in the order of the formula.
  const compute = ({ sentence: { words, Q, K, V }, state }) => {
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
    const order = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]);
    const rank = weights.map((_, j) => Math.min(order.indexOf(j), 3));
    return {
      words, q, d, dots, scaled, seen, weights, rank, parts, output, V: V[head], scale,
    };
  };

  // How long the longest bar of each sort is, for all keys, so that they can be
  // compared.
  const limits = ({ sentence: { K }, state: { head } }, { q, parts, output, dots }) => {
    const pairs = K[head].map((k) => q.map((x, i) => x * k[i]));
    const [up, down] = [1, -1].map((sign) => output.map((_, i) =>
      parts.reduce((sum, part) => sum + Math.max(0, sign * part[i]), 0)));
    return {
      q: largest([q]),
      k: largest(K[head]),
      product: largest(pairs),
      dot: largest([dots]),
      stack: largest([up, down]),
    };
  };

  // A row for each key: a button with the word, a bar and a number. The bar of a score
  // goes to either side of the middle; that of a weight begins on the left.
  const rows = (view, found, most, row) => {
    const { step, mask, word } = view.state;
    view.keys.forEach(({ node, bar, text }, j) => {
      const hidden = mask && step >= 2 && j > word;
      const score = step === 1 ? found.dots[j] : found.seen[j];
      const share = hidden ? 0 : score / most.dot / 2;
      const [left, width] = step === 0
        ? [0.5, 0]
        : step < 3 ? [0.5 + Math.min(0, share), Math.abs(share)] : [0, found.weights[j]];
      bar.style.left = percent(left);
      bar.style.width = `${100 * width}%`;
      const weight = `st-weight st-r${found.rank[j]}`;
      bar.className = step >= 3 ? weight : score < 0 ? "st-minus" : "st-plus";
      text.textContent = ["", number(found.dots[j]), number(found.seen[j]),
        percent(found.weights[j]), percent(found.weights[j])][step];
      node.classList.toggle("st-masked", hidden);
      node.tabIndex = -1;
      node.setAttribute("aria-pressed", j === row);
    });
    view.list.classList.toggle("st-shares", step >= 3);
    view.list.settle();
  };

  // Show all that follows from a choice.
  const draw = (view) => {
    const { state, sentence: { words, K } } = view, { step, word, head } = state;
    const found = compute(view), most = limits(view, found);
    const best = found.weights.indexOf(Math.max(...found.weights));
    const row = state.row ?? best;
    const k = K[head][row], products = found.q.map((x, i) => x * k[i]);
    const one = { k, products, sum: found.dots[row] };
    const names = [words[word], words[row]];
    const hear = (j) => {
      if (j !== row) change(view, { row: j });
    };
    rows(view, found, most, row);
    const seen = found.seen[row], scaled = found.scaled[row];
    const shown = { ...found, ...one, seen, scaled };
    view.stage.draw({ step, names, row, most, found: shown, hear });
    press(view.buttons);
    view.player.textContent = view.playing ? "pause" : "play";
    for (const bar of view.bars) bar.settle();
    view.say.textContent = tell(view, found, row, best);
  };

  // A sentence for each step.
  const tell = ({ sentence: { words }, state }, found, row, best) => {
    const me = `“${words[state.word]}”`, other = `“${words[row]}”`;
    const { dots, scaled, weights, d } = found, all = [
      `The query of ${me} is multiplied by the key of ${other}, component by component. `
        + "Where both have the same sign, the product is positive.",
      `The sum of the products is ${number(dots[row])}, the dot product of ${me} and `
        + `${other}. Every other key gets its sum in the same way.`,
      state.mask && row > state.word
        ? `${other} comes after ${me} and is hidden: its score becomes minus infinity.`
        : state.scale
          ? `Divided by √${d} = ${number(Math.sqrt(d))}, the score of ${other} is `
            + `${number(scaled[row])}. All scores shrink by the same factor.`
          : "The division is switched off: the sums are the scores, and the largest "
            + "takes more of the weight.",
      `The softmax turns scores into weights that sum to one. ${other} gets `
        + `${(100 * weights[row]).toFixed(1)}% of the attention of ${me}.`,
      "Each value is multiplied by its weight, and the sum is what this head passes on "
        + `for ${me}. The largest part comes from “${words[best]}”.`,
    ];
    const whose = state.mask && state.step > 1
      ? " (The encoder, whose head this is, hides nothing; the decoder does.)"
      : "";
    return all[state.step] + whose;
  };

  // Take over a choice, and let move what a new step brings.
  const change = (view, choice) => {
    const { state } = view, before = state.step;
    Object.assign(state, choice);
    if ("name" in choice) build(view);
    draw(view);
    const row = view.keys.findIndex(({ node }) => node.matches("[aria-pressed=true]"));
    const again = state.step === 0 && ("row" in choice || "word" in choice);
    if (state.step !== before || again)
      view.stage.enter(state.step, view.keys[row].text);
  };

  // What depends on the sentence: its words, as queries and as keys.
  const build = (view) => {
    const { state, data } = view;
    view.sentence = data.sentences[state.name];
    const { words } = view.sentence;
    state.word = Math.min(state.word, words.length - 1);
    view.buttons = view.buttons.filter(([node]) => !view.words.contains(node));
    view.words.querySelectorAll("button").forEach((node) => node.remove());
    words.forEach((each, word) =>
      view.choice(view.words, each, () => ({ word, row: null }), () => state.word === word));
    view.list.replaceChildren();
    view.list.style.setProperty("--rows", Math.ceil(words.length / 2));
    view.keys = words.map((each, row) => {
      const node = button(view.list, "", () => view.press({ row }), { class: "st-row" });
      make(node, "span", { class: "st-word" }, each);
      const bar = make(make(node, "span", { class: "st-track" }), "i");
      return { node, bar, text: make(node, "b") };
    });
  };

  // Play all steps once, while their picture is in view and nobody has pressed anything.
  const play = (view) => {
    const { state } = view;
    const stop = () => {
      clearInterval(view.playing);
      view.playing = null;
      view.say.setAttribute("aria-live", "polite");
    };
    const ended = () => state.step === NAMES.length - 1;
    const start = () => {
      view.say.setAttribute("aria-live", "off");  // else a voice would tell all of it
      if (ended()) change(view, { step: 0, row: null });
      if (state.step === 0) view.stage.enter(0);
      view.playing = setInterval(() => {
        change(view, { step: state.step + 1 });
        if (!ended()) return;
        seen.disconnect();
        stop();
        draw(view);
      }, PAUSE);
      draw(view);
    };
    const seen = new IntersectionObserver((entries) => {
      const { isIntersecting, intersectionRatio } = entries.at(-1);
      if (!view.playing && intersectionRatio >= 0.5) start();
      if (!view.playing || isIntersecting) return;
      stop();
      draw(view);
    }, { threshold: [0, 0.5] });
    if (!aiayn.still()) seen.observe(view.stage.node);
    for (const event of ["pointerdown", "keydown"])
      view.place.addEventListener(event, () => {
        seen.disconnect();
        view.halted = view.playing;
        if (view.playing) stop();
      }, true);
    return () => (view.halted ? draw(view) : start());
  };

  // Put the buttons into their place.
  const begin = (place, data) => {
    const sentences = Object.keys(data.sentences);
    const first = data.sentences[sentences[0]];
    const state = {
      name: sentences[0], step: 0, row: null, scale: true, mask: false,
      word: data.word, head: data.head,
    };
    const view = { place, data, state, buttons: [], bars: [], playing: null };
    view.press = (choice) => change(view, choice);
    view.choice = (parent, text, choose, pressed) => {
      const node = button(parent, text, () => change(view, choose()));
      view.buttons.push([node, pressed]);
    };
    const bar = (name) => {
      view.bars.push(toolbar(place, name));
      return view.bars.at(-1);
    };
    if (sentences.length > 1) {
      const row = bar("sentence");
      for (const name of sentences)
        view.choice(row, name, () => ({ name, row: null }), () => state.name === name);
    }
    view.words = bar("query of");
    const heads = bar("head");
    first.Q.forEach((_, head) =>
      view.choice(heads, head + 1, () => ({ head, row: null }), () => state.head === head));
    const switches = bar("switches");
    view.choice(switches, "divide by √dₖ", () => ({ scale: !state.scale }), () => state.scale);
    const mask = () => ({ mask: !state.mask, row: null });
    view.choice(switches, "hide the future", mask, () => state.mask);
    const steps = bar("step");
    NAMES.forEach((name, step) =>
      view.choice(steps, `${step + 1} ${name}`, () => ({ step }), () => state.step === step));
    view.say = make(place, "p", { class: "ai-say", "aria-live": "polite" });
    view.stage = new aiayn.Stage(place, first.Q[0][0].length);
    const about = { class: "st-keys", role: "toolbar", "aria-label": "key" };
    view.list = make(place, "div", about);
    view.list.settle = aiayn.roving(view.list, () =>
      [...view.list.children].filter((node) => !node.matches(".st-masked")));
    build(view);
    view.player = button(steps, "play", play(view));
    draw(view);
  };

  drawAll("aiayn-steps", begin);
}
