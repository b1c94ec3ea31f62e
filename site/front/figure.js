// Figure 1 on the front page: shows a block's panel, and the numbers of the model that
// is chosen. All words and numbers come ready from the page (site/extensions/figure.py); this
// only puts them in their places.
(() => {
  const figure = document.querySelector(".aiayn-machine");
  const all = (selector) => [...figure.querySelectorAll(selector)];
  const stored = figure.querySelector('script[type="application/json"]');
  const everything = JSON.parse(stored.textContent);
  const form = figure.querySelector("form");
  const status = figure.querySelector('[role="status"]');
  // Length of a bar in the drawing for a percent, as in site/extensions/figure.py.
  const BAR = 1.4;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let shown = "whole";

  const values = () => everything[form.elements.size.value];

  function fill() {
    const now = values();
    for (const place of all("[data-value]"))
      place.textContent = now[place.dataset.value];
    for (const bar of all("[data-bar]"))
      bar.setAttribute("width", now[bar.dataset.bar] * BAR);
    for (const cell of all("[data-share]"))
      cell.style.setProperty("--share", `${now[cell.dataset.share]}%`);
  }

  // A reader who does not see the panel hears what matters most in it.
  function announce() {
    const heading = `[data-panel="${shown}"] .aiayn-machine-title`;
    const title = figure.querySelector(heading).textContent;
    const count = values()[`${shown}.parameters`];
    status.textContent = `${title}: ${count === "none" ? "no" : count} parameters`;
  }

  function show(block) {
    shown = block;
    for (const panel of all("[data-panel]"))
      panel.hidden = panel.dataset.panel !== block;
    figure.classList.toggle("exploring", block !== "whole");
    for (const link of all("[data-block]"))
      link.classList.toggle("shown", link.dataset.block === block);
    announce();
  }

  // On a phone the panel lies over the lower half of the drawing, perhaps over the very
  // block that was tapped.
  function uncover(link) {
    const block = link.getBoundingClientRect();
    const panel = figure.querySelector(".aiayn-machine-panels").getBoundingClientRect();
    if (block.bottom > panel.top && block.top < panel.bottom) {
      const behavior = calm.matches ? "instant" : "smooth";
      scrollBy({ top: block.top - innerHeight / 4, behavior });
    }
  }

  for (const link of all("a[data-block]")) {
    const block = link.dataset.block;
    let timer;
    let tapped = false;
    // A mouse on its way to the panel crosses other blocks: it means one only if it
    // stays a moment.
    link.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse") timer = setTimeout(show, 90, block);
    });
    link.addEventListener("pointerleave", () => clearTimeout(timer));
    // A finger cannot point without pressing, so a tap shows the panel, where a link
    // leads on. Not already when the tap brings the focus: the panel might slide under
    // the finger, and take the click.
    link.addEventListener("focus", () => tapped || show(block));
    link.addEventListener("pointerdown", (event) => {
      tapped = event.pointerType !== "mouse";
    });
    link.addEventListener("pointercancel", () => (tapped = false));
    link.addEventListener("click", (event) => {
      if (!tapped) return;
      tapped = false;
      event.preventDefault();
      show(block);
      uncover(link);
    });
  }

  for (const button of all("[data-show]"))
    button.addEventListener("click", () => show(button.dataset.show));
  figure.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show("whole");
  });
  form.addEventListener("change", () => {
    fill();
    announce();
  });
  fill(); // a browser that comes back to the page remembers what was chosen
})();
