"""The playground: the model in the page is the model of the package, and the page keeps
to its manners.
"""

import base64
import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from aiayn.analysis import attention_of
from aiayn.analysis.attention_maps import KINDS
from aiayn.analysis.pruning import all_heads, zero_ablation
from aiayn.data import make_batch
from aiayn.data.vocabulary import EOS_ID
from aiayn.model import Transformer
from aiayn.shipped import pretrained
from aiayn.synthetic import sample
from aiayn.translation import Translator

SITE = Path(os.environ.get("AIAYN_SITE", Path(__file__).parents[2] / "_build" / "html"))
PAGE = SITE.resolve() / "book" / "0-start" / "2-playground.html"
STATIC = SITE / "_static" / "playground"

expect.set_options(timeout=60_000)  # the machine may be busy
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGE.exists(), reason=f"no site in {SITE}: run `make book`"),
]

TRIED = ("test", "novel", "long", "pronouns")
TIRED = "The animal did not cross the street because it was too tired."
GERMAN = "Das Tier überquerte die Straße nicht, weil es zu müde war."
ODD = [
    "",
    "   ",
    "\tThe dog\n",
    "The  dog   sleeps",
    "▁The ▁▁ dog▁",
    "Zoë ñandú 日本語 👍🏽 z",
    "x" * 50,
    "...",
    "<s> </s> <unk> <pad>",
    "ÄÖÜß",
    "e\u0301",
    "The\u00a0dog",
    "\ufeffThe dog",
    "\u2003The dog\u3000",
    "he’s",
    "don't!!! #@$%",
    "\x1cThe dog\x85",
    "1234567890",
    "The\tdog",
    "a\u200bb",
    "😀😀The",
    "<img src=x>",
]
LOAD = """async () => {
  const address = document.querySelector(".aiayn-playground").dataset.model;
  window.loaded = await Playground.load(address);
}"""
SEARCH = """([sentences, options, silent]) => {
  const { model, vocabulary } = window.loaded;
  model.silent = new Set(silent);
  const found = sentences.map((sentence) => {
    const { finished } = Playground.search(model, vocabulary.encode(sentence), options);
    return finished.map(
      ({ tokens, logProbability }) => [vocabulary.decode(tokens), logProbability],
    );
  });
  model.silent = new Set();
  return found;
}"""
LOGITS = """(examples) => examples.map(([source, target]) => {
  const { model } = window.loaded;
  const memory = model.encode(source);
  const rows = [];
  let past = model.start(), logits;
  for (const token of [Playground.BOS, ...target.slice(0, -1)]) {
    ({ logits, past } = model.step(token, past, memory));
    rows.push(btoa(String.fromCharCode(...new Uint8Array(logits.buffer))));
  }
  return rows;
})"""

WATCH = """() => {
  window.seen = [];
  const german = () => document.querySelector(".pg-german")?.textContent;
  const playground = document.querySelector(".aiayn-playground");
  new MutationObserver(() => seen.push(german()))
    .observe(playground, { childList: true, subtree: true });
}"""


@pytest.fixture(scope="module")
def translator() -> Translator:
    """The model in PyTorch."""
    return Translator(*pretrained("synthetic-en-de"))


@pytest.fixture(scope="module")
def model(browser: Browser) -> Iterator[Page]:
    """A window whose `loaded` is the model in JavaScript, its page opened from disk."""
    page = browser.new_page()
    page.goto(PAGE.as_uri())
    page.evaluate(LOAD)
    yield page
    page.close()


@pytest.fixture
def reader(browser: Browser) -> Iterator[Page]:
    """A phone of a reader who wants no motion; errors and requests that leave the disk
    fail the test.
    """
    page = browser.new_page(
        viewport={"width": 390, "height": 844}, reduced_motion="reduce"
    )
    page.set_default_timeout(60_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request",
        lambda request: request.url.startswith("file:") or faults.append(request.url),
    )
    page.goto(PAGE.as_uri())
    yield page
    page.close()
    assert not faults


def load(page: Page) -> None:
    """Press the button, and wait for the first translation."""
    page.get_by_role("button", name="Load the model").click()
    expect(page.locator(".pg-german")).to_have_text(GERMAN)


def translate(page: Page, sentence: str) -> None:
    """Type a sentence and press Enter."""
    page.get_by_label("An English sentence").fill(sentence)
    page.keyboard.press("Enter")


@cache
def examples(split: str) -> list[str]:
    """Sentences of the synthetic corpus."""
    return [pair.source for pair in sample(125, seed=3, split=split)]


def some(n: int) -> list[str]:
    """So many sentences of every split on which the model is tried."""
    return [sentence for split in TRIED for sentence in examples(split)[:n]]


