"""A translator whose searches CTranslate2 runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from aiayn import pretrained
from aiayn.data.vocabulary import EOS_ID
from aiayn.decoding import SearchConfig
from aiayn.decoding.sampling import Sampling
from aiayn.errors import InputError
from aiayn.synthetic import sample
from aiayn.translation import Translator
from aiayn.translation.ctranslate2_translator import CTranslate2Translator

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")

SENTENCES = [pair.source for pair in sample(40, split="novel")]


@contextmanager
def both(**search: Any) -> Iterator[tuple[Translator, CTranslate2Translator]]:
    """The model of the synthetic corpus in either engine."""
    parts = pretrained("synthetic-en-de")
    how = SearchConfig(**search)
    yield Translator(*parts, how), CTranslate2Translator(*parts, how)


@pytest.mark.parametrize("beam", [1, 4])
def test_without_a_penalty_it_finds_what_we_find(beam: int) -> None:
    lines = [*SENTENCES, "", *SENTENCES[:3]]
    with both(beam=beam, alpha=0.0) as (ours, theirs):
        assert theirs(lines) == ours(lines)
        assert theirs(lines[0]) == ours(lines[0])
        for one, other in zip(
            ours.n_best(lines, 1), theirs.n_best(lines, 1), strict=True
        ):
            for mine, their in zip(one, other, strict=True):
                assert their.complete and their.tokens == mine.tokens
                assert their.score == pytest.approx(mine.score, abs=1e-3)


def test_scores_are_the_model_s_own() -> None:
    with both(beam=4, alpha=0.6) as (ours, theirs):
        for line in SENTENCES[:10]:
            found = theirs.n_best(line, 3)
            assert [each.score for each in found] == sorted(
                (each.score for each in found), reverse=True
            )
            for each in found:
                scored = ours.score(line, each.text)
                if scored.tokens == each.tokens:
                    assert each.log_probability == pytest.approx(
                        scored.log_probability, abs=1e-3
                    )
                    assert each.score == pytest.approx(scored.score, abs=1e-3)


def test_a_translation_without_an_end_is_said() -> None:
    with both(beam=4, extra_length=0) as (_, theirs):
        theirs.model.target_embeddings.weight.data[EOS_ID] = 0.0  # never the likeliest
        with pytest.warns(UserWarning, match="is cut off at its limit"):
            assert theirs(SENTENCES[0])


def test_eight_bits_are_nearly_the_same() -> None:
    parts = pretrained("synthetic-en-de")
    rounded = CTranslate2Translator(*parts, compute="int8")(SENTENCES)
    exact = CTranslate2Translator(*parts)(SENTENCES)
    same = sum(one == other for one, other in zip(rounded, exact, strict=True))
    assert same >= 0.9 * len(SENTENCES)


def test_changed_weights_are_handed_over_again() -> None:
    with both(beam=1) as (ours, theirs):
        before = theirs(SENTENCES)
        with torch.no_grad():
            theirs.model.target_embeddings.weight[100:200] *= 1.5
        assert theirs(SENTENCES) == ours(SENTENCES) != before


def test_what_it_cannot_do_is_said() -> None:
    with both() as (_, theirs):
        with pytest.raises(InputError, match="forces no prefix"):
            theirs(SENTENCES[0], prefix="der")
        theirs.search = Sampling()
        with pytest.raises(InputError, match="does not draw"):
            theirs(SENTENCES[0])


def test_from_the_command_line(aiayn: Callable[..., tuple[Any, str, str]]) -> None:
    words = ["translate", "synthetic-en-de", SENTENCES[0], "--engine"]
    found = aiayn(*words, "ctranslate2")
    assert found == aiayn(*words, "aiayn") and found[0] == 0
