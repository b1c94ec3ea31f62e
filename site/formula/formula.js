// The formula of attention as an instrument: a symbol lights its tensor, its piece of
// code and its part of figure 2, and each of these lights the symbol.
"use strict";
{
  const { roving } = globalThis.aiayn;

  // The text at an offset in an element: its node, and the offset in that.
  const position = (element, offset) => {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (texts.nextNode() && offset >= texts.currentNode.length)
      offset -= texts.currentNode.length;
    return [texts.currentNode, offset];
  };

  // Put the pieces of a line of code into elements of their own.
  const wrap = (pre, line, pieces) => {
    let at = pre.textContent.indexOf(line);
    return pieces.map(([symbol, text]) => {
      const piece = document.createElement("span"), range = document.createRange();
      const begin = pre.textContent.indexOf(text, at);
      at = begin + text.length;
      const [last, offset] = position(pre, at - 1);
      range.setStart(...position(pre, begin));
      range.setEnd(last, offset + 1);
      piece.className = "formula-code";
      piece.dataset.symbol = symbol;
      piece.append(range.extractContents());
      range.insertNode(piece);
      return piece;
    });
  };

  for (const place of document.querySelectorAll(".aiayn-formula")) {
    const all = (selector) => [...place.querySelectorAll(selector)];
    const symbols = all(".formula-symbol"), panels = all(".formula-panel");
    const parts = all(".formula-figure [data-symbol]");
    const pre = document.querySelector(`#${place.dataset.cell} pre`);
    const lines = JSON.parse(place.querySelector("script").textContent);
    const code = lines.flatMap(([line, pieces]) => wrap(pre, line, pieces));
    const buttons = [...symbols, ...code];
    const settle = [
      roving(place.querySelector(".formula-line"), () => symbols),
      roving(pre, () => code),
    ];

    const show = (symbol) => {
      for (const node of [...buttons, ...parts])
        node.toggleAttribute("data-lit", node.dataset.symbol === symbol);
      for (const node of buttons) node.setAttribute("aria-pressed", node.matches("[data-lit]"));
      for (const panel of panels)
        panel.toggleAttribute("data-shown", panel.dataset.panel === symbol);
      for (const each of settle) each();
    };

    for (const node of buttons) node.setAttribute("role", "button");
    for (const node of symbols) node.setAttribute("aria-label", node.dataset.says);
    for (const node of [...buttons, ...parts]) {
      const choose = () => show(node.dataset.symbol);
      for (const event of ["mouseenter", "click"]) node.addEventListener(event, choose);
      // A listener would make the figure's boxes stops for the Tab key, without a name.
      if (buttons.includes(node)) node.addEventListener("focus", choose);
    }
    // The matrix stays in the window while the reader is at the figure or the code: not
    // by CSS alone, as the code is outside this element.
    const bar = document.querySelector(".bd-header-article");
    const stage = place.querySelector(".formula-panels");
    const stick = () => {
      const top = Math.max(0, bar?.getBoundingClientRect().bottom ?? 0);
      const at = stage.getBoundingClientRect(), end = code.at(-1).getBoundingClientRect();
      const wanted = at.top < top;
      place.toggleAttribute("data-stuck", wanted);
      const height = panels.find((panel) => panel.matches("[data-shown]")).offsetHeight;
      place.toggleAttribute("data-stuck", wanted && end.bottom > top + height);
      place.style.setProperty("--formula-top", `${top}px`);
      place.style.setProperty("--formula-left", `${at.left}px`);
      if (wanted) pre.style.setProperty("--formula-bar", `${top + height}px`);
    };

    for (const event of ["scroll", "resize"]) addEventListener(event, stick, { passive: true });
    place.querySelector(".formula-line").setAttribute("role", "toolbar");
    place.querySelector(".formula-panels").setAttribute("aria-live", "polite");
    place.dataset.live = "";
    show("Q");
    stick();
  }
}
