// Under each chart, the numbers that it is drawn from: tables, made from the chart's
// specification when a reader first opens them, so that the page does not carry the
// numbers twice.
(() => {
  const SHOWN = 100; // rows; the file to download has all

  const make = (parent, tag, attributes = {}, text = "") => {
    const node = document.createElement(tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    node.textContent = text; // never as HTML: a chart's words are only words
    parent.append(node);
    return node;
  };

  // What a chart without stored values has calculated, as its sliders stand: the list
  // with the most columns.
  function fromFormulas(view) {
    const columns = (rows) => Object.keys(rows[0] ?? {}).length;
    const { data } = view.getState({ data: () => true, signals: () => false });
    const names = Object.keys(data).filter((name) => /^(source|data)_/.test(name));
    const lists = names.map((name) => view.data(name));
    return lists.sort((one, other) => columns(other) - columns(one))[0] ?? [];
  }

  // Every list of values in a specification, with the titles that its axes and legends
  // give to the fields.
  function datasets(spec, view) {
    const found = new Map();
    const calculates = JSON.stringify(spec).includes('"sequence":');
    const calculated = calculates ? fromFormulas(view) : [];
    const visit = (part, inherited) => {
      const own =
        part.data &&
        (part.data.values ?? spec.datasets?.[part.data.name] ?? calculated);
      const values = own ?? inherited;
      if (Array.isArray(values)) {
        if (!found.has(values)) found.set(values, {});
        const titles = found.get(values);
        const { row, column, ...facet } = part.facet?.field
          ? { facet: part.facet }
          : (part.facet ?? {});
        const channels = { ...part.encoding, row, column, ...facet };
        for (const channel of Object.values(channels).flat()) {
          const title =
            channel?.title ??
            channel?.axis?.title ??
            channel?.legend?.title ??
            channel?.header?.title;
          if (channel?.field && typeof title === "string" && title)
            titles[channel.field] ??= title;
        }
      }
      for (const several of ["layer", "hconcat", "vconcat", "concat"])
        part[several]?.forEach((each) => visit(each, values));
      if (part.spec) visit(part.spec, values);
    };
    visit(spec);
    return [...found].filter(([values]) => values.length);
  }

  const asText = (value) =>
    value && typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
  const rounded = (value) =>
    typeof value === "number" && !Number.isInteger(value)
      ? String(Number(value.toPrecision(4)))
      : asText(value);

  function csv(names, rows) {
    const quoted = (text) =>
      /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    const line = (row) => row.map((value) => quoted(asText(value))).join(",");
    return [names, ...rows].map(line).join("\n");
  }

  function show(place, values, titles, name, number) {
    const objects = values.map((value) =>
      Object(value) === value ? value : { data: value },
    );
    const fields = [...new Set(objects.flatMap(Object.keys))];
    const names = fields.map((field) => titles[field] ?? field);
    const rows = objects.map((each) => fields.map((field) => each[field]));

    const region = make(place, "div", {
      class: "aiayn-rows",
      role: "region",
      tabindex: 0,
      "aria-label": name,
    });
    const table = make(region, "table", { class: "table" });
    const head = make(make(table, "thead"), "tr");
    for (const title of names) make(head, "th", { scope: "col" }, title);
    const body = make(table, "tbody");
    for (const row of rows.slice(0, SHOWN)) {
      const line = make(body, "tr");
      for (const value of row)
        make(line, "td", { class: typeof value }, rounded(value));
    }
    const more = rows.length - SHOWN;
    const told = more > 0 ? `${more} more rows are in the file: ` : "All digits: ";
    const note = make(place, "p", {}, told);
    const stem = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60);
    const file = `${stem}-${number}.csv`;
    const href = `data:text/csv;charset=utf-8,${encodeURIComponent(csv(names, rows))}`;
    make(note, "a", { href, download: file }, `download ${rows.length} rows (CSV)`);
  }

  for (const details of document.querySelectorAll("details.aiayn-data")) {
    const chart = details.previousElementSibling;
    details.addEventListener("toggle", () => {
      if (!details.open || details.childElementCount > 1) return;
      if (!chart.drawn) {
        setTimeout(() => details.dispatchEvent(new Event("toggle")), 200);
        return;
      }
      const spec = JSON.parse(chart.querySelector(".aiayn-spec").textContent);
      const title = [spec.title?.text ?? spec.title ?? "chart"].flat().join(" ");
      const found = datasets(spec, chart.drawn.view);
      found.forEach(([values, titles], number) =>
        show(details, values, titles, title, number + 1),
      );
    });
  }
})();
