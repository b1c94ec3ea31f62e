"""Two sentences side by side in the playground, and a head's output that is copied from
one run into the other.
"""

import re
from collections.abc import Callable

import pytest
from playground_page import TIRED, WINDOWS, check_page, with_site
from playwright.sync_api import Page, expect

expect.set_options(timeout=60_000)  # the machine may be busy
pytestmark = [pytest.mark.browser, with_site]


def cells(page: Page) -> list[list[str]]:
    """The table of probabilities, row by row."""
    rows = page.locator(".pg-pairs tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


@pytest.mark.parametrize("reader", WINDOWS, indirect=True)
def test_a_head_that_decides(reader: Page, open_link: Callable[[str], None]) -> None:
    """In the stored pair the pronouns part; with one head's output copied, B has A's.
    A link holds all of it.
    """
    reader.get_by_role("button", name="tired or wide").click()
    b = reader.get_by_role("group", name="Sentence B")
    expect(b.locator("mark")).to_have_text(["wide", "sie", "breit"])
    first, second = cells(reader)
    assert first == ["es", "91.3%", "0.2%", "−91.1"]
    assert second == ["sie", "0.1%", "90.8%", "+90.7"]
    said, head = (
        reader.locator(".pg-copy-said"),
        reader.get_by_role("combobox", name="Head"),
    )
    head.select_option("cross-attention, layer 1, head 3")
    expect(said).to_have_text("B’s word stays sie.")
    reader.get_by_role("button", name="Copy each head in turn").press("Enter")
    found = reader.locator(".pg-copy-found")
    expect(found).to_contain_text("Of 24 heads, 3 change B’s word")
    found.get_by_role("button", name="cross-attention, layer 2, head 3").press("Enter")
    expect(said).to_have_text("B’s word changes from sie to es.")
    where = reader.get_by_role("combobox", name="Where")
    where.select_option("only where it writes weil")
    expect(said).to_have_text("B’s word stays sie.")
    where.select_option("only where it writes es / sie")
    expect(said).to_have_text("B’s word changes from sie to es.")
    assert [row[-1] for row in cells(reader)] == ["90.3%", "0.3%"]
    check_page(reader)
    open_link(reader.url)
    expect(said).to_have_text("B’s word changes from sie to es.")
    expect(where).to_have_value("8")


def test_another_example_takes_away_what_it_was_compared_with(reader: Page) -> None:
    """A sentence B that came with a pair goes with its A; one's own stays."""
    second = reader.get_by_role("textbox", name="Sentence B")
    results = reader.locator(".pg-results")
    reader.get_by_role("button", name="can or could").click()
    expect(results).to_be_visible()
    expect(second).to_have_value("He could swim.")
    reader.get_by_role("button", name="too tired").click()
    expect(second).to_have_value("")
    expect(results).to_be_hidden()
    second.fill("He could swim.")
    a = reader.get_by_role("group", name="Sentence A")
    expect(a).to_contain_text("tired")  # without Enter
    reader.get_by_role("button", name="a name to copy").click()
    expect(a).to_contain_text("Clara gave")
    expect(second).to_have_value("He could swim.")
    reader.get_by_role("button", name="tired or wide").click()
    radio = reader.get_by_role("radio")
    radio.and_(reader.get_by_label("everyday English")).check()
    expect(second).to_have_value("")
    reader.get_by_role("button", name="him or her").click()
    expect(second).to_have_value("I know her.")
    radio.and_(reader.get_by_label("the synthetic corpus")).check()
    expect(second).to_have_value("")
    expect(reader.get_by_label("An English sentence")).to_have_value(TIRED)


def test_a_pair_begins_with_all_heads_on(reader: Page) -> None:
    """What was off before has no part in it, and the page says so; a pronoun is what is
    compared, where the article differs, too.
    """
    status = reader.get_by_role("status").first
    for label in ("tired or wide", "too tired"):
        reader.get_by_role("checkbox", name="2: cross-attention, layer 1").uncheck()
        expect(reader.locator(".pg-before")).to_contain_text("Without cross-attention")
        button = reader.get_by_role("button", name=label)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(status).to_contain_text("All heads are on again.")
        expect(reader.locator(".pg-silent")).to_have_count(0)
    reader.get_by_role("button", name="the bag or the hat").click()
    expect(status).not_to_contain_text("All heads are on again.")
    results = reader.locator(".pg-results")
    expect(results).to_contain_text("Of the pronouns, A has “sie” and B has “er”.")
    assert [row[0] for row in cells(reader)] == ["sie", "er"]


def test_a_sentence_of_ones_own(reader: Page) -> None:
    """B may be typed, is told of when it is odd, and changes places with A; a pair with
    one translation has nothing to copy; heads that are off are off in both.
    """
    notes = reader.locator(".pg-pairs [role=status]").first
    second = reader.get_by_role("textbox", name="Sentence B")
    second.fill(TIRED.replace("tired", "zebra"))
    second.press("Enter")
    expect(notes).to_contain_text("The model has never seen: zebra.")
    second.fill(TIRED)
    second.press("Enter")
    expect(reader.locator(".pg-results")).to_contain_text(
        "Both have the same translation."
    )
    expect(reader.locator(".pg-copying")).to_be_hidden()
    second.fill("The dog slept. " * 30)
    second.press("Enter")
    expect(notes).to_contain_text("This sentence is too long")
    expect(reader.locator(".pg-results")).to_be_hidden()
    second.fill("He could swim.")
    reader.get_by_role("button", name="Swap A and B").press("Enter")
    a = reader.get_by_role("group", name="Sentence A")
    expect(a.locator(".pg-side-german")).to_have_text("Er konnte schwimmen.")
    expect(second).to_have_value(TIRED)
    expect(reader.get_by_label("An English sentence")).to_have_value("He could swim.")
    options = reader.get_by_role("combobox", name="Head").locator("option")
    expect(options.filter(has_text=re.compile("encoder"))).to_have_count(0)
    reader.get_by_role(
        "checkbox", name="3: cross-attention, layer 2, head 3 is on"
    ).uncheck()
    b = reader.get_by_role("group", name="Sentence B")
    expect(b.locator(".pg-side-german")).to_contain_text("Die Tier")
