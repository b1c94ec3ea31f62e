"""Layer by layer: what the playground's decoder would write if it stopped earlier."""

from collections.abc import Callable

import pytest
from playground_page import WINDOWS, check_page, with_site
from playwright.sync_api import Page, expect

expect.set_options(timeout=60_000)  # the machine may be busy
pytestmark = [pytest.mark.browser, with_site]


@pytest.mark.parametrize("reader", WINDOWS, indirect=True)
def test_layers(reader: Page, open_link: Callable[[str], None]) -> None:
    """The slider goes from layer to layer, and the arrow keys from word to word, here
    and in the large picture; a link holds both.
    """
    reader.get_by_role("radio", name="everyday English").check()
    reader.get_by_role("button", name="him or her").click()
    guesses = reader.locator(".pg-guesses span")
    expect(guesses).to_have_text(["Ich", "kenne", "ihn", ".", "‹end›"])
    expect(reader.locator(".pg-at")).to_contain_text("“ihn”")
    slider = reader.get_by_role("slider", name="After layer")
    slider.press("ArrowLeft")
    expect(guesses).to_have_text(["Ich", "habe", "ihn", ".", "‹end›"])
    reader.get_by_role("option", name="ihn ihn").focus()
    reader.keyboard.press("ArrowLeft")
    chosen = reader.locator(".pg-depth .pg-chosen")
    expect(chosen).to_contain_text("habe 58%")
    expect(reader.locator(".pg-said")).to_contain_text("“kenne” looks")
    reader.get_by_role("option", name="Ich", exact=True).first.focus()
    expect(reader.locator(".pg-at")).to_contain_text("“Ich”")
    check_page(reader)
    open_link(reader.url)
    expect(guesses).to_have_text(["Ich", "habe", "ihn", ".", "‹end›"])
    expect(reader.locator(".pg-at")).to_contain_text("“Ich”")
