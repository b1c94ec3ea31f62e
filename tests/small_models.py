"""Small models of every architecture for the tests: all that the book can build, in
every form it has.
"""

from dataclasses import replace
from typing import Any, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from aiayn.model import TransformerConfig, build
from aiayn.model.baselines.conv_seq2seq import ConvolutionalConfig
from aiayn.model.baselines.recurrent import AttentionScore, RecurrentConfig
from aiayn.model.encoder_decoder import EncoderDecoder, ModelConfig

# A module, or a cell, that registers a model.
MINE = """
from dataclasses import dataclass
import aiayn

@dataclass(frozen=True)
class MyConfig(aiayn.TransformerConfig):
    factor: float = 5.0

class MyModel(aiayn.Transformer):
    pass

aiayn.register("mine", MyConfig, MyModel)
"""

V = 40
TRANSFORMER = TransformerConfig(V, N=2, d_model=32, d_ff=48, h=4, dropout=0.0)
CONVOLUTIONAL = ConvolutionalConfig(V, d_model=16, N=3, dropout=0.0, max_length=80)
RECURRENT = RecurrentConfig(V, d_model=16, dropout=0.0, d_state=24)

TRANSFORMERS: dict[str, dict[str, Any]] = {
    "paper": {},
    "learned": {"positions": "learned"},
    "relative": {"positions": "relative"},
    "no-positions": {"positions": "none"},
    "unscaled": {"score": "unscaled"},
    "general": {"score": "general"},
    "additive": {"score": "additive"},
    "pre": {"norm": "pre"},
    "narrow-keys": {"d_k": 4, "d_v": 12},
    "wide-keys": {"d_k": 16, "d_v": 5},
    "odd-heads": {"h": 3, "d_k": 7, "d_v": 9},
    "bias": {"attention_bias": True},
    "two-embeddings": {"share_embeddings": False},
    "attention-dropout": {"attention_dropout": 0.3},
    "all-at-once": {
        "positions": "relative",
        "score": "additive",
        "norm": "pre",
        "d_k": 6,
        "d_v": 10,
    },
}
CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "dilated": {"growth": 2},
    "separable": {"separable": True},
    "wide": {"kernel": 9, "growth": 3},
    "only-itself": {"kernel": 1},
}
SHAPES: dict[str, ModelConfig] = {
    **{name: replace(TRANSFORMER, **changes) for name, changes in TRANSFORMERS.items()},
    **{
        name: replace(CONVOLUTIONAL, **changes)
        for name, changes in CONVOLUTIONS.items()
    },
    **{
        f"recurrent-{looks}": replace(RECURRENT, attention=looks)
        for looks in get_args(AttentionScore)
    },
}


def moved(shape: ModelConfig) -> EncoderDecoder:
    """A model that runs without dropout, all its parameters moved: no gain is 1 and no
    bias is 0.
    """
    model = build(shape).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter += 0.1 * torch.randn(parameter.shape)
    return model


def sentences(*lengths: int) -> Tensor:
    """Random tokens, a row for each length, filled up with padding, which is 0."""
    return torch.stack(
        [F.pad(torch.randint(1, V, (n,)), (0, max(lengths) - n)) for n in lengths]
    )


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    """Float32 after a few layers."""
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
