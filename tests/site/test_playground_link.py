"""A link to the playground holds what a reader has set up."""

from collections.abc import Callable

import pytest
from playground_page import WINDOWS, with_site
from playwright.sync_api import Page, expect

expect.set_options(timeout=60_000)  # the machine may be busy
pytestmark = [pytest.mark.browser, with_site]


@pytest.mark.parametrize("reader", WINDOWS, indirect=True)
def test_restores_what_was_set_up(
    reader: Page, open_link: Callable[[str], None]
) -> None:
    """Model, sentence, heads that are off, the head shown large and its row."""
    german, said = reader.locator(".pg-german"), reader.locator(".pg-said")
    expect(german).to_contain_text("weil es zu müde war.")
    assert "#" not in reader.url  # nothing is set up yet
    reader.get_by_role("radio", name="everyday English").check()
    reader.get_by_label("An English sentence").fill("He can swim & I can't!")
    reader.keyboard.press("Enter")
    expect(reader.locator(".pg-search")).to_be_visible()
    reader.get_by_role("button", name="cross-attention, layer 3, head 3").press("Enter")
    reader.get_by_role("checkbox", name="this head is on", exact=True).press("Space")
    off = reader.get_by_role("checkbox", name="this head is switched off", exact=True)
    expect(off).not_to_be_checked()
    expect(reader.locator(".at-large svg")).to_have_css("opacity", "0.55")
    expect(reader.locator(".pg-before")).to_contain_text(
        "Without cross-attention, layer 3"
    )
    reader.get_by_role("checkbox", name="1: encoder, layer 1, head 1 is on").uncheck()
    expect(reader.locator(".pg-before")).to_contain_text("encoder, layer 1")
    reader.get_by_role("option").nth(1).focus()
    expect(said).to_contain_text("“kann” looks")
    reader.get_by_role("slider", name="Step").press("Home")
    before = german.inner_text(), said.inner_text()
    reader.get_by_role("button", name="Copy link").press("Enter")
    expect(reader.locator(".pg-copied")).to_contain_text("Cop")
    address = reader.url
    assert "off=cross-3-3%2Cencoder-1-1&head=cross-3-3&row=1" in address
    assert address.endswith("&step=1")
    open_link(address)
    expect(reader.get_by_role("radio", name="everyday English")).to_be_checked()
    expect(reader.locator(".pg-search")).to_be_visible()
    expect(german).to_have_text(before[0])
    expect(said).to_have_text(before[1])
    expect(reader.locator(".pg-title")).to_contain_text(
        "cross-attention, layer 3, head 3"
    )
    expect(reader.locator(".pg-silent")).to_have_count(2)
    expect(reader.get_by_role("slider", name="Step")).to_have_value("1")
    expect(reader.locator(".pg-models")).to_be_in_viewport()
    assert reader.url == address


def test_restores_the_word_beside_a_head_of_the_encoder(
    reader: Page, open_link: Callable[[str], None]
) -> None:
    """Such a head looks from English words; the German one is kept by itself."""
    reader.get_by_role("button", name="too tired").click()
    reader.get_by_role("button", name="encoder, layer 1, head 2").press("Enter")
    reader.locator(".pg-guesses li").nth(2).focus()
    expect(reader.locator(".pg-at")).to_contain_text("“überquerte”")
    open_link(reader.url)
    expect(reader.locator(".pg-at")).to_contain_text("“überquerte”")


def test_another_link_on_the_same_page(reader: Page) -> None:
    """A link that a reader opens while the page stands takes over; what the model does
    not have in it is left out, and the page's own anchors are no state.
    """
    reader.evaluate("location.hash = '#everyday-sentences'")
    text = "The+coffee+is+hot."
    link = f"#model=synthetic-en-de&text={text}&off=cross-9-9&head=cross-1-9&row=900"
    reader.evaluate(f"location.hash = '{link}'")
    expect(reader.locator(".pg-german")).to_have_text("Der Kaffee ist heiß.")
    expect(reader.locator(".pg-title")).to_contain_text(
        "cross-attention, layer 2, head 3"
    )
    expect(reader.locator(".pg-said")).to_contain_text("“‹end›” looks at")
    expect(reader.locator(".pg-silent")).to_have_count(0)
