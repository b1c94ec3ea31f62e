// Elements of the page. Text is always set as text: what a reader types is never read
// as HTML.
"use strict";
globalThis.Laboratory ??= {};
{
  const DRAWN = ["svg", "path", "rect"];
  const SVG = "http://www.w3.org/2000/svg";
  const XHTML = "http://www.w3.org/1999/xhtml";

  // Append an element to its parent, with attributes and a text.
  Laboratory.make = (parent, tag, attributes = {}, text = "") => {
    const node = document.createElementNS(DRAWN.includes(tag) ? SVG : XHTML, tag);
    for (const [name, value] of Object.entries(attributes))
      node.setAttribute(name, value);
    node.textContent = text;
    parent.append(node);
    return node;
  };

  // Append a button that does something.
  Laboratory.button = (parent, text, action, attributes = {}) => {
    const all = { type: "button", ...attributes };
    const node = Laboratory.make(parent, "button", all, text);
    node.onclick = action;
    return node;
  };

  // Append a sentence, its words marked where they are not among those of another: what
  // both have in the same order is the longest common sequence, and the rest is what
  // differs.
  Laboratory.writeMarked = (parent, sentence, other) => {
    const [a, b] = [sentence.split(" "), other.split(" ")];
    const zeros = () => new Array(b.length + 1).fill(0);
    const common = Array.from({ length: a.length + 1 }, zeros);
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        common[i][j] =
          a[i] === b[j]
            ? common[i + 1][j + 1] + 1
            : Math.max(common[i + 1][j], common[i][j + 1]);
    for (let i = 0, j = 0; i < a.length; i++) {
      while (j < b.length && a[i] !== b[j] && common[i][j + 1] >= common[i + 1][j]) j++;
      const same = j < b.length && a[i] === b[j];
      if (same) j++;
      if (i) parent.append(" ");
      if (same) parent.append(a[i]);
      else Laboratory.make(parent, "mark", {}, a[i]);
    }
  };
}
