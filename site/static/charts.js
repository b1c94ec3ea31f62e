// Draws the page's charts, and again when the reader switches between light and dark.
// The colours are those of book.css; a chart itself brings only the colours of its
// marks. Those near the window come first; the others, since a reader may print or
// search the page, once the reader scrolls and there is nothing else to do. Vega, which
// is most of a page's weight, is loaded with the first chart.
(() => {
  const root = document.documentElement;
  const own = document.currentScript;
  const library = new URL(own.dataset.vega, own.src);
  const dark = () => root.dataset.theme === "dark";

  // The palette of aiayn.book.charts has to do for any ground. Here the ground is known: on
  // light paper it is a little darker, on dark a little lighter, so that words have a
  // contrast of 4.5 and marks of 3.
  const PALETTE = {
    "#0072b2": ["#0072b2", "#2b8abf"],
    "#d55e00": ["#be5400", "#dd6b14"],
    "#009e73": ["#00835f", "#009e73"],
    "#cc79a7": ["#a8568a", "#cc79a7"],
    "#a6761d": ["#8f6516", "#cbb04a"],
    "#56b4e9": ["#2f93c4", "#56b4e9"],
    "#888888": ["#727272", "#8c8c8c"],
    gray: ["#6e6e6e", "#8c8c8c"],
  };
  const specification = (chart) => {
    const text = chart.querySelector(".aiayn-spec").textContent;
    const fit = (colour) => PALETTE[colour.toLowerCase()]?.[Number(dark())] ?? colour;
    const fitted = text
      .replace(/"(#[0-9a-f]{6})"/gi, (_, colour) => `"${fit(colour)}"`)
      .replace(
        /"(color|fill|stroke)":"gray"/g, // elsewhere it is a word
        (_, key) => `"${key}":"${fit("gray")}"`,
      );
    // A scale from white to blue begins at the page's ground, so that zero recedes.
    const paper = getComputedStyle(root).getPropertyValue("--aiayn-paper").trim();
    const shades = [paper, "#1f5a8c", "#8cc4f0"];
    return JSON.parse(fitted, (key, value) => {
      if (!dark() || value?.scheme !== "blues") return value;
      return key === "scale" ? { ...value, scheme: undefined, range: shades } : shades;
    });
  };

  function config() {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const names = ["--aiayn-ink", "--aiayn-muted", "--aiayn-rule"];
    const [ink, muted, rule] = names.map(colour);
    const guide = { labelColor: muted, titleColor: ink };
    return {
      background: "transparent",
      font: colour("--aiayn-sans"),
      title: { color: ink, subtitleColor: muted },
      axis: { ...guide, domainColor: rule, gridColor: rule, tickColor: rule },
      axisQuantitative: { labelOverlap: "greedy", labelSeparation: 8 },
      legend: { ...guide },
      header: guide,
      text: { color: ink },
      rule: { color: muted },
    };
  }

  let loading;
  const vega = () => (loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = resolve;
    script.onerror = reject;
    script.src = library;
    document.head.append(script);
  }));

  // On a phone panels that stand side by side stand below each other.
  const stack = (spec, room) => {
    const { hconcat, facet, encoding, title } = spec;
    if (typeof title === "string") spec.title = title.match(/.{1,36}(?=\s|$)/g).map((line) => line.trim());
    if (hconcat) Object.assign(spec, { vconcat: hconcat, hconcat: undefined });
    if (facet && !facet.row) {
      const columns = Math.max(1, Math.floor(room / (spec.spec.width + 70)));
      Object.assign(spec, { facet: facet.column ?? facet, columns });
    }
    const panels = encoding?.facet ?? encoding?.column;
    if (panels) Object.assign(encoding, { facet: { ...panels, columns: 1 }, column: undefined });
  };

  // What is still too wide is scaled until its smallest words have 11 pixels, and scrolls.
  const fit = (view, width) => {
    const svg = view.querySelector("svg"), words = [...svg.querySelectorAll("text")];
    const sizes = words.map((word) => parseFloat(getComputedStyle(word).fontSize));
    const least = (width * 11) / Math.min(12, ...sizes);
    const scrolls = least > view.clientWidth;
    view.closest(".aiayn-chart").style.aspectRatio = "auto";
    view.style.overflowX = scrolls ? "auto" : "";
    if (scrolls) view.tabIndex = 0;
    if (scrolls || least > width) Object.assign(svg.style, { maxWidth: "none", width: `${least}px` });
  };

  async function draw(chart) {
    await vega();
    const spec = specification(chart);
    // Vega would only complain about a chart stored by an older Altair.
    delete spec.$schema;
    const view = chart.querySelector(".aiayn-view");
    const options = {
      actions: false,
      config: config(),
      defaultStyle: false,
      mode: "vega-lite",
      renderer: "svg",
      tooltip: { theme: dark() ? "dark" : "light" },
    };
    const narrow = chart.clientWidth < 500;
    if (narrow) {
      stack(spec, chart.clientWidth);
      Object.assign(options.config.legend, { orient: "bottom", columns: 2 });
    }
    const size = () => view.querySelector("svg").width.baseVal.value;
    const excess = () => size() - chart.clientWidth;
    const redraw = async () => {
      chart.drawn?.finalize();
      chart.drawn = await window.vegaEmbed(view, spec, options);
    };
    await redraw();
    if (narrow && excess() > 0 && view.querySelector(".role-legend-entry")) {
      options.config.legend.columns = 1;
      await redraw();
    }
    if (narrow && excess() > 0 && "plot" in chart.dataset) {
      // Take the missing width from the plots rather than scale their words down to
      // what nobody can read.
      for (const plot of [spec, spec.spec, ...(spec.vconcat ?? [])])
        if (plot?.width) plot.width = Math.max(120, plot.width - excess());
      await redraw();
    }
    if (narrow) fit(view, size());
  }

  const charts = [...document.querySelectorAll(".aiayn-chart")];
  const begun = new Set();
  const begin = (chart) => {
    begun.add(chart);
    near.unobserve(chart);
    return draw(chart).catch((error) => {
      console.error(error);
      const still = chart.querySelector("noscript");
      // The picture for readers without scripts.
      if (still) still.outerHTML = still.textContent;
    });
  };
  const near = new IntersectionObserver(
    (entries) =>
      entries
        .filter((entry) => entry.isIntersecting)
        .forEach((entry) => begin(entry.target)),
    { rootMargin: "800px" },
  );
  charts.forEach((chart) => near.observe(chart));

  // The others follow once the reader moves, or prints.
  const rest = () => charts.filter((chart) => !begun.has(chart));
  // Safari has no requestIdleCallback.
  const idle = () =>
    new Promise((done) => (window.requestIdleCallback ?? setTimeout)(done));
  const follow = async () => {
    for (const chart of rest()) {
      await idle();
      if (!begun.has(chart)) await begin(chart);
    }
  };
  addEventListener("scroll", follow, { once: true });
  addEventListener("beforeprint", () => rest().forEach(begin));

  let shown = root.dataset.theme; // "auto" until the theme's own script has decided
  new MutationObserver(() => {
    if (shown !== root.dataset.theme) {
      shown = root.dataset.theme;
      begun.forEach(begin);
    }
  }).observe(root, { attributeFilter: ["data-theme"] });
})();
