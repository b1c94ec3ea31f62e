# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""Resuming a training run from its last checkpoint."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell resume-imports
import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch

from aiayn.base_config import differences
from aiayn.data.io import printable
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.training.checkpoint import saved_steps
from aiayn.training.checkpoint_metadata import Description, read_description
from aiayn.training.tensor_files import read_tensors


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell same-training
def check_same_training(folder: Path, was: Description, now: Description) -> None:
    """Raise an InputError if a checkpoint was trained otherwise, or for more steps."""
    assert was.training and now.training and was.step is not None
    differing = differences(was, now, fixed=True)
    pairs = {name.removeprefix("training."): both for name, both in differing.items()}
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


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell newest-checkpoint
def with_optimizer(folder: Path) -> list[Path]:
    """The checkpoints of a run from which training can go on, oldest first."""
    saved = saved_steps(folder).values()
    return [path for path in saved if (path / "optimizer.safetensors").exists()]


def newest_checkpoint(folder: Path) -> Path | None:
    """The last checkpoint of a run from which training can go on."""
    return max(with_optimizer(folder)[-1:], default=None)


@contextlib.contextmanager
def suggesting_previous(folder: Path) -> Iterator[None]:
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


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell begun-description
def resumable_description(folder: Path) -> Description:
    """What a checkpoint says of itself, if it is one that a run can go on from."""
    with suggesting_previous(folder):
        description = read_description(folder)
        required = description.training, description.step, description.minutes
        if None in required:
            fault = "not the configuration of an aiayn model (no training)"
            raise InputError(f"{folder / 'config.json'}: {fault}")
    return description


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell restore
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
    expected = {f"{name}/step": torch.Size() for name in shapes}
    for key in ("exp_avg", "exp_avg_sq"):
        expected |= {f"{name}/{key}": shape for name, shape in shapes.items()}
    was = resumable_description(folder)
    check_same_training(folder, was, now)
    with suggesting_previous(folder):
        weights = read_tensors(folder / "model.safetensors", shapes)
        adam = read_tensors(folder / "optimizer.safetensors", expected)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
            keys = ("step", "exp_avg", "exp_avg_sq")
            optimizer.state[parameter] = {
                k: adam[f"{name}/{k}"].to(parameter.device) for k in keys
            }
    return was
