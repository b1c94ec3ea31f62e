"""Chapter 3.2 in a browser: the formula as an instrument, the steps of attention."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from test_site import SITE

CHAPTER = SITE.resolve() / "book" / "1-paper" / "3-2-attention.html"
# In the order of the formula: a symbol, the pieces of code that are its own, and how
# its matrix begins in the first row.
SYMBOLS = [
    ("output", ["weights @"]),
    ("softmax", ["scores.softmax(dim=-1)"]),
    ("Q", ["Q"]),
    ("K", ["K"]),
    ("product", ["@", ".transpose(-2, -1)"]),
    ("root", ["/ math.sqrt(K.shape[-1])"]),
    ("V", ["V"]),
]
SIDEWAYS = "document.documentElement.scrollWidth > innerWidth"
SMALLEST = """
(selector) => {
  const sizes = [];
  for (const node of document.querySelectorAll(`${selector} *`)) {
    const own = [...node.childNodes]
      .some((each) => each.nodeType === 3 && each.textContent.trim());
    if (!own) continue;
    if (!node.checkVisibility({ visibilityProperty: true })) continue;
    const svg = node.ownerSVGElement;
    const scale = svg ? svg.getScreenCTM().a : 1;
    sizes.push([parseFloat(getComputedStyle(node).fontSize) * scale, node.outerHTML]);
  }
  return sizes.sort((a, b) => a[0] - b[0])[0];
}
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHAPTER.exists(), reason=f"no site in {SITE}: run `make book`"
    ),
]


