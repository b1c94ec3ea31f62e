"""The playground's page: it answers at once, keeps what matters in sight, and keeps to
its manners.
"""

import gzip
import re

import pytest
from playground_page import (
    PAGE,
    SITE,
    TIRED,
    WATCH,
    WINDOWS,
    no_fault,
    translator,
    with_site,
)
from playwright.sync_api import Browser, Locator, Page, expect

from aiayn.analysis.pruning import all_heads, zero_ablation
from aiayn.model import Transformer
from aiayn.translation.translator import UnknownLetters

STATIC = SITE / "_static" / "playground"

expect.set_options(timeout=60_000)  # the machine may be busy
pytestmark = [pytest.mark.browser, with_site]

GERMAN = "Das Tier überquerte die Straße nicht, weil es zu müde war."
WIDE = TIRED.replace("tired", "wide")


def load(page: Page) -> None:
    """Choose the first example, and wait for the model."""
    page.get_by_role("button", name="too tired").click()
    expect(page.locator(".pg-search")).to_be_visible()
    expect(page.locator(".pg-german")).to_have_text(GERMAN)


def translate(page: Page, sentence: str) -> None:
    """Type a sentence and press Enter."""
    page.get_by_label("An English sentence").fill(sentence)
    page.keyboard.press("Enter")


def in_window(node: Locator) -> bool:
    """Whether all of it can be seen without scrolling."""
    box, size = node.bounding_box(), node.page.viewport_size
    assert box and size
    return box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


def test_opens_on_the_head_that_looks_at_the_noun(browser: Browser) -> None:
    """Examples are translated before the model is there, and a bar says that it comes;
    the first stands there with what its pronoun hangs on.
    """
    page = browser.new_page(reduced_motion="reduce")
    page.route(re.compile("/models/"), lambda route: None)  # it never comes
    page.goto(PAGE.as_uri())
    expect(page.locator(".pg-german")).to_have_text(GERMAN)
    expect(page.locator(".pg-title")).to_contain_text(
        "cross-attention, layer 2, head 3"
    )
    expect(page.locator(".pg-said")).to_have_text("“es” looks at “animal” 100%.")
    expect(page.locator(".pg-load")).to_contain_text("The model is fetched when")
    for label, german in [("too wide", "weil sie zu breit war."), ("a name", "Clara")]:
        page.get_by_role("button", name=label).click()
        expect(page.locator(".pg-german")).to_contain_text(german)
        expect(page.get_by_role("progressbar")).to_be_visible()
    page.close()


@pytest.mark.parametrize("asks", ["typing", "example"])
def test_nothing_is_loaded_unasked(browser: Browser, asks: str) -> None:
    """A model comes at the first keystroke, or with an example; before, it does not."""
    page, asked = browser.new_page(reduced_motion="reduce"), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(PAGE.as_uri())
    expect(page.locator(".pg-german")).to_have_text(GERMAN)
    assert not [url for url in asked if "/models/" in url]
    if asks == "typing":
        page.get_by_label("An English sentence").press("End")
        page.keyboard.type(" ")
    else:
        page.get_by_role("button", name="too wide").click()
    expect(page.locator(".pg-load")).to_be_empty()
    came = [url for url in asked if "/models/" in url]
    assert came and all("synthetic-en-de" in url for url in came)
    assert len(came) == len(set(came))
    page.close()


def test_weight() -> None:
    """The small model is at most 1.1 MB, the other at most 8.5 MB, in base64, and the
    page's scripts are at most 250 kB, compressed.
    """
    for name, limit in (("synthetic-en-de", 1.1e6), ("en-de", 8.5e6)):
        files = list((STATIC / "models").glob(f"{name}-*.js"))
        assert files and sum(path.stat().st_size for path in files) < limit
    found = re.findall(r'<script[^>]* src="([^"?]+)', PAGE.read_text(encoding="utf-8"))
    scripts = [PAGE.parent / address for address in found if "://" not in address]
    assert STATIC.resolve() / "page.js" in [path.resolve() for path in scripts]
    assert sum(len(gzip.compress(path.read_bytes())) for path in scripts) < 250_000


