// What joins the page's further tools to it: the link, two sentences side by side, and
// layer by layer.
"use strict";
{
  const { make } = aiayn;
  const TOOLS = [
    ["pg-heads", "Where the heads look"],
    ["pg-pairs", "Two sentences side by side"],
    ["pg-depth", "Layer by layer"],
    ["pg-search", "The search"],
  ];

  // Links to the tools: here, and in the page's contents at the side.
  Playground.listTools = (place) => {
    const here = make(place, "nav", { class: "pg-contents", "aria-label": "Tools" });
    const side = document.querySelector(".aiayn-contents");
    const first = side?.firstChild;
    for (const [id, name] of TOOLS) {
      make(here, "a", { href: `#${id}` }, name);
      if (!side) continue;
      const item = make(side, "li");
      make(item, "a", { href: `#${id}` }, name);
      first.before(item);
    }
  };

  Playground.Tools = class Tools {
    constructor(page, panel) {
      this.page = page;
      this.pairs = new Playground.Pairs(panel, {
        first: () => page.answer.sentence,
        silent: () => [...page.heads.silent],
        choose: (sentence, ready) => page.ask(sentence, ready),
        load: () => page.load(),
        ask: (request, hear) => this.ask(request, hear),
        keep: () => this.keep(),
      });
      this.depth = new Playground.Depth(panel, () => {
        const { heads } = page;
        if (heads.looksFromGerman) heads.row = this.depth.at;
        this.keep();
      });
    }

    // Begin to keep what is set up in the address, and open what it holds.
    begin(models) {
      this.link = new Playground.Link(this.page.form.row, {
        models,
        state: () => this.state(),
        restore: (state) => this.restore(state),
      });
    }

    keep() {
      this.link?.keep();
    }

    // What a link holds.
    state() {
      const { model, form, heads } = this.page;
      return {
        model: model.name,
        text: form.input.value,
        off: [...heads.silent],
        head: heads.chosen,
        row: heads.row,
        layer: this.depth.layer,
        place: heads.looksFromGerman ? null : this.depth.at,
        step: this.page.beam.step,
        ...this.pairs.state(),
      };
    }

    // Show what a link holds.
    restore({ model, text, off, head, row, layer, place, step, ...pair }) {
      const { page } = this;
      page.choice.mark(model);
      page.choose(model);
      if (text !== undefined) page.form.input.value = text;
      page.heads.silence(off);
      page.heads.chosen = head ?? model.opens;
      this.depth.layer = layer ?? model.N;
      this.depth.at = place ?? 0;
      this.pairs.restore(pair);
      page.translate(false, row ?? "");
      page.beam.step = step ?? null;
      page.place.scrollIntoView();
    }

    // Take a model.
    offer(model) {
      this.pairs.offer(model);
      this.depth.offer(model);
    }

    // Another head or word has been chosen.
    follow() {
      const { heads } = this.page;
      if (heads.looksFromGerman) this.depth.choose(heads.row);
      this.keep();
    }

    // Ask the model for what has to do with two sentences; says whether it is there.
    async ask(request, hear) {
      const { page } = this;
      const { model } = page;
      if (!(await page.load())) return false;
      if (model === page.model) model.engine.ask(request, hear, "pair");
      return true;
    }

    // An answer has come.
    answered({ refused }) {
      this.keep();
      if (refused) this.pairs.forget();
      else if (this.page.model.engine.ready) this.pairs.run();
    }

    // Show what each layer would write.
    deepen(layers) {
      const { answer, heads } = this.page;
      const { writes } = Playground.sidesOf(answer);
      this.depth.show(layers, writes, heads.looksFromGerman ? heads.row : null);
    }
  };
}