@pytest.fixture(scope="module")
def window(window: Page) -> Page:
    """The chapter, for a reader who wants no motion."""
    window.goto(CHAPTER.as_uri())
    return window


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Page]:
    """The chapter on a phone."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(CHAPTER.as_uri())
    yield page
    context.close()


def symbol(page: Page, name: str) -> Locator:
    return page.locator(f".formula-symbol[data-symbol={name}]")


def lit(page: Page) -> tuple[list[str], list[str], list[str]]:
    """Which symbols, pieces of code and parts of the figure stand out."""
    symbols = page.locator(".formula-symbol[data-lit]").all()
    code = page.locator(".formula-code[data-lit]").all_text_contents()
    parts = page.locator(".formula-figure [data-lit]").all()
    names = ([str(x.get_attribute("data-symbol")) for x in y] for y in (symbols, parts))
    first, last = names
    return first, code, last


def panel(page: Page) -> Locator:
    return page.locator(".formula-panel:visible")


def test_each_symbol_lights_matrix_code_and_figure(window: Page) -> None:
    """By the keyboard alone, in the order of the formula."""
    page, shown = window, []
    symbol(page, "Q").focus()
    page.keyboard.press("Home")
    for name, code in SYMBOLS:
        expect(symbol(page, name)).to_be_focused()
        assert lit(page) == ([name], code, [name])
        expect(panel(page)).to_have_count(1)
        shown.append(panel(page).locator("caption").inner_text())
        page.keyboard.press("ArrowRight")
    assert len(set(shown)) == len(SYMBOLS)
    stops = page.locator(".formula-line [tabindex='0']")
    expect(stops).to_have_count(1)


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_code_lights_the_symbol(window: Page, way: str) -> None:
    for name, code in SYMBOLS:
        piece = window.locator(f".formula-code[data-symbol={name}]").first
        getattr(piece, way)()
        assert lit(window) == ([name], code, [name])
    assert window.locator(".formula-code[tabindex='0']").count() == 1


def test_the_figure_lights_symbol_and_code(window: Page) -> None:
    for name, code in SYMBOLS:
        part = window.locator(f".formula-figure [data-symbol={name}]")
        part.locator("text").first.hover()
        assert lit(window) == ([name], code, [name])


@pytest.mark.parametrize("size", ["window", "phone"])
def test_the_matrix_stays_in_the_window(
    request: pytest.FixtureRequest, size: str
) -> None:
    """Under the top bar, and above the code that has the focus."""
    page: Page = request.getfixturevalue(size)
    page.evaluate("scrollTo(0, 0)")
    code = page.locator(".formula-code[data-symbol=softmax]")
    code.evaluate("node => node.scrollIntoView()")
    code.focus()
    expect(panel(page)).to_contain_text("softmax, the weights")
    matrix, piece = panel(page).locator("table").bounding_box(), code.bounding_box()
    bar = page.locator(".bd-header-article").bounding_box()
    assert matrix and piece and bar
    assert bar["y"] + bar["height"] <= matrix["y"]
    assert matrix["y"] + matrix["height"] <= piece["y"]


def test_formula_code_and_figure_are_seen_together(window: Page) -> None:
    tops = [
        window.locator(each).bounding_box()
        for each in (".formula-line", ".formula-code >> nth=-1")
    ]
    formula, code = tops
    assert formula and code and 0 < code["y"] + code["height"] - formula["y"] < 800


def test_the_code_is_still_the_code(window: Page) -> None:
    text = window.locator("#cell-literal-attention .cell_input pre").inner_text()
    line = "scores = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])"
    assert f"    {line}\n    weights = scores.softmax(dim=-1)\n" in text


def test_the_matrices_are_those_of_the_next_cell(window: Page) -> None:
    printed = window.locator("#cell-sentence .output").inner_text().split()
    for name in ("softmax", "output"):
        cells = window.locator(f"[data-panel={name}] tr td:not(:empty)")
        texts = [text.replace("−", "-") for text in cells.all_text_contents()]
        numbers = [f"{float(text):.2f}" for text in texts]
        assert numbers and set(numbers) <= {
            each.replace("-0.00", "0.00") for each in printed
        }


def test_without_scripts_all_matrices_are_there(browser: Browser) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(CHAPTER.as_uri())
    expect(panel(page)).to_have_count(len(SYMBOLS))
    expect(page.locator(".formula-line")).to_contain_text("softmax")
    expect(page.locator(".aiayn-steps table")).to_be_visible()
    expect(page.locator(".aiayn-steps")).to_contain_text("tired")
    page.close()


@pytest.mark.parametrize("place", [".aiayn-formula", ".aiayn-steps"])
def test_on_a_phone(phone: Page, place: str) -> None:
    """No sideways scroll, words of 11 pixels and more, and room for a finger."""
    assert not phone.evaluate(SIDEWAYS)
    phone.locator(place).scroll_into_view_if_needed()
    for step in range(5 if place == ".aiayn-steps" else 1):
        if place == ".aiayn-steps":
            phone.locator("[aria-label=step] button").nth(step).click()
        size, text = phone.evaluate(SMALLEST, place)
        assert size >= 11, f"{size} px: {text}"
        for button in phone.locator(f"{place} [role=toolbar] [tabindex]").all():
            if button.evaluate("node => node.matches('button, .formula-symbol')"):
                box = button.bounding_box()
                tight = button.get_attribute("data-symbol") == "K"  # of Kᵀ
                assert box and box["width"] >= (24 if tight else 44)
                assert box["height"] >= 44


def test_the_steps_begin_at_the_first(window: Page) -> None:
    steps = window.locator(".aiayn-steps")
    expect(steps.locator("[aria-label=step] [aria-pressed=true]")).to_have_text(
        "1 products"
    )
    words = steps.locator("button, .st-band > p:visible").all_inner_texts()
    assert len({word.lower() for word in words if "scale" in word.lower()}) == 0
    expect(steps.locator(".st-products .st-cell:visible")).to_have_count(16)


def test_the_steps_play_when_they_are_seen(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(60_000)
    page.clock.install()
    page.goto(CHAPTER.as_uri())
    pressed = page.locator(".aiayn-steps [aria-label=step] [aria-pressed=true]")
    page.clock.run_for(30_000)
    assert pressed.all_inner_texts() == ["1 products"]
    page.locator(".st-stage").scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="pause")).to_have_count(1)
    page.clock.run_for(30_000)
    expect(pressed).to_have_text(["5 output"])
    page.close()


def test_a_number_in_a_sentence_drags(window: Page, browser: Browser) -> None:
    """It changes its neighbours and the chart, and the chart's buttons change it."""

    def numbers() -> list[str]:
        return window.locator("[data-dial], [data-shows]").all_inner_texts()

    still = browser.new_page(java_script_enabled=False)
    still.goto(CHAPTER.as_uri())
    written = still.locator("[data-dial], [data-shows]").all_inner_texts()
    assert numbers() == written and written[:2] == ["64", "8"]
    still.close()
    dial = window.get_by_role("slider", name="d_k")
    dial.focus()
    buttons = window.locator(".aiayn-chart").get_by_role("radio")
    expect(buttons.and_(window.locator("[value='64']"))).to_be_checked()
    window.keyboard.press("ArrowRight")
    assert numbers()[:2] == ["256", "16"] and numbers()[2] > written[2]
    expect(dial).to_have_attribute("aria-valuetext", "256")
    expect(buttons.and_(window.locator("[value='256']"))).to_be_checked()
    buttons.and_(window.locator("[value='64']")).check()
    assert numbers() == written
    number = window.locator("[data-dial]")
    number.scroll_into_view_if_needed()
    box = number.bounding_box()
    assert box and box["height"] < 40  # it never breaks
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    window.mouse.move(x, y)
    window.mouse.down()
    window.mouse.move(x - 55, y, steps=4)
    window.mouse.up()
    window.mouse.move(x + 200, y)
    assert numbers()[:2] == ["4", "2"]
    expect(dial).to_be_focused()
    for side, value in ((0.9, "16"), (0.9, "64"), (0.1, "16")):  # a press on an arrow
        box = number.bounding_box()
        assert box
        window.mouse.click(box["x"] + side * box["width"], y)
        assert numbers()[0] == value


AT_NIGHT = pytest.mark.nightly  # a minute each


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        ("window", "light"),
        ("phone", "dark"),
        pytest.param("window", "dark", marks=AT_NIGHT),
        pytest.param("phone", "light", marks=AT_NIGHT),
    ],
)
def test_axe_finds_nothing(
    request: pytest.FixtureRequest, theme: str, width: str
) -> None:
    page: Any = request.getfixturevalue(width)
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    options = {"resultTypes": ["violations"]}
    for step in range(5):
        page.locator("[aria-label=step] button").nth(step).click()
        for place in (".aiayn-formula", ".aiayn-steps", "#cell-literal-attention"):
            found = Axe().run(page, place, options).response["violations"]
            assert not found, [(each["id"], each["nodes"][0]["html"]) for each in found]
