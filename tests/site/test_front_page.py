"""The front page: what it says is the package's, what it shows runs, and everybody can
use it.
"""

import json
import re
import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import lxml.html
import pytest
import torch
from playwright.sync_api import Browser, BrowserContext, Page, expect
from test_site import SITE, address  # noqa: F401 (a fixture)
from torch import Tensor

from aiayn.data import corpora as data
from aiayn.model import Transformer, config
from aiayn.model.recording import recorded_attention

ROOT = Path(__file__).parents[2]
FRONT = SITE / "book" / "index.html"
STATES = {"holds", "does not hold", "does not hold here", "undecided"}
STATES |= {"not yet run", "cited"}

# A block and the panels are in the window, one above the other.
UNCOVERED = """
(name) => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const block = box(`a[data-block="${name}"]`), panels = box(".aiayn-machine-panels");
  return block.top > 0 && block.bottom <= panels.top && panels.top < innerHeight * 0.7;
}
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not FRONT.exists(), reason=f"no site in {SITE}: run `make book`"
    ),
]


@pytest.fixture(scope="module")
def document() -> lxml.html.HtmlElement:
    """The page as a reader without JavaScript has it."""
    return lxml.html.parse(FRONT).getroot()


@pytest.fixture(scope="module")
def numbers(document: lxml.html.HtmlElement) -> dict[str, dict[str, str]]:
    """What the page knows of every model."""
    (found,) = document.xpath('//div[@class="aiayn-machine"]/script')
    return dict(json.loads(found.text))


@pytest.fixture
def page(browser: Browser, address: str) -> Any:  # noqa: F811
    """The front page in a wide window."""
    page = browser.new_page(viewport={"width": 1400, "height": 1100})
    page.goto(f"{address}book/index.html")
    yield page
    page.close()


def panel(page: Page, block: str) -> Any:
    """The panel of a block."""
    return page.locator(f'[data-panel="{block}"]')


def whole(count: str) -> int:
    """A number as it is shown."""
    return 0 if count == "none" else int(count.replace(",", ""))


@pytest.mark.parametrize("size", ["base", "big", "synthetic"])
def test_parameters_are_those_of_the_models(
    numbers: dict[str, dict[str, str]], size: str
) -> None:
    """Counted by hand from the shape, and on a real model where that is small."""
    shown, shape = numbers[size], config(size)
    d, width = shape.d_model, shape.d_ff
    attention, feed_forward = shape.N * 4 * d * d, shape.N * (2 * d * width + width + d)
    norm = 2 * d * shape.N
    expected = {
        **dict.fromkeys(
            ("source-embedding", "target-embedding", "scores"),
            shape.vocabulary_size * d,
        ),
        **dict.fromkeys(("source-positions", "target-positions", "memory"), 0),
        **dict.fromkeys(
            ("encoder-attention", "decoder-attention", "cross-attention"), attention
        ),
        **dict.fromkeys(("encoder-feed-forward", "decoder-feed-forward"), feed_forward),
        "encoder-norm": 2 * norm,
        "decoder-norm": 3 * norm,
        "whole": (
            shape.vocabulary_size * d + 3 * attention + 2 * feed_forward + 5 * norm
        ),
    }
    assert {
        block: whole(shown[f"{block}.parameters"]) for block in expected
    } == expected
    if size == "synthetic":
        model = Transformer(shape)
        assert sum(weight.numel() for weight in model.parameters()) == expected["whole"]


def test_work_is_that_of_the_chapter_on_hardware(
    numbers: dict[str, dict[str, str]],
) -> None:
    for size, shown in numbers.items():
        n, m = int(shown["whole.n"]), int(shown["whole.m"])
        products = config(size).forward_flops(n, m) // 2
        amount, unit = shown["whole.products"].split()
        scale = {"thousand": 1e3, "million": 1e6, "billion": 1e9}[unit]
        assert float(amount) * scale == pytest.approx(products, rel=0.005), size


def test_shapes_are_those_that_flow_through_the_model(
    numbers: dict[str, dict[str, str]],
) -> None:
    """What goes into each kind of block and comes out of it, and what meets inside an
    attention.
    """
    shown = numbers["base"]
    seen: dict[str, list[Tensor]] = {}  # the last call's inputs and output
    with torch.device("meta"):
        model = Transformer(config("base")).eval()
        source, target = (
            torch.ones(1, int(shown[f"whole.{side}"]), dtype=torch.long)
            for side in "nm"
        )
    with torch.no_grad(), recorded_attention(model) as weights:
        for name, module in model.named_modules():

            def note(_: Any, inputs: Any, output: Any, name: str = name) -> None:
                seen[name] = [*inputs, output]

            module.register_forward_hook(note)
        model(source, target)

    def attention(path: str) -> list[Tensor]:
        Q, K, V = seen[f"{path}.attention"][:3]
        assert K.shape == V.shape
        inputs = seen[path][: 1 + path.endswith("cross_attention")]
        return [*inputs, Q, K, weights[path], seen[path][-1]]

    flows = {
        "whole": [source, target, seen[""][-1]],
        "target-embedding": seen["target_embeddings"],
        "target-positions": seen["positions"],
        "encoder-attention": attention("encoder.layers.0.self_attention"),
        "decoder-attention": attention("decoder.layers.0.self_attention"),
        "cross-attention": attention("decoder.layers.0.cross_attention"),
        "memory": [seen["encoder"][-1]],
        "scores": [seen["decoder"][-1], seen[""][-1]],
    }
    for side in ("encoder", "decoder"):
        layer = f"{side}.layers.0"
        norm, network = seen[f"{layer}.residuals.0"], seen[f"{layer}.feed_forward"]
        flows[f"{side}-norm"] = [norm[0], norm[-1]]
        flows[f"{side}-feed-forward"] = [
            network[0],
            seen[f"{layer}.feed_forward.W_1"][-1],
            network[-1],
        ]
    for block, tensors in flows.items():
        rows = [shown[name] for name in shown if name.startswith(f"{block}.flow.")]
        assert rows == [
            " × ".join(f"{size:,}" for size in tensor.shape[1:]) for tensor in tensors
        ], block


def test_every_block_leads_to_its_chapter_without_javascript(
    document: lxml.html.HtmlElement,
) -> None:
    links = document.xpath("//svg//a[@data-block]")
    assert len(links) == 16
    for link in links:
        chapter = (
            lxml.html.parse((FRONT.parent / link.get("href")).resolve())
            .findtext(".//h1")
            .strip()
        )
        assert link.get("aria-label").endswith(f"chapter {chapter}")
        number = link.xpath("text[2]/text()")  # in the drawing; the memory has none
        assert chapter.split()[0] in (number or ["3"])


def test_the_page_is_of_use_without_javascript(
    browser: Browser,
    address: str,  # noqa: F811
) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{address}book/index.html")
    expect(panel(page, "whole")).to_contain_text("63,045,632")
    expect(page.locator(".aiayn-machine form")).to_be_hidden()
    page.locator(".aiayn-machine summary").click()
    expect(page.locator(".aiayn-machine details")).to_contain_text("6,291,456")
    page.close()


def test_pointing_at_a_block_shows_its_panel(page: Page) -> None:
    page.locator('a[data-block="encoder-feed-forward"]').hover()
    shown = panel(page, "encoder-feed-forward")
    expect(shown).to_be_visible()
    expect(shown.locator("math")).to_have_count(1)
    expect(panel(page, "whole")).to_be_hidden()
    shown.get_by_role("button", name="The whole model").click()
    expect(panel(page, "whole")).to_be_visible()


def test_another_model_has_other_numbers(
    page: Page, numbers: dict[str, dict[str, str]]
) -> None:
    page.locator('a[data-block="scores"]').hover()
    shown, drawing = panel(page, "scores"), page.locator(".aiayn-machine svg")
    for size in ("big", "synthetic", "base"):
        page.get_by_label(size, exact=True).check()
        now = numbers[size]
        expect(shown).to_contain_text(now["scores.parameters"])
        expect(shown).to_contain_text(now["scores.flow.1"])
        expect(drawing).to_contain_text(f"An arrow carries {now['whole.d_model']}")


def test_the_keyboard_alone_will_do(page: Page) -> None:
    page.get_by_label("base", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("big", exact=True)).to_be_checked()
    page.keyboard.press("Tab")
    expect(panel(page, "source-embedding")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("37,888,000 parameters")
    page.keyboard.press("Escape")
    expect(panel(page, "whole")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/3-4-embeddings-and-softmax.html")


def test_a_tap_shows_a_panel_that_covers_no_block(
    browser: Browser,
    address: str,  # noqa: F811
) -> None:
    context: BrowserContext = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True
    )
    page = context.new_page()
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{address}book/index.html")
    for block in ("source-embedding", "decoder-attention", "scores"):
        link = page.locator(f'a[data-block="{block}"]')
        link.tap()
        expect(panel(page, block)).to_be_visible()
        page.wait_for_function(UNCOVERED, arg=block)
    assert page.url.endswith("book/index.html")
    context.close()


def test_each_claim_has_its_square(document: lxml.html.HtmlElement) -> None:
    """In the list's order, with its state; and those that do not hold are named."""
    page = (
        lxml.html.parse(SITE / "book" / "reference" / "claims.html")
        .getroot()
        .find_class("aiayn-entry")
    )
    states = {
        f"reference/claims.html#{entry.get('id')}": entry.get("data-state")
        for entry in page
    }
    squares = document.xpath('//dl[@class="aiayn-strip"]//li')
    assert [(s[0].get("href"), s.get("data-state")) for s in squares] == list(
        states.items()
    )
    assert set(states.values()) <= STATES
    named = document.xpath('//ul[@class="aiayn-failed"]/li/a/@href')
    assert named == [
        claim for claim, state in states.items() if state == "does not hold"
    ]


