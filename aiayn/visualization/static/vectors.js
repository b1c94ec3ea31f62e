// What the pictures of queries, keys and values share.
"use strict";
{
  const { make } = aiayn;

  // A share as a bar, in the colour of its kind.
  aiayn.bar = (parent, share, colour) => {
    const svg = make(parent, "svg", { width: 50, height: 12, "aria-hidden": "true" });
    make(svg, "rect", { width: 50 * share, height: 12, fill: `var(--${colour})` });
  };

  // A group of buttons in a row, begun by its name.
  aiayn.group = (parent, name) => {
    const about = { class: "ai-row", role: "group", "aria-label": name };
    const row = make(parent, "div", about);
    make(row, "span", {}, `${name}:`);
    return row;
  };
}
