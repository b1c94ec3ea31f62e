"""Decoding in steps: what was recorded, its table, and what a browser makes of it."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from aiayn.model import Transformer, TransformerConfig
from aiayn.visualization.decoding_steps import DecodingSteps, Pass, trace_decoding

WORDS = ["‹pad›", "‹unk›", "‹s›", "‹/s›", "cake", "sour", "Kuchen", "sauer"]


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(1)
    shape = TransformerConfig(len(WORDS), N=2, d_model=16, d_ff=16, h=4, dropout=0.0)
    return Transformer(shape).eval()


@pytest.fixture(scope="module")
def steps(model: Transformer) -> DecodingSteps:
    return trace_decoding(model, torch.tensor([[4, 5]]), WORDS, 2, 3, longest=5)


@pytest.fixture(scope="module")
def page_file(steps: DecodingSteps, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("decoding") / "decoding.html"
    path.write_text(
        '<!doctype html><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">' + steps._repr_html_(),
        encoding="utf-8",
    )
    return path.as_uri()


def test_each_pass_reads_what_the_last_one_chose(
    model: Transformer, steps: DecodingSteps
) -> None:
    """And its probabilities are those of a pass over the whole beginning."""
    assert steps.source == ["cake", "sour"] and steps.layers == 2
    assert steps.passes[0].reads == "‹s›"
    written = [2]
    for number, each in enumerate(steps.passes, start=1):
        assert each.reads == WORDS[written[-1]]
        assert each.keys == [1, 4, number, 4]
        scores = model(torch.tensor([[4, 5]]), torch.tensor([written]))[0, -1]
        word, share = each.best[0]
        assert word == WORDS[int(scores.argmax())]
        assert share == pytest.approx(scores.softmax(dim=0).max().item(), abs=1e-3)
        written.append(WORDS.index(word))
    ended = steps.passes[-1].best[0][0] == "‹/s›"
    assert ended or len(steps.passes) == 5


def test_decoding_ends_with_the_end_mark(model: Transformer) -> None:
    first = trace_decoding(model, torch.tensor([[4]]), WORDS, 2, 3, longest=1)
    end = WORDS.index(first.passes[0].best[0][0])
    assert len(trace_decoding(model, torch.tensor([[4]]), WORDS, 2, end).passes) == 1


def test_the_table_escapes_words(steps: DecodingSteps) -> None:
    hostile = replace(
        steps, passes=[Pass("</script><img src=x>", [1, 4, 1, 4], [("<img>", 1.0)])]
    )
    shown = hostile._repr_html_()
    assert "<img" not in shown and shown.count("</script>") == 2


@pytest.mark.browser
@pytest.mark.parametrize("shown", ["light", "dark"], indirect=True)
def test_a_browser_shows_what_is_kept(shown: Any, steps: DecodingSteps) -> None:
    shown.get_by_role("button", name="2", exact=True).click()
    assert shown.locator("i.k.kept").count() == 2 + 1  # of the memory, of the target
    shown.get_by_role("button", name="cache").click()
    assert shown.locator("i.kept").count() == 0
    assert "Positions computed so far: 3, " in shown.locator(".ai-say").inner_text()


@pytest.mark.browser
def test_the_picture_is_walked_with_the_keyboard_and_plays(
    shown: Any, steps: DecodingSteps
) -> None:
    shown.get_by_role("button", name="1", exact=True).press("Enter")
    said = [shown.locator(".ai-say").inner_text()]
    for _ in steps.passes[1:]:
        shown.get_by_role("button", name="next pass").press("Enter")
        said.append(shown.locator(".ai-say").inner_text())
    assert len(set(said)) == len(steps.passes)
    shown.get_by_role("button", name="play").press("Enter")
    assert "Pass 1:" in shown.locator(".ai-say").inner_text()
    last = shown.get_by_role("button", name=str(len(steps.passes)), exact=True)
    last.and_(shown.locator("[aria-pressed=true]")).wait_for(timeout=60_000)


@pytest.mark.browser
def test_without_a_script_the_table_stays(
    browser: Any, page_file: str, steps: DecodingSteps
) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(page_file)
    assert page.locator("table tr").count() == len(steps.passes) + 1
    page.close()