@pytest.mark.parametrize(
    "broken",
    [None, "<title>Please log in</title>", "Playground.file = {};"],
)
def test_a_model_that_did_not_come_can_be_asked_for_again(
    browser: Browser, broken: str | None
) -> None:
    """The connection is gone, or a login page or something else comes instead."""
    page = browser.new_page(reduced_motion="reduce")
    where = re.compile("/models/synthetic-en-de-1")
    page.route(
        where,
        lambda route: route.abort() if broken is None else route.fulfill(body=broken),
    )
    page.goto(PAGE.as_uri())
    page.get_by_role("button", name="too wide").click()
    expect(page.locator(".pg-load")).to_contain_text("Is the connection there?")
    expect(page.locator(".pg-german")).to_contain_text("weil sie zu breit war.")
    page.unroute(where)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".pg-search")).to_be_visible()
    page.close()


@pytest.mark.parametrize("reader", [(1400, 900)], indirect=True)
def test_everyday_english(reader: Page) -> None:
    """The other model has its own examples and heads, and names the characters that its
    vocabulary lacks.
    """
    reader.get_by_role("radio", name="everyday English").check()
    package = translator("en-de")
    asked = "He couldn't answer the question because he hadn't read the text."
    expect(reader.locator(".pg-german")).to_have_text(package(asked))
    expect(reader.locator(".pg-head")).to_have_count(36)
    expect(reader.locator(".pg-said")).to_contain_text("“er” looks at “he” 9")
    translate(reader, strange := "Where did you buy this zebra 日?")
    status = reader.get_by_role("status").first
    expect(status).to_contain_text("The vocabulary does not have: 日.")
    with pytest.warns(UnknownLetters):
        expected = package(strange)
    expect(reader.locator(".pg-german")).to_have_text(expected)
    reader.get_by_role(
        "radio", name="the synthetic corpus"
    ).check()  # the same sentence
    expect(status).to_contain_text("The model has never seen: you, zebra, 日.")
    expect(reader.locator(".pg-head")).to_have_count(24)
    reader.get_by_role("button", name="too wide").click()
    expect(reader.locator(".pg-german")).to_contain_text("weil sie zu breit war.")
    reader.get_by_role("radio", name="everyday English").check()
    expect(reader.locator(".pg-german")).to_have_text(package(WIDE))


def test_never_stalls(reader: Page) -> None:
    """The model runs in the worker alone: the page can do without its program. While
    each head of the large model is tried, a newer sentence gets its answer.
    """
    reader.evaluate("Playground.Transformer = Playground.searchSteps = null")
    reader.get_by_role("radio", name="everyday English").check()
    reader.get_by_role("button", name="an idiom").click()
    expect(reader.locator(".pg-search")).to_be_visible()
    reader.get_by_role("button", name="Switch off each head in turn").click()
    expect(reader.locator(".pg-found")).to_contain_text(re.compile(r"Trying … \d+ of"))
    translate(reader, "Thank you.")
    expect(reader.locator(".pg-german")).to_have_text(translator("en-de")("Thank you."))
    expect(reader.locator(".pg-found")).to_be_empty()


@pytest.mark.parametrize("reader", WINDOWS, indirect=True)
def test_a_result_is_seen_where_it_is_pressed(reader: Page) -> None:
    """Without the deciding head the pronoun is another; this is marked, and stands in
    the window with the list and the large picture of that head.
    """
    load(reader)
    reader.get_by_role("button", name="too wide").click()
    expect(reader.locator(".pg-german")).to_contain_text("weil sie zu breit war.")
    reader.get_by_role("button", name="Switch off each head in turn").click()
    expect(reader.locator(".pg-found p")).to_contain_text("it stays the same")
    expect(reader.locator(".pg-changed", has_text="es")).to_have_count(1)
    reader.locator(
        ".pg-found button", has_text="cross-attention, layer 1, head 2"
    ).click()
    expect(reader.locator(".pg-german mark")).to_have_text("es")
    expect(reader.locator(".pg-title")).to_contain_text(
        "cross-attention, layer 1, head 2"
    )
    expect(reader.locator(".pg-said")).to_contain_text(
        "“es” looks at “wide” 100%. The head is switched off"
    )
    expect(reader.locator(".pg-before")).to_contain_text("weil sie zu breit war.")
    assert in_window(reader.locator(".pg-german"))
    reader.locator(".pg-said").scroll_into_view_if_needed()
    assert in_window(reader.locator(".pg-german"))
    assert in_window(reader.locator(".pg-before"))


