// A row of buttons that is one stop of the Tab key; arrow keys move within it.
"use strict";
{
  const { make } = aiayn;
  const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  // Make all that `items` returns one stop: the pressed one, or the one last visited.
  aiayn.roving = (row, items) => {
    let last = null;
    const settle = () => {
      const all = items();
      const pressed = all.find((item) => item.getAttribute("aria-pressed") === "true");
      const stop = all.includes(last) ? last : pressed ?? all[0];
      for (const item of all) item.tabIndex = item === stop ? 0 : -1;
    };
    row.addEventListener("keydown", (event) => {
      const all = items(), at = all.indexOf(document.activeElement);
      const end = { Home: 0, End: all.length - 1 }[event.key];
      const next = end ?? at + (MOVES[event.key] ?? 0);
      if (at < 0 || (end === undefined && !MOVES[event.key])) return;
      event.preventDefault();  // the page would scroll
      event.stopPropagation();  // Jupyter moves between cells by these keys
      all[Math.max(0, Math.min(all.length - 1, next))].focus();
    });
    row.addEventListener("focusin", (event) => {
      last = event.target;
      settle();
    });
    return settle;
  };

  // A toolbar, begun by its name; its buttons are appended by whoever asked for it.
  aiayn.toolbar = (parent, name) => {
    const about = { class: "ai-row", role: "toolbar", "aria-label": name };
    const row = make(parent, "div", about);
    make(row, "span", {}, `${name}:`);
    row.settle = aiayn.roving(row, () => [...row.querySelectorAll("button")]);
    return row;
  };
}