def test_reading_takes_as_long_as_is_said(document: lxml.html.HtmlElement) -> None:
    hour, day, week = (time.text for time in document.find_class("aiayn-path-time"))
    assert 45 <= int(hour.split()[0]) <= 60
    assert 4 <= float(day.split()[0].replace("½", ".5")) <= 9  # without exercises
    assert 15 <= float(week.split()[0].replace("½", ".5")) <= 40


def blocks(kind: str) -> list[str]:
    """The code of a kind that the front page shows."""
    return re.findall(
        rf"```{kind}\n(.*?)```",
        (ROOT / "book" / "index.md").read_text("utf-8"),
        re.DOTALL,
    )


def test_the_python_on_the_page_prints_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (code,), (output,) = blocks("python"), blocks("text")
    exec(textwrap.dedent(code), {})
    assert capsys.readouterr().out == output


def test_the_commands_on_the_page_run(
    aiayn: Callable[..., tuple[Any, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """With a tiny corpus, a tiny vocabulary, and two steps of training."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(data.SYNTHETIC_PAIRS, "train", 200)
    monkeypatch.setitem(data.SYNTHETIC_PAIRS, "val", 5)
    (everyday,), (train, translate) = (each.splitlines() for each in blocks("shell"))
    tiny = ["--steps", 2, "--model.vocabulary-size", 150]
    code, _, error = aiayn(*shlex.split(train)[1:], *tiny)
    assert code == 0, error
    for command in (everyday, translate):
        code, output, error = aiayn(*shlex.split(command)[1:])
        assert (code, output.count("\n")) == (0, 1), error


def head(name: str) -> dict[str, str]:
    """The meta elements of a page."""
    metas = lxml.html.parse(SITE / name).getroot().xpath("//head/meta[@content]")
    return {
        meta.get("property") or meta.get("name"): meta.get("content") for meta in metas
    }


@pytest.mark.parametrize(
    "name",
    [
        "book/index.html",
        "book/1-paper/3-2-attention.html",
        "book/reference/claims.html",
    ],
)
def test_a_shared_link_has_a_picture_and_says_what_it_is(name: str) -> None:
    import set_url

    owner, project = set_url.current().removeprefix("https://github.com/").split("/")
    site, tags = f"https://{owner}.github.io/{project}/", head(name)
    assert tags["og:url"] == site + name
    assert (SITE / tags["og:image"].removeprefix(site)).is_file()
    assert (
        len(tags["description"]) > 100 and tags["description"] == tags["og:description"]
    )
    assert {"og:title", "og:site_name", "og:image:alt", "twitter:card"} <= set(tags)


def test_every_page_describes_itself_and_leads_on() -> None:
    """Pages of the book, in order: each has a description, and a named way to the next
    and back.
    """
    name, seen = "book/index.html", list[str]()
    while name:
        seen.append(name)
        assert head(name)["description"]
        document = lxml.html.parse(SITE / name).getroot()
        if len(seen) > 1:
            (back,) = document.find_class("left-prev")
            assert urljoin(name, back.get("href")) == seen[-2]
            assert back.find_class("prev-next-title")[0].text_content()
        following = document.find_class("right-next")
        name = urljoin(name, following[0].get("href")) if following else ""
    assert len(seen) > 25
    assert "aiayn.model.attention" in head("aiayn/model.attention.html")["description"]


def test_pictures_are_small_and_of_the_right_size() -> None:
    for name, size in (("social", (1200, 630)), ("readme", None)):
        content = (ROOT / "site" / "static" / f"{name}.png").read_bytes()
        assert len(content) < 200_000, name
        measured = int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
        assert size in (None, measured)
