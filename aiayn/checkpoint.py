"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "adam_tensors",
    "flush",
    "save_checkpoint",
    "list_checkpoints",
    "read_description",
    "read_tensors",
    "read_weights",
    "load_checkpoint",
    "FREE",
    "check_same_training",
    "newest_checkpoint",
    "restore",
]


# book/05-training.ipynb, cell checkpoint-imports
import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from aiayn.architectures import build, describe, understand
from aiayn.data import InputError
from aiayn.encoder_decoder import EncoderDecoder, ModelConfig
from aiayn.vocabulary import Vocabulary, load_vocabulary


# book/05-training.ipynb, cell adam-tensors
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


# book/05-training.ipynb, cell save-checkpoint
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
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        save_file(dict(model.named_parameters()), part / "model.safetensors")  # shared ones once
        if optimizer is not None:
            save_file(adam_tensors(model, optimizer), part / "optimizer.safetensors")
        text = json.dumps({"model": describe(model.config), "training": training}, indent=1)
        (part / "config.json").write_text(text, encoding="utf-8")
        (part / "vocabulary.model").write_bytes(vocabulary.model)
        for path in [*part.iterdir(), part]:
            flush(path)
        os.rename(part, folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise InputError(f"{folder}: cannot be written ({error}); take another folder or make room") from None


# book/05-training.ipynb, cell list-checkpoints
def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a run's folder, oldest first; the folder itself if it is a checkpoint.

    Raises
    ------
    InputError
        If there are none.
    """
    if (folder / "config.json").is_file():
        return [folder]
    found = sorted((folder / "checkpoints").glob("step-*"))
    if not found:
        raise InputError(
            f"{folder}: no model here (neither config.json nor checkpoints/step-…); train one first"
        )
    return found


# book/05-training.ipynb, cell read-description
def read_description(folder: Path) -> dict[str, Any]:
    """What a checkpoint says of itself: the model's shape, how it was trained.

    Raises
    ------
    InputError
        If config.json is missing, damaged, or from something else.
    """
    path = folder / "config.json"
    try:
        description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {**description, "model": understand(description["model"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not the configuration of an aiayn model ({error})") from None


# book/05-training.ipynb, cell read-weights
def read_tensors(path: Path, expected: dict[str, torch.Size]) -> dict[str, torch.Tensor]:
    """The tensors in a file, if they are whole and have these names and shapes.

    Raises
    ------
    InputError
        If the file is missing or damaged, or something else than expected.
    """
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: damaged or not there ({error}); use the checkpoint before it") from None
    for name in sorted(expected.keys() | tensors.keys()):
        found = tuple(tensors[name].shape) if name in tensors else "missing"
        wanted = tuple(expected[name]) if name in expected else "not to be there"
        if found != wanted:
            raise InputError(f"{path}: {name} is {found}, but the configuration wants {wanted}")
    return tensors


def read_weights(folder: Path, config: ModelConfig) -> dict[str, torch.Tensor]:
    """The weights in a checkpoint, if they are whole and of the shape that `config` says.

    Raises
    ------
    InputError
        If the file is missing or damaged, or the model in it is another one.
    """
    with torch.device("meta"):
        expected = {name: weight.shape for name, weight in build(config).named_parameters()}
    return read_tensors(folder / "model.safetensors", expected)


# book/05-training.ipynb, cell load-checkpoint
def load_checkpoint(folders: list[Path]) -> tuple[EncoderDecoder, Vocabulary]:
    """The model of a checkpoint, or the mean of several of one run (section 6.1), and its vocabulary.

    Raises
    ------
    InputError
        If a checkpoint is damaged, or they are not of one shape.
    """
    config = read_description(folders[-1])["model"]
    model = build(config)
    parameters = dict(model.named_parameters())  # a shared one has one name
    total = {name: torch.zeros_like(weight, dtype=torch.float64) for name, weight in parameters.items()}
    for folder in folders:  # one after another: 20 checkpoints of the big model would fill 17 GB
        for name, weight in read_weights(folder, config).items():
            total[name] += weight
    with torch.no_grad():
        for name, weight in parameters.items():
            weight.copy_(total[name] / len(folders))
    vocabulary = load_vocabulary(folders[-1] / "vocabulary.model")
    if len(vocabulary) != config.vocabulary_size:
        raise InputError(
            f"{folders[-1]}: a vocabulary of {len(vocabulary)} pieces for a model of "
            f"{config.vocabulary_size}; put back the vocabulary.model that it was trained with"
        )
    return model.eval(), vocabulary


# book/05-training.ipynb, cell same-training
FREE = {"steps", "minutes", "step", "micro_batches", "keep", "average", "patience", "versions"}
FREE |= {"checkpoint_minutes", "checkpoint_steps"}  # no part in what is learned, dropout of pieces aside


def check_same_training(folder: Path, model: EncoderDecoder, training: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint says of its training, if it is the same as that which is to go on.

    Raises
    ------
    InputError
        If it says nothing, or something else.
    """
    found = read_description(folder)
    if "training" not in found:
        raise InputError(f"{folder / 'config.json'}: not the configuration of an aiayn model (no training)")
    was, now = {**describe(found["model"]), **found["training"]}, {**describe(model.config), **training}
    names = [name for name in sorted(was.keys() | now.keys()) if name not in FREE]
    changed = [f"{n}={was.get(n)}, not {now.get(n)}" for n in names if was.get(n) != now.get(n)]
    if changed:
        raise InputError(f"{folder}: trained with {'; '.join(changed)}; use that, or another --out")
    return dict(found["training"])


# book/05-training.ipynb, cell restore
def newest_checkpoint(folder: Path) -> Path | None:
    """The last checkpoint of a run from which training can go on."""
    found = folder.glob("checkpoints/step-*/optimizer.safetensors")
    return max((path.parent for path in found), default=None)


def restore(
    folder: Path, model: EncoderDecoder, optimizer: torch.optim.Optimizer, training: dict[str, Any]
) -> dict[str, Any]:
    """Put weights and Adam's state back as they were; what the checkpoint says of its training.

    Raises
    ------
    InputError
        If it is damaged, or was trained otherwise than `training` says.
    """
    others = [path.parent for path in folder.parent.glob("step-*/optimizer.safetensors")]
    earlier = max((other for other in others if other < folder), default=None)
    parameters = dict(model.named_parameters())
    moments = {f"{n}/{k}": p.shape for n, p in parameters.items() for k in ("exp_avg", "exp_avg_sq")}
    steps = {f"{name}/step": torch.Size() for name in parameters}
    try:
        found = check_same_training(folder, model, training)
        weights = read_weights(folder, model.config)
        adam = read_tensors(folder / "optimizer.safetensors", moments | steps)
    except InputError as error:
        offer = f"go on from {earlier.name}" if earlier else "begin anew"
        raise InputError(f"{error}. Or remove {folder}, to {offer}") from None
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
            keys = ("step", "exp_avg", "exp_avg_sq")
            optimizer.state[parameter] = {k: adam[f"{name}/{k}"].to(parameter.device) for k in keys}
    return found
