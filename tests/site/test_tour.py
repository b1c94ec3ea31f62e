"""The tour "One word decides" in a browser: keyboard, guess, switch, swipe, and the
strip of all cards where there are no scripts.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from test_site import SITE

FRONT = SITE.resolve() / "book" / "index.html"
CARDS = 12
SIDEWAYS = "document.documentElement.scrollWidth > innerWidth"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not FRONT.exists(), reason=f"no site in {SITE}: run `make book`"
    ),
]


@pytest.fixture
def page(window: Page) -> Page:
    """The front page, as it opens."""
    window.set_viewport_size({"width": 1400, "height": 900})
    window.goto(FRONT.as_uri())
    return window


def card(page: Page, name: str) -> Locator:
    return page.locator(f'.tour-card[data-card="{name}"]')


def turn_to(page: Page, number: int) -> None:
    """Open a card by its dot, counted from 1."""
    page.locator(".tour-dots button").nth(number - 1).click()


def shown(page: Page) -> list[str]:
    """The cards that one sees."""
    cards = page.locator(".tour-card").all()
    return [str(each.get_attribute("data-card")) for each in cards if each.is_visible()]


def test_the_keyboard_alone_leads_to_the_last_card(page: Page) -> None:
    tour, dots = page.locator(".aiayn-tour"), page.locator(".tour-dots button")
    page.locator("[data-choose]").first.focus()
    seen = shown(page)
    for number in range(1, CARDS):
        page.keyboard.press("ArrowRight")
        assert len(shown(page)) == 1
        seen += shown(page)
        expect(dots.nth(number)).to_have_attribute("aria-current", "step")
        expect(tour.locator("[aria-current]")).to_have_count(1)
        expect(tour.locator("[aria-live]")).to_contain_text(f"{number + 1} of {CARDS}")
    assert len(set(seen)) == CARDS and seen[-1] == "map"
    page.keyboard.press("Home")
    expect(card(page, "question")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(card(page, "question")).to_be_visible()
    page.keyboard.press("End")
    expect(card(page, "map")).to_be_visible()


def test_keys_go_on_after_the_card_with_the_focus_is_gone(page: Page) -> None:
    turn_to(page, 8)
    card(page, "guess").get_by_role("button").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(card(page, "looks")).to_be_visible()


def test_few_steps_lead_from_an_answer_to_the_next_card(page: Page) -> None:
    """The dots are one stop of the Tab key; on them, arrow keys turn the cards."""
    turn_to(page, 8)
    card(page, "guess").locator("[data-guess='sie']").focus()
    dots = page.locator(".tour-dots button")
    link = card(page, "guess").get_by_role("link")
    back, forth = (page.locator(f"[data-go='{step}']") for step in (-1, 1))
    for stop in (link, back, dots.nth(7), forth):
        page.keyboard.press("Tab")
        expect(stop).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    expect(dots.nth(8)).to_be_focused()
    expect(dots.nth(8)).to_have_attribute("aria-current", "step")


def test_a_guess_is_answered(page: Page) -> None:
    turn_to(page, 8)
    guess = card(page, "guess")
    bars = guess.locator("svg:visible .tour-answer")
    expect(bars).to_be_hidden()
    guess.get_by_role("button", name="sie").click()
    expect(bars).to_be_visible()
    expect(guess.locator("svg:visible .tour-open")).to_be_hidden()
    expect(bars.locator("text").first).to_have_text("sie")
    expect(guess).to_contain_text("You say sie. So does the model: sie, with a prob")
    expect(guess).to_contain_text("Both are right: it is the street that was too wide.")
    page.get_by_role("button", name="tired", exact=True).click()
    expect(bars).to_be_hidden()
    guess.get_by_role("button", name="sie").click()
    expect(guess).to_contain_text("You say sie. The model says es, with a probability")
    expect(guess).to_contain_text("The model is right: it is the animal")
    expect(page.locator(".aiayn-tour [aria-live]")).to_contain_text("The model says es")


def test_the_switch_changes_the_pronoun(page: Page) -> None:
    turn_to(page, 11)
    switch = page.get_by_role("switch")
    german = card(page, "switch").locator("svg:visible text.strong.large:visible")
    expect(german).to_have_text("sie")
    switch.focus()
    page.keyboard.press("Space")
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(german).to_have_text("es")
    expect(page.locator(".aiayn-tour [aria-live]")).to_have_text(
        "Das Tier überquerte die Straße nicht, weil es zu breit war."
    )
    switch.click()
    expect(german).to_have_text("sie")
    page.get_by_role("button", name="tired", exact=True).click()
    switch.click()
    expect(german).to_have_text("es")


def test_all_of_a_card_fits_the_window(page: Page) -> None:
    """Also the outline of the button that leads on; dots of a phone stand in a row."""
    for number in range(1, CARDS + 1):
        turn_to(page, number)
        box = page.locator("[data-go='1']").bounding_box()
        assert box and box["y"] + box["height"] + 8 < 900
    assert page.evaluate("scrollY") == 0
    page.set_viewport_size({"width": 390, "height": 844})
    dots = [dot.bounding_box() for dot in page.locator(".tour-dots button").all()]
    assert len({dot["y"] for dot in dots if dot}) == 1


def test_try_your_own_leads_to_the_box(page: Page) -> None:
    turn_to(page, CARDS)
    card(page, "map").get_by_role("link", name="Try your own").click()
    box = page.get_by_label("An English sentence")
    expect(box).to_be_focused()
    expect(box).to_be_in_viewport()
    place = box.bounding_box()
    assert place and place["y"] > 64  # below the bar on top


def test_what_is_seen_and_heard(page: Page) -> None:
    """One live region; every picture has a name; nothing moves for who wants it so."""
    expect(page.locator(".aiayn-tour [aria-live]")).to_have_count(1)
    for number in range(1, CARDS + 1):
        turn_to(page, number)
        picture = page.locator(".tour-card[data-current] .tour-picture svg:visible")
        expect(picture).to_have_count(1)
        assert picture.get_attribute("aria-label")
        moving = "document.querySelector('.aiayn-tour').getAnimations({subtree: true})"
        assert page.evaluate(f"{moving}.length") == 0
    page.emulate_media(reduced_motion="no-preference")
    turn_to(page, 4)
    assert page.evaluate(f"{moving}.length") > 0
    page.emulate_media(reduced_motion="reduce")


@pytest.mark.parametrize("medium", ["screen without scripts", "paper"])
def test_all_cards_are_there(browser: Browser, page: Page, medium: str) -> None:
    if medium == "paper":
        page.emulate_media(media="print")
    else:
        page = browser.new_page(java_script_enabled=False)
        page.goto(FRONT.as_uri())
    for number, each in enumerate(page.locator(".tour-card").all(), start=1):
        expect(each).to_be_visible()
        expect(each).to_contain_text(f"{number} of {CARDS}")
        expect(each.locator(".tour-picture svg:visible")).to_have_count(1)
        expect(each.locator(".tour-says:visible")).to_have_count(1)
        expect(each.get_by_role("link").last).to_be_visible()
    expect(page.locator(".aiayn-tour button:visible")).to_have_count(0)
    if medium == "paper":
        page.emulate_media(media="screen")
    else:
        page.close()


def test_on_a_phone(browser: Browser) -> None:
    """No sideways scroll, buttons as large as a finger, and a swipe turns the card."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(FRONT.as_uri())
    touch = context.new_cdp_session(page)

    def swipe(begin: int, end: int) -> None:
        box = page.locator(".tour-card[data-current] .tour-picture").bounding_box()
        assert box
        for kind, x in (("Start", begin), ("Move", end), ("End", None)):
            points = [] if x is None else [{"x": x, "y": box["y"] + 80}]
            about = {"type": f"touch{kind}", "touchPoints": points}
            touch.send("Input.dispatchTouchEvent", about)

    page.locator(".tour-cards").scroll_into_view_if_needed()
    for number in range(1, CARDS + 1):
        assert not page.evaluate(SIDEWAYS)
        for button in page.locator(".aiayn-tour button:visible").all():
            box = button.bounding_box()
            dot = button.get_attribute("aria-label") not in (None, "Back")
            assert box and box["height"] >= 44 and box["width"] >= (24 if dot else 44)
        if number < CARDS:
            swipe(300, 100)
            expect(page.locator(".tour-card[data-current]")).to_contain_text(
                f"{number + 1} of {CARDS}"
            )
    swipe(100, 300)
    expect(card(page, "switch")).to_be_visible()
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, theme: str) -> None:
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    options = {"resultTypes": ["violations"]}
    for number in range(1, CARDS + 1):
        turn_to(page, number)
        if number == 8:
            page.locator("button[data-guess='es']").click()
        found = Axe().run(page, ".aiayn-tour", options).response["violations"]
        assert not found, [(each["id"], each["nodes"][0]["html"]) for each in found]


def test_the_first_screen_still_says_what_the_book_is(page: Page) -> None:
    text, tour = page.locator("main p").first, page.locator(".aiayn-tour")
    place, below = text.bounding_box(), tour.bounding_box()
    assert place and below and place["y"] + place["height"] < below["y"] < 500