def test_same_translations(model: Page, translator: Translator) -> None:
    """On 200 sentences, most of them hard, the search finds the same translation and
    probability.
    """
    sentences = some(50)
    expected = translator.n_best(sentences, 1)
    found = model.evaluate(SEARCH, [sentences, {}, []])
    assert [each[0][0] for each in found] == [each[0].text for each in expected]
    pairs = zip(found, expected, strict=True)
    assert max(abs(each[0][1] - best[0].log_probability) for each, best in pairs) < 1e-3


@pytest.mark.parametrize("beam", [1, 4])
def test_same_alternatives(model: Page, translator: Translator, beam: int) -> None:
    """Greedy search agrees too, and so do all translations that a beam of four ends
    with.
    """
    sentences = some(10)
    greedy = Translator(
        *pretrained("synthetic-en-de"), type(translator.search)(beam=beam)
    )
    expected = [
        [each.text for each in found] for found in greedy.n_best(sentences, beam)
    ]
    found = model.evaluate(SEARCH, [sentences, {"beam": beam, "nBest": beam}, []])
    assert [list(dict.fromkeys(text for text, _ in each)) for each in found] == expected


def test_same_logits(model: Page, translator: Translator) -> None:
    """Given the right words before, every logit of every step agrees."""
    pairs = [
        pair for split in ("test", "long") for pair in sample(10, seed=4, split=split)
    ]
    sides = [[pair.source for pair in pairs], [pair.target for pair in pairs]]
    tokens = list(zip(*map(translator.vocabulary.encode, sides), strict=True))
    batch = make_batch(tokens)
    with torch.inference_mode():
        expected = translator.model(batch.source, batch.target).numpy()
    worst = 0.0
    for row, steps in enumerate(model.evaluate(LOGITS, tokens)):
        found = np.stack(
            [np.frombuffer(base64.b64decode(step), dtype=np.float32) for step in steps]
        )
        worst = max(worst, float(np.abs(found - expected[row, : len(found)]).max()))
    print(f"largest difference between logits: {worst:.1e}")
    assert worst < 1e-3


def test_same_attention(model: Page, translator: Translator) -> None:
    """Every head looks where it looks in PyTorch."""
    attention = attention_of(translator, TIRED)
    tokens = [
        [*translator.vocabulary.processor.PieceToId(list(side.pieces[:-1])), EOS_ID]
        for side in (attention.source, attention.writes)
    ]
    looks = model.evaluate(
        "(tokens) => window.loaded.model.attentionOf(...tokens)", tokens
    )
    for kind in KINDS:
        for layer, rows in enumerate(looks[kind]):
            for query, heads in enumerate(rows):
                found = torch.tensor(heads, dtype=torch.float32)
                expected = attention.weights[kind][layer, :, query, : found.shape[1]]
                assert torch.allclose(found, expected, atol=1e-5)


def test_same_pieces(model: Page, translator: Translator) -> None:
    """Synthetic sentences, odd ones, and letters drawn by lot are cut into the same
    pieces.
    """
    draw, letters = random.Random(1), "abcdeinst TheßÄü.,'?!▁ \u00a0é日1<>"
    noise = ["".join(draw.choices(letters, k=draw.randint(1, 40))) for _ in range(300)]
    lines = [*some(125), *(pair.target for pair in sample(200)), *ODD, *noise]
    expected = translator.vocabulary.encode([line.strip() for line in lines])
    found = model.evaluate(
        "(lines) => lines.map((line) => window.loaded.vocabulary.encode(line))", lines
    )
    assert found == expected
    texts = model.evaluate(
        "(rows) => rows.map((row) => window.loaded.vocabulary.decode(row))", expected
    )
    assert texts == translator.vocabulary.decode(expected)


def test_same_without_a_head(model: Page, translator: Translator) -> None:
    """A head that is off in the page is one that is ablated in PyTorch."""
    network = translator.model
    assert isinstance(network, Transformer)
    sentences = [TIRED, *some(1)[::3]]
    for head in all_heads(network):
        with zero_ablation(network, [head]):
            expected = [each[0] for each in translator.n_best(sentences, 1)]
        found = model.evaluate(
            SEARCH, [sentences, {}, [f"{head.kind} {head.layer} {head.head}"]]
        )
        assert [each[0][0] for each in found] == [each.text for each in expected], head
        log_p = [each.log_probability for each in expected]
        assert [each[0][1] for each in found] == pytest.approx(log_p, abs=1e-3)


