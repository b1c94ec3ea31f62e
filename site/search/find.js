// What the search finds, and in which order. MiniSearch scores the words; here stand the
// weights of what they are found in, the synonyms, and the mending of one typing error.
window.AiaynFind = (({ pages, places, synonyms }) => {
  const FIELDS = { title: 8, heading: 5, name: 3, context: 1.5, text: 1 };
  // The chapters of the paper come first, what one looks things up in last.
  const PARTS = [
    [/^book\/1-paper\//, 1.6],
    [/^book\/(0-start|how-to)\//, 1.2],
    [/^book\/2-since-2017\//, 1],
    [/^book\/(3-workshop|4-synthetic-corpus)\//, 0.8],
    [/^(book\/5-launch\/|api\/(index|command-line)\.)/, 0.8],
    [/^api\/minimal/, 0.4], // the one page's, each of which the package has again
    [/./, 0.55], // glossary, claims, references, modules
  ];
  const SMALL = new Set(
    "a an and are as at be by can do does for from how i in is it my of".split(" ").concat(
      "on or the this to use what with why you your".split(" "),
    ),
  );
  const SHOWN = 3; // places of one page, at most

  const words = (text) =>
    text
      .split(/[^\p{L}\p{N}_]+/u)
      .flatMap((word) => (word.includes("_") ? [word, ...word.split("_")] : [word]))
      .filter(Boolean);
  const stem = (word) =>
    word
      .normalize("NFD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .replace(/([^siu])s$/, "$1");
  const phrase = (text) => ` ${words(text).map(stem).join(" ")} `;
  const groups = synonyms.map((group) => [...new Set(group.map(phrase))]);

  // The first section of a page stands for the page.
  const opened = new Set();
  const documents = places.map(([page, kind, , heading, text], id) => {
    const opens = kind === "section" && !opened.has(page);
    if (opens) opened.add(page);
    const named = kind === "name";
    return {
      id,
      opens,
      title: opens ? heading : "",
      heading: opens || named ? "" : heading,
      name: named ? `${heading} ${heading.replace(/([a-z])([A-Z])/g, "$1 $2")}` : "",
      context: opens || named ? "" : pages[page][1],
      text,
    };
  });
  const known = new Map(); // how often each word occurs
  const mini = new MiniSearch({
    fields: Object.keys(FIELDS),
    tokenize: words,
    processTerm: (word) => (SMALL.has(word.toLowerCase()) ? null : stem(word)),
  });
  const count = (word) => known.set(word, (known.get(word) ?? 0) + 1);
  const ready = mini.addAllAsync(documents, { chunkSize: 300 }).then(() => {
    for (const document of documents)
      for (const field in FIELDS) words(document[field]).map(stem).forEach(count);
    for (const group of groups) group.flatMap((each) => each.split(" ")).forEach(count);
    known.delete("");
  });

  // How likely it is that a word stands for another: by two neighbours that changed
  // places, or by one letter more, less or other. 0 if by neither.
  function near(one, other) {
    if (Math.abs(one.length - other.length) > 1) return 0;
    let start = 0;
    while (start < one.length && one[start] === other[start]) start++;
    const [rest, left] = [one.slice(start), other.slice(start)];
    if (rest.length > 1 && rest[1] + rest[0] + rest.slice(2) === left) return 20;
    const [more, less] = [rest.slice(1), left.slice(1)];
    return Number(more === left || rest === less || more === less);
  }

  // The commonest word of the book that a word with a typing error may stand for. The
  // last word may still be one's beginning.
  function mend(word, number, all) {
    const term = stem(word);
    const last = number === all.length - 1;
    const fine = (each) => each === term || (last && each.startsWith(term));
    if (term.length < 4) return word;
    let [best, most] = [word, 0];
    for (const [each, often] of known) {
      if (fine(each)) return word;
      const likely = often * near(term, each);
      if (likely > most) [best, most] = [each, likely];
    }
    return best;
  }

  function find(query) {
    const mended = words(query).map(mend).join(" ");
    const asked = phrase(mended);
    const meant = groups.filter((group) => group.some((each) => asked.includes(each))).flat();
    const spellings = [asked, ...meant.filter((each) => !asked.includes(each))];
    const found = mini.search(
      { combineWith: "OR", queries: spellings },
      {
        boost: FIELDS,
        boostDocument: (id) => {
          const [page, , , heading] = places[id];
          const named = phrase(heading.replace(/^[\d.]+ /, ""));
          const { opens } = documents[id];
          const weight = PARTS.find(([part]) => part.test(pages[page][0]))[1];
          if (spellings.includes(named)) return weight * (opens ? 4 : 2.2);
          const within = spellings.some((each) => each.trim() && named.includes(each));
          return weight * (within ? (opens ? 2.2 : 1.6) : 1);
        },
        prefix: (term, number, terms) => number === terms.length - 1 && term.length > 1,
      },
    );
    const shown = new Map();
    const few = ({ id }) => {
      const [page, , , heading] = places[id];
      const headings = shown.get(page) ?? new Set();
      const more = headings.size < SHOWN && !headings.has(heading);
      shown.set(page, headings.add(heading));
      return more;
    };
    const results = found.filter(few).map(({ id, terms }) => {
      const [page, kind, anchor, heading, text] = places[id];
      const [url, title] = pages[page];
      const place = documents[id].opens ? "" : `#${anchor}`;
      return { address: url + place, title, kind, heading, text, terms };
    });
    return { results, mended: asked === phrase(query) ? "" : mended };
  }

  return { find, ready };
})(window.AiaynIndex);
