// The page: a sentence goes in, and its translation, the search, and the attention come
// out.
"use strict";
{
  const { make, button } = aiayn;
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
      Playground.listTools(left);
      const right = make(desk, "div", { class: "pg-right" });
      this.right = right;
      make(right, "h2", { id: "pg-heads" }, "Where the heads look");
      for (const text of Playground.ABOUT_HEADS) make(right, "p", {}, text);
      const row = make(right, "p", { class: "pg-row" });
      this.allOn = button(row, "Switch all heads on", () => this.silence([]));
      button(row, "Switch off each head in turn", () => this.ablations.run());
      this.ablations = new Playground.Ablations(right, this);
      this.headsPlace = make(right, "div");
      this.tools = new Playground.Tools(this, panel);
      this.beam = new Playground.Beam(panel, () => this.tools.keep());
    }

    // Translate another sentence; with all heads on, if it is a ready one.
    ask(sentence, ready) {
      this.form.input.value = sentence;
      if (ready) this.begin();
      this.translate(false, "");
    }

    // Translate an example; what it was compared with goes.
    example(sentence) {
      this.form.input.value = sentence;
      this.tools.pairs.forsake();
      this.begin();
      this.translate(true);
    }

    // All heads on. The page says so if some were off, until something else is done.
    begin() {
      this.begun = this.heads.silent.size > 0;
      this.heads.silence([]);
    }

    // Translate what is being typed, when no more has come for a moment. Unknown words are
    // named at once.
    type() {
      this.load();
      clearTimeout(this.typing);
      this.begun = false;
      this.form.mark();
      if (!this.form.input.value.trim()) {
        this.run++; // nobody waits for the sentence before
        this.translated();
        return this.show({ refused: "empty" });
      }
      this.sayUnknown();
      this.typing = setTimeout(() => this.translate(false, "", true), Playground.REST);
    }

    // Name the unknown words at once; what was said of the sentence before goes.
    sayUnknown() {
      const unknownWords = this.form.unknown();
      this.say(Playground.notesOn({ unknownWords, unknownCharacters: [], ended: true }));
    }

    // Take a model. A sentence of the reader's own is translated anew; of the examples,
    // the same one is shown, or the first.
    choose(model) {
      const sentence = this.form.input.value;
      const own = this.model && !isReady(this.model, sentence);
      for (const channel of ["sentence", "pair"]) this.model?.engine.cancel(channel);
      this.model = model;
      this.form.offer(model);
      this.tools.offer(model);
      this.headsPlace.replaceChildren();
      this.heads = new Playground.Heads(this.headsPlace, model, {
        onSwitch: () => {
          this.begun = false;
          this.translate(false);
        },
        onChoose: () => this.tools.follow(),
      });
      this.forget();
      this.translated();
      this.run++;
      const stored = exampleOf(model, sentence) ?? model.answers[0];
      this.begun = false;
      this.beam.step = null;
      this.tools.pairs.forsake();
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
        if (model === this.model) {
          this.form.fail(error.message);
          this.german.stop();
        }
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
      const another = sentence !== this.answer.sentence;
      if (growing || this.ablations.trial || another) this.forget();
      if (another) {
        this.beam.step = null;
        this.sayUnknown();
      }
      const stored = exampleOf(model, sentence);
      this.panel.classList.add("pg-waiting"); // what stands there is of another sentence
      this.german.wait();
      this.form.mark();
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
      this.beam.place.hidden = !search;
      if (!search) this.tools.depth.place.hidden = true;
    }

    // Show an answer; the search, if its steps are known. Who is typing hears what is odd
    // about the sentence; of its translation, no more than was asked for.
    show(answer, word, steps = [], typing = false) {
      const { refused, text } = answer;
      this.answer = answer;
      this.form.mark();
      const begun = this.begun ? ["All heads are on again."] : [];
      this.say([...begun, ...Playground.notesOn(answer)], typing ? "" : text);
      this.reveal(!refused, steps.length > 0);
      if (refused) return this.tools.answered(answer);
      if (steps.length) this.beam.show(steps);
      this.look(answer, word);
      this.allOn.setAttribute("aria-disabled", !this.heads.silent.size); // keeps the focus
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
      if (sides.source.some((piece) => piece.startsWith("·")))
        this.cut.append(" (a dot marks a piece that continues a word)");
      this.heads.show(answer.looks, sides, word);
    }

    // Leave only these heads off.
    silence(heads, word = null) {
      this.begun = false;
      this.heads.silence(heads);
      this.translate(false, word);
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

  const isReady = (model, sentence) =>
    [...model.examples, ...model.pairs].some(([, first]) => first === sentence);

  for (const place of document.querySelectorAll(".aiayn-playground")) {
    const models = JSON.parse(place.querySelector("script").textContent);
    place.replaceChildren();
    const { form } = new Page(place, models);
    // What a link leads to was not there when the browser looked for it.
    const target = document.getElementById(location.hash.slice(1));
    if (place.contains(target)) target.scrollIntoView();
    if (target === form.input) form.input.focus({ preventScroll: true });
  }
}