@pytest.mark.parametrize("reader", WINDOWS, indirect=True)
def test_arrow_keys_move_in_the_grid(reader: Page) -> None:
    """The grid is one stop of the Tab key; arrow keys go from picture to picture."""
    title = reader.locator(".pg-title .pg-caption")
    reader.get_by_role("button", name="cross-attention, layer 2, head 3").focus()
    for key, head in [
        ("ArrowLeft", "cross-attention, layer 2, head 2"),
        ("ArrowUp", "cross-attention, layer 1, head 2"),
        ("ArrowRight", "cross-attention, layer 1, head 3"),
        ("ArrowDown", "cross-attention, layer 2, head 3"),
    ]:
        reader.keyboard.press(key)
        expect(title).to_have_text(head)
        assert reader.evaluate("document.activeElement.ariaLabel") == head
    tabbable = reader.locator(".pg-heads :is(button, input):not([tabindex='-1'])")
    expect(tabbable).to_have_count(1)
    reader.keyboard.press("Tab")
    reader.keyboard.press("Space")  # the switch beside the large picture
    expect(reader.locator(".pg-german")).to_contain_text("Die Tier")
    box = reader.get_by_role(
        "checkbox", name="3: cross-attention, layer 2, head 3 is on"
    )
    expect(box).not_to_be_checked()


def test_other_pages_load_none_of_it() -> None:
    """The scripts are on the page of the playground only."""
    pages = [path.resolve() for path in SITE.rglob("*.html")]
    assert [
        path
        for path in pages
        if "playground/page.js" in path.read_text(encoding="utf-8")
    ] == [PAGE]


def test_typed_text_is_text(reader: Page) -> None:
    """What looks like HTML is translated, and not run."""
    load(reader)
    translate(
        reader, 'The <img src=x onerror="window.broken = true"> dog <b>slept</b>.'
    )
    expect(reader.get_by_role("status").first).to_contain_text(
        "The model has never seen: <, img"
    )
    reader.wait_for_timeout(200)
    assert reader.evaluate("window.broken") is None
    assert reader.locator(".aiayn-playground :is(img, b)").count() == 0


SAID = {
    "The zebra didn't see Emma's dog!": "The model has never seen: zebra, didn't, !.",
    "  ": "There is no sentence yet",
    "The dog slept. " * 30: "This sentence is too long",
    "the dog and " * 6 + "the dog slept.": (
        "No sentence that it was trained on has more than 18 words"
    ),
    "x" * 100_000: "This sentence is too long",
}


def test_what_is_said(reader: Page) -> None:
    """Unknown words are named, and what cannot be translated gets a plain answer."""
    load(reader)
    for sentence, said in SAID.items():
        translate(reader, sentence)
        expect(reader.get_by_role("status").first).to_contain_text(said)
        refused = said.startswith(("There is", "This sentence"))
        expect(reader.locator(".pg-right")).to_be_visible(visible=not refused)


def test_heads_by_keyboard(reader: Page) -> None:
    """Without a mouse: a head is shown large, a word tells where it looks, and switches
    change the German.
    """
    load(reader)
    reader.get_by_role("button", name="cross-attention, layer 1, head 2").press("Enter")
    expect(reader.locator(".pg-title .pg-caption")).to_have_text(
        "cross-attention, layer 1, head 2"
    )
    reader.get_by_role("option").first.focus()
    reader.keyboard.press("ArrowDown")
    expect(reader.locator(".pg-said")).to_contain_text("“Tier” looks at")
    network = translator().model
    assert isinstance(network, Transformer)
    heads = [head for head in all_heads(network) if head.kind == "cross"]
    for head in heads:
        reader.get_by_role(
            "checkbox", name=f"{head} is on".replace("cross", "cross-attention")
        ).press("Space")
    with zero_ablation(network, heads):
        expected = translator()(TIRED)
    expect(reader.locator(".pg-german")).to_have_text(expected)
    expect(reader.locator(".pg-before")).to_contain_text(
        "Without 8 heads. With all heads: Das Tier"
    )
    assert reader.locator(".pg-german mark").count()
    on = reader.get_by_role("button", name="Switch all heads on")
    on.press("Enter")
    expect(reader.locator(".pg-german")).to_have_text(translator()(TIRED))
    expect(on).to_be_focused()
    assert reader.locator("mark").count() == 0


