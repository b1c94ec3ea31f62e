// What all pictures share: elements, buttons, and the places where pictures belong.
// Each file is a block of its own and gives its names to `aiayn`.
"use strict";
globalThis.aiayn ??= {};
{
  const DRAWN = ["svg", "path", "rect", "line"];
  const SVG = "http://www.w3.org/2000/svg";
  const XHTML = "http://www.w3.org/1999/xhtml";

  // Append an element to its parent. The text is never read as HTML: the words are the
  // reader's.
  aiayn.make = (parent, tag, attributes = {}, text = "") => {
    const node = document.createElementNS(DRAWN.includes(tag) ? SVG : XHTML, tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    node.textContent = text;
    parent.append(node);
    return node;
  };

  // Append a button that does something.
  aiayn.button = (parent, text, action, attributes = {}) => {
    const all = { type: "button", ...attributes };
    const node = aiayn.make(parent, "button", all, text);
    node.onclick = action;
    return node;
  };

  // Buttons that stay pressed: `buttons` holds each with a function that tells whether
  // it is.
  aiayn.press = (buttons) => {
    for (const [node, pressed] of buttons) node.setAttribute("aria-pressed", pressed());
  };

  // Draw every picture of a kind that is on the page and not drawn yet, from the data
  // in its script; one in a closed fold is drawn when that is opened.
  aiayn.drawAll = (kind, draw) => {
    for (const place of document.querySelectorAll(`.${kind}:not([data-drawn])`)) {
      place.dataset.drawn = "";
      const begin = () => {
        const data = JSON.parse(place.querySelector("script").textContent);
        place.replaceChildren();
        draw(place, data);
      };
      const folded = place.closest("details:not([open])");
      if (folded) folded.addEventListener("toggle", begin, { once: true });
      else begin();
    }
  };
}
