# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""Saving, loading and averaging checkpoints."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell checkpoint-imports
import contextlib
import hashlib
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from aiayn.data.io import cause
from aiayn.data.vocabulary import Vocabulary, load_vocabulary
from aiayn.device import check_system
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.model.registry import build, check_roundtrip
from aiayn.training.checkpoint_metadata import Description, read_description
from aiayn.training.tensor_files import quantize_rows, read_tensors


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell adam-tensors
def adam_tensors(
    model: EncoderDecoder, optimizer: torch.optim.Optimizer
) -> dict[str, torch.Tensor]:
    """What Adam keeps for each weight, by the weight's name."""
    tensors: dict[str, torch.Tensor] = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state[parameter].items():
            tensors[f"{name}/{key}"] = value
    return tensors


def flush(path: Path) -> None:
    """Wait until a file is on the disk and not only on its way there."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell write-checkpoint
def write_checkpoint(
    folder: Path,
    description: Description,
    vocabulary: Vocabulary | None,
    tensors: dict[str, Any],
) -> None:
    """Write the files beside their folder, which is there only when all of them are."""
    unfinished = folder.with_name(f".{folder.name}.part")
    config = unfinished / "config.json"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        config.write_text(json.dumps(description.to_dict(), indent=1))
        if vocabulary is not None:
            (unfinished / "vocabulary.model").write_bytes(vocabulary.model)
        for name, content in tensors.items():
            path = unfinished / f"{name}.safetensors"
            save_file(content, path)
            with contextlib.suppress(OSError):  # safetensors lets nobody else read it
                shutil.copymode(config, path)
        for path in [*unfinished.iterdir(), unfinished]:
            flush(path)
        if folder.exists():
            old = folder.with_name(f".{folder.name}.old")
            shutil.rmtree(old, ignore_errors=True)
            os.rename(folder, old)
        os.rename(unfinished, folder)
        shutil.rmtree(folder.with_name(f".{folder.name}.old"), ignore_errors=True)
        flush(folder.parent)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        fault = f"cannot be written ({cause(error)})"
        advice = "take another folder or make room"
        raise InputError(f"{folder}: {fault}; {advice}") from None


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell save-checkpoint
def save_checkpoint(
    folder: Path | str,
    model: EncoderDecoder,
    vocabulary: Vocabulary | None,
    description: Description | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    int8: bool = False,
    overwrite: bool = False,
) -> None:
    """Write weights, configuration and vocabulary to a new folder, all or nothing.

    With the `optimizer`, training can go on from here; with `int8`, matrices have eight
    bits (`quantize_rows`); with `overwrite`, it may replace another checkpoint. An
    `InputError` says if it cannot be written, or if another model would come back (see
    `check_roundtrip`).
    """
    check_system()
    folder = Path(folder)
    another = (folder / "config.json").is_file()
    if not folder.name or (folder.exists() and not (another and overwrite)):
        fault = "holds a model already" if another else "is there already"
        advice = "overwrite=True replaces it" if another else "remove this one"
        raise InputError(f"{folder}: {fault}; name a new folder, or {advice}")
    check_roundtrip(model)
    size = model.config.vocabulary_size
    if vocabulary is not None and len(vocabulary) != size:
        sizes = f"{size} tokens, the vocabulary {len(vocabulary)}"
        raise InputError(f"{folder}: the model has {sizes}; save each with its own")
    metadata = description or Description(model.config)
    if vocabulary is not None:
        sha256 = hashlib.sha256(vocabulary.model).hexdigest()
        metadata = replace(metadata, vocabulary_sha256=sha256)
    weights = dict[str, Any](model.named_parameters())  # a shared one once
    tensors = {"model": quantize_rows(weights) if int8 else weights}
    if optimizer is not None:
        tensors["optimizer"] = adam_tensors(model, optimizer)
    write_checkpoint(folder, metadata, vocabulary, tensors)


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell converted
# What `aiayn convert` writes, by a file that is in it, and a flag to do without it.
CONVERTED = {
    "model.bin": ("CTranslate2", ", perhaps with --engine ctranslate2"),
    "encoder.pt2": ("torch.export", ""),
    "encoder.onnx": ("ONNX", ""),
}


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell list-checkpoints
def saved_steps(folder: Path) -> dict[int, Path]:
    """All checkpoints in a run's folder by step, in that order.

    What has another name is none.
    """
    checkpoints = {}
    for path in (folder / "checkpoints").glob("step-*"):
        if path.is_dir() and re.fullmatch("step-[0-9]+", path.name):
            checkpoints[int(path.name[5:])] = path
    return dict(sorted(checkpoints.items()))


def is_due(folder: Path) -> bool:
    """Whether a checkpoint was written at its time, and not because of a stop."""
    try:
        return read_description(folder).due
    except InputError:  # whoever loads it will say so
        return True


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a run's folder, oldest first; or the folder, if it is one.

    Raises
    ------
    InputError
        If there are none.
    """
    for name, (program, flag) in CONVERTED.items():
        if (folder / name).is_file():
            fault = f"converted for {program}, and not for aiayn to read"
            raise InputError(f"{folder}: {fault}; give the run's folder{flag}")
    if folder.is_file():
        fault = "a file, not a run's folder; translations that are there are compared"
        program = f"with a run's by --baseline {folder}, and scored by sacrebleu's own"
        raise InputError(f"{folder}: {fault} {program} command")
    if (folder / "config.json").is_file():
        return [folder]
    checkpoints = list(saved_steps(folder).values())
    if not checkpoints:
        fault = "no model here (neither config.json nor checkpoints/step-…)"
        raise InputError(f"{folder}: {fault}; train one first")
    return [*filter(is_due, checkpoints[:-1]), checkpoints[-1]]


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell last-checkpoints
def select_checkpoints(
    folder: Path, average: int | None = None
) -> tuple[list[Path], Description]:
    """The checkpoints of a run that are averaged, and what the last of them says.

    They are as many of the last as its recipe says, but only of the last fifth of its
    steps; or `average`.

    Raises
    ------
    InputError
        If there is no model, or there are fewer than `average`.
    """
    folders = list_checkpoints(folder)
    description = read_description(folders[-1])
    if average is None:
        training = description.training
        *others, last = folders[-training.checkpoints.average if training else -1 :]
        start = 0.8 * (description.step or 0)
        late = [path for path in others if int(path.name[5:]) > start]
        return [*late, last], description
    if not 1 <= average <= len(folders):
        allowed = f"it may be 1 to {len(folders)} checkpoints here"
        raise InputError(f"{folder}: average={average}, but {allowed}")
    return folders[-average:], description


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell load-vocabulary
def checkpoint_vocabulary(folder: Path, description: Description) -> Vocabulary:
    """The vocabulary in a checkpoint, if its model was trained with it."""
    vocabulary = load_vocabulary(folder / "vocabulary.model")
    sha256 = hashlib.sha256(vocabulary.model).hexdigest()
    size, fault = description.model.vocabulary_size, None
    if len(vocabulary) != size:
        fault = f"a vocabulary of {len(vocabulary)} pieces for a model of {size}"
    elif description.vocabulary_sha256 not in (None, sha256):
        fault = "the vocabulary does not have the checksum in config.json"
    if fault:
        advice = "put back the vocabulary.model that it was trained with"
        raise InputError(f"{folder}: {fault}; {advice}")
    return vocabulary


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell load-checkpoint
def load_model(folders: list[Path], description: Description) -> EncoderDecoder:
    """The model of a checkpoint, or the mean of several of one run (section 6.1).

    The `description` is that of the last. An `InputError` says if one is damaged, or of
    another shape.
    """
    with torch.device("meta"):  # which takes no memory
        weights = build(description.model).named_parameters()
        shapes = {name: weight.shape for name, weight in weights}
    total: dict[str, torch.Tensor] = {}
    # One after another: 20 checkpoints of the big model would fill 17 GB.
    for folder in folders:
        for name, weight in read_tensors(folder / "model.safetensors", shapes).items():
            total[name] = total[name] + weight if name in total else weight.double()
    model = build(description.model)
    with torch.no_grad():
        for name, weight in model.named_parameters():  # a shared one has one name
            weight.copy_(total[name] / len(folders))
            if not weight.isfinite().all():
                fault = f"the mean of {name} is not finite; use another checkpoint"
                raise InputError(f"{folders[-1]}: {fault}")
    return model.eval()


def load_checkpoint(
    folders: list[Path], description: Description | None = None
) -> tuple[EncoderDecoder, Vocabulary]:
    """The model of a checkpoint, or the mean of several of one run; its vocabulary.

    The `description` is that of the last; it is read if it is not given.

    Raises
    ------
    InputError
        If a checkpoint is damaged, or they are not of one shape.
    """
    description = description or read_description(folders[-1])
    vocabulary = checkpoint_vocabulary(folders[-1], description)
    return load_model(folders, description), vocabulary