def test_each_head_in_turn(reader: Page) -> None:
    """The page lists the heads without which the translation is another."""
    load(reader)
    network, whole, expected = translator().model, translator()(TIRED), []
    assert isinstance(network, Transformer)
    for head in all_heads(network):
        with zero_ablation(network, [head]):
            text = translator()(TIRED)
        name = str(head).replace("cross", "cross-attention")
        expected += [f"{name} {text}"] if text != whole else []
    reader.get_by_role("button", name="Switch off each head in turn").click()
    expect(reader.locator(".pg-found")).to_contain_text("it stays the same")
    found = reader.locator(".pg-found li").all_inner_texts()
    assert [" ".join(each.split()) for each in found] == expected


def test_steps_of_the_search(reader: Page) -> None:
    """The slider goes back to what the beam held at first; four alternatives stand
    finished at the end.
    """
    load(reader)
    slider = reader.get_by_role("slider", name="Step")
    expect(slider).to_have_value(str(slider.get_attribute("max")))
    finished = reader.locator(".pg-beam").nth(1).locator("tbody tr")
    expect(finished).to_have_count(4)
    expect(finished.first).to_contain_text(GERMAN)
    slider.press("Home")
    expect(finished.filter(has_text="Tier")).to_have_count(0)
    first = reader.locator(".pg-beam").first.locator("tbody tr").first
    expect(first).to_contain_text("Das")
    reader.get_by_role("checkbox", name="this head is on", exact=True).uncheck()
    expect(reader.locator(".pg-german")).to_contain_text("Die Tier")
    expect(slider).to_have_value("1")
    reader.get_by_role("button", name="too wide").click()
    expect(reader.locator(".pg-german")).to_contain_text("sie zu breit")
    expect(slider).to_have_value(str(slider.get_attribute("max")))


def test_german_grows(browser: Browser) -> None:
    """A reader who does not mind motion sees the beginning before the end."""
    page = browser.new_page()
    page.goto(PAGE.as_uri())
    load(page)
    page.evaluate(WATCH)
    page.get_by_role("button", name="too tired").click()
    page.wait_for_function("() => window.seen.includes('Das Tier überquerte')")
    expect(page.locator(".pg-german")).to_have_text(GERMAN)
    seen = page.evaluate("window.seen")
    assert seen.index("Das Tier") < seen.index("Das Tier überquerte")
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("reader", WINDOWS, indirect=True)
def test_accessible(reader: Page, theme: str) -> None:
    """Axe finds no fault in it, neither before nor after, and nobody has to scroll
    sideways.
    """
    reader.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    reader.get_by_role("radio", name="everyday English").check()
    no_fault(reader)
    reader.get_by_role("radio", name="the synthetic corpus").check()
    load(reader)
    reader.get_by_role("checkbox", name="1: encoder, layer 1, head 1 is on").uncheck()
    reader.get_by_role("button", name="Switch off each head in turn").click()
    expect(reader.locator(".pg-found")).to_contain_text("it stays the same")
    expect(reader.locator(".pg-before")).to_contain_text("Without encoder, layer 1")
    no_fault(reader)


def test_without_javascript(browser: Browser) -> None:
    """A reader without JavaScript sees two translations, a head, and why there is
    nothing to type into.
    """
    page = browser.new_page(java_script_enabled=False)
    page.goto(PAGE.as_uri())
    place = page.locator(".aiayn-playground")
    expect(place).to_contain_text("weil sie zu breit war")
    expect(place).to_contain_text("Where the words look")
    expect(place.locator("noscript p")).to_be_visible()
    page.close()
