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
from aiayn.visualization.attention_steps import AttentionSteps, trace_attention

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
def steps(translator: Translator) -> AttentionSteps:
    return trace_attention(translator, SOURCE, 1)


@pytest.fixture
def page_file(steps: AttentionSteps, tmp_path: Path) -> str:
    path = tmp_path / "steps.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8>{steps._repr_html_()}", encoding="utf-8"
    )
    return path.as_uri()


def weights(steps: AttentionSteps) -> torch.Tensor:
    Q, K = torch.tensor(steps.Q), torch.tensor(steps.K)
    return (Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5).softmax(dim=-1)


def shares(page: Any) -> list[int]:
    """The percentages in the table."""
    texts = page.locator("tbody td").all_inner_texts()
    return [int(text.rstrip("%")) for text in texts if text.endswith("%")]


def test_the_vectors_are_those_of_the_layer(
    translator: Translator, steps: AttentionSteps
) -> None:
    network = translator.model
    tokens = torch.tensor(translator.vocabulary.encode([SOURCE]))
    with torch.no_grad():
        x = network.encoder.layers[0](
            network.positions(network.source_embeddings(tokens))
        )
        attention = network.encoder.layers[1].self_attention
        heads = weights(steps) @ torch.tensor(steps.V)
        assert (
            attention.W_O(heads.transpose(0, 1).flatten(1)) - attention(x)[0]
        ).abs().max() < 0.02
    assert steps.words[0] == "The" or steps.words[0] == "T"


def test_only_transformers_have_heads(translator: Translator) -> None:
    from aiayn.model.registry import build
    from aiayn.training.recipes import recipe

    other = Translator(build(recipe("rnn-additive").model), translator.vocabulary)
    with pytest.raises(InputError, match="only Transformers"):
        trace_attention(other, SOURCE, 0)


def test_the_table_escapes_words(steps: AttentionSteps) -> None:
    hostile = replace(steps, words=["</script><img src=x>", *steps.words[1:]])
    shown = hostile._repr_html_()
    assert "<img" not in shown and shown.count("</script>") == 2


@pytest.mark.browser
@pytest.mark.parametrize("shown", ["light", "dark"], indirect=True)
def test_a_browser_computes_the_same(shown: Any, steps: AttentionSteps) -> None:
    shown.get_by_role("button", name="3", exact=True).click()
    shown.get_by_role("group", name="word").get_by_role("button").nth(2).click()
    wanted = weights(steps)[2, 2] * 100
    assert shares(shown) == pytest.approx(wanted.tolist(), abs=1)
    shown.get_by_role("button", name="causal mask").click()
    masked = shares(shown)
    assert set(masked[3:]) == {0} and masked[0]


@pytest.mark.browser
def test_the_steps_are_walked_with_the_keyboard(shown: Any) -> None:
    shown.get_by_role("button", name="dot products").focus()
    shown.keyboard.press("Enter")
    said = [shown.locator(".ai-say").inner_text()]
    for _ in range(4):
        shown.get_by_role("button", name="next step").press("Enter")
        said.append(shown.locator(".ai-say").inner_text())
    assert len(set(said)) == 5 and "query" in said[0] and "softmax" in said[3]


@pytest.mark.browser
def test_without_a_script_the_table_stays(
    browser: Any, page_file: str, steps: AttentionSteps
) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(page_file)
    assert page.locator("tr").count() == len(steps.words) + 1
    page.close()
