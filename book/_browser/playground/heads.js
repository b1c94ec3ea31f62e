// Where the heads look: a small picture of each, with a switch; one of them large, with
// lines between words.
"use strict";
globalThis.Laboratory ??= {};
{
  const { make, button } = Laboratory;
  const KINDS = {
    encoder: "English looks at English",
    decoder: "German looks at German",
    cross: "German looks at English",
  };
  const percent = (weight) => `${Math.round(100 * weight)}%`;

  Laboratory.nameOf = (head) => {
    const [kind, layer, number] = head.split(" ");
    return `${kind}, layer ${Number(layer) + 1}, head ${Number(number) + 1}`;
  };

  // Every head of a model, as "cross 1 2".
  Laboratory.allHeads = ({ N, h }) =>
    Object.keys(KINDS).flatMap((kind) =>
      Array.from({ length: N * h }, (_, i) => `${kind} ${Math.floor(i / h)} ${i % h}`),
    );

  Laboratory.Heads = class Heads {
    // `onSwitch` is told when a reader has switched a head on or off; the model knows
    // which are silent.
    constructor(place, model, onSwitch) {
      const chosen = `cross ${model.N - 1} 0`;
      Object.assign(this, { model, chosen, word: 0, cells: new Map() });
      const grid = make(place, "div", { class: "pg-heads" });
      for (const kind of Object.keys(KINDS)) {
        const name = `${kind}: ${KINDS[kind]}`;
        const group = make(grid, "div", { role: "group", "aria-label": name });
        make(group, "p", { class: "pg-caption" }, kind);
        make(group, "p", { class: "pg-who" }, KINDS[kind]);
        this.layers(group, kind, onSwitch);
      }
      this.title = make(place, "p", { class: "pg-caption" });
      this.said = make(place, "p", { class: "pg-said", "aria-live": "polite" });
      const large = make(place, "div", { class: "pg-large" });
      this.from = make(large, "ul", {
        role: "listbox",
        "aria-label": "words that look",
      });
      this.lines = make(large, "svg", {
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      });
      this.to = make(large, "ul", {
        class: "pg-seen",
        "aria-label": "words that are looked at",
      });
      this.from.onkeydown = (event) => this.move(event);
    }

    // A row for each layer: its heads, each with its picture and its switch.
    layers(group, kind, onSwitch) {
      const { N, h, silent } = this.model;
      for (let layer = 0; layer < N; layer++) {
        const row = make(group, "div", { class: "pg-layer" });
        make(row, "span", {}, `layer ${layer + 1}`);
        for (let number = 0; number < h; number++) {
          const head = `${kind} ${layer} ${number}`;
          const cell = make(row, "div", { class: "pg-head" });
          const name = Laboratory.nameOf(head);
          const choose = () => this.choose(head);
          const picture = button(cell, "", choose, { "aria-label": name });
          const label = make(cell, "label");
          const said = `${number + 1}: ${name} is on`; // begins with what one sees
          const box = make(label, "input", { type: "checkbox", "aria-label": said });
          label.append(` ${number + 1}`);
          box.onchange = () => {
            if (box.checked) silent.delete(head);
            else silent.add(head);
            onSwitch();
          };
          this.cells.set(head, { cell, picture, box });
        }
      }
    }

    // Show what the heads did with a sentence. The sides are its pieces: the source,
    // what the decoder reads, and what it writes at the same places.
    show(looks, { source, reads, writes }) {
      this.looks = looks;
      this.sides = {
        encoder: [source, source],
        decoder: [writes, reads],
        cross: [writes, source],
      };
      for (const [head, { cell, picture, box }] of this.cells) {
        const on = !this.model.silent.has(head);
        box.checked = on;
        cell.classList.toggle("pg-silent", !on);
        draw(picture, this.rows(head), this.sides[head.split(" ")[0]]);
      }
      this.choose(this.chosen);
    }

    // The weights of a head: a row for each piece that looks.
    rows(head) {
      const [kind, layer, number] = head.split(" ");
      return this.looks[kind][layer].map((heads) => heads[number]);
    }

    // Show a head large.
    choose(head) {
      this.chosen = head;
      for (const [each, { picture }] of this.cells)
        picture.setAttribute("aria-pressed", each === head);
      const [queries, keys] = this.sides[head.split(" ")[0]];
      this.word = Math.min(this.word, queries.length - 1);
      const off = this.model.silent.has(head) ? " (switched off)" : "";
      this.title.textContent = Laboratory.nameOf(head) + off;
      this.from.replaceChildren();
      this.to.replaceChildren();
      queries.forEach((word, index) => {
        const item = make(this.from, "li", { role: "option" }, word);
        item.onfocus = () => this.look((this.word = index));
        item.onmouseenter = () => this.look(index);
        item.onmouseleave = () => this.look(this.word);
      });
      for (const word of keys) {
        const item = make(this.to, "li");
        make(item, "span", {}, word);
        make(item, "small");
      }
      const most = Math.max(queries.length, keys.length);
      this.lines.setAttribute("viewBox", `0 0 100 ${most}`);
      this.lines.style.height = `${1.7 * most}em`;
      this.look(this.word);
    }

    // Show where one word looks, by lines, by shades and in a sentence; the lines of
    // the others stay faint.
    look(active) {
      const rows = this.rows(this.chosen);
      [...this.from.children].forEach((item, index) => {
        item.setAttribute("aria-selected", index === active);
        item.tabIndex = index === this.word ? 0 : -1;
      });
      this.lines.replaceChildren();
      rows.forEach((row, i) => row.forEach((weight, j) => {
        if (weight < 0.03) return;
        const d = `M0 ${i + 0.5}C40 ${i + 0.5} 60 ${j + 0.5} 100 ${j + 0.5}`;
        const opacity = (weight * (i === active ? 1 : 0.25)).toFixed(2);
        const line = make(this.lines, "path", { d, opacity });
        line.style.strokeWidth = `${(0.5 + 5 * weight).toFixed(1)}px`;
      }));
      const words = [...this.to.children].map((item) => item.firstChild.textContent);
      [...this.to.children].forEach((item, j) => {
        // What is not written yet cannot be looked at.
        const weight = rows[active][j] ?? 0;
        item.style.setProperty("--seen", weight.toFixed(2));
        item.lastChild.textContent = weight < 0.05 ? "" : ` ${percent(weight)}`;
      });
      const told = rows[active]
        .map((weight, j) => [weight, words[j]])
        .filter(([weight]) => weight >= 0.05)
        .sort((a, b) => b[0] - a[0])
        .slice(0, 4)
        .map(([weight, word]) => `${word} ${percent(weight)}`);
      const looking = this.from.children[active].textContent;
      this.said.textContent = `“${looking}” looks at ${told.join(", ")}.`;
    }

    move(event) {
      const last = this.from.children.length - 1;
      const next = {
        ArrowDown: this.word + 1,
        ArrowUp: this.word - 1,
        Home: 0,
        End: last,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault(); // the page would scroll
      this.from.children[Math.min(last, Math.max(0, next))].focus();
    }
  };

  // The small picture: a row for each piece that looks, a column for each that is
  // looked at.
  function draw(picture, rows, [queries, keys]) {
    picture.replaceChildren();
    const viewBox = `0 0 ${keys.length} ${queries.length}`;
    const svg = make(picture, "svg", {
      viewBox,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    rows.forEach((row, y) => row.forEach((opacity, x) => {
      if (opacity > 0.05)
        make(svg, "rect", { x, y, width: 1, height: 1, opacity: opacity.toFixed(2) });
    }));
  }
}
