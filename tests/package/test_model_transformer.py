"""The whole model: torch.nn.Transformer's equal, blind to the future and padding, the
same with a cache.
"""

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from small_models import TRANSFORMER, TRANSFORMERS, close, moved, sentences
from torch import Tensor, nn

from aiayn.model import Transformer, TransformerConfig, config
from aiayn.model.attention import Attention
from aiayn.model.configuration import PRESETS
from aiayn.model.layers import Residual

pytestmark = pytest.mark.usefixtures("one_thread")

# What PyTorch calls a part, and what the book calls it. Shapes and order are the same.
RENAMED = {
    "self_attn": "self_attention",
    "multihead_attn": "cross_attention",
    "in_proj_": "projections.",
    "out_proj": "W_O",
    "linear1": "feed_forward.W_1",
    "linear2": "feed_forward.W_2",
    "norm1": "residuals.0.norm",
    "norm2": "residuals.1.norm",
    "norm3": "residuals.2.norm",
}


def in_our_names(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights of torch.nn.Transformer, under the names they have in `Transformer`."""
    for theirs, ours in RENAMED.items():
        weights = {
            name.replace(theirs, ours): weight for name, weight in weights.items()
        }
    return weights


def small(**changes: Any) -> Transformer:
    model = moved(replace(TRANSFORMER, **changes))
    assert isinstance(model, Transformer)
    return model


@pytest.fixture(params=TRANSFORMERS.values(), ids=TRANSFORMERS.keys())
def model(request: pytest.FixtureRequest) -> Transformer:
    return small(**request.param)


# The same as torch.nn.Transformer


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_torch_nn_transformer(bias: bool, norm: str) -> None:
    ours = small(attention_bias=bias, norm=norm).train().requires_grad_()
    theirs = nn.Transformer(
        32, 4, 2, 2, 48, dropout=0.0, batch_first=True, norm_first=norm == "pre"
    )
    if norm == "post":  # torch normalises what is normalised already once more
        theirs.encoder.norm = theirs.decoder.norm = None
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter += 0.1 * torch.randn(parameter.shape)
            if not bias and name.endswith(("in_proj_bias", "out_proj.bias")):
                parameter.zero_()
    counterparts = in_our_names(dict(theirs.named_parameters()))
    if not bias:
        zero = ("projections.bias", "W_O.bias")
        counterparts = {
            name: p for name, p in counterparts.items() if not name.endswith(zero)
        }
    found = ours.load_state_dict(counterparts, strict=False)
    assert found.unexpected_keys == [] and {
        name.split(".")[0] for name in found.missing_keys
    } == {"source_embeddings", "target_embeddings"}

    source, target, answers = sentences(7, 4, 5), sentences(6, 6, 3), sentences(6, 6, 3)
    matrix = ours.target_embeddings.weight.detach().clone().requires_grad_()
    positions, hidden = ours.positions, source == 0
    decoded = theirs(
        positions(matrix[source] * 32**0.5),
        positions(matrix[target] * 32**0.5),
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),
        src_key_padding_mask=hidden,
        memory_key_padding_mask=hidden,
    )
    expected, logits = decoded @ matrix.T, ours(source, target)
    close(logits, expected)

    for scores in (logits, expected):
        F.cross_entropy(
            scores.flatten(0, 1), answers.flatten(), ignore_index=0
        ).backward()
    for name, parameter in ours.named_parameters():
        close(
            parameter.grad,
            matrix.grad if "embeddings" in name else counterparts[name].grad,
        )


# Blind to padding


def test_what_padding_holds_changes_nothing(model: Transformer) -> None:
    source, target = sentences(7, 3, 5), sentences(6, 2, 4)
    words = target != 0
    memory, logits = model.encode(source), model(source, target)
    decoded = model.decode(target, memory, source)
    for embeddings in {model.source_embeddings, model.target_embeddings}:
        embeddings.weight[0] = 100 * torch.randn(32)
    assert torch.equal(model.encode(source)[source != 0], memory[source != 0])
    assert torch.equal(
        model.decode(target, model.encode(source), source)[words], decoded[words]
    )
    # the score of padding itself comes from its embedding
    assert torch.equal(model(source, target)[words][:, 1:], logits[words][:, 1:])


# The same with a cache


def test_the_memory_is_looked_at_once(model: Transformer) -> None:
    source, target = sentences(7, 4, 5), sentences(4, 4, 4)
    expected, state = model(source, target), model.start(source)
    for t in range(4):
        close(model.step(target[:, t : t + 1], state), expected[:, t])
        assert state.length == t + 1
        # Its keys and values were kept.
        state.memory = torch.full_like(state.memory, torch.nan)


# Shapes, configurations, weights on disk


def test_weights_of_another_shape_are_refused() -> None:
    with pytest.raises(RuntimeError, match="size mismatch"):
        small(d_ff=64).load_state_dict(small().state_dict())


@pytest.mark.usefixtures("unchecked")
def test_a_place_for_the_norm_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="norm='before': must be"):
        Residual(8, norm="before")  # type: ignore[arg-type]


@pytest.mark.parametrize("positions", ["sinusoidal", "relative"])
@pytest.mark.parametrize("score", ["scaled", "additive"])
def test_every_attention_drops_the_share_that_is_configured(
    positions: Any, score: Any
) -> None:
    shape = TransformerConfig(
        40, 32, 0.0, N=1, h=4, positions=positions, score=score, attention_dropout=0.3
    )
    functions = [m for m in Transformer(shape).modules() if isinstance(m, Attention)]
    assert [function.dropout for function in functions] == [0.3] * 3


def test_fields_that_are_as_good() -> None:
    assert TransformerConfig(dropout=0).dropout == 0
    assert TransformerConfig(dropout=1).dropout == 1
    assert TransformerConfig(d_k=None, d_v=7).d_v == 7


def test_a_name_that_is_no_configuration() -> None:
    with pytest.raises(
        ValueError, match="unknown configuration 'bass': did you mean 'base'"
    ):
        config("bass")
    with pytest.raises(
        ValueError, match="there are base, big, small, multi30k, multi30k-wu, tatoeba"
    ):
        config("?")
    assert config("base", N=2).N == 2 and PRESETS["base"].N == 6


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        (config("base"), 63_045_632),
        (config("big"), 214_171_648),
        # The authors' code: Table 3 says 65.
        (config("base", vocabulary_size=40960), 65_073_152),
        (config("base", share_embeddings=False), 63_045_632 + 37000 * 512),
    ],
    ids=["base", "big", "base-40960", "two-embeddings"],
)
def test_parameters(shape: TransformerConfig, count: int) -> None:
    with torch.device("meta"):
        assert (
            sum(parameter.numel() for parameter in Transformer(shape).parameters())
            == count
        )
