"""What is typed into the playground is translated. The synthetic corpus has few words:
the page lists and completes them, and names those that are not among them.
"""

import pytest
from playground_page import (
    NAMES,
    PAGE,
    TIRED,
    WATCH,
    WINDOWS,
    no_fault,
    translator,
    with_site,
)
from playwright.sync_api import Browser, Page, expect

expect.set_options(timeout=60_000)  # the machine may be busy
pytestmark = [pytest.mark.browser, with_site]

# While one sentence is being translated, ask for another.
OVERTAKE = """async ([first, second]) => {
  const field = document.getElementById("pg-source");
  const type = (sentence) => {
    field.value = sentence;
    field.dispatchEvent(new Event("input"));
  };
  type(first);
  await new Promise((resolve) => setTimeout(resolve, Playground.REST + 1));
  type(second);
  field.form.requestSubmit();
  window.seen = [];
}"""
# What the page says to a letter that is typed, before it translates.
SAID_AT_ONCE = """(sentence) => {
  const field = document.getElementById("pg-source");
  field.value = sentence;
  field.dispatchEvent(new Event("input"));
  return document.querySelector(".pg-left [role=status]").textContent;
}"""


@pytest.mark.parametrize("reader", WINDOWS, indirect=True)
def test_words_while_typing(reader: Page) -> None:
    """Arrow keys choose a word, Enter or the pointer takes it, Escape closes the list,
    and without a choice Enter translates. What is unknown is named at once.
    """
    field = reader.get_by_role("textbox", name="An English sentence")
    options = reader.get_by_role("listbox", name="words that it knows")
    field.fill("")
    field.press_sequentially("Th")
    expect(options.get_by_role("option").first).to_have_text("The")
    no_fault(reader)
    field.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant")
    field.press("Enter")
    expect(field).to_have_value("The ")
    field.press_sequentially("zebra sle")
    status = reader.get_by_role("status").first
    expect(status).to_contain_text("The model has never seen: zebra. It")
    options.get_by_role("option", name="slept", exact=True).click()
    expect(field).to_have_value("The zebra slept ")
    expect(field).to_be_focused()
    field.press("Backspace")
    field.press_sequentially(". T")
    expect(options).to_be_visible()
    field.press("Escape")
    expect(options).to_be_hidden()
    field.fill("The dog slep")
    expect(options).to_be_visible()
    field.press_sequentially("t")
    expect(options).to_be_hidden()
    field.press_sequentially(".")
    field.press("Enter")
    expect(reader.locator(".pg-german")).to_have_text("Der Hund schlief.")
    expect(status).not_to_contain_text("never seen")
    assert "never seen" not in reader.evaluate(SAID_AT_ONCE, "The dog slep")
    for sentence, unknown in [("The dog zeb", "zeb"), ("The dog slept!", "!")]:
        said = reader.evaluate(SAID_AT_ONCE, sentence)
        assert said.startswith(f"The model has never seen: {unknown}.")
    field.fill("Dogs lik")
    field.press("Enter")  # nothing is chosen
    expect(status).to_contain_text("The model has never seen: lik.")
    expect(options).to_be_hidden()
    second = reader.get_by_role("textbox", name="Sentence B")
    second.press_sequentially("He coul")
    second.press("ArrowDown")
    second.press("Tab")
    expect(second).to_have_value("He could ")
    expect(second).to_be_focused()


@pytest.mark.parametrize("name", NAMES)
def test_translates_what_is_typed(reader: Page, name: str) -> None:
    """The German follows without Enter, and the reader can go on typing; an answer that
    has been overtaken is never shown.
    """
    if name == "en-de":
        reader.get_by_role("radio", name="everyday English").check()
    field, german = (
        reader.get_by_label("An English sentence"),
        reader.locator(".pg-german"),
    )
    field.fill("The dog")
    field.press_sequentially(" slept.", delay=20)
    expect(german).to_have_text(translator(name)("The dog slept."))
    expect(reader.locator(".pg-search")).to_be_visible()
    reader.evaluate(WATCH)
    reader.evaluate(OVERTAKE, [TIRED, "The boy slept."])
    expect(german).to_have_text(translator(name)("The boy slept."))
    expect(field).to_be_focused()
    assert translator(name)(TIRED) not in reader.evaluate("window.seen")
    field.fill("")
    expect(german).to_be_hidden()
    expect(reader.get_by_role("status").first).to_contain_text("no sentence yet")


def test_what_is_old_goes_at_once(browser: Browser) -> None:
    """While a model is fetched, the page says that it works and names nothing of the
    sentence before; the list of words does not cover the German.
    """
    page = browser.new_page(reduced_motion="reduce")
    page.route("**/models/**", lambda route: None)  # it never comes
    page.goto(PAGE.as_uri())
    field, bar = page.get_by_label("An English sentence"), page.locator(".pg-bar")
    expect(bar.locator(".pg-of")).to_contain_text("German for: The animal did not")
    field.fill("The zebra")
    status = page.get_by_role("status").first
    expect(status).to_contain_text("The model has never seen: zebra.")
    field.fill("The dog sl")
    expect(status).to_be_empty()
    expect(bar).to_have_attribute("aria-busy", "true")
    expect(bar.locator(".pg-of")).to_have_text("translating …")
    words, below = (
        page.locator(".pg-completion").first.bounding_box(),
        bar.bounding_box(),
    )
    assert words and below and words["y"] + words["height"] <= below["y"]
    page.close()


@pytest.mark.parametrize("reader", WINDOWS, indirect=True)
def test_all_words(reader: Page) -> None:
    """The list opens by keyboard; the other model has none, and completes nothing."""
    fold = reader.locator(".pg-words")
    fold.locator("summary").press("Enter")
    expect(fold).to_contain_text("word forms that it knows")
    expect(fold.get_by_role("group")).to_contain_text("street")
    for theme in ("light", "dark"):
        reader.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        no_fault(reader)
    reader.get_by_role("radio", name="everyday English").check()
    expect(fold).to_be_hidden()
    field = reader.get_by_role("textbox", name="An English sentence")
    field.fill("Zebra th")
    expect(reader.get_by_role("listbox", name="words that it knows")).to_be_hidden()
    expect(reader.get_by_role("status").first).not_to_contain_text("never seen")
