"""Decoding in steps: what was recorded, its table, and what a browser makes of it."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from aiayn.decoding import SearchConfig, beam_search
from aiayn.model import Transformer, TransformerConfig
from aiayn.visualization.decoding_steps import DecodingSteps, Prefix, trace_decoding

WORDS = ["<pad>", "<unk>", "<s>", "</s>", "cake", "sour", "Kuchen", "sauer"]
SOURCE = torch.tensor([[4, 5]])


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(1)
    shape = TransformerConfig(len(WORDS), N=2, d_model=16, d_ff=16, h=4, dropout=0.0)
    return Transformer(shape).eval()


@pytest.fixture(scope="module")
def steps(model: Transformer) -> DecodingSteps:
    return trace_decoding(model, SOURCE, WORDS, 2, 3, longest=5)


@pytest.fixture(scope="module")
def page_file(steps: DecodingSteps, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("decoding") / "decoding.html"
    path.write_text(
        '<!doctype html><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">' + steps._repr_html_(),
        encoding="utf-8",
    )
    return path.as_uri()


def test_each_pass_lengthens_the_hypotheses_of_the_last(
    model: Transformer, steps: DecodingSteps
) -> None:
    """And the probabilities are those of a pass over the whole beginning."""
    assert steps.source == ["cake", "sour"] and steps.end == "</s>"
    before = [Prefix([], 0, [], [])]
    for number, beam in enumerate(steps.passes):
        assert 1 <= len(beam) <= 2
        for each in beam:
            assert len(each.tokens) == number
            assert each.tokens[:-1] == before[each.origin].tokens
            assert sum(each.looks) == pytest.approx(1, abs=0.02)
            written = [2, *map(WORDS.index, each.tokens)]
            with torch.no_grad():
                scores = model(SOURCE, torch.tensor([written]))[0, -1]
            word, share = each.best[0]
            assert word == WORDS[int(scores.argmax())]
            assert share == pytest.approx(scores.softmax(dim=0).max().item(), abs=6e-3)
        before = beam


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_the_answer_is_that_of_the_search(model: Transformer, beam: int) -> None:
    steps = trace_decoding(model, SOURCE, WORDS, 2, 3, beam)
    number, place = steps.answer
    search = SearchConfig(beam=beam, alpha=0, extra_length=48)
    tokens = beam_search(model, SOURCE, search)[0][0].tokens
    found = [WORDS.index(word) for word in steps.passes[number][place].tokens]
    assert [*found, 3][: len(tokens)] == tokens


def test_the_table_escapes_words(steps: DecodingSteps) -> None:
    prefix = Prefix(["</script><img src=x>"], 0, [1.0, 0.0], [("<img>", 1.0)])
    hostile = replace(steps, passes=[[prefix]], answer=(0, 0))
    shown = hostile._repr_html_()
    assert "<img" not in shown and shown.count("</script>") == 2


@pytest.mark.browser
@pytest.mark.parametrize("shown", ["light", "dark"], indirect=True)
def test_a_browser_counts_what_the_cache_saves(shown: Any) -> None:
    count = shown.locator(".film-count")
    for _ in range(4):
        shown.get_by_label("pass", exact=True).press("ArrowRight")
    assert count.inner_text() == "Positions computed: 5 (without the cache 15)"
    assert shown.locator(".film-target .now").count() == 1
    shown.get_by_role("button", name="cache").click()
    assert count.inner_text() == "Positions computed: 15 (with the cache 5)"
    assert shown.locator(".film-target .now").count() == 5
    sizes = shown.locator(".film *").evaluate_all(
        "all => all.map((each) => parseFloat(getComputedStyle(each).fontSize))"
    )
    assert min(sizes) >= 11


@pytest.mark.browser
def test_the_film_opens_on_pass_1_and_plays_by_the_space_bar(
    shown: Any, steps: DecodingSteps
) -> None:
    pictures = shown.locator(".film-pass")
    assert pictures.count() == 1 and shown.locator(".film-lines .looks").count() > 0
    shown.get_by_role("button", name="cache").press("ArrowRight")
    lost = steps.passes[0][0].best[2][0]
    assert pictures.count() == 2 and shown.get_by_text(lost).count() > 0
    shown.get_by_label("pass", exact=True).press("Home")
    shown.get_by_label("pass", exact=True).press(" ")
    shown.get_by_role("button", name="pause").wait_for()
    shown.get_by_text(f"pass {len(steps.passes)} of").wait_for(timeout=60_000)
    assert "The translation is" in shown.locator(".ai-say").inner_text()
    assert shown.locator(".film-prefix.lost").count() > 0
    shown.get_by_role("button", name="play").wait_for()


@pytest.mark.browser
def test_without_a_script_the_table_stays(
    browser: Any, page_file: str, steps: DecodingSteps
) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(page_file)
    assert page.locator("table tr").count() == sum(map(len, steps.passes)) + 1
    page.close()
