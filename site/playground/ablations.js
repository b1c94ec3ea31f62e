// Each head off, and it alone: the list of those that change the translation.
"use strict";
{
  const { make, button } = aiayn;

  Playground.Ablations = class Ablations {
    constructor(place, page) {
      this.page = page;
      this.place = make(place, "div", { class: "pg-found", role: "status" });
      this.trial = null; // the one that is going on
    }

    // Try each head of the page's model on its sentence.
    async run() {
      const { page } = this;
      page.forget();
      const trial = this.begin(Playground.allHeads(page.model).length);
      await page.translating;
      if (!(await page.load()) || trial !== this.trial) return;
      const request = { task: "in turn", sentence: page.answer.sentence };
      page.model.engine.ask(request, ({ head, text, whole }) => {
        if (text === whole) return this.tell(head);
        const word = Playground.changed(text, whole);
        page.heads.tell(head, word);
        this.tell(head, [text, whole], () => {
          page.heads.choose(head);
          page.silence([head], word);
        });
      });
    }

    // Begin to try so many heads.
    begin(all) {
      const said = make(this.place, "p", {}, "Trying … ");
      const count = make(said, "span", { "aria-hidden": "true" }); // not read aloud
      const list = make(this.place, "ul");
      return (this.trial = { all, said, count, list, tried: 0, some: 0 });
    }

    // One head has been tried. If it matters, there is a translation without it and with
    // it, and `choose` is what a press does.
    tell(head, translations, choose) {
      const { all, said, count, list } = this.trial;
      const tried = ++this.trial.tried;
      if (translations) {
        this.trial.some++;
        const item = make(list, "li");
        button(item, Playground.nameOf(head), choose);
        item.append(" ");
        const german = make(item, "span", { lang: "de" });
        Playground.writeMarked(german, ...translations);
        const word = Playground.changed(...translations);
        if (word.startsWith("−")) german.append(" ", make(german, "mark", {}, word));
      }
      count.textContent = `${tried} of ${all}`;
      if (tried < all) return;
      said.textContent = conclusion(all, this.trial.some);
      this.trial = null;
    }

    forget() {
      this.place.replaceChildren();
      this.trial = null;
    }
  };

  function conclusion(all, some) {
    if (!some) return `Without any one of the ${all} heads, the translation stays the same.`;
    return (
      `Of ${all} heads, ${some} ${some > 1 ? "change" : "changes"} the translation by ` +
      `being off. Without any one of the other ${all - some}, it stays the same. Press a ` +
      "head to switch it off and see where it looks."
    );
  }
}
