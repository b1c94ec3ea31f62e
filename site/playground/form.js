// What a reader asks with: a sentence, examples, and a bar while the model is fetched.
"use strict";
{
  const { make, button } = aiayn;

  Playground.Form = class Form {
    // `type` is called when a reader types, `ask` when the sentence is to be translated,
    // and `example` with one that is chosen.
    constructor(place, { type, ask, example }) {
      Object.assign(this, { ask, example });
      const form = make(place, "form");
      make(form, "label", { for: "pg-source" }, "An English sentence");
      const row = make(form, "div", { class: "pg-row" });
      this.row = row;
      const field = make(row, "div", { class: "pg-field" });
      this.input = make(field, "textarea", {
        id: "pg-source",
        rows: 2,
        autocomplete: "off",
        spellcheck: "false",
        lang: "en",
      });
      this.completion = new Playground.Completion(field, this.input, type);
      this.input.oninput = type;
      this.input.onkeydown = (event) => {
        if (event.key !== "Enter" || event.isComposing) return;
        event.preventDefault(); // a sentence has one line
        ask();
      };
      make(row, "button", { type: "submit", class: "pg-main" }, "Translate");
      form.onsubmit = (event) => {
        event.preventDefault();
        ask();
      };
      this.load = make(place, "p", { class: "pg-row pg-load" });
    }

    // The words that the model does not know, of what is being typed.
    unknown() {
      return this.words.unknown(this.input.value);
    }

    // A place for a model's examples and its words.
    exemplify(place) {
      const classes = "pg-row pg-examples";
      const group = { class: classes, role: "group", "aria-label": "Examples" };
      this.examples = make(place, "div", group);
      this.words = new Playground.Words(place);
    }

    // Offer a model's examples, and say how much it is to fetch.
    offer(model) {
      this.examples.replaceChildren();
      this.examples.append("Or choose: ");
      this.buttons = model.examples.map(([label, sentence]) => [
        button(this.examples, label, () => this.example(sentence)),
        () => sentence === this.input.value,
      ]);
      this.mark();
      this.completion.offer(model.words);
      this.words.offer(model.words);
      this.load.replaceChildren();
      if (!model.engine.ready)
        this.load.append(
          `The model is fetched when you type or choose an example: ${model.size}.`,
        );
    }

    // Mark the example that is in the box.
    mark() {
      aiayn.press(this.buttons);
    }

    // Show which share of the model has come; nothing more when all has.
    progress(share) {
      this.load.replaceChildren();
      if (share === 1) return;
      const bar = { value: share, id: "pg-bar", max: 1 };
      make(this.load, "label", { for: "pg-bar" }, "The model is on its way");
      make(this.load, "progress", bar);
    }

    // Say why it did not come.
    fail(why) {
      this.load.replaceChildren(`${why} Is the connection there?`);
      button(this.load, "Try again", this.ask);
    }
  };
}
