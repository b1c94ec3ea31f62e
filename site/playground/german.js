// The translation, and what it would be with all heads.
"use strict";
{
  const { make } = aiayn;
  const { writeMarked, nameOf } = Playground;
  const NOTHING = "nothing: the model ends at once";

  Playground.German = class German {
    constructor(place) {
      this.bar = make(place, "div", { class: "pg-bar" });
      this.of = make(this.bar, "p", { class: "pg-of" });
      this.text = make(this.bar, "p", { class: "pg-german", lang: "de" });
      this.before = make(this.bar, "p", { class: "pg-before" });
    }

    // A sentence is being translated; what stands here is of the one before.
    wait() {
      this.bar.setAttribute("aria-busy", true);
      this.of.textContent = "translating …";
    }

    // Nothing will come.
    stop() {
      this.bar.removeAttribute("aria-busy");
      this.of.textContent = "not translated";
    }

    // Show what is written so far.
    grow(text) {
      this.text.textContent = text;
      this.before.replaceChildren();
    }

    // Show a translation with these heads off, beside the one with all heads.
    show({ sentence, text, whole }, silent) {
      this.bar.removeAttribute("aria-busy");
      this.of.replaceChildren("German for: ");
      make(this.of, "span", { lang: "en" }, sentence);
      this.text.replaceChildren();
      if (text) writeMarked(this.text, text, whole);
      else make(this.text, "span", { class: "pg-none", lang: "en" }, NOTHING);
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
