"""Runs that survive (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-1-runs-that-survive.ipynb
"""

__all__ = [
    "FREE",
    "USUAL",
    "check_same_training",
    "with_optimizer",
    "newest_checkpoint",
    "offering_another",
    "restore",
]


# book/11-1-runs-that-survive.ipynb, cell resume-imports
import contextlib
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from aiayn.data.files import printable
from aiayn.errors import InputError
from aiayn.model.base import EncoderDecoder
from aiayn.model.registry import describe
from aiayn.training.checkpoint import read_tensors, saved_steps
from aiayn.training.description import Description, read_description
from aiayn.training.recipes import TrainingConfig

# book/11-1-runs-that-survive.ipynb, cell same-training
FREE = {"steps", "minutes", "step", "micro_batches", "keep", "average", "patience", "versions"}
FREE |= {"checkpoint_minutes", "checkpoint_steps", "sparse"}  # they have no part in what is learned
FREE |= {"due", "sums", "scaler"}  # where the training stood, as `step` and `minutes`
USUAL = asdict(TrainingConfig())  # what was meant by whoever did not say it
del USUAL["model"]


def check_same_training(
    folder: Path, description: Description, model: EncoderDecoder, training: dict[str, Any]
) -> None:
    """Raise an InputError unless a checkpoint was trained as it is to go on, and some steps are left."""
    was = {**describe(description.model), **description.training}
    now = {**describe(model.config), **training}
    names = [name for name in sorted(was.keys() | now.keys()) if name not in FREE]
    pairs = [(n, *(said.get(n, USUAL.get(n)) for said in (was, now))) for n in names]
    changed = [f"{printable(n)}={printable(one)}, not {other}" for n, one, other in pairs if one != other]
    if changed:
        instead = f", with --init {folder.parent.parent}, to go on with other text"
        advice = f"use that, or another --out{instead * (was.get('corpus') != now.get('corpus'))}"
        raise InputError(f"{folder}: trained with {'; '.join(changed)}; {advice}")
    if was["step"] > now.get("steps", math.inf):
        raise InputError(f"{folder}: has taken {was['step']} steps, more than {now['steps']}; ask for more")


# book/11-1-runs-that-survive.ipynb, cell newest-checkpoint
def with_optimizer(folder: Path) -> list[Path]:
    """The checkpoints of a run from which training can go on, oldest first."""
    return [path for path in saved_steps(folder).values() if (path / "optimizer.safetensors").exists()]


def newest_checkpoint(folder: Path) -> Path | None:
    """The last checkpoint of a run from which training can go on."""
    return max(with_optimizer(folder)[-1:], default=None)


@contextlib.contextmanager
def offering_another(folder: Path) -> Iterator[None]:
    """Within it, an InputError says that a checkpoint is damaged; it then also names the one before it."""
    try:
        yield
    except InputError as error:
        run = folder.parent.parent
        able = [path for path in with_optimizer(run) if path.name != folder.name]
        offer = f"go on from {able[-1].name}" if able else "begin anew"
        alone = len(saved_steps(run)) < 2
        instead = f"remove {folder}" if able or alone else "choose another --out"
        raise InputError(f"{error}. Or {instead}, to {offer}") from None


# book/11-1-runs-that-survive.ipynb, cell restore
def restore(
    folder: Path, model: EncoderDecoder, optimizer: torch.optim.Optimizer, training: dict[str, Any]
) -> Description:
    """Put weights and Adam's state back as they were; what the checkpoint says of itself.

    Raises
    ------
    InputError
        If it is damaged, or was trained otherwise than `training` says.
    """
    parameters = dict(model.named_parameters())
    moments = {f"{n}/{k}": p.shape for n, p in parameters.items() for k in ("exp_avg", "exp_avg_sq")}
    steps = {f"{name}/step": torch.Size() for name in parameters}
    with offering_another(folder):
        description = read_description(folder)
        if None in (description.step, description.minutes):
            path = folder / "config.json"
            raise InputError(f"{path}: not the configuration of an aiayn model (no training)")
    check_same_training(folder, description, model, training)
    with offering_another(folder):
        weights = read_tensors(folder / "model.safetensors", {n: p.shape for n, p in parameters.items()})
        adam = read_tensors(folder / "optimizer.safetensors", moments | steps)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
            keys = ("step", "exp_avg", "exp_avg_sq")
            optimizer.state[parameter] = {k: adam[f"{name}/{k}"].to(parameter.device) for k in keys}
    return description
