// Where heads look: a small picture of each, and one of them large, with lines between
// words. The playground of the book's site uses this file, too.
"use strict";
globalThis.aiayn ??= {};
{
  const { make } = aiayn;
  const percent = (weight) => `${Math.round(100 * weight)}%`;

  // The small picture: a row for each word that looks, a column for each that is looked
  // at.
  aiayn.smallPicture = (parent, rows, columns) => {
    const svg = make(parent, "svg", {
      viewBox: `0 0 ${columns} ${rows.length}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    rows.forEach((row, y) => row.forEach((weight, x) => {
      if (weight <= 0.05) return;
      const opacity = weight.toFixed(2);
      make(svg, "rect", { x, y, width: 1, height: 1, opacity });
    }));
    return svg;
  };

  // What gets the largest weights, as in "tired 62%, was 11%": at most n, from 5% on.
  aiayn.largest = (weights, words, n) =>
    Array.from(weights, (weight, j) => [weight, words[j]])
      .filter(([weight]) => weight >= 0.05)
      .sort((a, b) => b[0] - a[0])
      .slice(0, n)
      .map(([weight, word]) => `${word} ${percent(weight)}`)
      .join(", ");

  // The large picture: words that look on the left, words that are looked at on the
  // right, and lines between them.
  aiayn.LargePicture = class LargePicture {
    // `redraw` is called when a reader chooses another word. `word` is the one chosen;
    // while the pointer is over another, that one counts.
    constructor(place, redraw) {
      Object.assign(this, { redraw, word: null, over: null });
      const large = make(place, "div", { class: "at-large" });
      const looking = { class: "at-words", "aria-label": "words that look" };
      this.from = make(large, "ul", { ...looking, role: "listbox" });
      const stretched = { preserveAspectRatio: "none", "aria-hidden": "true" };
      this.svg = make(large, "svg", stretched);
      const seen = { class: "at-words at-seen", "aria-label": "words that are looked at" };
      this.to = make(large, "ul", seen);
      this.from.onkeydown = (event) => this.move(event);
    }

    // The word whose lines are shown; null for all words.
    get active() {
      return this.over ?? this.word;
    }

    choose(change) {
      Object.assign(this, change);
      this.redraw();
    }

    // Put words on both sides.
    write(queries, keys) {
      Object.assign(this, { queries, keys });
      this.from.replaceChildren();
      this.to.replaceChildren();
      queries.forEach((word, index) => {
        const item = make(this.from, "li", { role: "option", title: word }, word);
        item.onfocus = () => this.choose({ word: index, over: null });
        item.onmouseenter = () => this.choose({ over: index });
        item.onmouseleave = () => this.choose({ over: null });
      });
      for (const word of keys) {
        const item = make(this.to, "li", { title: word });
        make(item, "span", {}, word);
        make(item, "small");
      }
      const most = Math.max(queries.length, keys.length);
      this.svg.setAttribute("viewBox", `0 0 100 ${most}`);
      this.svg.style.height = `calc(${most} * var(--row))`;
    }

    // Show where words look, by lines and by shades. `looks` holds heads: the weights of
    // each, and its colour, if it has one. Lines of words that are not active are as
    // faint as `others` says: 0 leaves them out.
    draw(looks, others = 0) {
      const { active } = this;
      [...this.from.children].forEach((item, index) => {
        item.setAttribute("aria-selected", index === active);
        item.tabIndex = index === (this.word ?? 0) ? 0 : -1;
      });
      this.svg.replaceChildren();
      looks.forEach(({ rows, colour }, k) => {
        const shift = 0.15 * (k - (looks.length - 1) / 2);
        rows.forEach((row, i) => row.forEach((weight, j) => {
          const share = active === null || active === i ? 1 : others;
          if (weight < 0.03 || !share) return;
          const from = i + 0.5 + shift, to = j + 0.5 + shift;
          const d = `M0 ${from}C40 ${from} 60 ${to} 100 ${to}`;
          const opacity = (share * (0.2 + 0.8 * weight)).toFixed(2);
          const line = make(this.svg, "path", { d, opacity });
          line.style.strokeWidth = `${(0.5 + 5 * weight).toFixed(1)}px`;
          if (colour) line.style.setProperty("--at", colour);
        }));
      });
      [...this.to.children].forEach((item, j) => {
        // What is not written yet has no weight.
        const given = looks.map(({ rows }) => rows[active]?.[j] ?? 0);
        const weight = Math.max(...given);
        item.style.setProperty("--seen", weight.toFixed(2));
        item.lastChild.textContent = weight < 0.05 ? "" : ` ${percent(weight)}`;
      });
    }

    move(event) {
      const last = this.queries.length - 1, at = this.word ?? 0;
      const next = {
        ArrowDown: at + 1,
        ArrowUp: at - 1,
        Home: 0,
        End: last,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();  // the page would scroll
      event.stopPropagation();  // Jupyter moves between cells by these keys
      this.from.children[Math.min(last, Math.max(0, next))].focus();
    }
  };
}
