# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""Builds a model from its configuration, and turns configurations into dictionaries."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell architectures
import types
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import torch
from torch import nn

from aiayn.errors import InputError
from aiayn.model.baselines.conv_seq2seq import ConvolutionalConfig, ConvolutionalModel
from aiayn.model.baselines.recurrent import RecurrentConfig, RecurrentModel
from aiayn.model.configuration import TransformerConfig
from aiayn.model.encoder_decoder import (
    ARCHITECTURES,
    EncoderDecoder,
    ModelConfig,
    architecture_of,
    class_name,
)
from aiayn.model.marian import Marian, MarianConfig
from aiayn.model.transformer import Transformer

ARCHITECTURES |= {
    "transformer": (TransformerConfig, Transformer),
    "convolutional": (ConvolutionalConfig, ConvolutionalModel),
    "recurrent": (RecurrentConfig, RecurrentModel),
    "marian": (MarianConfig, Marian),
}
OURS = tuple(ARCHITECTURES)


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell register
def register(
    name: str, config: type[ModelConfig], model: Callable[[Any], EncoderDecoder]
) -> None:
    """Let models of your own be built, trained, saved and loaded.

    Parameters
    ----------
    name : str
        What a checkpoint calls it; a program that loads one registers it first.
    config : type
        A dataclass of its own, derived from `ModelConfig` or `TransformerConfig`.
    model : callable
        A class or a function, from which `build(config)` gets `model(config)`.

    Raises
    ------
    InputError
        If the name or the configuration is one of this package's own.
    """
    shapes = isinstance(config, type) and issubclass(config, ModelConfig)
    if not shapes or not callable(model):
        wanted = "a text, a class, and what makes the model"
        raise InputError(f"register(name, configuration, model): {wanted}")
    if "__dataclass_fields__" not in vars(config):
        raise InputError(f"{config.__name__}: decorate it with @dataclass(frozen=True)")
    for field, kind in get_type_hints(config).items():  # what JSON gives back as it was
        several = get_origin(kind) in (Union, types.UnionType)
        kinds = {*get_args(kind)} if several else {get_origin(kind) or kind}
        if not kinds <= {int, float, bool, str, type(None), Literal}:
            fault = f"{kind}; a field is a number, text, true or false"
            raise InputError(f"{config.__name__}.{field}: {fault}")
    if name in OURS or config in (ARCHITECTURES[own][0] for own in OURS):
        own = f"{name!r} and {config.__name__}: one is of this package"
        advice = "derive a configuration of your own, and give it a new name"
        raise InputError(f"{own}; {advice}")
    ARCHITECTURES[name] = config, model


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell build
def build(config: ModelConfig) -> EncoderDecoder:
    """A model of that shape, its weights drawn at random; or else an InputError."""
    return ARCHITECTURES[architecture_of(config)][1](config)


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell check-rebuilt
def _parts(model: nn.Module) -> dict[str, Any]:
    """What tells two models apart: classes and plain settings, shapes of weights."""
    parts: dict[str, Any] = {}
    for name, module in model.named_modules():
        parts[name or "the model"] = class_name(type(module))
        for key, value in vars(module).items():
            if key.startswith("_") or key == "training":
                continue
            if callable(value):
                kind = type(value).__qualname__
                parts[f"{name}.{key}"] = getattr(value, "__qualname__", kind)
            elif isinstance(value, int | float | str):
                parts[f"{name}.{key}"] = value
    shapes = {name: tuple(weight.shape) for name, weight in model.named_parameters()}
    return parts | shapes


def check_roundtrip(model: EncoderDecoder) -> None:
    """Raise an InputError unless `build` makes the same model of its configuration."""
    with torch.device("meta"):
        twin = build(model.config)
    mine, theirs = _parts(model), _parts(twin)
    for name in [*mine, *theirs]:
        if mine.get(name) != theirs.get(name):
            one, other = (str(part.get(name, "nothing")) for part in (mine, theirs))
            shape = type(model.config).__name__
            fault = f"{name} is {one}, but {shape} builds {other}"
            advice = "Give the model a class and a configuration of its own"
            call = "aiayn.register('a name', YourConfig, YourModel)"
            raise InputError(
                f"{fault}, so this would be lost. {advice}, and call {call}"
            )
    weights = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    if saved := model.state_dict().keys() - weights:
        fault = "a buffer, which a checkpoint does not hold; make it a parameter"
        raise InputError(f"{min(saved)}: {fault}")
