// All heads of the model: a small picture of each, with a switch; one of them large.
"use strict";
globalThis.Playground ??= {};
{
  const { make, button, smallPicture, largest, LargePicture } = aiayn;
  const KINDS = {
    encoder: "English looks at English",
    decoder: "German looks at German",
    cross: "German looks at English",
  };

  Playground.nameOf = (head) => {
    const [kind, layer, number] = head.split(" ");
    return `${kind}, layer ${Number(layer) + 1}, head ${Number(number) + 1}`;
  };

  // Every head of a model, as "cross 1 2".
  Playground.allHeads = ({ N, h }) =>
    Object.keys(KINDS).flatMap((kind) =>
      Array.from({ length: N * h }, (_, i) => `${kind} ${Math.floor(i / h)} ${i % h}`),
    );

  Playground.Heads = class Heads {
    // `onSwitch` is told when a reader has switched a head on or off; the model knows
    // which are silent.
    constructor(place, model, onSwitch) {
      const chosen = `cross ${model.N - 1} 0`;
      Object.assign(this, { model, chosen, cells: new Map() });
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
      this.picture = new LargePicture(place, () => this.look());
      this.picture.word = 0;
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
          const name = Playground.nameOf(head);
          const choose = () => this.choose(head);
          const small = button(cell, "", choose, { "aria-label": name });
          const label = make(cell, "label");
          const said = `${number + 1}: ${name} is on`; // begins with what one sees
          const box = make(label, "input", { type: "checkbox", "aria-label": said });
          label.append(` ${number + 1}`);
          box.onchange = () => {
            if (box.checked) silent.delete(head);
            else silent.add(head);
            onSwitch();
          };
          this.cells.set(head, { cell, small, box });
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
      for (const [head, { cell, small, box }] of this.cells) {
        const on = !this.model.silent.has(head);
        box.checked = on;
        cell.classList.toggle("pg-silent", !on);
        small.replaceChildren();
        smallPicture(small, this.rows(head), this.sides[head.split(" ")[0]][1].length);
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
      for (const [each, { small }] of this.cells)
        small.setAttribute("aria-pressed", each === head);
      const [queries, keys] = this.sides[head.split(" ")[0]];
      const word = Math.min(this.picture.word, queries.length - 1);
      Object.assign(this.picture, { word, over: null });
      const off = this.model.silent.has(head) ? " (switched off)" : "";
      this.title.textContent = Playground.nameOf(head) + off;
      this.picture.write(queries, keys);
      this.look();
    }

    // Show where one word looks; the lines of the others stay faint.
    look() {
      const { active, queries, keys } = this.picture;
      const rows = this.rows(this.chosen);
      this.picture.draw([{ rows }], 0.25);
      const told = largest(rows[active], keys, 4);
      this.said.textContent = `“${queries[active]}” looks at ${told}.`;
    }
  };
}
