"""Sampling draws what the model says, and nothing else."""

from typing import Any

import pytest
import torch
from test_translation_translator import SOURCES, tiny

from aiayn.data.batching import pad
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.decoding import Sampling, SearchConfig, beam_search
from aiayn.decoding.fast_decoder import fast_decoder_for
from aiayn.decoding.sampling import sample
from aiayn.errors import InputError
from aiayn.translation import Translator


@pytest.mark.parametrize("how", [{"top_k": 1}, {"temperature": 1e-6}], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_likeliest_alone_is_greedy_search(how: dict[str, Any], seed: int) -> None:
    model, source = tiny(seed), pad(SOURCES)
    with torch.no_grad():
        model.target_embeddings.weight[PAD_ID] = 0  # is never drawn
    greedy = beam_search(model, source, SearchConfig(beam=1, extra_length=5))
    for decoder in (model, fast_decoder_for(model)):
        drawn = sample(decoder, source, Sampling(extra_length=5, **how))
        for (one,), (other,) in zip(drawn, greedy, strict=True):
            assert one.tokens == other.tokens
            assert one.score == pytest.approx(other.score)


@pytest.mark.parametrize(
    ("temperature", "top_k"), [(1.0, None), (0.5, None), (2.0, None), (1.0, 2)]
)
@torch.no_grad()
def test_tokens_are_drawn_as_often_as_they_are_likely(
    temperature: float, top_k: int | None
) -> None:
    model, source, draws = tiny(3), pad(SOURCES[1:2]), 1000
    search = Sampling(
        draws, n_best=draws, temperature=temperature, top_k=top_k, extra_length=0
    )
    ((*drawn,),) = sample(model, source, search)
    logits = model(source, torch.tensor([[BOS_ID]]))[0, 0] / temperature
    logits[PAD_ID] = -torch.inf
    if top_k:
        logits[logits < logits.topk(top_k).values[-1]] = -torch.inf
    counts = torch.bincount(torch.tensor([each.tokens[0] for each in drawn]))
    shares = torch.zeros_like(logits)
    shares[: len(counts)] = counts / draws
    assert (shares - logits.softmax(-1)).abs().max() < 0.06
    assert [each.score for each in drawn] == sorted(
        (each.score for each in drawn), reverse=True
    )
    for each in drawn[::100]:
        tokens = torch.tensor([each.tokens])
        start = torch.cat([torch.tensor([[BOS_ID]]), tokens[:, :-1]], dim=1)
        log_p = model(source, start).log_softmax(-1).gather(2, tokens[..., None])
        assert each.log_probability == pytest.approx(log_p.sum().item(), rel=1e-5)
        assert EOS_ID not in each.tokens[:-1] and len(each.tokens) <= 7


def test_a_translator_draws_the_same_twice_and_begins_with_a_prefix() -> None:
    search = Sampling(temperature=2.0)
    translator = Translator.load("en-de", search=search, device="cpu")
    line = "Where is the nearest station?"
    drawn = translator([line] * 5)
    assert drawn == translator([line] * 5) and len({*drawn}) > 1
    many = translator.n_best(line, 6, beam=6)
    assert len(many) > 1
    scored = translator.score([line] * len(many), [each.text for each in many])
    for one, other in zip(many, scored, strict=True):
        if one.tokens == other.tokens:  # it may be cut in another way
            assert one.score == pytest.approx(other.score, abs=1e-4)
    assert translator(line, prefix="Wo liegt").startswith("Wo liegt")


@pytest.mark.parametrize("how", [{"temperature": 0.0}, {"top_k": 0}, {"n_best": 2}])
def test_what_cannot_be_drawn(how: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(how))):
        Sampling(**how)
