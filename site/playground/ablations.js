// Each head off, and it alone: the list of those that change the translation.
"use strict";
{
  const { make, button } = aiayn;

  Playground.Ablations = class Ablations {
    constructor(place) {
      this.place = make(place, "div", { class: "pg-found", role: "status" });
      this.trial = null; // the one that is going on
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
        Playground.writeMarked(make(item, "span", { lang: "de" }), ...translations);
        const word = Playground.changed(...translations);
        if (word.startsWith("−")) item.append(" ", make(item, "mark", { lang: "de" }, word));
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
    if (!some) return `Any one of the ${all} heads can be missed here.`;
    return (
      `Of ${all} heads, ${some} ${some > 1 ? "change" : "changes"} the translation by ` +
      `being off; any one of the other ${all - some} can be missed here.`
    );
  }
}
