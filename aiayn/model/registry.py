"""Runs that survive (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-1-runs-that-survive.ipynb
"""

__all__ = [
    "ARCHITECTURES",
    "build",
    "describe",
    "understand",
]


# book/11-1-runs-that-survive.ipynb, cell architectures
from dataclasses import asdict
from typing import Any

from aiayn.model.base import EncoderDecoder, ModelConfig
from aiayn.model.configuration import TransformerConfig
from aiayn.model.convolutional import ConvolutionalConfig, ConvolutionalModel
from aiayn.model.recurrent import RecurrentConfig, RecurrentModel
from aiayn.model.transformer import Transformer

ARCHITECTURES: dict[str, tuple[type[ModelConfig], Any]] = {
    "transformer": (TransformerConfig, Transformer),
    "convolutional": (ConvolutionalConfig, ConvolutionalModel),
    "recurrent": (RecurrentConfig, RecurrentModel),
}


def build(config: ModelConfig) -> EncoderDecoder:
    """A model of that shape, its weights drawn from torch's generator."""
    (model,) = [each for shape, each in ARCHITECTURES.values() if type(config) is shape]
    built: EncoderDecoder = model(config)
    return built


def describe(config: ModelConfig) -> dict[str, Any]:
    """A configuration as JSON can hold it: what `understand` reads."""
    (name,) = [name for name, (shape, _) in ARCHITECTURES.items() if type(config) is shape]
    return {"architecture": name, **asdict(config)}


def understand(description: dict[str, Any]) -> ModelConfig:
    """The configuration that `describe` wrote; without a name for its kind it is a Transformer's."""
    fields = {**description}
    shape, _ = ARCHITECTURES[fields.pop("architecture", "transformer")]
    return shape(**fields)
