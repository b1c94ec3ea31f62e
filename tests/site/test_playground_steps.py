"""The playground's tour in eight steps, followed as it is written, in its order."""

import re

import pytest
from playground_page import TIRED, with_site
from playwright.sync_api import Page, expect

expect.set_options(timeout=60_000)  # the machine may be busy
pytestmark = [pytest.mark.browser, with_site]

WIDE = TIRED.replace("tired", "wide")
DECIDES = "cross-attention, layer 1, head 2"


def test_every_step_is_true(reader: Page) -> None:
    def press(name: str) -> None:
        reader.get_by_role("button", name=name, exact=True).click()

    def untick() -> None:
        reader.get_by_role("checkbox", name="3: cross-attention, layer 2").uncheck()

    def german(text: str) -> None:
        expect(reader.locator(".pg-german")).to_contain_text(text)

    steps = reader.locator("details", has_text="A tour in eight steps").locator("li")
    expect(steps).to_have_count(8)
    said = reader.locator(".pg-said")
    expect(said).to_have_text("“es” looks at “animal” 100%.")
    press("too wide")  # 2, 3
    german("weil sie zu breit war.")
    expect(reader.locator(".pg-title")).to_contain_text("layer 2, head 3")
    expect(said).to_contain_text("“sie” looks at “street” 9")
    press("too tired")  # 4
    german("weil es zu müde war.")
    untick()
    german("Die Tier überquerte die Straße nicht, weil er zu müde war.")
    press("too wide")
    german("Das Tier")
    untick()
    german("Die Tier überquerte die Straße nicht, weil sie zu breit war.")
    press("Switch all heads on")  # 5
    german("Das Tier")
    press("Switch off each head in turn")
    found = reader.locator(".pg-found")
    expect(found).to_contain_text("Of 24 heads, 2 change")
    expect(found.locator("li", has_text="weil es zu breit")).to_have_count(1)
    found.get_by_role("button", name=DECIDES).click()
    german("weil es zu breit war.")
    expect(reader.locator(".pg-title")).to_contain_text(DECIDES)
    expect(said).to_contain_text("“es” looks at “wide”")
    press("Switch all heads on")  # 6
    german("weil sie zu breit war.")
    slider = reader.get_by_role("slider", name="Step")
    while slider.input_value() != "9":
        slider.press("ArrowLeft")
    rows = reader.locator(".pg-beam").first.locator("tbody td:first-child")
    last = [text.split()[-1] for text in rows.all_inner_texts()]
    assert last[:3] == ["sie", "er", "es"]
    press("tired or wide")  # 7
    expect(reader.locator(".pg-results")).to_be_visible()
    press("Copy each head in turn")
    copied = reader.locator(".pg-copy-found")
    expect(copied).to_contain_text("Of 24 heads, 3 change B’s word")
    expect(copied.locator("li")).to_have_text([re.compile("^cross-attention.*es")] * 3)
    reader.get_by_role("slider", name="After layer").press("Home")  # 8
    expect(reader.locator(".pg-guesses li")).to_have_count(14)
    right = reader.locator(".pg-guesses .pg-right-guess span")
    expect(right).to_have_text(["es", "zu", "."])
    expect(reader.locator(".pg-chosen")).to_contain_text("es 3%")


@pytest.mark.parametrize("reader", [(1400, 900)], indirect=True)
def test_the_tools_are_named_before_they_have_anything(reader: Page) -> None:
    """The contents at the side lead to each, and a line says what will stand there; the
    sentence's box is on the first screen.
    """
    expect(reader).to_have_title(re.compile("Playground"))
    expect(reader.get_by_label("An English sentence")).to_be_in_viewport(ratio=1)
    for tool in ("Layer by layer", "The search"):
        reader.locator(".aiayn-contents").get_by_role("link", name=tool).click()
        expect(reader.get_by_role("heading", name=tool)).to_be_in_viewport()
    expect(reader.locator(".pg-nothing:visible")).to_have_count(2)
    reader.get_by_role("button", name="too wide").click()
    expect(reader.locator(".pg-search")).to_be_visible()
    expect(reader.locator(".pg-nothing:visible")).to_have_count(0)
