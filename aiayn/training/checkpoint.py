"""Runs that survive (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-1-runs-that-survive.ipynb
"""

__all__ = [
    "adam_tensors",
    "flush",
    "save_checkpoint",
    "check_shape",
    "read_description",
    "fits",
    "read_training",
    "saved_steps",
    "is_due",
    "list_checkpoints",
    "last_checkpoints",
    "DTYPES",
    "read_header",
    "read_tensors",
    "read_weights",
    "own_vocabulary",
    "load_checkpoint",
]


# book/11-1-runs-that-survive.ipynb, cell checkpoint-imports
import contextlib
import hashlib
import json
import os
import re
import reprlib
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from aiayn.data.files import plain_file, printable
from aiayn.data.vocabulary import Vocabulary, load_vocabulary
from aiayn.errors import InputError
from aiayn.model.base import EncoderDecoder, ModelConfig
from aiayn.model.registry import build, describe, understand
from aiayn.training.metrics import is_number


# book/11-1-runs-that-survive.ipynb, cell adam-tensors
def adam_tensors(model: EncoderDecoder, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """What Adam keeps for each weight, by the weight's name."""
    states = ((name, optimizer.state[parameter]) for name, parameter in model.named_parameters())
    return {f"{name}/{key}": value for name, state in states for key, value in state.items()}


def flush(path: Path) -> None:
    """Wait until a file is on the disk and not only on its way there."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# book/11-1-runs-that-survive.ipynb, cell save-checkpoint
def save_checkpoint(
    folder: Path,
    model: EncoderDecoder,
    vocabulary: Vocabulary,
    training: dict[str, Any],
    optimizer: torch.optim.Optimizer | None = None,
) -> None:
    """Write weights, configuration and vocabulary to a new folder, which appears only when it is whole.

    `training` says how the model was trained; with the `optimizer`, training can go on from here.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    if not folder.name:
        raise InputError(f"{folder}: cannot be a checkpoint; name a new folder")
    part = folder.with_name(f".{folder.name}.part")
    checksum = hashlib.sha256(vocabulary.model).hexdigest()
    said = {"model": describe(model.config), "training": training, "vocabulary_sha256": checksum}
    tensors: dict[str, dict[str, Any]] = {"model": dict(model.named_parameters())}  # shared ones once
    if optimizer is not None:
        tensors["optimizer"] = adam_tensors(model, optimizer)
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        (part / "config.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
        (part / "vocabulary.model").write_bytes(vocabulary.model)
        for name, content in tensors.items():
            save_file(content, part / f"{name}.safetensors")
            with contextlib.suppress(OSError):  # safetensors lets nobody else read it
                shutil.copymode(part / "config.json", part / f"{name}.safetensors")
        for path in [*part.iterdir(), part]:
            flush(path)
        os.rename(part, folder)
        flush(folder.parent)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise InputError(f"{folder}: cannot be written ({error}); take another folder or make room") from None


# book/11-1-runs-that-survive.ipynb, cell check-shape
def check_shape(description: dict[str, Any]) -> ModelConfig:
    """The model's shape in a description; a ValueError or TypeError if it is none that can be built."""
    for name, value in description.items():
        most = 100_000 if name in ("N", "max_length") else 10**9
        if isinstance(value, int | float) and value > most:
            raise ValueError(f"{name} is more than {most:,}")
    config = understand(description)
    for field in fields(config):
        value, kinds = getattr(config, field.name), get_args(field.type) or (field.type,)
        kinds = (*kinds, int) if float in kinds else kinds
        if type(value) not in kinds and value not in kinds:
            raise TypeError(f"{field.name}={value!r}")
    return config


# book/11-1-runs-that-survive.ipynb, cell read-description
def read_description(folder: Path) -> dict[str, Any]:
    """What a checkpoint says of itself: the model's shape, how it was trained.

    Raises
    ------
    InputError
        If config.json is missing, damaged, or from something else.
    """
    path = folder / "config.json"
    try:
        description: dict[str, Any] = json.loads(plain_file(path, 1_000_000).read_text(encoding="utf-8"))
        return {**description, "model": check_shape(description["model"])}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = printable(error)
        raise InputError(f"{path}: not the configuration of an aiayn model ({reason})") from None


# book/11-1-runs-that-survive.ipynb, cell read-training
def fits(name: str, value: Any) -> bool:
    """Whether a part of the description of a training is what its readers take it for."""
    if name in ("data", "pair"):
        return isinstance(value, str)
    if name in ("average", "keep", "step", "seed"):
        return is_number(value, 1 if name in ("average", "keep") else 0, whole=True)
    if name == "due":
        return isinstance(value, bool)
    if name in ("sums", "scaler"):
        return value is None or (isinstance(value, dict) and all(map(is_number, value.values())))
    return name != "minutes" or is_number(value)


def read_training(folder: Path) -> dict[str, Any]:
    """What a checkpoint says of its training; nothing, if it was saved by other means. An InputError says
    what cannot be."""
    training = read_description(folder).get("training", {})
    if not isinstance(training, dict):
        raise InputError(f"{folder / 'config.json'}: training={reprlib.repr(training)} is no description")
    for name, value in training.items():
        if not fits(name, value):
            said = f"training has {name}={reprlib.repr(value)}"
            raise InputError(f"{folder / 'config.json'}: {said}, which cannot be; use another checkpoint")
    return training


# book/11-1-runs-that-survive.ipynb, cell list-checkpoints
def saved_steps(folder: Path) -> dict[int, Path]:
    """All checkpoints in a run's folder by step, in that order; what has another name is none."""
    found = [path for path in (folder / "checkpoints").glob("step-*") if path.is_dir()]
    named = {int(path.name[5:]): path for path in found if re.fullmatch("step-[0-9]+", path.name)}
    return dict(sorted(named.items()))


def is_due(folder: Path) -> bool:
    """Whether a checkpoint was written at its time, and not because the training was to stop."""
    try:
        return bool(read_training(folder).get("due", True))
    except InputError:  # whoever loads it will say so
        return True


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a run's folder, oldest first; the folder itself if it is a checkpoint.

    Raises
    ------
    InputError
        If there are none.
    """
    if (folder / "config.json").is_file():
        return [folder]
    found = list(saved_steps(folder).values())
    if not found:
        raise InputError(
            f"{folder}: no model here (neither config.json nor checkpoints/step-…); train one first"
        )
    return [*filter(is_due, found[:-1]), found[-1]]


# book/11-1-runs-that-survive.ipynb, cell last-checkpoints
def last_checkpoints(folder: Path, average: int | None = None) -> list[Path]:
    """The checkpoints of a run that are averaged: as many of the last as its recipe says, or `average`.

    Raises
    ------
    InputError
        If there is no model, or there are fewer than `average`.
    """
    folders = list_checkpoints(folder)
    if average is None:
        average = int(read_training(folders[-1]).get("average", 1))
    elif not 1 <= average <= len(folders):
        raise InputError(f"{folder}: average={average}, but it may be 1 to {len(folders)} checkpoints here")
    return folders[-average:]


# book/11-1-runs-that-survive.ipynb, cell read-weights
DTYPES = ("F16", "BF16", "F32", "F64")  # in which weights may be stored


def read_header(path: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors in a file; an InputError if it is damaged, or holds other numbers."""
    shapes = {}
    try:
        with safe_open(plain_file(path), framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (it is no dictionary)
                part = file.get_slice(name)
                shapes[name] = tuple(part.get_shape())
                if part.get_dtype() not in DTYPES:
                    wanted = f"is of type {part.get_dtype()}, not one of {', '.join(DTYPES)}"
                    raise InputError(f"{path}: {printable(name)} {wanted}; use another checkpoint")
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: damaged or not there ({error}); use the checkpoint before it") from None
    return shapes


def read_tensors(path: Path, expected: dict[str, torch.Size]) -> dict[str, torch.Tensor]:
    """The tensors in a file, if they are whole and finite, and have these names and shapes.

    Raises
    ------
    InputError
        If the file is missing or damaged, or something else than expected.
    """
    shapes = read_header(path)
    for name in sorted(expected.keys() | shapes.keys()):
        found = shapes.get(name, "missing")
        wanted = tuple(expected[name]) if name in expected else "not to be there"
        if found != wanted:
            name = printable(name)
            raise InputError(f"{path}: {name} is {found}, but the configuration wants {wanted}")
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:  # it was whole a moment ago
        raise InputError(f"{path}: damaged or not there ({error})") from None
    for name in sorted(tensors):
        if not tensors[name].isfinite().all():
            raise InputError(f"{path}: {name} has numbers that are not finite; use another checkpoint")
    return tensors


# book/11-1-runs-that-survive.ipynb, cell read-model
def read_weights(folder: Path, config: ModelConfig) -> dict[str, torch.Tensor]:
    """The weights in a checkpoint, if they are whole and finite, and of the shape that `config` says.

    Raises
    ------
    InputError
        If the file is missing or damaged, or the model in it is another one.
    """
    path, layers = folder / "model.safetensors", getattr(config, "N", 1)
    if layers > (tensors := len(read_header(path))):  # to find that out by building may take a day
        raise InputError(f"{path}: {tensors} tensors, but the configuration wants N={layers} layers")
    try:
        with torch.device("meta"):
            expected = {name: weight.shape for name, weight in build(config).named_parameters()}
    except (RuntimeError, TypeError) as error:  # sizes whose product is beyond all numbers
        raise InputError(f"{folder / 'config.json'}: no such model ({printable(error)})") from None
    return read_tensors(path, expected)


# book/11-1-runs-that-survive.ipynb, cell load-vocabulary
def own_vocabulary(folder: Path, description: dict[str, Any]) -> Vocabulary:
    """The vocabulary in a checkpoint, if it is the one that the model was trained with."""
    vocabulary, size = load_vocabulary(folder / "vocabulary.model"), description["model"].vocabulary_size
    sha256, fault = hashlib.sha256(vocabulary.model).hexdigest(), None
    if len(vocabulary) != size:
        fault = f"a vocabulary of {len(vocabulary)} pieces for a model of {size}"
    elif description.get("vocabulary_sha256", sha256) != sha256:
        fault = "the vocabulary does not have the checksum in config.json"
    if fault:
        raise InputError(f"{folder}: {fault}; put back the vocabulary.model that it was trained with")
    return vocabulary


# book/11-1-runs-that-survive.ipynb, cell load-checkpoint
def load_checkpoint(folders: list[Path]) -> tuple[EncoderDecoder, Vocabulary]:
    """The model of a checkpoint, or the mean of several of one run (section 6.1), and its vocabulary.

    Raises
    ------
    InputError
        If a checkpoint is damaged, or they are not of one shape.
    """
    description = read_description(folders[-1])
    config = description["model"]
    vocabulary = own_vocabulary(folders[-1], description)
    total: dict[str, torch.Tensor] = {}
    for folder in folders:  # one after another: 20 checkpoints of the big model would fill 17 GB
        for name, weight in read_weights(folder, config).items():
            total[name] = total[name] + weight if name in total else weight.double()
    model = build(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():  # a shared one has one name
            weight.copy_(total[name] / len(folders))
            if not weight.isfinite().all():
                raise InputError(f"{folders[-1]}: the mean of {name} is not finite; use another checkpoint")
    return model.eval(), vocabulary