def test_nothing_is_loaded_unasked(browser: Browser) -> None:
    """The model comes when the button is pressed; before, it does not; and all weighs
    less than 4 MB.
    """
    page, asked = browser.new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(PAGE.as_uri())
    expect(page.locator(".pg-still")).to_contain_text("Das Tier")
    assert not [url for url in asked if "synthetic-en-de" in url]
    page.get_by_role("button", name="Load the model").click()
    expect(page.locator(".pg-german")).not_to_be_empty()
    assert len([url for url in asked if "synthetic-en-de" in url]) == 1
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 4e6
    page.close()


@pytest.mark.parametrize(
    "broken", [None, "<title>Please log in</title>", "Playground.file = {};"]
)
def test_a_model_that_did_not_come_can_be_asked_for_again(
    browser: Browser, broken: str | None
) -> None:
    """The connection is gone, or a login page or half a file comes instead."""
    page = browser.new_page(reduced_motion="reduce")
    where = "**/synthetic-en-de*"
    page.route(
        where,
        lambda route: route.abort() if broken is None else route.fulfill(body=broken),
    )
    page.goto(PAGE.as_uri())
    page.get_by_role("button", name="Load the model").click()
    expect(page.get_by_role("status").first).to_contain_text(
        "Press the button to try again"
    )
    page.unroute(where)
    load(page)
    page.close()


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
        expect(reader.locator(".pg-result")).to_be_visible(visible=not refused)


def test_heads_by_keyboard(reader: Page, translator: Translator) -> None:
    """Without a mouse: a head is shown large, a word tells where it looks, and switches
    change the German.
    """
    load(reader)
    reader.get_by_role("button", name="cross, layer 1, head 2").press("Enter")
    expect(reader.locator(".pg-caption").last).to_have_text("cross, layer 1, head 2")
    reader.get_by_role("option").first.focus()
    reader.keyboard.press("ArrowDown")
    expect(reader.locator(".pg-said")).to_contain_text("“Tier” looks at")
    network = translator.model
    assert isinstance(network, Transformer)
    heads = [head for head in all_heads(network) if head.kind == "cross"]
    for head in heads:
        reader.get_by_role("checkbox", name=f"{head} is on").press("Space")
    with zero_ablation(network, heads):
        expected = translator(TIRED)
    expect(reader.locator(".pg-german")).to_have_text(expected)
    expect(reader.locator(".pg-before")).to_contain_text(
        "Without 8 heads. With all heads: Das Tier"
    )
    assert reader.locator(".pg-german mark").count()
    reader.get_by_role("button", name="Switch all heads on").press("Enter")
    expect(reader.locator(".pg-german")).to_have_text(translator(TIRED))
    assert reader.locator("mark").count() == 0


def test_each_head_in_turn(reader: Page, translator: Translator) -> None:
    """The page lists the heads without which the translation is another."""
    load(reader)
    network, whole, expected = translator.model, translator(TIRED), []
    assert isinstance(network, Transformer)
    for head in all_heads(network):
        with zero_ablation(network, [head]):
            text = translator(TIRED)
        expected += [f"{head} {text}"] if text != whole else []
    reader.get_by_role("button", name="Switch off each head in turn").click()
    expect(reader.locator(".pg-found")).to_contain_text("heads")
    found = reader.locator(".pg-found li").all_inner_texts()
    assert [" ".join(each.split()) for each in found] == expected


def test_steps_of_the_search(reader: Page) -> None:
    """The slider goes back to what the beam held at first; four alternatives stand
    finished at the end.
    """
    load(reader)
    slider = reader.get_by_role("slider")
    slider.press("End")
    finished = reader.locator(".pg-beam").nth(1).locator("tbody tr")
    expect(finished).to_have_count(4)
    expect(finished.first).to_contain_text(GERMAN)
    slider.press("Home")
    expect(finished.filter(has_text="Tier")).to_have_count(0)
    expect(reader.locator(".pg-beam").first.locator("tbody tr").first).to_contain_text(
        "Das"
    )


def test_german_grows(browser: Browser) -> None:
    """A reader who does not mind motion sees the beginning before the end."""
    page = browser.new_page()
    page.goto(PAGE.as_uri())
    page.evaluate(WATCH)
    load(page)
    seen = page.evaluate("window.seen")
    assert (
        seen.index("Das Tier") < seen.index("Das Tier überquerte") < seen.index(GERMAN)
    )
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible(reader: Page, theme: str) -> None:
    """Axe finds no fault in it, nor does a phone have to scroll sideways."""
    load(reader)
    reader.get_by_role("checkbox", name="1: encoder, layer 1, head 1 is on").uncheck()
    reader.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    reader.get_by_role("button", name="Switch off each head in turn").click()
    expect(reader.locator(".pg-found")).to_contain_text("missed")
    found: Any = Axe().run(reader, context=".aiayn-playground")
    assert found.violations_count == 0, found.generate_report()
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390


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
