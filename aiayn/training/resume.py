"""Resuming a training run from its last checkpoint.

From "Runs that survive" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/11-1-runs-that-survive.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

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
from aiayn.model.base import EncoderDecoder, ModelConfig
from aiayn.model.registry import describe
from aiayn.training.checkpoint import read_tensors, saved_steps
from aiayn.training.description import Description, read_description
from aiayn.training.recipes import TrainingConfig

# book/11-1-runs-that-survive.ipynb, cell same-training
# These have no part in what is learned.
FREE = {"steps", "minutes", "step", "micro_batches", "keep", "average", "patience"}
FREE |= {"checkpoint_minutes", "checkpoint_steps", "sparse", "versions"}
FREE |= {"due", "sums", "scaler"}  # where the training stood, as `step` and `minutes`
# The texts have checksums, and may have other names now; what follows from them.
FREE |= {"data", "pairs", "left_out"}
USUAL = asdict(TrainingConfig())  # what was meant by whoever did not say it
del USUAL["model"]


def cooling(was: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether the rate has begun to fall towards the last step, of either training."""
    last = min(said.get("steps", math.inf) for said in (was, now))
    cooldown = now.get("cooldown", 0)
    return bool(cooldown) and was["step"] > last + 1 - cooldown


def check_same_training(
    folder: Path,
    description: Description,
    shape: ModelConfig,
    training: dict[str, Any],
) -> None:
    """Raise an InputError if a checkpoint was trained otherwise, or for more steps."""
    was = {**describe(description.model), **description.training}
    now = {**describe(shape), **training}
    free = FREE - {"steps"} if cooling(was, now) else FREE
    names = [name for name in sorted(was.keys() | now.keys()) if name not in free]
    pairs = [(n, *(said.get(n, USUAL.get(n)) for said in (was, now))) for n in names]
    changed = [
        f"{printable(n)}={printable(one)}, not {other}"
        for n, one, other in pairs
        if one != other
    ]
    if changed:
        other_text = any(was.get(k) != now.get(k) for k in ("corpus", "valid"))
        instead = f", with {folder.parent.parent} as init, to go on with other text"
        advice = f"use that, or another folder (out){instead * other_text}"
        raise InputError(f"{folder}: trained with {'; '.join(changed)}; {advice}")
    if was["step"] > now.get("steps", math.inf):
        fault = f"has taken {was['step']} steps, more than {now['steps']}"
        raise InputError(f"{folder}: {fault}; ask for more")


# book/11-1-runs-that-survive.ipynb, cell newest-checkpoint
def with_optimizer(folder: Path) -> list[Path]:
    """The checkpoints of a run from which training can go on, oldest first."""
    saved = saved_steps(folder).values()
    return [path for path in saved if (path / "optimizer.safetensors").exists()]


def newest_checkpoint(folder: Path) -> Path | None:
    """The last checkpoint of a run from which training can go on."""
    return max(with_optimizer(folder)[-1:], default=None)


@contextlib.contextmanager
def offering_another(folder: Path) -> Iterator[None]:
    """Within it, an InputError about a checkpoint also names the one before it."""
    try:
        yield
    except InputError as error:
        run = folder.parent.parent
        able = [path for path in with_optimizer(run) if path.name != folder.name]
        offer = f"go on from {able[-1].name}" if able else "begin anew"
        alone = len(saved_steps(run)) < 2
        instead = f"remove {folder}" if able or alone else "choose another folder (out)"
        raise InputError(f"{error}. Or {instead}, to {offer}") from None


# book/11-1-runs-that-survive.ipynb, cell begun-description
def begun_description(folder: Path) -> Description:
    """What a checkpoint says of itself, if it is one that a training can go on from."""
    with offering_another(folder):
        description = read_description(folder)
        if None in (description.step, description.minutes):
            fault = "not the configuration of an aiayn model (no training)"
            raise InputError(f"{folder / 'config.json'}: {fault}")
    return description


# book/11-1-runs-that-survive.ipynb, cell restore
def restore(
    folder: Path,
    model: EncoderDecoder,
    optimizer: torch.optim.Optimizer,
    training: dict[str, Any],
) -> Description:
    """Put weights and Adam's state back; return what the checkpoint says of itself.

    Raises
    ------
    InputError
        If it is damaged, or was trained otherwise than `training` says.
    """
    parameters = dict(model.named_parameters())
    shapes = {name: weight.shape for name, weight in parameters.items()}
    kept = {f"{name}/step": torch.Size() for name in shapes}
    for key in ("exp_avg", "exp_avg_sq"):
        kept |= {f"{name}/{key}": shape for name, shape in shapes.items()}
    description = begun_description(folder)
    check_same_training(folder, description, model.config, training)
    with offering_another(folder):
        weights = read_tensors(folder / "model.safetensors", shapes)
        adam = read_tensors(folder / "optimizer.safetensors", kept)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
            keys = ("step", "exp_avg", "exp_avg_sq")
            optimizer.state[parameter] = {
                k: adam[f"{name}/{k}"].to(parameter.device) for k in keys
            }
    return description
