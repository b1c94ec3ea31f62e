"""The picture of attention, step by step: numbers, table, and what a browser makes of
them.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from aiayn.data import train_vocabulary
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig
from aiayn.synthetic import sample
from aiayn.translation import Translator
from aiayn.visualization.attention_steps import (
    AttentionSteps,
    SentenceVectors,
    trace_attention,
)

SOURCE = "The animal did not cross the street."


@pytest.fixture(scope="module")
def translator() -> Translator:
    vocabulary = train_vocabulary(
        [text for pair in sample(100) for text in (pair.source, pair.target)], 350
    )
    torch.manual_seed(1)
    shape = {"N": 2, "d_model": 16, "d_ff": 16, "h": 4, "dropout": 0.0}
    return Translator(
        Transformer(TransformerConfig(vocabulary_size=len(vocabulary), **shape)),
        vocabulary,
    )


@pytest.fixture(scope="module")
def vectors(translator: Translator) -> SentenceVectors:
    return trace_attention(translator, SOURCE, 1)


@pytest.fixture(scope="module")
def steps(translator: Translator, vectors: SentenceVectors) -> AttentionSteps:
    other = trace_attention(translator, "The street was too wide.", 1)
    return AttentionSteps({"animal": vectors, "street": other})


@pytest.fixture
def page_file(steps: AttentionSteps, tmp_path: Path) -> str:
    path = tmp_path / "steps.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><meta name=viewport "
        f"content='width=device-width'>{steps._repr_html_()}",
        encoding="utf-8",
    )
    return path.as_uri()


def weights(vectors: SentenceVectors) -> torch.Tensor:
    Q, K = torch.tensor(vectors.Q), torch.tensor(vectors.K)
    return (Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5).softmax(dim=-1)


def press(page: Any, row: str, name: str) -> None:
    """Press a button of a row."""
    bar = page.get_by_role("toolbar", name=row, exact=True)
    bar.get_by_role("button", name=name, exact=True).click()


def numbers(page: Any) -> list[str]:
    """What stands beside the keys."""
    return list(page.locator(".st-row b").all_inner_texts())


def shares(page: Any) -> list[int]:
    """The weights beside the keys."""
    press(page, "step", "4 weights")
    return [int(text.rstrip("%")) for text in numbers(page)]


def test_the_vectors_are_those_of_the_layer(
    translator: Translator, vectors: SentenceVectors
) -> None:
    network = translator.model
    tokens = torch.tensor(translator.vocabulary.encode([SOURCE]))
    with torch.no_grad():
        x = network.encoder.layers[0](
            network.positions(network.source_embeddings(tokens))
        )
        attention = network.encoder.layers[1].self_attention
        heads = weights(vectors) @ torch.tensor(vectors.V)
        assert (
            attention.W_O(heads.transpose(0, 1).flatten(1)) - attention(x)[0]
        ).abs().max() < 0.02
    assert vectors.words[0] == "The" or vectors.words[0] == "T"


def test_only_transformers_have_heads(translator: Translator) -> None:
    from aiayn.model.registry import build
    from aiayn.training.recipes import recipe

    other = Translator(build(recipe("rnn-additive").model), translator.vocabulary)
    with pytest.raises(InputError, match="only Transformers"):
        trace_attention(other, SOURCE, 0)


def test_the_table_escapes_words(vectors: SentenceVectors) -> None:
    hostile = "</script><img src=x>"
    named = replace(vectors, words=[hostile, *vectors.words[1:]])
    shown = AttentionSteps({hostile: named})._repr_html_()
    assert "<img" not in shown and shown.count("</script>") == 2


@pytest.mark.browser
@pytest.mark.parametrize("shown", ["light", "dark"], indirect=True)
def test_a_browser_computes_the_same(shown: Any, vectors: SentenceVectors) -> None:
    press(shown, "head", "3")
    shown.get_by_role("toolbar", name="query of").get_by_role("button").nth(2).click()
    wanted = weights(vectors)[2, 2] * 100
    assert shares(shown) == pytest.approx(wanted.tolist(), abs=1)
    press(shown, "switches", "hide the future")
    masked = shares(shown)
    assert set(masked[3:]) == {0} and masked[0]
    stop = shown.locator(".st-keys [tabindex='0']")
    assert stop.count() == 1 and "st-masked" not in stop.get_attribute("class")
    press(shown, "sentence", "street")
    assert shown.locator(".st-row").first.inner_text().startswith(vectors.words[0])
    assert len(shares(shown)) != len(masked)


@pytest.mark.browser
def test_the_division_shrinks_the_bars(shown: Any, vectors: SentenceVectors) -> None:
    def longest() -> float:
        shown.wait_for_timeout(700)  # until the bars have moved
        bars = shown.locator(".st-track i").all()
        return float(max(bar.bounding_box()["width"] for bar in bars))

    press(shown, "step", "2 sums")
    sums, before = numbers(shown), longest()
    press(shown, "step", "3 scores")
    root = len(vectors.Q[0][0]) ** 0.5
    assert longest() == pytest.approx(before / root, rel=0.1)
    assert numbers(shown) != sums
    press(shown, "switches", "divide by √dₖ")
    assert longest() == pytest.approx(before, rel=0.01) and numbers(shown) == sums


@pytest.mark.browser
def test_the_steps_are_walked_with_the_keyboard(browser: Any, page_file: str) -> None:
    """A row is one stop; arrow keys move in it. The first step is shown at first."""
    shown = browser.new_page(reduced_motion="reduce")
    shown.goto(page_file)
    pressed = shown.locator("[aria-label=step] [aria-pressed=true]")
    assert pressed.inner_text() == "1 products"
    stops = list[str]()
    for _ in range(7):
        shown.keyboard.press("Tab")
        where = "document.activeElement.closest('[role=toolbar], .st-cells')"
        stops.append(shown.evaluate(f"{where}.ariaLabel ?? 'components'"))
    assert stops == [
        "sentence", "query of", "head", "switches", "step", "components", "key"
    ]  # fmt: skip
    shown.keyboard.press("Shift+Tab")
    shown.keyboard.press("End")
    last = len(shown.locator(".st-products .st-cell").all())
    assert shown.locator(".st-read").inner_text().startswith(f"Component {last}: ")
    shown.keyboard.press("Shift+Tab")
    said = [shown.locator(".ai-say").inner_text()]
    for _ in range(4):
        shown.keyboard.press("ArrowRight")
        shown.keyboard.press("Enter")
        said.append(shown.locator(".ai-say").inner_text())
    assert len(set(said)) == 5 and "query" in said[0] and "softmax" in said[3]
    shown.close()


@pytest.mark.browser
def test_the_steps_play_once(browser: Any, page_file: str) -> None:
    """While they are in view; who presses something stops them."""
    page = browser.new_page(viewport={"width": 800, "height": 900})
    page.clock.install()
    page.goto(page_file)
    pressed = page.locator("[aria-label=step] [aria-pressed=true]")
    pause = page.get_by_role("button", name="pause")
    pause.wait_for()
    assert pressed.all_inner_texts() == ["1 products"]
    page.clock.run_for(60_000)
    assert pressed.all_inner_texts() == ["5 output"]
    page.reload()
    pause.wait_for()
    press(page, "step", "2 sums")
    page.clock.run_for(60_000)
    assert pressed.all_inner_texts() == ["2 sums"]
    page.close()


@pytest.mark.browser
def test_without_a_script_the_table_stays(
    browser: Any, page_file: str, vectors: SentenceVectors
) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(page_file)
    assert page.locator("tr").count() == len(vectors.words) + 1
    assert page.locator("svg:visible").count() == 2 * len(vectors.words) + 2
    page.close()
