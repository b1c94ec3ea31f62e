// The translation, and what it would be with all heads.
"use strict";
{
  const { make } = aiayn;
  const { writeMarked, nameOf } = Playground;

  Playground.German = class German {
    constructor(place) {
      this.bar = make(place, "div", { class: "pg-bar" });
      this.text = make(this.bar, "p", { class: "pg-german", lang: "de" });
      this.before = make(this.bar, "p", { class: "pg-before" });
    }

    // Show what is written so far.
    grow(text) {
      this.text.textContent = text;
      this.before.replaceChildren();
    }

    // Show a translation with these heads off, beside the one with all heads.
    show({ text, whole }, silent) {
      this.text.replaceChildren();
      writeMarked(this.text, text, whole);
      this.before.replaceChildren();
      const off = [...silent].map(nameOf);
      if (!off.length) return;
      const heads = off.length > 4 ? `${off.length} heads` : off.join("; ");
      this.before.append(`Without ${heads}. `);
      if (text === whole) this.before.append("With all heads it is the same.");
      else {
        this.before.append("With all heads: ");
        writeMarked(make(this.before, "span", { lang: "de" }), whole, text);
      }
    }
  };
}
