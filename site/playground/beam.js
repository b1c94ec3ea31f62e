// What the beam held: a slider over the steps of a search, the prefixes at that step,
// and what was finished.
"use strict";
globalThis.Playground ??= {};
{
  const { make } = aiayn;
  const EXPLANATION =
    "The beam holds four prefixes at a time. One that ends moves down to the " +
    "finished ones; the search goes on with the rest until none of them could still " +
    "be among the best.";
  const figure = (number) => number.toFixed(2).replace("-", "−");

  Playground.Beam = class Beam {
    // `onChoose` is called when a reader takes another step.
    constructor(place, onChoose) {
      make(place, "h2", { id: "pg-search" }, "The search");
      make(place, "p", {}, EXPLANATION);
      const nothing = "Translate a sentence, and the steps of its search stand here.";
      make(place, "p", { class: "pg-nothing" }, nothing);
      this.place = place = make(place, "div", { class: "pg-search", hidden: "" });
      this.step = null; // the one that a reader has chosen
      const row = make(place, "p", { class: "pg-row" });
      this.label = make(row, "label", { for: "pg-step" });
      const range = { type: "range", id: "pg-step", min: 1, step: 1 };
      this.slider = make(row, "input", range);
      this.slider.oninput = () => {
        this.step = Number(this.slider.value);
        this.show(this.steps);
        onChoose();
      };
      this.live = table(place, "In the beam", ["prefix", "log probability"]);
      const columns = ["translation", "log probability", "score"];
      this.finished = table(place, "Finished", columns);
    }

    // Show a step of a search, counted from 1: the one that is chosen, or the last.
    show(steps) {
      this.steps = steps;
      const step = Math.min(Math.max(this.step ?? steps.length, 1), steps.length);
      this.slider.max = steps.length;
      const { beam, finished } = steps[step - 1];
      this.slider.value = step;
      this.label.textContent = `Step ${step} of ${steps.length}`;
      const cells = ({ text, logProbability }) => [text, figure(logProbability)];
      const scored = (each) => [...cells(each), figure(each.score)];
      fill(this.live, beam.map(cells), "␣");
      fill(this.finished, finished.map(scored), "‹end›");
    }
  };

  function table(place, caption, names) {
    const box = make(place, "div", {
      class: "pg-scroll",
      tabindex: 0,
      role: "group",
      "aria-label": caption,
    });
    const node = make(box, "table", { class: "pg-beam" });
    make(node, "caption", {}, caption);
    const head = make(make(node, "thead"), "tr");
    for (const name of names) make(head, "th", { scope: "col" }, name);
    return make(node, "tbody");
  }

  // `empty` stands for a text without letters: a lone space still in the beam, an empty
  // translation.
  function fill(body, rows, empty) {
    body.replaceChildren();
    for (const [text, ...figures] of rows) {
      const row = make(body, "tr");
      make(row, "td", { lang: "de" }, text || empty);
      for (const each of figures) make(row, "td", {}, each);
    }
  }
}
