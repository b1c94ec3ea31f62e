// What tools/pdf.py runs on the pages of the built site, to make one long page of them.

// Whether all charts of the page are drawn: what is printed draws them all.
function isDrawn() {
  dispatchEvent(new Event("beforeprint"));
  const charts = [...document.querySelectorAll(".aiayn-chart")];
  return document.readyState === "complete" && charts.every((chart) => chart.drawn);
}

// Hands over the article as it stands. Its ids get the page's name in front, because two
// pages may use the same. A link becomes one to a place in the book or, where the book
// has not got the page, to the web.
function take({names, base, online}) {
  const article = document.querySelector("article.bd-article");
  const own = (id) => `${names[location.href.split("#")[0]]}--${id}`;
  const unprinted = "script, noscript, a.headerlink, .vega-bindings";
  article.querySelectorAll(unprinted).forEach((node) => node.remove());
  article.querySelectorAll("details").forEach((node) => { node.open = true; });
  for (const code of article.querySelectorAll("pre"))
    if (code.textContent.split("\n").length > 12) {
      const box = code.closest(".cell_input") ?? code.closest("[class*='highlight-']");
      box?.classList.add("aiayn-long");
    }
  // A formula that is wider than the paper gets smaller.
  for (const formula of article.querySelectorAll("div.math")) {
    const room = formula.clientWidth, width = formula.scrollWidth;
    if (width > room) formula.style.fontSize = `${Math.floor((95 * room) / width)}%`;
  }
  const mentions = ["for", "aria-labelledby", "aria-describedby", "aria-controls"];
  const here = `url($1#${own("")}`;
  for (const node of article.querySelectorAll("*")) {
    for (const {name, value} of Array.from(node.attributes)) {
      if (name === "id") node.id = own(value);
      else if (mentions.includes(name))
        node.setAttribute(name, value.split(" ").map(own).join(" "));
      else if (value.includes("url(")) // Vega puts the page's address before the #
        node.setAttribute(name, value.replace(/url\((["']?)[^#)]*#/g, here));
      else if (name.endsWith("href") && value.startsWith("#") && node.localName !== "a")
        node.setAttribute(name, `#${own(value.slice(1))}`);
    }
    const full = (name) => new URL(node.getAttribute(name), document.baseURI).href;
    if (node.localName === "img") node.src = full("src");
    if (node.localName === "a" && node.hasAttribute("href")) {
      const [page, place] = full("href").split("#");
      const inner = place ? `--${decodeURIComponent(place)}` : "";
      const outer = place ? `#${place}` : "";
      if (names[page]) node.setAttribute("href", `#${names[page]}${inner}`);
      else if (page.startsWith(base))
        node.setAttribute("href", online + page.slice(base.length) + outer);
    }
  }
  return {
    html: article.innerHTML,
    title: article.querySelector("h1").textContent.trim(),
    styles: [...document.querySelectorAll('link[rel="stylesheet"]')]
      .map((link) => link.outerHTML.replace(link.getAttribute("href"), link.href)),
  };
}

// A link into what paper leaves out leads to the nearest place above it that is printed.
function redirect() {
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    const id = decodeURIComponent(link.getAttribute("href").slice(1));
    const target = document.getElementById(id);
    let place = target;
    while (place && !place.checkVisibility()) place = place.parentElement;
    if (place === target) continue;
    while (place && !place.id) place = place.parentElement;
    if (place) link.setAttribute("href", `#${place.id}`);
  }
}

globalThis.book = {isDrawn, redirect, take};
