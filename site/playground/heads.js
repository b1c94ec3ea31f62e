// All heads of the model: a small picture of each, with a switch; one of them large.
"use strict";
{
  const { make, button, smallPicture, largest, LargePicture } = aiayn;
  const KINDS = {
    encoder: "English looks at English",
    decoder: "German looks at German",
    cross: "German looks at English",
  };
  const PRONOUNS = ["er", "sie", "es", "ihn", "ihm"];

  const NAMES = { encoder: "encoder", decoder: "decoder", cross: "cross-attention" };

  Playground.KIND_NAMES = NAMES;
  Playground.nameOf = (head) => {
    const [kind, layer, number] = head.split(" ");
    return `${NAMES[kind]}, layer ${Number(layer) + 1}, head ${Number(number) + 1}`;
  };

  Playground.Heads = class Heads {
    // A model of N layers with h heads; the one that is `chosen` stands large.
    // `onSwitch` is called when a head has been switched on or off, `onChoose` when a head
    // or a word has been chosen.
    constructor(place, { N, h, opens }, { onSwitch, onChoose }) {
      const silent = new Set();
      Object.assign(this, { silent, onSwitch, onChoose, chosen: opens, cells: new Map() });
      const grid = make(place, "div", { class: "pg-heads" });
      grid.onkeydown = (event) => this.move(event);
      for (const kind of Object.keys(KINDS)) {
        const name = `${NAMES[kind]}: ${KINDS[kind]}`;
        const group = make(grid, "div", { role: "group", "aria-label": name });
        make(group, "p", { class: "pg-caption" }, NAMES[kind]);
        make(group, "p", { class: "pg-who" }, KINDS[kind]);
        for (let layer = 0; layer < N; layer++) this.layer(group, kind, layer, h);
      }
      const title = make(place, "p", { class: "pg-row pg-title" });
      this.title = make(title, "span", { class: "pg-caption" });
      const label = make(title, "label");
      this.large = make(label, "input", { type: "checkbox" });
      label.append(" ");
      this.state = make(label, "span");
      this.large.onchange = () => this.turn(this.chosen, this.large.checked);
      this.said = make(place, "p", { class: "pg-said", "aria-live": "polite" });
      this.picture = new LargePicture(place, () => this.look());
      this.picture.word = 0;
    }

    // The heads of a layer, each with its picture and its switch.
    layer(group, kind, layer, h) {
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
        // The keyboard has the switch beside the large picture.
        const checkbox = { type: "checkbox", "aria-label": said, tabindex: -1 };
        const box = make(label, "input", checkbox);
        label.append(` ${number + 1}`);
        box.onchange = () => this.turn(head, box.checked);
        const changed = make(cell, "span", { class: "pg-changed", lang: "de" });
        this.cells.set(head, { cell, small, box, changed });
      }
    }

    // The arrow keys go to the nearest picture in their direction: the grid is one stop
    // of the Tab key.
    move(event) {
      const [x, y] = DIRECTIONS[event.key] ?? [];
      if (x === undefined || event.target.type === "checkbox") return;
      event.preventDefault(); // the page would scroll
      const middle = ({ small }) => {
        const { left, right, top, bottom } = small.getBoundingClientRect();
        return [(left + right) / 2, (top + bottom) / 2];
      };
      const [fromX, fromY] = middle(this.cells.get(this.chosen));
      let [nearest, next] = [Infinity, this.chosen];
      for (const [head, cell] of this.cells) {
        const [toX, toY] = middle(cell);
        const ahead = (toX - fromX) * x + (toY - fromY) * y;
        const aside = Math.abs((toX - fromX) * y) + Math.abs((toY - fromY) * x);
        const distance = ahead + 4 * aside; // a little to the side is still ahead
        if (ahead > 1 && distance < nearest) [nearest, next] = [distance, head];
      }
      this.choose(next);
      this.cells.get(next).small.focus();
    }

    turn(head, on) {
      if (on) this.silent.delete(head);
      else this.silent.add(head);
      this.mark();
      this.onSwitch();
    }

    // Leave only these heads off.
    silence(heads) {
      this.silent = new Set(heads);
      this.mark();
    }

    // Write below a picture what changes without the head; unless it is named, below
    // none.
    tell(head, words = "") {
      for (const [each, { changed }] of this.cells)
        if (!head || each === head) changed.textContent = words;
    }

    // Show what the heads did with a sentence. The sides are its pieces: the source,
    // what the decoder reads, and what it writes at the same places.
    show(looks, { source, reads, writes }, word) {
      this.looks = looks;
      this.sides = {
        encoder: [source, source],
        decoder: [writes, reads],
        cross: [writes, source],
      };
      for (const [head, { small }] of this.cells) {
        small.replaceChildren();
        smallPicture(small, this.rows(head), this.sides[head.split(" ")[0]][1].length);
      }
      const pronoun = writes.findIndex((piece) => PRONOUNS.includes(piece));
      const wanted = typeof word === "number" ? word : writes.indexOf(word);
      if (wanted >= 0) this.picture.word = wanted;
      else if (word !== null && pronoun >= 0) this.picture.word = pronoun;
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
      const [queries, keys] = this.sides[head.split(" ")[0]];
      const word = Math.min(this.picture.word, queries.length - 1);
      Object.assign(this.picture, { word, over: null });
      this.title.textContent = Playground.nameOf(head);
      this.mark();
      this.picture.write(queries, keys);
      this.look();
    }

    // Whether the head that is chosen looks from German words, and which of its words is
    // chosen.
    get looksFromGerman() {
      return !this.chosen.startsWith("encoder");
    }

    get row() {
      return this.picture.word;
    }

    set row(word) {
      if (word !== this.row) this.picture.choose({ word, over: null });
    }

    // Mark which head is chosen, and which are off.
    mark() {
      for (const [head, { cell, small, box }] of this.cells) {
        box.checked = !this.silent.has(head);
        cell.classList.toggle("pg-silent", !box.checked);
        small.setAttribute("aria-pressed", head === this.chosen);
        small.tabIndex = head === this.chosen ? 0 : -1;
      }
      const on = !this.silent.has(this.chosen);
      this.large.checked = on;
      this.state.textContent = `this head is ${on ? "on" : "switched off"}`;
      this.picture.svg.classList.toggle("pg-off", !on);
    }

    // Show where one word looks; the lines of the others stay faint.
    look() {
      const { active, queries, keys } = this.picture;
      const rows = this.rows(this.chosen);
      this.picture.draw([{ rows }], 0.25);
      if (this.picture.over === null) this.onChoose();
      const quoted = (word) => `“${word}”`;
      const told = largest(rows[active], keys.map(quoted), 4);
      const off = this.silent.has(this.chosen)
        ? " The head is switched off: what it collects is not passed on."
        : "";
      this.said.textContent = `${quoted(queries[active])} looks at ${told}.${off}`;
    }
  };

  const DIRECTIONS = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
}
