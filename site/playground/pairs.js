// Minimal pairs: two sentences side by side, and the word in which their translations
// part.
"use strict";
{
  const { make, button } = aiayn;
  const { writeMarked, labelOf, notesOn } = Playground;
  const ABOUT =
    "Change one word of a sentence, and see what becomes of the translation. A is the " +
    "sentence in the box above; type B, or choose a pair. Heads that are off above are " +
    "off here, too.";

  Playground.Pairs = class Pairs {
    // `first` gives sentence A, `silent` the heads that are off, `choose` puts another
    // sentence in A's place, with all heads on if it comes from a pair, and `ask` asks the model. `load` is called when a reader
    // types, `keep` when something has been set up.
    constructor(place, { first, silent, choose, load, ask, keep }) {
      Object.assign(this, { first, silent, choose, load, ask, keep, own: false });
      const block = make(place, "div", { class: "pg-pairs" });
      make(block, "h2", { id: "pg-pairs" }, "Two sentences side by side");
      make(block, "p", {}, ABOUT);
      const classes = "pg-row pg-examples";
      const group = { class: classes, role: "group", "aria-label": "Pairs" };
      this.examples = make(block, "div", group);
      this.drawForm(block);
      this.status = make(block, "div", { role: "status" });
      this.results = make(block, "div", { class: "pg-results", hidden: "" });
      const two = make(this.results, "div", { class: "pg-two" });
      this.cards = ["A", "B"].map((name) => {
        const label = { role: "group", "aria-label": `Sentence ${name}` };
        const card = make(two, "div", label);
        make(card, "p", { class: "pg-name" }, name);
        const english = make(card, "p", { lang: "en" });
        return [english, make(card, "p", { class: "pg-side-german", lang: "de" })];
      });
      this.parted = make(this.results, "p");
      this.copying = new Playground.Copying(this.results, { ask, keep });
    }

    drawForm(block) {
      const type = () => this.type();
      const form = make(block, "form");
      make(form, "label", { for: "pg-second" }, "Sentence B");
      const row = make(form, "div", { class: "pg-row" });
      const place = make(row, "div", { class: "pg-field" });
      const field = { id: "pg-second", autocomplete: "off", spellcheck: "false", lang: "en" };
      this.input = make(place, "textarea", { rows: 1, ...field });
      this.completion = new Playground.Completion(place, this.input, type);
      this.input.oninput = type;
      make(row, "button", { type: "submit" }, "Compare");
      this.swapButton = button(row, "Swap A and B", () => this.swap());
      const ask = (event) => {
        event.preventDefault(); // Enter, too: a sentence has one line
        this.copying.reset();
        this.run();
      };
      form.onsubmit = ask;
      this.input.onkeydown = (event) => {
        if (event.key === "Enter" && !event.isComposing) ask(event);
      };
    }

    // Compare what is being typed, when no more has come for a moment.
    type() {
      this.own = true;
      this.say([]);
      this.mark();
      this.load();
      clearTimeout(this.typing);
      this.typing = setTimeout(() => {
        this.copying.reset();
        this.run();
      }, Playground.REST);
    }

    // A has become another sentence: a B that came with the one before has nothing to do
    // with it. One that a reader has typed stays.
    forsake() {
      if (this.own) return;
      this.input.value = "";
      this.copying.reset();
      this.mark();
      this.forget();
    }

    // Offer a model's pairs.
    offer(model) {
      this.copying.offer(model);
      this.completion.offer(model.words);
      this.forget();
      this.examples.replaceChildren("Or choose: ");
      this.buttons = model.pairs.map(([label, first, second]) => [
        button(this.examples, label, () => {
          this.input.value = second;
          this.own = false;
          this.copying.reset();
          this.choose(first, true);
        }),
        () => this.second === second && this.first() === first,
      ]);
      this.mark();
    }

    // Mark the pair that is chosen. Without a B there is nothing to swap.
    mark() {
      aiayn.press(this.buttons);
      this.swapButton.disabled = !this.second;
    }

    swap() {
      const { second } = this;
      if (!second) return;
      this.input.value = this.first();
      this.choose(second);
    }

    get second() {
      return this.input.value.trim();
    }

    // What a link holds of it.
    state() {
      const { head, position } = this.copying;
      return this.second ? { with: this.second, copy: head, at: position } : {};
    }

    restore({ with: second = "", copy = null, at = null }) {
      this.input.value = second;
      this.mark();
      this.own = false;
      Object.assign(this.copying, { head: copy, position: at });
    }

    // Compare A and B, if there is a B.
    async run() {
      clearTimeout(this.typing);
      this.keep();
      this.mark();
      if (!this.second || !this.first()) return this.forget();
      this.results.classList.add("pg-old");
      const sentences = [this.first(), this.second];
      const request = { task: "compare", sentences, silent: this.silent() };
      if (!(await this.ask(request, (comparison) => this.show(comparison)))) {
        this.forget();
        this.say(["The model could not be loaded."]);
      }
    }

    say(notes) {
      this.status.replaceChildren();
      for (const note of notes) make(this.status, "p", {}, note);
    }

    forget() {
      this.say([]);
      this.results.hidden = true;
    }

    show({ refused, answers, ...comparison }) {
      this.results.classList.remove("pg-old");
      this.results.hidden = Boolean(refused);
      if (refused) return this.say(notesOn({ refused }));
      this.say(notesOn(answers[1]));
      this.cards.forEach(([english, german], i) => {
        english.replaceChildren();
        german.replaceChildren();
        const [one, other] = i ? [answers[1], answers[0]] : answers;
        writeMarked(english, one.sentence, other.sentence);
        writeMarked(german, one.text, other.text);
      });
      const { at, runs } = comparison;
      this.copying.show(runs && { ...comparison, answers });
      this.parted.replaceChildren();
      if (!runs) {
        this.parted.append("Both have the same translation.");
        return;
      }
      const [one, other] = answers.map((answer) => labelOf(answer, at));
      const [before, beforeB] = answers.map(({ written }) =>
        written.slice(0, at).join("").replaceAll("▁", " ").trim(),
      );
      const german = (word, tag = "strong") => {
        this.parted.append("“");
        make(this.parted, tag, { lang: "de" }, word);
        this.parted.append("”");
      };
      if (before !== beforeB) this.parted.append("Of the pronouns, A has ");
      else if (before) {
        this.parted.append("After ");
        german(before, "span");
        this.parted.append(", A goes on with ");
      } else this.parted.append("A begins with ");
      german(one);
      this.parted.append(before === beforeB ? " and B with " : " and B has ");
      german(other);
      this.parted.append(". How probable each of the two is as the next word:");
    }
  };
}
