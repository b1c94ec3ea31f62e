// The search, as one types: in the theme's dialog and on the page search.html. What it
// needs is loaded when its field first gets the focus, by script tags, which also a page
// that is opened from disk may have. Without scripts there is no field.
window.AiaynSearch = (() => {
  const ROOT = document.documentElement.dataset.content_root;
  const MOST = 30; // results on search.html; in the dialog 12
  const WORDS = 28; // of an excerpt

  const loading = new Map();
  const script = (name) => {
    if (!loading.has(name)) {
      const arrived = new Promise((resolve, reject) => {
        const tag = document.createElement("script");
        tag.src = `${ROOT}_static/search/${name}.js`;
        tag.onload = resolve;
        tag.onerror = () => reject(new Error(`${name} does not load`));
        document.head.append(tag);
      });
      loading.set(name, arrived);
    }
    return loading.get(name);
  };
  const index = () => script("search-index").then(() => window.AiaynIndex);
  const finder = async () => {
    await Promise.all([index(), script("minisearch")]);
    await script("find");
    await window.AiaynFind.ready;
    return window.AiaynFind.find;
  };

  const make = (parent, tag, name, text = "") => {
    const node = document.createElement(tag);
    node.className = name;
    node.textContent = text; // never as HTML: an excerpt is only words
    parent.append(node);
    return node;
  };

  // Text with the words that were found marked.
  function marked(node, text, terms) {
    const starts = terms.map((term) => term.replace(/[^\p{L}\p{N}_]/gu, "")).filter(Boolean);
    if (!starts.length) return node.append(text);
    const found = new RegExp(`(?<![\\p{L}\\p{N}])(${starts.join("|")})\\p{L}*`, "giu");
    let at = 0;
    for (const match of text.matchAll(found)) {
      node.append(text.slice(at, match.index));
      make(node, "mark", "", match[0]);
      at = match.index + match[0].length;
    }
    return node.append(text.slice(at));
  }

  // The words around the first that was found.
  function excerpt(text, terms) {
    const all = text.split(" ");
    const plain = all.map((word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+/u, ""));
    const hit = plain.findIndex((word) => terms.some((term) => word.startsWith(term)));
    const start = hit < WORDS / 2 ? 0 : hit - 8;
    const more = start + WORDS < all.length ? " …" : "";
    return (start ? "… " : "") + all.slice(start, start + WORDS).join(" ") + more;
  }

  // A list of results under a field; the arrow keys go through it, and the Tab key into
  // it. If nothing is chosen, Enter opens the first result, or sends the form of `all`.
  function attach(input, place, most, all) {
    const list = make(place, "div", "aiayn-results");
    const status = make(place, "p", "aiayn-found");
    list.id = `results-${most}`;
    list.role = "listbox";
    list.ariaLabel = "Search results";
    status.role = "status";
    input.role = "combobox";
    input.ariaAutoComplete = "list";
    input.setAttribute("aria-controls", list.id);
    input.ariaExpanded = "false";
    let asked = null;

    const choose = (option) => {
      for (const each of list.children) each.ariaSelected = String(each === option);
      if (option) input.setAttribute("aria-activedescendant", option.id);
      else input.removeAttribute("aria-activedescendant");
      option?.scrollIntoView({ block: "nearest" });
      const stop = option ?? list.firstChild; // one for the Tab key
      for (const each of list.children) each.tabIndex = each === stop ? 0 : -1;
    };
    const chosen = () => list.querySelector("[aria-selected=true]");

    function show({ results, mended }) {
      list.replaceChildren();
      results.slice(0, most).forEach(({ address, title, heading, text, terms }, number) => {
        const option = make(list, "a", "");
        option.id = `${list.id}-${number}`;
        option.role = "option";
        option.ariaSelected = "false";
        option.onfocus = () => choose(option);
        option.href = ROOT + address;
        marked(make(option, "b", ""), heading || title, terms);
        option.append(" "); // or the words run together when they are read out
        if (heading && heading !== title) make(option, "span", "", title);
        option.append(" ");
        marked(make(option, "small", ""), excerpt(text, terms), terms);
      });
      const many = Math.min(results.length, most);
      const words = { 0: "Nothing found", 1: "1 result" }[many] ?? `${many} results`;
      status.textContent = mended ? `${words} for “${mended}”` : words;
      input.ariaExpanded = String(many > 0);
      choose(null);
    }

    async function search() {
      const query = (asked = input.value.trim());
      if (!query) {
        list.replaceChildren();
        status.textContent = "";
        input.ariaExpanded = "false";
        return;
      }
      try {
        const find = await finder();
        if (query === asked) show(find(query)); // else more has been typed
      } catch {
        status.textContent = "The search's index does not load.";
      }
    }

    input.addEventListener("focus", () => finder().catch(() => {}));
    input.addEventListener("input", search);
    input.addEventListener("keydown", (event) => {
      const options = [...list.children];
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && options.length) {
        const at = options.indexOf(chosen()) + step;
        choose(options[at] ?? (at < -1 ? options.at(-1) : null));
      } else if (event.key === "Enter" && (chosen() || (options.length && !all))) {
        (chosen() ?? options[0]).click();
      } else return;
      event.preventDefault();
    });
    list.addEventListener("keydown", (event) => {
      const { nextSibling, previousSibling } = event.target;
      const next = { ArrowDown: nextSibling, ArrowUp: previousSibling ?? input }[event.key];
      if (next === undefined) return;
      event.preventDefault(); // the page would scroll
      next?.focus();
    });
    // A place on this very page: the dialog would stay open over it.
    list.addEventListener("click", () => place.close?.());
    return search;
  }

  const dialog = document.getElementById("pst-search-dialog");
  if (dialog) attach(dialog.querySelector("input"), dialog, 12, true);
  const page = document.getElementById("search-results");
  if (page) {
    const input = document.querySelector(".bd-search-container input");
    input.value = new URLSearchParams(location.search).get("q") ?? "";
    attach(input, page, MOST, false)();
  }
  return { index };
})();
