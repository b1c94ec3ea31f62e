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
from typing import Any, Literal, get_args, get_origin, get_type_hints

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


# book/11-1-runs-that-survive.ipynb, cell register
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
    if not isinstance(config, type) or not issubclass(config, ModelConfig) or not callable(model):
        raise InputError("register(name, configuration, model): a text, a class, and what makes the model")
    if "__dataclass_fields__" not in vars(config):
        raise InputError(f"{config.__name__}: decorate it with @dataclass(frozen=True)")
    for field, kind in get_type_hints(config).items():  # what JSON gives back as it was
        kinds = {*get_args(kind)} if isinstance(kind, types.UnionType) else {get_origin(kind) or kind}
        if not kinds <= {int, float, bool, str, type(None), Literal}:
            raise InputError(f"{config.__name__}.{field}: {kind}; a field is a number, text, true or false")
    if name in _OURS or config in (ARCHITECTURES[own][0] for own in _OURS):
        own = f"{name!r} and {config.__name__}: one is of this package"
        raise InputError(f"{own}; derive a configuration of your own, and give it a new name")
    ARCHITECTURES[name] = config, model


# book/11-1-runs-that-survive.ipynb, cell build
def _label(kind: type) -> str:
    """By which a class is known, also after the cell that defines it ran again."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _known(config: ModelConfig) -> tuple[str, Callable[[Any], EncoderDecoder]]:
    """The name of an architecture, and what builds it; the latest if a class was registered twice."""
    for name, (shape, model) in reversed(ARCHITECTURES.items()):
        if _label(type(config)) == _label(shape):
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
        advice = f"{did_you_mean(str(name), ARCHITECTURES)}; if it is yours, aiayn.register it"
        raise InputError(f"architecture {name!r} is not known; {advice}")
    return ARCHITECTURES[name][0](**fields)


# book/11-1-runs-that-survive.ipynb, cell check-rebuilt
def _parts(model: nn.Module) -> dict[str, Any]:
    """What tells two models apart: the class and the plain settings of every module, shapes of weights."""
    found: dict[str, Any] = {}
    for name, module in model.named_modules():
        found[name or "the model"] = _label(type(module))
        for key, value in vars(module).items():
            if key.startswith("_") or key == "training":
                continue
            if callable(value):
                found[f"{name}.{key}"] = getattr(value, "__qualname__", type(value).__qualname__)
            elif isinstance(value, int | float | str):
                found[f"{name}.{key}"] = value
    return found | {name: tuple(weight.shape) for name, weight in model.named_parameters()}


def check_rebuilt(model: EncoderDecoder) -> None:
    """Raise an InputError unless `build` makes the same model of its configuration, part for part."""
    with torch.device("meta"):
        twin = build(model.config)
    mine, theirs = _parts(model), _parts(twin)
    for name in [*mine, *theirs]:
        if mine.get(name) != theirs.get(name):
            one, other = (str(part.get(name, "nothing")) for part in (mine, theirs))
            raise InputError(
                f"{name} is {one}, but {type(model.config).__name__} builds {other}, so this would be lost. "
                "Give the model a class and a configuration of its own, and call "
                "aiayn.register('a name', YourConfig, YourModel)"
            )
    saved = model.state_dict().keys() - {name for name, _ in model.named_parameters(remove_duplicate=False)}
    if saved:
        raise InputError(f"{min(saved)}: a buffer, which a checkpoint does not hold; make it a parameter")
