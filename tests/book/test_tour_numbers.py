"""The tour "One word decides": its numbers are the model's, and its texts say no more
than they show.
"""

import json
import math
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from sphinx.errors import ExtensionError

from aiayn.analysis import attention_of
from aiayn.analysis.attention_maps import Head
from aiayn.analysis.pruning import all_heads, zero_ablation

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "site" / "extensions"))
import tour_numbers  # noqa: E402
from figure import DRAWING  # noqa: E402
from tour import CARDS, tour_context  # noqa: E402
from tour_drawings import SEEN  # noqa: E402
from tour_numbers import SENTENCE, WORDS, Tour  # noqa: E402
from tour_svg import blocks  # noqa: E402

NOUN, ADJECTIVE = Head("cross", 1, 2), Head("cross", 0, 1)  # counted from 0


@pytest.fixture(scope="module")
def tour() -> Tour:
    return tour_numbers.tour()


@pytest.fixture(scope="module")
def data(tour: Tour) -> dict[str, Any]:
    """As the page has it."""
    return dict(json.loads(json.dumps(tour.data())))


@pytest.fixture(scope="module")
def context(tour: Tour) -> dict[str, Any]:
    """What the page's template is given."""
    cards = yaml.safe_load((ROOT / CARDS).read_text(encoding="utf-8"))
    return tour_context(tour, cards, ROOT / DRAWING, str)


@pytest.mark.parametrize("word", WORDS)
def test_the_translation_and_its_probabilities(
    tour: Tour, data: dict[str, Any], word: str
) -> None:
    shown, sentence = data["sentences"][word], SENTENCE.format(word)
    assert shown["german"] == tour.translator(sentence)
    (scored,) = tour.translator.score([sentence], [shown["german"]])
    total = sum(math.log(share) for share in shown["steps"])
    assert total == pytest.approx(scored.log_probability, abs=0.02)
    place = shown["target"].index(shown["pronoun"])
    assert shown["chances"][shown["pronoun"]] == shown["steps"][place]


@pytest.mark.parametrize("word", WORDS)
def test_where_the_heads_look(tour: Tour, data: dict[str, Any], word: str) -> None:
    attention = attention_of(tour.translator, SENTENCE.format(word))
    shown = data["sentences"][word]
    place = attention.writes.words.index(shown["pronoun"])
    for head in (ADJECTIVE, NOUN):
        weights = attention.words("cross")[head.layer, head.head, place].tolist()
        assert shown["cross"][str(head)] == pytest.approx(weights, abs=6e-4)
    it = attention.source.words.index("it")
    for head in (head for head in tour.heads if head.kind == "encoder"):
        if str(head) == shown["encoder"]["head"]:
            weights = attention.words("encoder")[head.layer, head.head, it].tolist()
            assert shown["encoder"]["weights"] == pytest.approx(weights, abs=6e-4)


@pytest.mark.parametrize("head", [ADJECTIVE, NOUN, Head("encoder", 0, 0)])
@pytest.mark.parametrize("word", WORDS)
def test_without_a_head(
    tour: Tour, data: dict[str, Any], word: str, head: Head
) -> None:
    shown, sentence = data["sentences"][word], SENTENCE.format(word)
    without = shown["off"][str(head)]
    with zero_ablation(tour.model, [head]):
        assert without["german"] == tour.translator(sentence)
        (scored,) = tour.translator.score([sentence], [shown["german"]])
    others = [share for share in shown["steps"] if share != 0]
    assert len(others) == len(shown["target"])
    assert math.log(without["chances"][shown["pronoun"]]) > scored.log_probability


def test_vectors_are_the_encoders(tour: Tour) -> None:
    """The sum is normalised by the layer's own norm, and ends in the memory."""
    vectors = tour.vectors["wide"]
    encoder: Any = tour.model.encoder
    norm = encoder.layers[tour_numbers.LAYER].residuals[0].norm
    torch.testing.assert_close(vectors.after, norm(vectors.before + vectors.added))
    tokens = torch.tensor(tour.vocabulary.encode([SENTENCE.format("wide")]))
    torch.testing.assert_close(vectors.memory, tour.model.encode(tokens)[0])
    torch.testing.assert_close(vectors.sum, vectors.embedding + vectors.positions)
    differs = [
        not torch.equal(one, other)
        for one, other in zip(
            tour.vectors["tired"].embedding, vectors.embedding, strict=True
        )
    ]
    assert sum(differs) == 1  # "Exchange the last word, and one row changes"


def test_what_the_texts_say_of_heads(tour: Tour, data: dict[str, Any]) -> None:
    """Beyond the numbers that are put in: es or sie, er, and which article is wrong."""
    assert (tour.decider.head, tour.decider.word) == (ADJECTIVE, "wide")
    assert (tour.decider.pronoun, tour.decider.other) == ("sie", "es")
    assert tour.names_the_noun() == NOUN
    wide, tired = (data["sentences"][word] for word in ("wide", "tired"))
    others = [head for head in all_heads(tour.model) if head != ADJECTIVE]
    for head in others:
        assert " sie " in wide["off"][str(head)]["german"]
        expected = " er " if head == NOUN else " es "
        assert expected in tired["off"][str(head)]["german"]
    article = wide["german"].replace("Das Tier", "Die Tier")
    assert wide["off"][str(NOUN)]["german"] == article
    assert tired["off"][str(NOUN)]["german"].startswith("Die Tier ")
    assert tired["off"][str(ADJECTIVE)]["german"] == tired["german"]


def test_a_model_without_a_deciding_head_stops_the_build(
    tour: Tour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tour_numbers, "zero_ablation", lambda *_: nullcontext())
    with pytest.raises(ExtensionError, match=r"no head.* decides between es and sie"):
        Tour(tour.model, tour.vocabulary)


def test_the_last_card_numbers_all_blocks(context: dict[str, Any]) -> None:
    """Each block has the numbers of the cards that mark it."""
    marked = dict[str, list[int]]()
    for number, card in enumerate(context["cards"], start=1):
        for block in card["blocks"]:
            marked.setdefault(block, []).append(number)
    assert marked.pop("all") == [1, 12]
    numbers = {
        block: [
            number
            for part in text.split(", ")
            for first, _, last in [part.partition("–")]
            for number in range(int(first), int(last or first) + 1)
        ]
        for block, text in SEEN.items()
    }
    assert numbers == marked
    drawing = ROOT / "book" / "figures" / "figure-1.svg"
    assert {name for name, *_ in blocks(drawing)} == set(marked)


def test_cards_are_short_and_lead_on(context: dict[str, Any]) -> None:
    assert len(context["cards"]) == 12 and len(context["data"].encode()) < 100_000
    for card in context["cards"]:
        assert (ROOT / "book" / f"{card['chapter']}.ipynb").exists(), card["name"]
        for text in card["texts"].values():
            said = re.sub("<[^>]+>", "", text)
            assert len(said.split()) <= 60, said
            assert not set("{}*_[]") & set(said), said
        for word, picture in card["pictures"].items():
            assert len(picture) > 500, (card["name"], word)
