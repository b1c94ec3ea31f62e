// Where the steps of attention are seen: the query and one key number by number, the
// weights as areas, and the weighted values in a stack.
"use strict";
{
  const { make } = aiayn;
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const number = (x) => (x === -Infinity ? "−∞" : x.toFixed(2).replace("-", "−"));
  const VIEWS = ["pair", "pair", "pair", "areas", "sum"];  // what a step is seen in
  const NAMED = 3;  // words with a colour of their own: those of the largest weights
  const percent = (x) => `${(100 * x).toFixed(0)}%`;
  const largest = (rows) => Math.max(...rows.flat().map(Math.abs), 1e-9);
  Object.assign(aiayn, { still, number, percent, largest });

  // Let something grow, or fly, unless the reader wants no motion.
  const move = (node, frames, delay = 0, duration = 450) => {
    if (still()) return;
    const easing = "cubic-bezier(0.2, 0.7, 0.3, 1)";
    node.animate(frames, { delay, duration, easing, fill: "backwards" });
  };

  // A bar from the middle of its cell, up or down.
  const stand = (bar, share) => {
    bar.style.height = `${50 * Math.abs(share)}%`;
    bar.style.top = `${50 - 50 * Math.max(0, share)}%`;
    bar.className = share < 0 ? "st-minus" : "st-plus";
  };

  // A band: a heading, and a cell with bar and number for each component.
  class Band {
    constructor(parent, kind, d) {
      this.node = make(parent, "div", { class: `st-band st-${kind}` });
      this.title = make(this.node, "p");
      this.row = make(this.node, "div", { class: "st-cells" });
      this.cells = Array.from({ length: d }, () => {
        const cell = make(this.row, "span", { class: "st-cell" });
        const box = make(cell, "span", { class: "st-box" });
        return { cell, box, bar: make(box, "i"), text: make(cell, "b") };
      });
    }

    show(title, vector, most) {
      this.title.textContent = title;
      this.cells.forEach(({ bar, text }, i) => {
        stand(bar, vector[i] / most);
        text.textContent = number(vector[i]);
      });
    }

    grow() {
      this.cells.forEach(({ bar }, i) => move(bar, { transform: ["scaleY(0)", "none"] }, 60 * i));
    }

    // Name each component, and say its numbers where the pointer or the focus is.
    name(texts, hear) {
      this.cells.forEach(({ cell }, i) => {
        cell.setAttribute("role", "img");
        cell.setAttribute("aria-label", texts[i]);
        cell.onmouseenter = cell.onfocus = () => hear(i, texts[i]);
      });
      this.settle ??= aiayn.roving(this.row, () => this.cells.map(({ cell }) => cell));
      this.settle();
    }
  }

  aiayn.Stage = class Stage {
    constructor(parent, d) {
      const stage = this.node = make(parent, "div", { class: "st-stage" });
      stage.style.setProperty("--d", d);
      const view = (name) => make(stage, "div", { class: `st-view st-${name}` });
      this.views = { pair: view("pair"), areas: view("areas"), sum: view("sum") };
      const { pair, areas, sum } = this.views;
      this.query = new Band(pair, "query", d);
      this.key = new Band(pair, "key", d);
      this.products = new Band(pair, "products", d);
      this.total = make(pair, "p", { class: "st-total" });
      this.areasTitle = make(areas, "p");
      this.areas = make(areas, "div", { class: "st-slabs", "aria-hidden": "true" });
      this.output = new Band(sum, "output", d);
      this.readout = make(parent, "p", { class: "st-read" });
      this.bands = [this.query, this.key, this.products, this.output];
    }

    // Show what belongs to a step. `found` holds all numbers, `key` the chosen one.
    draw({ step, names: [query, key], row, most, found, hear }) {
      for (const name in this.views)
        this.views[name].classList.toggle("st-hidden", name !== VIEWS[step]);
      this.readout.textContent = "Point at a bar or tap it for its numbers, or go there with Tab.";
      const read = (i, text) => {
        this.readout.textContent = text;
        for (const { cells } of this.bands)
          cells.forEach(({ cell }, at) => cell.toggleAttribute("data-on", at === i));
      };
      for (const { cells } of this.bands)
        for (const { cell } of cells) cell.removeAttribute("data-on");
      const { q, k, products } = found;
      this.query.show(`query of “${query}”`, q, most.q);
      this.key.show(`key of “${key}”`, k, most.k);
      this.products.show("products: up adds, down takes away", products, most.product);
      const texts = products.map((x, i) =>
        `Component ${i + 1}: ${number(q[i])} × ${number(k[i])} = ${number(x)}`);
      this.products.name(texts, read);
      this.slabs(found, row, hear);
      this.stack(found, query, most, read);
      this.total.replaceChildren();
      this.total.classList.toggle("st-hidden", step === 0);
      const { sum, scaled, seen, d, scale } = found;
      const parts = step < 2
        ? ["the sum: ", number(sum)]
        : [`${number(sum)} ${scale ? `÷ √${d}` : "as it is"} = `,
          seen === -Infinity ? `${number(scaled)}, hidden: −∞` : number(scaled)];
      this.total.append(parts[0]);
      this.sum = make(this.total, "b", {}, parts[1]);
    }

    // The weights as areas of one box. The largest have the strongest colours.
    slabs({ weights, words, rank }, row, hear) {
      this.areasTitle.textContent = "The weights share one area: together 100%";
      this.areas.replaceChildren();
      weights.forEach((weight, j) => {
        const about = { class: `st-slab st-r${rank[j]}` };
        const slab = make(this.areas, "div", about);
        slab.style.flexGrow = weight;
        slab.toggleAttribute("data-on", j === row);
        slab.onmouseenter = () => hear(j);
        if (weight < 0.09) return;
        make(slab, "span", {}, words[j]);
        make(slab, "b", {}, percent(weight));
      });
    }

    // Each component of the output: the weighted values on each other, and their sum.
    // Words of small weights are one piece above and one below.
    stack({ parts, output, weights, words, V, rank }, query, most, read) {
      const order = rank.map((_, j) => j).sort((a, b) => rank[a] - rank[b]);
      const named = order.slice(0, NAMED), others = order.slice(NAMED), texts = [];
      this.legend(named.map((j) => `${words[j]} ${percent(weights[j])}`), others, query);
      this.output.cells.forEach(({ box, bar, text }, i) => {
        text.textContent = number(output[i]);
        bar.className = "st-line";
        bar.style.top = `${50 - (50 * output[i]) / most.stack}%`;
        box.replaceChildren();
        const ends = [0, 0];
        const pile = (x, kind) => {
          const share = x / most.stack, side = Number(x < 0);
          const piece = make(box, "i", { class: `st-piece st-r${kind}` });
          piece.style.height = `${50 * Math.abs(share)}%`;
          piece.style.top = `${50 - 50 * (ends[side] + Math.max(0, share))}%`;
          ends[side] += share;
        };
        named.forEach((j, kind) => pile(parts[j][i], kind));
        for (const sign of [1, -1])
          pile(sign * others.reduce((sum, j) => sum + Math.max(0, sign * parts[j][i]), 0), NAMED);
        box.append(bar);
        const told = named.slice(0, 2).map((j) =>
          `${words[j]} ${percent(weights[j])} × ${number(V[j][i])}`);
        const rest = order.length > 2 ? " + the others" : "";
        texts.push(`Component ${i + 1}: ${told.join(" + ")}${rest} = ${number(output[i])}`);
      });
      this.output.name(texts, read);
    }

    // What the colours of the stack mean.
    legend(named, others, query) {
      const { title } = this.output;
      title.textContent = "Weight × value, on each other: ";
      const entry = (kind, text) => {
        const part = make(title, "span", { class: "st-entry" });
        make(part, "i", { class: `st-swatch ${kind}` });
        part.append(` ${text}`);
        title.append(" ");
      };
      named.forEach((text, kind) => entry(`st-r${kind}`, text));
      if (others.length) entry(`st-r${NAMED}`, "all others");
      entry("st-line", `the sum: the output for “${query}”`);
    }

    // What moves when a step begins. `goal` is where the sum slides.
    enter(step, goal) {
      if (step === 0) this.products.grow();
      if (step === 1) this.slide(goal);
      if (step === 3)
        [...this.areas.children].forEach((slab, j) =>
          move(slab, { transform: ["scaleY(0)", "none"] }, 40 * j));
      if (step !== 4) return;
      this.output.cells.forEach(({ box }, i) =>
        [...box.children].forEach((piece) =>
          move(piece, { transform: ["scaleY(0)", "none"], opacity: [0, 1] }, 50 * i)));
    }

    // The products fall together, and their sum goes to its row.
    slide(goal) {
      const end = this.sum.getBoundingClientRect(), last = goal.getBoundingClientRect();
      this.products.cells.forEach(({ bar }) => {
        const { x, y, width } = bar.getBoundingClientRect();
        const to = `translate(${end.x - x + end.width / 2 - width / 2}px, ${end.y - y}px)`;
        move(bar, { transform: ["none", `${to} scale(0.2)`, "none"], opacity: [1, 0, 1] }, 0, 900);
      });
      const by = `translate(${last.right - end.right}px, ${last.y - end.y}px)`;
      move(this.sum, { transform: ["none", by, "none"] }, 500, 1400);
    }
  };
}
