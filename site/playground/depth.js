// Layer by layer: what the decoder would write at each place if it stopped there.
"use strict";
{
  const { make } = aiayn;
  const { forPeople } = Playground;
  const ABOUT =
    "What would the model write if its decoder stopped here? The matrix that turns the " +
    "last layer’s states into words is applied to the states after another layer (the " +
    "logit lens). Only the last layer was trained for this; what stands before it may " +
    "be noise.";
  const percent = (share) => {
    const shown = Math.round(100 * share);
    return shown ? `${shown}%` : "< 1%";
  };

  Playground.Depth = class Depth {
    // `choose` is called when a reader takes another place of the translation or another
    // layer.
    constructor(place, choose) {
      this.onChoose = choose;
      const block = make(place, "div", { class: "pg-depth" });
      make(block, "h2", { id: "pg-depth" }, "Layer by layer");
      make(block, "p", {}, ABOUT);
      const nothing = "Translate a sentence, and its words stand here after each layer.";
      make(block, "p", { class: "pg-nothing" }, nothing);
      this.place = make(block, "div", { hidden: "" });
      const row = make(this.place, "p", { class: "pg-row" });
      this.label = make(row, "label", { for: "pg-layer" });
      const range = { type: "range", id: "pg-layer", min: 1, step: 1 };
      this.slider = make(row, "input", range);
      this.slider.oninput = () => {
        this.layer = Number(this.slider.value);
        this.draw();
        this.onChoose();
      };
      const list = { role: "listbox", "aria-orientation": "horizontal" };
      const label = "words of the translation, and what stands there after this layer";
      this.words = make(this.place, "ul", {
        class: "pg-guesses",
        "aria-label": label,
        ...list,
      });
      this.words.onkeydown = (event) => this.move(event);
      this.said = make(this.place, "p", { class: "pg-at" });
      this.table = make(make(this.place, "div"), "table", { class: "pg-figures" });
      this.at = 0;
    }

    // Take a model: begin at its last layer.
    offer({ N }) {
      this.layers = null;
      this.slider.max = this.layer = N;
      this.place.hidden = true;
    }

    // Show what stands in each layer at each place, beside what the model writes there.
    show(layers, writes, at) {
      Object.assign(this, { layers, writes });
      this.at = Math.min(at ?? this.at, writes.length - 1);
      this.layer = Math.min(Math.max(this.layer, 1), layers.length);
      this.place.hidden = false;
      this.words.replaceChildren();
      writes.forEach((written, place) => {
        const item = make(this.words, "li", { role: "option" });
        make(item, "small", { lang: "de" }, written);
        make(item, "span", { lang: "de" });
        item.onclick = () => item.focus();
        item.onfocus = () => this.choose(place);
      });
      this.draw();
    }

    choose(at) {
      if (at === this.at || !this.layers || at >= this.writes.length) return;
      this.at = at;
      this.draw();
      this.onChoose();
    }

    // Show the layer that is chosen, and all layers at the place that is chosen.
    draw() {
      const { layers, writes, at, layer } = this;
      this.slider.value = layer;
      this.label.textContent = `After layer ${layer} of ${layers.length}`;
      [...this.words.children].forEach((item, place) => {
        const [[piece]] = layers[layer - 1][place];
        const guess = forPeople(piece);
        item.lastChild.textContent = guess;
        item.classList.toggle("pg-right-guess", guess === writes[place]);
        item.setAttribute("aria-selected", place === at);
        item.tabIndex = place === at ? 0 : -1;
      });
      this.said.replaceChildren("Where the model writes “");
      make(this.said, "strong", { lang: "de" }, writes[at]);
      this.said.append("”, the likeliest words are:");
      this.table.replaceChildren();
      const top = make(make(this.table, "thead"), "tr");
      for (const name of ["after layer", "likeliest", "second", "third"])
        make(top, "th", { scope: "col" }, name);
      const body = make(this.table, "tbody");
      layers.forEach((places, i) => {
        const chosen = i + 1 === layer;
        const row = make(body, "tr", chosen ? { class: "pg-chosen" } : {});
        make(row, "th", { scope: "row" }, String(i + 1));
        for (const [piece, probability] of places[at]) {
          const cell = make(row, "td");
          make(cell, "span", { lang: "de" }, forPeople(piece));
          cell.append(` ${percent(probability)}`);
        }
      });
    }

    move(event) {
      const last = this.writes.length - 1;
      const next = {
        ArrowRight: this.at + 1,
        ArrowDown: this.at + 1,
        ArrowLeft: this.at - 1,
        ArrowUp: this.at - 1,
        Home: 0,
        End: last,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault(); // the page would scroll
      this.words.children[Math.min(last, Math.max(0, next))].focus();
    }
  };
}
