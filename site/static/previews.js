// What a link leads to, in a small box beside it: for whoever points at it, or reaches
// it by keyboard. What stands on the page itself is copied, formulas and all; what
// stands on another page comes from the search's index. Escape closes it.
(() => {
  const SOON = 350; // ms; whoever only passes sees nothing
  const LATER = 200; // to get from the link into the box
  const BLOCKS = 3; // of a section
  // Links with a note of their own, those to what stands beside them, downloads, and those
  // among buttons.
  const PLAIN =
    ".headerlink, .aiayn-term, .aiayn-origin, .aiayn-badge [href^='#'], [download], " +
    ".aiayn-tour a, .pg-contents a"; // a box would cover what one presses next
  const site = new URL(document.documentElement.dataset.content_root, document.baseURI).href;
  const box = document.createElement("div");
  box.id = "aiayn-preview";
  box.role = "tooltip";
  box.hidden = true;
  let [shown, wanted, timer] = [null, null, 0];

  const make = (tag, text, name = "") => {
    const node = document.createElement(tag);
    node.className = name;
    node.textContent = text;
    return node;
  };

  // Copies that have no name, no stop for the Tab key, and nothing to press.
  function copies(nodes) {
    const unfit = "script, button, details, .headerlink, .aiayn-depth, .aiayn-badge";
    return nodes
      .filter((node) => !node.matches(unfit))
      .map((node) => {
        const copy = node.cloneNode(true);
        copy.querySelectorAll(unfit).forEach((each) => each.remove());
        for (const each of [copy, ...copy.querySelectorAll("*")])
          for (const name of ["id", "href", "tabindex"]) each.removeAttribute(name);
        return copy;
      });
  }

  function onThisPage(anchor) {
    const target = document.getElementById(anchor);
    if (!target?.closest(".bd-article")) return null;
    const cell = target.closest(".cell");
    if (target.matches("section"))
      return copies([...target.querySelectorAll(":scope > :not(section)")].slice(0, BLOCKS));
    if (cell?.querySelector(`[id="${CSS.escape(anchor)}"]`) || cell === target)
      return copies([cell.querySelector(".cell_input .highlight")]);
    if (target.matches("dt")) {
      const meaning = target.nextElementSibling?.querySelector("p:not(.aiayn-place)");
      return copies([target, meaning].filter(Boolean));
    }
    return copies([target.closest("li, p, div, table") ?? target]);
  }

  function onAnother({ pages, places }, address) {
    const [url, anchor] = address.split("#");
    const page = pages.findIndex(([each]) => each === url);
    const here = places.filter(([each]) => each === page);
    const place = here.find(([, , each]) => each === anchor) ?? (anchor ? null : here[0]);
    if (!place) return null;
    const [, kind, , heading, text, code] = place;
    const words = text.length > 320 ? `${text.slice(0, 320).replace(/\s\S*$/, "")} …` : text;
    return [
      kind !== "name" && kind !== "option" && heading && make("b", heading),
      code && make("pre", code),
      words && make("p", words),
      heading !== pages[page][1] && make("small", pages[page][1]),
    ].filter(Boolean);
  }

  function hide() {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    box.hidden = true;
    shown = wanted = null;
  }

  function place(link) {
    const at = link.getClientRects()[0];
    const { clientWidth, clientHeight } = document.documentElement;
    const { width, height } = box.getBoundingClientRect();
    const below = at.bottom + height + 12 < clientHeight || at.top < height + 12;
    const top = below ? at.bottom + 6 : at.top - height - 6;
    box.style.top = `${top + scrollY}px`;
    box.style.left = `${Math.max(8, Math.min(at.left, clientWidth - width - 8)) + scrollX}px`;
  }

  async function show(link) {
    const address = link.href.slice(site.length);
    const own = link.href.split("#")[0] === location.href.split("#")[0];
    const anchor = decodeURIComponent(link.hash.slice(1));
    let content = null;
    if (own) content = onThisPage(anchor);
    else {
      const index = await window.AiaynSearch.index().catch(() => null);
      content = index && onAnother(index, decodeURIComponent(address));
    }
    if (!content?.length || link !== wanted) return;
    box.replaceChildren(...content);
    box.hidden = false;
    place(link);
    link.setAttribute("aria-describedby", box.id);
    shown = link;
  }

  const linkOf = (node) => {
    const link = node.closest?.(".bd-article a[href]");
    // Drawings have links, too, and notes of their own.
    const fit = link instanceof HTMLAnchorElement && !link.matches(PLAIN);
    return fit && link.href.startsWith(site) ? link : null;
  };
  function want(link) {
    if (link === shown) return clearTimeout(timer);
    hide();
    wanted = link;
    timer = setTimeout(show, SOON, link);
  }
  const leave = () => {
    clearTimeout(timer);
    timer = setTimeout(hide, LATER);
  };

  document.body.append(box);
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType === "touch") return;
    const link = linkOf(target);
    if (link) want(link);
    else if (box.contains(target)) clearTimeout(timer);
    else if (shown !== document.activeElement || !shown) leave();
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = target.matches(":focus-visible") && linkOf(target);
    if (link) want(link);
    else hide();
  });
  document.addEventListener("focusout", leave);
  document.addEventListener("click", hide);
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
})();
