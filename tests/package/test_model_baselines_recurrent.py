"""The recurrent models: what the formulas say; attention, states and weights."""

from dataclasses import replace
from typing import get_args

import pytest
import torch
from small_models import RECURRENT, V, close, moved, sentences
from torch import Tensor, nn

from aiayn.model.baselines.recurrent import (
    AttentionScore,
    RecurrentModel,
    recurrent_layer,
)
from aiayn.model.recording import recorded_attention

pytestmark = pytest.mark.usefixtures("one_thread")


def small(attention: str = "additive") -> RecurrentModel:
    model = moved(replace(RECURRENT, attention=attention))
    assert isinstance(model, RecurrentModel)
    return model


@pytest.fixture(params=get_args(AttentionScore))
def model(request: pytest.FixtureRequest) -> RecurrentModel:
    return small(request.param)


# Against a plain reference, word by word


def cell(layer: nn.GRU, word: Tensor, state: Tensor, suffix: str = "") -> Tensor:
    """The formula of the GRU, with PyTorch's names for its parameters."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    W, U, b, c = (getattr(layer, f"{name}_l0{suffix}") for name in names)
    word_r, word_z, word_n = (W @ word + b).chunk(3)
    state_r, state_z, state_n = (U @ state + c).chunk(3)
    r, z = (word_r + state_r).sigmoid(), (word_z + state_z).sigmoid()
    return (1 - z) * (word_n + r * state_n).tanh() + z * state


def score(model: RecurrentModel, s: Tensor, h: Tensor) -> Tensor:
    """How well two states fit, as chapter 1 writes it down."""
    if model.config.attention == "dot":
        return s @ h
    learned = model.attention.score
    if model.config.attention == "general":
        return s @ learned.W[0] @ h
    return learned.v.flatten() @ torch.tanh(s @ learned.W_q[0] + h @ learned.W_k[0])


def reference(model: RecurrentModel, source: list[int], target: list[int]) -> Tensor:
    """Scores of the next word after each of the target, for one sentence, with no batch
    and no attention function.
    """
    half = model.config.d_state // 2
    forwards, backwards, E = (
        [torch.zeros(half)],
        [torch.zeros(half)],
        model.target_embeddings.weight,
    )
    for token in source:
        # sqrt(d_model) is 4
        forwards.append(cell(model.encoder, 4 * E[token], forwards[-1]))
    for token in reversed(source):
        backwards.append(cell(model.encoder, 4 * E[token], backwards[-1], "_reverse"))
    memory = [
        torch.cat(both) for both in zip(forwards[1:], backwards[:0:-1], strict=True)
    ]
    last = torch.cat([forwards[-1], backwards[-1]])
    state, found = model.bridge(last).tanh(), []
    for token in target:
        state = cell(model.decoder, 4 * E[token], state)
        context = last
        if model.config.attention != "none":
            weights = torch.stack([score(model, state, h) for h in memory]).softmax(
                dim=0
            )
            context = sum(w * h for w, h in zip(weights, memory, strict=True))
        found.append(E @ model.combine(torch.cat([state, context])))
    return torch.stack(found)


def test_it_is_what_the_formulas_say(model: RecurrentModel) -> None:
    source, target = [7, 3, 9, 9, 30, 2], [1, 5, 8, 13]
    expected = reference(model, source, target)
    close(model(torch.tensor([source]), torch.tensor([target]))[0], expected)


# Configuration, weights, counts


def test_a_fresh_layer_neither_shrinks_nor_grows_a_state() -> None:
    layer = recurrent_layer(10, 8)
    for gate in layer.weight_hh_l0.detach().chunk(3):
        close(gate @ gate.T, torch.eye(8))
    assert not any(
        bias.any() for name, bias in layer.named_parameters() if name.startswith("bias")
    )


def test_source_target_and_scores_share_one_matrix() -> None:
    model = small()
    assert model.source_embeddings is model.target_embeddings
    assert sum(weight.shape == (V, 16) for weight in model.parameters()) == 1


@pytest.mark.parametrize("attention", ["additive", "dot", "general"])
def test_the_weights_of_attention_can_be_recorded(attention: str) -> None:
    model = small(attention)
    with recorded_attention(model) as weights:
        model(sentences(6, 4), sentences(3, 3))
    assert weights["attention"].shape == (2, 1, 3, 6)
    close(weights["attention"].sum(-1), torch.ones(2, 1, 3))
    assert not weights["attention"][1, :, :, 4:].any()
