// Words that a reader may be about to type, of those that a model knows.
"use strict";
{
  const { make } = aiayn;
  const MOST = 6;
  // Milliseconds between the last letter that is typed and what comes of it.
  Playground.REST = 250;
  const capital = (word) => word[0].toUpperCase() + word.slice(1);
  let count = 0;

  Playground.Completion = class Completion {
    // `place` is around the field. `type` is called when a word has been put into it.
    constructor(place, field, type) {
      Object.assign(this, { field, type, words: [], active: -1 });
      const id = `pg-completion-${++count}`;
      const list = { id, role: "listbox", "aria-label": "words that it knows" };
      this.list = make(place, "ul", { class: "pg-completion", hidden: "", ...list });
      const live = { class: "sr-only", "aria-live": "polite" };
      this.said = make(place, "span", live);
      field.setAttribute("aria-autocomplete", "list");
      field.setAttribute("aria-controls", id);
      field.addEventListener("input", () => this.suggest());
      field.addEventListener("blur", () => this.close());
      // Before the field's own keys: Enter takes a word while one is chosen.
      field.addEventListener("keydown", (event) => this.press(event), { capture: true });
    }

    // Take the words of a model; none, if it knows too many to list.
    offer(words) {
      this.known = new Set(words);
      this.words = Playground.plainWords(words);
      this.list.classList.toggle("pg-any", words.length > 0);
      this.close();
    }

    // Offer the words that begin as the one before the caret does, the short ones first.
    suggest() {
      const { value, selectionStart: caret } = this.field;
      const [typed] = value.slice(0, caret).match(/\p{L}*$/u);
      this.typed = typed;
      this.close();
      if (!typed || /^\p{L}/u.test(value.slice(caret))) return;
      const first = !value.slice(0, caret - typed.length).trim();
      const large = first || typed[0] !== typed[0].toLowerCase();
      const start = typed.toLowerCase();
      const words = this.words
        .filter((word) => word.toLowerCase().startsWith(start))
        .map((word) => (large && this.known.has(capital(word)) ? capital(word) : word))
        .filter((word) => word !== typed)
        .sort((a, b) => a.length - b.length);
      if (!words.length) return;
      const offered = words.slice(0, MOST);
      offered.forEach((word, i) => {
        const option = { id: `${this.list.id}-${i}`, role: "option", lang: "en" };
        const item = make(this.list, "li", { ...option, "aria-selected": false }, word);
        item.onpointerdown = (event) => {
          event.preventDefault(); // the field keeps the focus
          this.take(word);
        };
      });
      this.list.hidden = false;
      this.said.textContent =
        `${offered.length} of ${words.length} words. Arrow down to choose.`;
    }

    press(event) {
      if (this.list.hidden || event.isComposing) return;
      const options = [...this.list.children];
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const chosen = options[this.active];
      if (step) this.choose(this.active + step, options);
      else if (event.key === "Escape") this.close();
      else if (chosen && ["Enter", "Tab"].includes(event.key)) this.take(chosen.textContent);
      else {
        if (event.key === "Enter") this.close();
        return;
      }
      event.preventDefault();
      event.stopImmediatePropagation();
    }

    choose(at, options) {
      const none = options.length; // before the first and after the last is none
      this.active = at < -1 ? none - 1 : at >= none ? -1 : at;
      options.forEach((item, i) => item.setAttribute("aria-selected", i === this.active));
      const id = options[this.active]?.id;
      if (id) this.field.setAttribute("aria-activedescendant", id);
      else this.field.removeAttribute("aria-activedescendant");
    }

    // Put a word in the place of its beginning.
    take(word) {
      const { selectionStart: caret } = this.field;
      const { length } = this.typed;
      this.field.setRangeText(`${word} `, caret - length, caret, "end");
      this.close();
      this.type();
    }

    close() {
      this.list.replaceChildren();
      this.list.hidden = true;
      this.active = -1;
      this.said.textContent = "";
      this.field.removeAttribute("aria-activedescendant");
    }
  };
}
