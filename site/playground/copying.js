// The output of a head is copied from one run into another (activation patching): does the
// word in which the two part change?
"use strict";
{
  const { make, button } = aiayn;
  const { nameOf, labelOf, forPeople, allHeads, KIND_NAMES } = Playground;
  const ABOUT =
    "In B’s run, one head’s output is replaced by the same head’s output in " +
    "A’s run, and all that comes after is computed anew: if B’s word becomes A’s, this " +
    "head carries what decides between them.";
  const percent = (share) => `${(100 * share).toFixed(1)}%`;
  const points = (share) =>
    `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(1)}`;

  Playground.Copying = class Copying {
    constructor(place, { ask, keep }) {
      Object.assign(this, { ask, keep, head: null, position: null });
      const box = { class: "pg-scroll", tabindex: 0, role: "group" };
      this.scroll = make(place, "div", { ...box, "aria-label": "Probabilities" });
      this.block = make(place, "div", { class: "pg-copying" });
      make(this.block, "h3", {}, "Copy a head’s output from A into B");
      make(this.block, "p", {}, ABOUT);
      const row = make(this.block, "p", { class: "pg-row" });
      this.heads = chooser(row, "pg-copy-head", "Head", () => {
        this.choose(this.heads.value || null);
      });
      this.positions = chooser(row, "pg-copy-at", "Where", () => {
        this.position = this.positions.value === "" ? null : Number(this.positions.value);
        this.found.replaceChildren();
        this.choose(this.head);
      });
      button(row, "Copy each head in turn", () => this.inTurn());
      this.said = make(this.block, "p", { class: "pg-copy-said", "aria-live": "polite" });
      this.found = make(this.block, "div", { class: "pg-copy-found", role: "status" });
    }

    // Begin anew: no head is copied.
    reset() {
      Object.assign(this, { head: null, position: null });
    }

    // Take a model's heads.
    offer(model) {
      this.model = model;
      this.reset();
    }

    // Show how probable the words are in both runs; nothing if they are the same.
    show(comparison) {
      this.comparison = comparison;
      this.scroll.hidden = this.block.hidden = !comparison;
      if (!comparison) return;
      const { answers, at, alike } = comparison;
      this.words = answers.map((answer) => labelOf(answer, at));
      this.fillHeads(alike);
      if (!alike && this.head?.startsWith("encoder")) this.head = null;
      if (this.position > at) this.position = null;
      this.positions.replaceChildren();
      make(this.positions, "option", { value: "" }, "at every position");
      for (let place = at; place >= 0; place--) {
        const word = place === at ? this.words.join(" / ") : labelOf(answers[1], place);
        make(this.positions, "option", { value: place }, `only where it writes ${word}`);
      }
      this.found.replaceChildren();
      this.choose(this.head);
    }

    // An encoder's head looks from pieces of the source: these must be as many.
    fillHeads(alike) {
      this.heads.replaceChildren();
      make(this.heads, "option", { value: "" }, "none");
      const groups = new Map();
      for (const head of allHeads(this.model)) {
        const [kind] = head.split(" ");
        if (kind === "encoder" && !alike) continue;
        if (!groups.has(kind)) groups.set(kind, make(this.heads, "optgroup", { label: KIND_NAMES[kind] }));
        make(groups.get(kind), "option", { value: head }, nameOf(head));
      }
    }

    // Copy a head's output; null copies none.
    choose(head) {
      this.head = head;
      this.heads.value = head ?? "";
      this.positions.value = this.position ?? "";
      this.positions.disabled = Boolean(head?.startsWith("encoder")); // it reads English
      this.keep();
      if (!head) return this.tell(null);
      const request = { task: "copy", head, position: this.position };
      this.ask(request, ({ run }) => this.tell(run));
    }

    // Write the probabilities, and what became of B's word.
    tell(run) {
      const { runs } = this.comparison;
      const { words } = this;
      const columns = ["A", "B", "B − A (points)"];
      this.scroll.replaceChildren();
      const table = make(this.scroll, "table", { class: "pg-figures" });
      const top = make(make(table, "thead"), "tr");
      for (const name of ["next word", ...columns, ...(run ? ["B, head copied"] : [])])
        make(top, "th", { scope: "col" }, name);
      const body = make(table, "tbody");
      words.forEach((word, i) => {
        const row = make(body, "tr");
        make(row, "td", { lang: "de" }, word);
        const [first, second, third] = [...runs, ...(run ? [run] : [])].map(
          ({ probabilities }) => probabilities[i],
        );
        const figures = [percent(first), percent(second), points(second - first)];
        if (run) figures.push(percent(third));
        for (const figure of figures) make(row, "td", {}, figure);
      });
      this.said.replaceChildren();
      if (run) this.conclude(this.said, runs[1], run);
    }

    // Say whether B's word changes.
    conclude(place, before, after) {
      const [from, to] = [before, after].map(({ likeliest }) => this.wordOf(likeliest));
      const german = (word) => make(place, "strong", { lang: "de" }, word);
      place.append(from === to ? "B’s word stays " : "B’s word changes from ");
      german(from);
      if (from !== to) {
        place.append(" to ");
        german(to);
      }
      place.append(".");
    }

    // A piece as the table names it.
    wordOf(piece) {
      const { answers, at } = this.comparison;
      const which = answers.findIndex(({ written }) => written[at] === piece);
      return which < 0 ? forPeople(piece) : this.words[which];
    }

    // Each head in turn: a list of those that change the word.
    inTurn() {
      this.found.replaceChildren();
      const said = make(this.found, "p", {}, "Trying …");
      const list = make(this.found, "ul");
      let [all, some] = [0, 0];
      const request = { task: "copy in turn", position: this.position };
      const [, before] = this.comparison.runs;
      this.ask(request, ({ head, run, done }) => {
        if (done) {
          said.textContent = conclusion(all, some);
          return;
        }
        all++;
        if (run.likeliest === before.likeliest) return;
        some++;
        const item = make(list, "li");
        button(item, nameOf(head), () => this.choose(head));
        const word = make(item, "span");
        make(word, "mark", { lang: "de" }, this.wordOf(run.likeliest));
        word.append(` ${percent(run.probability)}`);
      });
    }
  };

  function chooser(row, id, name, onchange) {
    make(row, "label", { for: id }, name);
    const node = make(row, "select", { id });
    node.onchange = onchange;
    return node;
  }

  function conclusion(all, some) {
    if (!some) return `None of the ${all} heads changes B’s word by itself.`;
    return `Of ${all} heads, ${some} ${some > 1 ? "change" : "changes"} B’s word:`;
  }
}
