"""The built site for everyone: axe on every page, keyboard, zoom, spacing, data."""

from typing import Any

import lxml.html
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from test_site import DARK, DRAWN, LOOKS, PAGES, SITE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`"),
]

# All of them every night; by day pages take turns.
MODES = [(width, theme) for width in (1400, 390) for theme in ("light", "dark")]
# A chapter has ten thousand coloured pieces of code, of few kinds: axe would look at
# them for half a minute. One of each kind stays. Formulas have their text's colour;
# charts' are looked at below, as axe cannot.
LIGHTEN = """
() => {
  for (const formula of document.querySelectorAll("th math"))
    formula.replaceWith(formula.textContent); // axe does not read formulas
  for (const node of document.querySelectorAll("math, .aiayn-view"))
    node.replaceChildren();
  const kinds = new Set();
  for (const piece of document.querySelectorAll(".highlight pre span"))
    if (kinds.has(piece.className)) piece.replaceWith(piece.textContent);
    else kinds.add(piece.className);
}
"""
STILL = """
() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done)))
"""
# What scrolls is made a stop of the Tab key a moment after the window changed; in a
# closed fold, once that is open.
REACHED = """
() => [...document.querySelectorAll("main pre")].every((code) =>
  !code.checkVisibility() || code.scrollWidth <= code.clientWidth
    || code.tabIndex === 0)
"""

# Words (4.5) and marks (3) of charts against what is behind them. Marks that show a
# number by their shade, or stand back by their opacity, are fainter the less they mean;
# axes and data say it too.
CONTRAST = r"""
() => {
  const canvas = document.createElement("canvas")
    .getContext("2d", { willReadFrequently: true });
  const rgba = (colour, opacity) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, (a / 255) * opacity];
  };
  const over = ([r, g, b, a], below) =>
    [r, g, b].map((c, k) => c * a + below[k] * (1 - a));
  const luminance = (colour) => colour.slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const opacity = (node, own) => {
    let product = Number(own);
    for (let at = node; at.nodeName !== "svg"; at = at.parentNode)
      product *= Number(getComputedStyle(at).opacity);
    return product;
  };
  const root = getComputedStyle(document.documentElement);
  const paper = rgba(root.getPropertyValue("--aiayn-paper").trim(), 1);
  const faults = new Set();
  for (const chart of document.querySelectorAll(".aiayn-chart")) {
    const svg = chart.querySelector("svg.marks");
    const spec = chart.querySelector(".aiayn-spec").textContent;
    const shapes = [];
    for (const shape of svg.querySelectorAll(".role-mark :is(path, rect)")) {
      const { fill, fillOpacity } = getComputedStyle(shape);
      if (fill === "none") continue;
      const colour = rgba(fill, opacity(shape, fillOpacity));
      if (colour[3]) shapes.push([shape, colour, shape.getBoundingClientRect()]);
    }
    const name = chart.getAttribute("aria-label").slice(0, 50);
    for (const text of svg.querySelectorAll("text")) {
      if (!text.textContent.trim()) continue;
      const style = getComputedStyle(text), box = text.getBoundingClientRect();
      if (style.fill === "none" || !opacity(text, style.fillOpacity)) continue;
      const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
      let ground = paper;
      for (const [shape, colour, { left, right, top, bottom }] of shapes) {
        if (middle.x < left || middle.x > right) continue;
        if (middle.y < top || middle.y > bottom) continue;
        const order = shape.compareDocumentPosition(text);
        if (order & Node.DOCUMENT_POSITION_PRECEDING) continue;
        if (shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse())))
          ground = over(colour, ground);
      }
      const ink = rgba(style.fill, opacity(text, style.fillOpacity));
      const found = ratio(over(ink, ground), ground), words = text.textContent;
      if (found < 4.49)
        faults.add(`${name}: words "${words}" ${style.fill} ${found.toFixed(2)}`);
    }
    const shaded = /"(color|fill|stroke)":\{[^}]*"type":"(quantitative|ordinal)"/;
    const faint = /"(opacity|fillOpacity)"|"rgba|"scheme"/;
    if (shaded.test(spec) || faint.test(spec)) continue;
    for (const shape of svg.querySelectorAll(".role-mark :is(path, rect, line)")) {
      const style = getComputedStyle(shape);
      const paints = ["fill", "stroke"].filter((kind) => style[kind] !== "none")
        .map((kind) => [style[kind], opacity(shape, style[`${kind}Opacity`])])
        .filter(([, seen]) => seen);
      const ratios = paints
        .map(([colour, seen]) => ratio(over(rgba(colour, seen), paper), paper));
      const best = Math.max(...ratios, 0);
      if (paints.length && best < 2.99)
        faults.add(`${name}: marks ${paints[0]} ${best.toFixed(2)}`);
    }
  }
  return [...faults];
}
"""

# What a reader with a mouse can press, turn or scroll, and what the focus does there.
STOPS = """
() => {
  const inputs = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const seen = (node) => node.checkVisibility({ visibilityProperty: true })
    && node.getClientRects().length && !node.closest("[inert], .sr-only");
  const stops = [...document.querySelectorAll(inputs)].filter((node) =>
    seen(node) && !node.disabled && node.tabIndex >= 0
    && !(node.type === "radio" && !node.checked));
  stops.forEach((node, number) => node.dataset.stop = number);
  const scrolls = (node) => node.scrollWidth > node.clientWidth + 1
    && ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
  const cut = [...document.querySelectorAll("main *")].filter((node) =>
    seen(node) && scrolls(node) && node.tabIndex < 0
    && !node.querySelector("[data-stop]"));
  const start = (node) => node.outerHTML.slice(0, 160);
  return [stops.map(start), cut.map(start)];
}
"""
FOCUSED = """
() => {
  const node = document.activeElement;
  if (!node || node === document.body) return [null, true];
  const marked = (each) => {
    const style = getComputedStyle(each);
    const ring = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0)
      || style.boxShadow !== "none"
      || (each.localName === "rect" && parseFloat(style.strokeWidth) >= 3);
    return ring && style.opacity !== "0";
  };
  const { opacity } = getComputedStyle(node);
  const around = [node, node.parentElement, ...node.querySelectorAll("*")];
  return [node.dataset.stop, opacity !== "0" && around.some(marked)];
}
"""

SPACING = """
* {
  letter-spacing: 0.12em !important;
  line-height: 1.5 !important;
  word-spacing: 0.16em !important;
}
p { margin-bottom: 2em !important; }
"""
CUT = """
() => [...document.querySelectorAll(
  "main :is(p, li, h1, h2, h3, h4, summary, button, td, th, figcaption)",
)]
  .filter((node) => node.checkVisibility())
  .filter((node) => !node.closest(".sr-only, .aiayn-attention"))
  .filter((node) => ["hidden", "clip"].includes(getComputedStyle(node).overflowY))
  .filter((node) => node.scrollHeight > node.clientHeight + 2)
  .map((node) => `cut: ${node.outerHTML.slice(0, 120)}`)
"""
# Code of 88 columns has room on a page of 1400 pixels; the reference is narrower.
TOO_WIDE = """
() => [...document.querySelectorAll("main pre")]
  .filter((code) => code.checkVisibility() && code.scrollWidth > code.clientWidth + 1)
  .map((code) => code.textContent.trim().split("\\n")
    .reduce((one, other) => one.length < other.length ? other : one))
"""
SIDEWAYS = "document.documentElement.scrollWidth > innerWidth"
OPEN_DATA = """
() => {
  for (const details of document.querySelectorAll("details.aiayn-data"))
    details.open = true;
}
"""
CLOSE_DATA = OPEN_DATA.replace("true", "false")


def visit(page: Page, name: str, width: int = 1400) -> None:
    """Open a page and wait until it is drawn."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((SITE / name).resolve().as_uri())
    page.wait_for_function(DRAWN)


def findings(page: Page, width: int, theme: str) -> list[str]:
    """What axe finds in a mode: rule, weight and place. It takes the page apart."""
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    page.evaluate(LIGHTEN)
    page.evaluate(STILL)
    page.wait_for_function(REACHED)
    response = Axe().run(page, options={"resultTypes": ["violations"]}).response
    return [
        f"{width} {theme}: {violation['id']} ({violation['impact']}):"
        f" {node['html'][:160]} {node['target']}"
        for violation in response["violations"]
        for node in violation["nodes"]
    ]


# A page is opened once, and looked at four times; the last look takes it apart.
@pytest.fixture(scope="module", params=LOOKS)
def opened(window: Page, request: pytest.FixtureRequest) -> Page:
    """Each page, one after the other."""
    visit(window, request.param)
    return window


def test_no_code_scrolls_sideways(opened: Page) -> None:
    assert "/book/" not in opened.url or opened.evaluate(TOO_WIDE) == []


def test_charts_have_their_data(opened: Page) -> None:
    """Under every chart a reader can open its numbers, not more than it may have."""
    charts = opened.locator(".aiayn-chart").count()
    opened.evaluate(OPEN_DATA)
    assert opened.locator("details.aiayn-data").count() == charts
    for number in range(charts):
        data = opened.locator("details.aiayn-data").nth(number)
        rows = data.locator("tbody tr").count()
        most = 100 * data.locator("table").count()
        assert 0 < rows <= most, f"chart {number} has {rows} rows"
        assert data.locator("th").first.text_content()
    assert not opened.evaluate(SIDEWAYS)
    opened.evaluate(CLOSE_DATA)


def test_zoom_and_spacing(opened: Page) -> None:
    """At 200%, and with the wider spacing that some readers set (WCAG 1.4.12), nothing
    is cut off.

    A window of 1400 pixels is 700 wide when all in it is twice as large.
    """
    opened.set_viewport_size({"width": 700, "height": 900})
    opened.evaluate(STILL)
    assert not opened.evaluate(SIDEWAYS)
    spacing = opened.add_style_tag(content=SPACING)
    for width in (700, 390):
        opened.set_viewport_size({"width": width, "height": 900})
        opened.evaluate(STILL)
        assert not opened.evaluate(CUT) and not opened.evaluate(SIDEWAYS)
    spacing.evaluate("(style) => style.remove()")
    opened.set_viewport_size({"width": 1400, "height": 900})


def test_axe_finds_nothing(opened: Page, request: Any) -> None:
    """Axe finds no fault in one of the modes, nor a look at charts in either theme."""
    opened.wait_for_function(DRAWN)
    found = [f"light: {each}" for each in opened.evaluate(CONTRAST)]
    opened.evaluate(DARK)
    opened.wait_for_function(DRAWN)
    found += [f"dark: {each}" for each in opened.evaluate(CONTRAST)]
    number = LOOKS.index(request.node.callspec.params["opened"])
    found += findings(opened, *MODES[number % len(MODES)])
    assert not found, "\n".join(found)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_in_any_mode(window: Page, name: str) -> None:
    visit(window, name)
    found = [each for mode in MODES for each in findings(window, *mode)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    [
        "book/index.html",
        "book/1-paper/3-2-attention.html",
        "book/1-paper/8-attention-visualizations.html",
        "aiayn/model.attention.html",
    ],
)
def test_the_keyboard_reaches_everything(window: Page, name: str, theme: str) -> None:
    """The Tab key reaches all that a mouse can use, and the reader sees where it is."""
    visit(window, name)
    window.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    window.wait_for_function(DRAWN)
    stops, cut = window.evaluate(STOPS)
    assert not cut, "scrolls, but not by keyboard"
    assert "#main-content" in stops[0]  # the link that skips search and chapters
    reached, unseen = set[int](), set[int]()
    for _ in range(len(stops) + 5):
        window.keyboard.press("Tab")
        number, visible = window.evaluate(FOCUSED)
        if number is not None:
            reached.add(int(number))
            if not visible:
                unseen.add(int(number))
    # What the front page says of a block gives way to what it says of the next; what it
    # showed at first comes back with Escape, as tests/site/test_front_page.py tries.
    left = [number for number in range(len(stops)) if number not in reached]
    assert not [
        stops[number]
        for number in left
        if window.locator(f"[data-stop='{number}']").is_visible()
    ]
    assert not [stops[number] for number in unseen], "has the focus, and nobody sees it"


def test_search_theme_and_folds_by_keyboard(window: Page) -> None:
    """Search, light and dark, a folded solution, code to copy: all by keyboard."""
    visit(window, "book/1-paper/3-2-attention.html")
    window.keyboard.press("Control+k")
    window.keyboard.type("softmax")
    assert window.evaluate("document.activeElement.value") == "softmax"
    window.keyboard.press("Escape")
    theme = window.evaluate("document.documentElement.dataset.mode")
    window.locator(".theme-switch-button:visible").first.focus()
    window.keyboard.press("Enter")
    assert window.evaluate("document.documentElement.dataset.mode") != theme
    solution = window.locator("main details:not(.aiayn-data)").first
    solution.locator("summary").focus()
    window.keyboard.press("Enter")
    assert solution.get_attribute("open") is not None
    window.keyboard.press("Control+Home")
    window.locator(".skip-link a").focus()
    window.keyboard.press("Enter")
    window.keyboard.press("Tab")
    assert window.evaluate(
        "document.querySelector('#main-content').contains(document.activeElement)"
    )


def test_the_data_of_a_chart_are_its_own(window: Page) -> None:
    """The table names columns as the axes do; the file has every digit."""
    visit(window, "book/1-paper/3-2-attention.html")
    chart = window.locator(".aiayn-chart").nth(1)
    spec = lxml.html.fromstring(chart.inner_html()).xpath("//script/text()")[0]
    window.evaluate(OPEN_DATA)
    data = window.locator("details.aiayn-data").nth(1)
    head = data.locator("table").first.locator("th").all_text_contents()
    assert any(f'"title":"{title}"' in spec for title in head)
    with window.expect_download() as waiting:
        data.get_by_role("link").first.click()
    lines = waiting.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 1 + data.locator("table").first.locator("tbody tr").count()
    assert waiting.value.suggested_filename.endswith(".csv")


def test_nothing_moves_for_who_asks_so(window: Page) -> None:
    """With reduced motion no element of a page has a transition, and links jump."""
    visit(window, "book/1-paper/3-2-attention.html")
    moving = """[...document.querySelectorAll("*")].filter((node) => {
      const style = getComputedStyle(node);
      return style.animationName !== "none" || style.scrollBehavior === "smooth"
        || (parseFloat(style.transitionDuration) > 0
          && style.transitionProperty !== "none");
    }).length"""
    assert window.evaluate(moving) == 0


def test_charts_and_drawings_keep_their_ground_in_forced_colours(window: Page) -> None:
    """Where the reader's system sets all colours, charts stand on the paper that theirs
    were chosen for.
    """
    window.emulate_media(forced_colors="active")
    visit(window, "book/1-paper/3-2-attention.html")
    for kind in (".aiayn-view", ".aiayn-drawing"):
        style = window.locator(kind).first.evaluate(
            "(node) => getComputedStyle(node).backgroundColor"
        )
        assert style not in ("rgba(0, 0, 0, 0)", "transparent"), kind
    icon = window.locator("button .fa-expand, a .fa-github").first
    assert icon.evaluate("(node) => getComputedStyle(node).maskImage") != "none"
    ink = "() => getComputedStyle(document.body).color"  # the system's CanvasText
    assert icon.evaluate(
        "(node) => getComputedStyle(node).backgroundColor"
    ) == window.evaluate(ink)
    window.emulate_media(forced_colors="none")


def test_german_is_said_to_be_german() -> None:
    """And English, or a word that may be either, is not."""
    found = dict[bool, set[str]]({True: set(), False: set()})
    for name in PAGES:
        for word in lxml.html.parse(SITE / name).getroot().iter("em"):
            if word.get("class") == "property":
                continue  # the value of a constant in the reference, which is code
            found[word.get("lang") == "de"].add(word.text_content())
    assert {"nicht", "die breite Straße", "Alle Bäcker tanzten nicht"} <= found[True]
    assert {"hat", "the cat on the table", "residual connection"} <= found[False]
    assert not {text for text in found[False] if set("äöüßÄÖÜ") & set(text)}
