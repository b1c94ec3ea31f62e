"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "save_checkpoint",
    "list_checkpoints",
    "read_description",
    "read_weights",
    "load_checkpoint",
]


# book/05-training.ipynb, cell checkpoint-imports
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from aiayn.data import InputError
from aiayn.model import Transformer, TransformerConfig
from aiayn.vocabulary import Vocabulary, load_vocabulary


# book/05-training.ipynb, cell save-checkpoint
def save_checkpoint(
    folder: Path, model: Transformer, vocabulary: Vocabulary, training: dict[str, Any]
) -> None:
    """Write weights, configuration and vocabulary to a new folder, which appears only when it is whole.

    `training` says how the model was trained, for the record.

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
        text = json.dumps({"model": asdict(model.config), "training": training}, indent=1)
        (part / "config.json").write_text(text, encoding="utf-8")
        (part / "vocabulary.model").write_bytes(vocabulary.model)
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
        return {**description, "model": TransformerConfig(**description["model"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not the configuration of an aiayn model ({error})") from None


# book/05-training.ipynb, cell read-weights
def read_weights(folder: Path, config: TransformerConfig) -> dict[str, torch.Tensor]:
    """The weights in a checkpoint, if they are whole and of the shape that `config` says.

    Raises
    ------
    InputError
        If the file is missing or damaged, or the model in it is another one.
    """
    path = folder / "model.safetensors"
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: damaged or not there ({error}); use the checkpoint before it") from None
    with torch.device("meta"):
        expected = {name: weight.shape for name, weight in Transformer(config).named_parameters()}
    for name in sorted(expected.keys() | weights.keys()):
        found = tuple(weights[name].shape) if name in weights else "missing"
        wanted = tuple(expected[name]) if name in expected else "not to be there"
        if found != wanted:
            raise InputError(f"{path}: {name} is {found}, but the configuration wants {wanted}")
    return weights


# book/05-training.ipynb, cell load-checkpoint
def load_checkpoint(folders: list[Path]) -> tuple[Transformer, Vocabulary]:
    """The model of a checkpoint, or the mean of several of one run (section 6.1), and its vocabulary.

    Raises
    ------
    InputError
        If a checkpoint is damaged, or they are not of one shape.
    """
    config = read_description(folders[-1])["model"]
    model = Transformer(config)
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
