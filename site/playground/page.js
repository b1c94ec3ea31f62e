// The page: a sentence goes in, and its translation, the search, and the attention come
// out.
"use strict";
{
  const { make, button } = aiayn;
  const { changed, allHeads } = Playground;
  // Milliseconds between two steps, so that one can see the German grow.
  const PAUSE = 140;
  const quick = matchMedia("(prefers-reduced-motion: reduce)");

  class Page {
    constructor(place, models) {
      Object.assign(this, { place, run: 0, translated: () => {} });
      for (const model of models) {
        model.engine = new Playground.Engine(model.addresses);
        model.answers = model.answers.map((each) =>
          Playground.unpackAnswer(each, model),
        );
      }
      this.draw(models);
      this.choose(models[0]);
      this.tools.begin(models);
    }

    // What there is to see. Below 1024 px the German stays in sight while all the rest
    // moves.
    draw(models) {
      const panel = make(this.place, "div", { class: "pg-panel" });
      this.panel = panel;
      const choose = (model) => this.choose(model);
      this.choice = new Playground.Choice(panel, models, choose);
      const desk = make(panel, "div", { class: "pg-desk" });
      const left = make(desk, "div", { class: "pg-left" });
      this.form = new Playground.Form(left, {
        type: () => this.type(),
        ask: () => this.translate(true),
        example: (sentence) => this.example(sentence),
      });
      this.status = make(left, "div", { role: "status" });
      this.german = new Playground.German(left);
      this.cut = make(left, "p", { class: "pg-cut" });
      this.form.exemplify(left);
      const right = make(desk, "div", { class: "pg-right" });
      this.right = right;
      make(right, "h2", {}, "Where the heads look");
      const how =
        "Press a picture to see it large; the arrow keys go to the next. Take the tick " +
        "away to switch the head off.";
      make(right, "p", {}, how);
      const triangle =
        "The pictures of the decoder’s own attention stay within a triangle, because a " +
        "German word sees only the words before it: the causal mask hides the rest. " +
        "Their columns are shifted by one against the rows, because the decoder reads a " +
        "start token first, and then the words that it has written.";
      make(right, "p", {}, triangle);
      const row = make(right, "p", { class: "pg-row" });
      this.allOn = button(row, "Switch all heads on", () => this.silence([]));
      button(row, "Switch off each head in turn", () => this.tryAll());
      this.ablations = new Playground.Ablations(right);
      this.headsPlace = make(right, "div");
      this.tools = new Playground.Tools(this, panel);
      this.search = make(panel, "div", { class: "pg-search" });
      make(this.search, "h2", {}, "The search");
      this.beam = new Playground.Beam(this.search);
    }

    // Translate another sentence.
    ask(sentence) {
      this.form.input.value = sentence;
      this.translate(false, "");
    }

    // Translate an example; what it was compared with goes.
    example(sentence) {
      this.form.input.value = sentence;
      this.tools.pairs.forsake();
      this.translate(true);
    }

    // Translate what is being typed, when no more has come for a moment. Unknown words are
    // named at once.
    type() {
      this.load();
      clearTimeout(this.typing);
      if (!this.form.input.value.trim()) return;
      const unknownWords = this.form.unknown();
      if (String(unknownWords) !== String(this.answer.unknownWords ?? [])) {
        const rest = { unknownCharacters: [], ended: true, ...this.answer };
        this.say(Playground.notesOn({ ...rest, refused: "", unknownWords }));
      }
      this.typing = setTimeout(() => this.translate(false, "", true), Playground.REST);
    }

    // Take a model. A sentence of the reader's own is translated anew; of the examples,
    // the same one is shown, or the first.
    choose(model) {
      const sentence = this.form.input.value;
      const own = this.model && !exampleOf(this.model, sentence);
      for (const channel of ["sentence", "pair"]) this.model?.engine.cancel(channel);
      this.model = model;
      this.form.offer(model);
      this.tools.offer(model);
      this.headsPlace.replaceChildren();
      this.heads = new Playground.Heads(this.headsPlace, model, {
        onSwitch: () => this.translate(false),
        onChoose: () => this.tools.follow(),
      });
      this.forget();
      this.translated();
      this.run++;
      const stored = exampleOf(model, sentence) ?? model.answers[0];
      if (!own && stored.sentence !== sentence) this.tools.pairs.forsake();
      this.form.input.value = own ? sentence : stored.sentence;
      this.show(stored);
      if (own || model.engine.ready) this.translate(own);
    }

    // Fetch the model, if it is not there yet; says whether it is there.
    async load() {
      const { model } = this;
      if (model.engine.ready) return true;
      const share = (part) => {
        // After a failure some scripts still come.
        if (model === this.model && model.engine.loading) this.form.progress(part);
      };
      try {
        const loading = model.engine.load(share);
        share(model.engine.share);
        await loading;
        return true;
      } catch (error) {
        if (model === this.model) this.form.fail(error.message);
        this.translated();
        return false;
      }
    }

    // Translate what is in the box, growing if the reader is to see it grow. `word` is
    // the one whose lines are to be shown, or its place; "" for a pronoun, null for the
    // one that is chosen. The last word may not be whole yet where a reader is `typing`.
    async translate(growing, word = growing ? "" : null, typing = false) {
      clearTimeout(this.typing);
      const run = ++this.run; // a later one takes over
      const { model } = this;
      const sentence = this.form.input.value;
      this.translating = new Promise((resolve) => {
        this.translated = resolve;
      });
      model.engine.cancel("pair");
      const silent = [...this.heads.silent];
      if (growing || this.ablations.trial || sentence !== this.answer.sentence) this.forget();
      const stored = exampleOf(model, sentence);
      this.panel.classList.add("pg-waiting"); // what stands there is of another sentence
      if (stored && !silent.length && !model.engine.ready) {
        this.show(stored, word);
        [growing, word] = [false, null];
      }
      if (!(await this.load()) || run !== this.run) return;
      const grows = growing && !quick.matches;
      const steps = [];
      let shown = Promise.resolve();
      // One after another, unless something newer is there.
      const next = (action, pause) => {
        shown = shown.then(() => {
          if (run !== this.run) return;
          action();
          if (pause) return new Promise((resolve) => setTimeout(resolve, pause));
        });
      };
      const request = { task: "translate", sentence, silent };
      model.engine.ask(request, ({ step, answer, layers }) => {
        if (step) {
          steps.push(step);
          const { text } = likeliest([...step.finished, ...step.beam]);
          const until = steps.length;
          if (grows) next(() => this.grow(text, steps.slice(0, until)), PAUSE);
          return;
        }
        if (layers) return next(() => this.tools.deepen(layers));
        const still = !grows || answer.refused;
        if (!still) this.look(answer, word);
        if (typing) answer.unknownWords = this.form.unknown();
        next(() => {
          this.show(answer, still ? word : null, steps, typing);
          this.translated();
        });
      });
    }

    // Show the German so far.
    grow(text, steps) {
      this.reveal(true, true);
      this.german.grow(text);
      this.beam.show(steps);
    }

    // Show or hide the translation and the heads, and the search.
    reveal(all, search) {
      this.panel.classList.remove("pg-waiting");
      for (const node of [this.german.bar, this.cut, this.right]) node.hidden = !all;
      this.search.hidden = !search;
      if (!search) this.tools.depth.place.hidden = true;
    }

    // Show an answer; the search, if its steps are known. Who is typing hears what is odd
    // about the sentence; of its translation, no more than was asked for.
    show(answer, word, steps = [], typing = false) {
      const { refused, text } = answer;
      this.answer = answer;
      this.say(Playground.notesOn(answer), typing ? "" : text);
      this.reveal(!refused, steps.length > 0);
      if (refused) return this.tools.answered(answer);
      if (steps.length) this.beam.show(steps);
      this.look(answer, word);
      this.allOn.disabled = !this.heads.silent.size;
      this.german.show(answer, this.heads.silent);
      this.tools.answered(answer);
    }

    // Say what there is to say. The German stands on the page already, so here it is
    // for readers who listen.
    say(notes, german = "") {
      const said = [...notes, german].join("\n");
      if (!german && said === this.said) return; // it would be heard again
      this.said = said;
      this.status.replaceChildren();
      for (const note of notes) make(this.status, "p", {}, note);
      if (german) make(this.status, "p", { class: "sr-only", lang: "de" }, german);
    }

    // Show the pieces, and where the heads look.
    look(answer, word) {
      const sides = Playground.sidesOf(answer);
      this.cut.replaceChildren("The model reads ");
      for (const piece of sides.source.slice(0, -1))
        make(this.cut, "span", { class: "pg-piece" }, piece);
      this.heads.show(answer.looks, sides, word);
    }

    // Leave only these heads off.
    silence(heads, word = null) {
      this.heads.silence(heads);
      this.translate(false, word);
    }

    // Each head off, and it alone: which of them change the translation?
    async tryAll() {
      this.forget();
      const trial = this.ablations.begin(allHeads(this.model).length);
      await this.translating;
      if (!(await this.load()) || trial !== this.ablations.trial) return;
      const request = { task: "in turn", sentence: this.answer.sentence };
      this.model.engine.ask(request, ({ head, text, whole }) => {
        if (text === whole) return this.ablations.tell(head);
        const word = changed(text, whole);
        this.heads.tell(head, word);
        this.ablations.tell(head, [text, whole], () => {
          this.heads.choose(head);
          this.silence([head], word);
        });
      });
    }

    // What was said of each head in turn no longer holds.
    forget() {
      this.ablations.forget();
      this.heads.tell();
    }
  }

  const likeliest = (prefixes) =>
    prefixes.reduce((a, b) => (b.logProbability > a.logProbability ? b : a));

  const exampleOf = (model, sentence) =>
    model.answers.find((each) => each.sentence === sentence);

  for (const place of document.querySelectorAll(".aiayn-playground")) {
    const models = JSON.parse(place.querySelector("script").textContent);
    place.replaceChildren();
    const { form } = new Page(place, models);
    if (location.hash === `#${form.input.id}`) form.input.focus();
  }
}
