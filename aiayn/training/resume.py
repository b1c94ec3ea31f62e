"""Resuming a training run from its last checkpoint.

From "Runs that survive" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/11-1-runs-that-survive.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-1-runs-that-survive.ipynb, cell resume-imports
import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch

from aiayn.base_config import differences
from aiayn.data.files import printable
from aiayn.errors import InputError
from aiayn.model.base import EncoderDecoder
from aiayn.training.checkpoint import read_tensors, saved_steps
from aiayn.training.description import Description, read_description


# book/11-1-runs-that-survive.ipynb, cell same-training
def check_same_training(folder: Path, was: Description, now: Description) -> None:
    """Raise an InputError if a checkpoint was trained otherwise, or for more steps."""
    assert was.training and now.training and was.step is not None
    found = differences(was, now, fixed=True)
    pairs = {name.removeprefix("training."): both for name, both in found.items()}
    before, after = was.training.steps, now.training.steps
    # Once the rate falls towards the last step, that has to stay.
    cooldown = now.training.optimizer.cooldown
    if cooldown and before != after and was.step > min(before, after) + 1 - cooldown:
        pairs["steps"] = before, after
    if pairs:
        changed = [
            f"{name}={printable(one)}, not {other}"
            for name, (one, other) in sorted(pairs.items())
        ]
        other_text = {"corpus", "valid"} & pairs.keys()
        instead = f", with {folder.parent.parent} as init, to go on with other text"
        advice = f"use that, or another folder (out){instead if other_text else ''}"
        raise InputError(f"{folder}: trained with {'; '.join(changed)}; {advice}")
    if was.step > after:
        fault = f"has taken {was.step} steps, more than {after}"
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
        known = description.training, description.step, description.minutes
        if None in known:
            fault = "not the configuration of an aiayn model (no training)"
            raise InputError(f"{folder / 'config.json'}: {fault}")
    return description


# book/11-1-runs-that-survive.ipynb, cell restore
def restore(
    folder: Path,
    model: EncoderDecoder,
    optimizer: torch.optim.Optimizer,
    now: Description,
) -> Description:
    """Put weights and Adam's state back; return what the checkpoint says of itself.

    Raises
    ------
    InputError
        If it is damaged, or was trained otherwise than `now` says.
    """
    parameters = dict(model.named_parameters())
    shapes = {name: weight.shape for name, weight in parameters.items()}
    kept = {f"{name}/step": torch.Size() for name in shapes}
    for key in ("exp_avg", "exp_avg_sq"):
        kept |= {f"{name}/{key}": shape for name, shape in shapes.items()}
    was = begun_description(folder)
    check_same_training(folder, was, now)
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
    return was
