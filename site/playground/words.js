// The words that a model knows, if they are few: a list, and those of a sentence that are
// not among them.
"use strict";
{
  const { make } = aiayn;

  // Words without marks and numbers, each once: as inside a sentence, if it stands there.
  Playground.plainWords = (words) => {
    const known = new Set(words);
    const plain = (word) => word[0].toLowerCase() + word.slice(1);
    return words.filter(
      (word) => /^\p{L}/u.test(word) && (word === plain(word) || !known.has(plain(word))),
    );
  };

  Playground.Words = class Words {
    constructor(place) {
      this.fold = make(place, "details", { class: "pg-words" });
      this.title = make(this.fold, "summary");
      const box = { class: "pg-scroll", tabindex: 0, role: "group", lang: "en" };
      this.list = make(this.fold, "div", { ...box, "aria-label": "All words" });
    }

    // Take the words of a model; none, if they are too many.
    offer(words) {
      this.all = words;
      this.fold.hidden = !words.length;
      this.vocabulary = words.length ? new Playground.Vocabulary([], words) : null;
      const plain = Playground.plainWords(words);
      const all = plain.length.toLocaleString("en");
      this.title.textContent = `All ${all} word forms that it knows`;
      this.list.replaceChildren();
      const letters = Map.groupBy(
        plain.sort((a, b) => a.localeCompare(b, "en")),
        (word) => word[0].toUpperCase(),
      );
      for (const [letter, group] of letters) {
        const line = make(this.list, "p");
        make(line, "strong", {}, letter);
        line.append(` ${group.join(" ")}`);
      }
    }

    // The words of what is being typed that the model does not know. The last one may be
    // the beginning of one that it knows.
    unknown(text) {
      const found = this.vocabulary?.unknownWords(text) ?? [];
      const begun = (word) => text.endsWith(word) && this.all.some((each) => each.startsWith(word));
      return found.filter((word) => !begun(word));
    }
  };
}
