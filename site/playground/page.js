// The page: a sentence goes in, and its translation, the search, and the attention come
// out.
"use strict";
{
  const { make, button } = aiayn;
  const { writeMarked, nameOf, EOS, UNK } = Playground;
  const MOST = 60; // pieces: a picture of more cannot be read
  const TOO_LONG =
    `This sentence is too long: the page has room for ${MOST} pieces. ` +
    "Try a shorter one.";
  const EMPTY = "There is no sentence yet. Type one, or choose an example.";
  const CUT =
    "The search was stopped at its limit, the length of the sentence plus 50: " +
    "this is no whole translation.";
  const TRYING = "Trying …";
  // Milliseconds between two steps, so that one can see the German grow.
  const PAUSE = 140;
  const quick = matchMedia("(prefers-reduced-motion: reduce)");

  for (const place of document.querySelectorAll(".aiayn-playground")) offer(place);

  // Before the model is loaded: a button that loads it.
  function offer(place) {
    const row = make(place, "div", { class: "pg-row" });
    place.prepend(row);
    const load = button(row, `Load the model (${place.dataset.size})`, async () => {
      load.disabled = true;
      status.textContent = "Loading …";
      try {
        const loaded = await Playground.load(place.dataset.model);
        place.replaceChildren();
        new Page(place, loaded);
      } catch (error) {
        status.textContent =
          `${error.message} Is the connection there? Press the button to try again.`;
        load.disabled = false;
      }
    }, { class: "pg-main" });
    const status = make(row, "span", { role: "status" });
  }

  class Page {
    constructor(place, { model, vocabulary, longest }) {
      Object.assign(this, { place, model, vocabulary, longest, run: 0 });
      this.ask(JSON.parse(place.dataset.examples));
      this.status = make(place, "div", { role: "status" });
      const result = make(place, "div", { class: "pg-result", hidden: "" });
      this.result = result;
      this.cut = make(result, "p", { class: "pg-cut" });
      this.german = make(result, "p", { class: "pg-german", lang: "de" });
      this.before = make(result, "p", { class: "pg-before" });
      make(result, "h2", {}, "The search");
      this.beam = new Playground.Beam(result);
      make(result, "h2", {}, "Where the heads look");
      const how =
        "Press a picture to see it large. Take the tick away to switch the head off.";
      make(result, "p", {}, how);
      const row = make(result, "p", { class: "pg-row" });
      this.allOn = button(row, "Switch all heads on", () => this.silence([]));
      this.inTurn = button(row, "Switch off each head in turn", () => this.tryAll());
      this.found = make(result, "div", { class: "pg-found", role: "status" });
      this.heads = new Playground.Heads(result, model, () => this.translate(false));
      this.input.focus();
      this.translate(true);
    }

    // The form: a sentence of the reader's own, or one of the examples.
    ask(examples) {
      const form = make(this.place, "form");
      make(form, "label", { for: "pg-source" }, "An English sentence");
      const row = make(form, "p", { class: "pg-row" });
      this.input = make(row, "input", {
        type: "text",
        id: "pg-source",
        value: examples[0][1],
        autocomplete: "off",
        spellcheck: "false",
        lang: "en",
      });
      make(row, "button", { type: "submit", class: "pg-main" }, "Translate");
      form.onsubmit = (event) => {
        event.preventDefault();
        this.translate(true);
      };
      const group = make(this.place, "div", {
        class: "pg-row",
        role: "group",
        "aria-label": "Examples",
      });
      for (const [label, sentence] of examples)
        button(group, label, () => {
          this.input.value = sentence;
          this.translate(true);
        });
    }

    // Translate what is in the box, growing if the reader is to see it grow.
    async translate(growing) {
      const run = ++this.run; // a later one takes over
      const sentence = this.input.value;
      const endless = sentence.length > 20 * MOST;
      const source = endless ? null : this.vocabulary.encode(sentence);
      if (growing || this.found.textContent === TRYING)
        this.found.replaceChildren(); // else it still holds
      if (source?.length === 1) return this.refuse(EMPTY);
      if (!source || source.length > MOST + 1) return this.refuse(TOO_LONG);
      const search = Playground.search(this.model, source, { nBest: 4 });
      Object.assign(this, { source, whole: this.without([], source) });
      this.result.hidden = false;
      this.allOn.disabled = !this.model.silent.size;
      this.writePieces(source);
      this.beam.take(search.steps, (tokens) => this.vocabulary.decode(tokens));
      this.lookAt(source, search.finished[0].tokens);
      this.before.replaceChildren();
      this.say(this.notes(sentence));
      if (growing && !quick.matches) {
        const last = search.finished[0].tokens.length;
        for (let step = 1; step < last; step++) {
          this.beam.show(step);
          const { tokens } = search.steps[step - 1].beam[0];
          this.german.textContent = this.vocabulary.decode(tokens);
          await new Promise((resolve) => setTimeout(resolve, PAUSE));
          if (run !== this.run) return;
        }
      }
      this.beam.show(Math.min(search.finished[0].tokens.length, search.steps.length));
      this.conclude(sentence, this.vocabulary.decode(search.finished[0].tokens));
    }

    // The translation without these heads, whichever the reader has switched off.
    without(heads, source) {
      const { silent } = this.model;
      this.model.silent = new Set(heads);
      const { finished } = Playground.search(this.model, source);
      this.model.silent = silent;
      return this.vocabulary.decode(finished[0].tokens);
    }

    conclude(sentence, text) {
      this.german.replaceChildren();
      writeMarked(this.german, text, this.whole);
      const off = [...this.model.silent].map(nameOf);
      if (off.length) {
        const heads = off.length > 4 ? `${off.length} heads` : off.join("; ");
        this.before.append(`Without ${heads}. `);
        if (text === this.whole) this.before.append("With all heads it is the same.");
        else {
          this.before.append("With all heads: ");
          writeMarked(make(this.before, "span", { lang: "de" }), this.whole, text);
        }
      }
      this.say(this.notes(sentence), text);
    }

    // What a reader ought to know about the sentence.
    notes(sentence) {
      const unknown = this.vocabulary.unknown(sentence);
      const notes = [];
      if (unknown.length)
        notes.push(
          `The model has never seen: ${unknown.join(", ")}. ` +
            "It writes something all the same.",
        );
      if (this.vocabulary.wordsOf(sentence).length > this.longest)
        notes.push(
          "No sentence that it was trained on has more than " +
            `${this.longest} words and marks.`,
        );
      if (!this.ended) notes.push(CUT);
      return notes;
    }

    // Say what there is to say. The German stands on the page already, so here it is
    // for readers who listen.
    say(notes, german = "") {
      this.status.replaceChildren();
      for (const note of notes) make(this.status, "p", {}, note);
      if (german) make(this.status, "p", { class: "pg-unseen", lang: "de" }, german);
    }

    refuse(why) {
      this.result.hidden = true;
      this.say([why]);
    }

    // The sentence in the pieces that the model reads.
    writePieces(source) {
      this.cut.replaceChildren("The model reads ");
      for (const piece of this.pieces(source.slice(0, -1)))
        make(this.cut, "span", { class: "pg-piece" }, piece);
    }

    // Pieces for people: a dot before one that continues a word.
    pieces(tokens) {
      return tokens.map((id) => {
        const piece = id === UNK ? "⁇" : this.vocabulary.pieces[id];
        if (piece.startsWith("▁")) return piece.slice(1) || "␣";
        return /^[\p{L}\p{N}]/u.test(piece) ? `·${piece}` : piece;
      });
    }

    lookAt(source, target) {
      this.ended = target.at(-1) === EOS;
      const looks = this.model.attentionOf(source, target);
      const written = this.pieces(target.filter((id) => id !== EOS));
      const writes = this.ended ? [...written, "‹end›"] : written;
      this.heads.show(looks, {
        source: [...this.pieces(source.slice(0, -1)), "‹end›"],
        reads: ["‹start›", ...writes.slice(0, -1)],
        writes,
      });
    }

    // Leave only these heads off.
    silence(heads) {
      this.model.silent.clear();
      for (const head of heads) this.model.silent.add(head);
      this.translate(false);
    }

    // Each head off, and it alone: which of them change the translation?
    async tryAll() {
      const { source, whole, run } = this;
      const all = Playground.allHeads(this.model);
      const changed = [];
      this.found.textContent = TRYING;
      for (const head of all) {
        // So that the page can be used meanwhile.
        await new Promise((resolve) => setTimeout(resolve));
        if (run !== this.run) return;
        const text = this.without([head], source);
        if (text !== whole) changed.push([head, text]);
      }
      const [some, rest] = [changed.length, all.length - changed.length];
      this.found.replaceChildren();
      const what = some
        ? `Of ${all.length} heads, ${some} ${some > 1 ? "change" : "changes"} ` +
          "the translation by being off; " +
          `any one of the other ${rest} can be missed here.`
        : `Any one of the ${all.length} heads can be missed here.`;
      make(this.found, "p", {}, what);
      const list = make(this.found, "ul");
      for (const [head, text] of changed) {
        const item = make(list, "li");
        button(item, nameOf(head), () => this.silence([head]));
        item.append(" ");
        writeMarked(make(item, "span", { lang: "de" }), text, whole);
      }
    }
  }
}
