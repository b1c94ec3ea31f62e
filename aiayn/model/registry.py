"""Runs that survive (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-1-runs-that-survive.ipynb
"""

__all__ = [
    "ARCHITECTURES",
    "register",
    "build",
    "describe",
    "understand",
    "check_rebuilt",
]


# book/11-1-runs-that-survive.ipynb, cell architectures
import types
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from aiayn.errors import InputError, did_you_mean
from aiayn.model.base import EncoderDecoder, ModelConfig
from aiayn.model.configuration import TransformerConfig
from aiayn.model.convolutional import ConvolutionalConfig, ConvolutionalModel
from aiayn.model.recurrent import RecurrentConfig, RecurrentModel
from aiayn.model.transformer import Transformer

ARCHITECTURES: dict[str, tuple[type[ModelConfig], Callable[[Any], EncoderDecoder]]] = {
    "transformer": (TransformerConfig, Transformer),
    "convolutional": (ConvolutionalConfig, ConvolutionalModel),
    "recurrent": (RecurrentConfig, RecurrentModel),
}
_OURS = tuple(ARCHITECTURES)


def register(name: str, config: type[ModelConfig], model: Callable[[Any], EncoderDecoder]) -> None:
    """Let models of your own be built, trained, saved and loaded: `build(config)` then calls `model(config)`.

    Parameters
    ----------
    name : str
        What a checkpoint calls such a model; a program that loads one registers it first.
    config, model
        A dataclass of its own, derived from `ModelConfig` or `TransformerConfig`; a class, or a function.

    Raises
    ------
    InputError
        If the name or the configuration is one of this package's own.
    """
    if name in _OURS or config in (ARCHITECTURES[own][0] for own in _OURS):
        own = f"{name!r} and {config.__name__}: one is of this package"
        raise InputError(f"{own}; derive a configuration of your own, and give it a new name")
    ARCHITECTURES[name] = config, model


# book/11-1-runs-that-survive.ipynb, cell build
def _known(config: ModelConfig) -> tuple[str, Callable[[Any], EncoderDecoder]]:
    """The name of an architecture, and what builds it; the latest if a class was registered twice."""
    for name, (shape, model) in reversed(ARCHITECTURES.items()):
        if type(config) is shape:
            return name, model
    kind = type(config).__name__
    raise InputError(f"{kind}: no model is known for it; first aiayn.register('a name', {kind}, YourModel)")


def build(config: ModelConfig) -> EncoderDecoder:
    """A model of that shape, its weights drawn from torch's generator; an InputError if none is known."""
    return _known(config)[1](config)


def describe(config: ModelConfig) -> dict[str, Any]:
    """A configuration as JSON can hold it: what `understand` reads."""
    return {"architecture": _known(config)[0], **asdict(config)}


def understand(description: dict[str, Any]) -> ModelConfig:
    """The configuration that `describe` wrote; without a name for its kind it is a Transformer's."""
    fields = {**description}
    name = fields.pop("architecture", "transformer")
    if name not in ARCHITECTURES:
        advice = f"{did_you_mean(str(name), ARCHITECTURES)} If it is yours, aiayn.register it first"
        raise InputError(f"architecture {name!r} is not known; {advice}")
    return ARCHITECTURES[name][0](**fields)


# book/11-1-runs-that-survive.ipynb, cell check-rebuilt
def _parts(model: nn.Module) -> dict[str, Any]:
    """What tells two models apart: the class and the plain settings of every module, shapes of weights."""
    found: dict[str, Any] = {name: tuple(weight.shape) for name, weight in model.named_parameters()}
    for name, module in model.named_modules():
        found[name or "the model"] = type(module)
        for key, value in vars(module).items():
            plain = isinstance(value, int | float | str | types.FunctionType) and key != "training"
            if plain and not key.startswith("_"):
                found[f"{name}.{key}"] = getattr(value, "__qualname__", value)
    return found


def check_rebuilt(model: EncoderDecoder) -> None:
    """Raise an InputError unless `build` makes the same model of its configuration, part for part."""
    with torch.device("meta"):
        twin = build(model.config)
    mine, theirs = _parts(model), _parts(twin)
    for name in [*mine, *theirs]:
        if mine.get(name) != theirs.get(name):
            one, other = (getattr(part.get(name), "__name__", part.get(name)) for part in (mine, theirs))
            raise InputError(
                f"{name} is {one}, but {type(model.config).__name__} builds {other}, so this would be lost. "
                "Give the model a class and a configuration of its own, and call "
                "aiayn.register('a name', YourConfig, YourModel)"
            )
    saved = model.state_dict().keys() - {name for name, _ in model.named_parameters(remove_duplicate=False)}
    if saved:
        raise InputError(f"{min(saved)}: a buffer, which a checkpoint does not hold; make it a parameter")
