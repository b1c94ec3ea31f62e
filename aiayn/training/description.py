"""The metadata of a checkpoint: its model and its training, checked and typed.

From "Runs that survive" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/11-1-runs-that-survive.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-1-runs-that-survive.ipynb, cell description-imports
import json
import reprlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from aiayn.data.files import plain_file, printable
from aiayn.errors import InputError
from aiayn.model.base import ModelConfig
from aiayn.model.registry import understand
from aiayn.training.metrics import is_number


# book/11-1-runs-that-survive.ipynb, cell check-shape
def check_shape(description: dict[str, Any]) -> ModelConfig:
    """The model's shape in a description; a ValueError or TypeError if it has none."""
    for name, value in description.items():
        most = 100_000 if name in ("N", "max_length") else 10**9
        if isinstance(value, int | float) and value > most:
            raise ValueError(f"{name} is more than {most:,}")
    return understand(description)


# book/11-1-runs-that-survive.ipynb, cell description
Kind = Literal["translation", "parsing"]


def kind_of(pair: str | None) -> Kind:
    """What a model learns from such a pair, source first: to translate, or to parse."""
    return "parsing" if (pair or "").endswith("-trees") else "translation"


@dataclass(frozen=True)
class Description:
    """What a checkpoint tells of its model, and of the training that led to it."""

    model: ModelConfig
    vocabulary_sha256: str | None  # the checksum of its vocabulary
    # all settings, as they were written; the following are among them
    training: dict[str, Any]
    data: str | None = None  # corpus or folder
    pair: str | None = None  # languages, source first
    seed: int | None = None
    step: int | None = None  # how many were taken
    minutes: float | None = None  # how long that took
    average: int = 1  # how many of the last checkpoints are averaged
    # whether it was written at its time, and not because the training was to stop
    due: bool = True
    sums: dict[str, float] | None = None  # of the meter
    scaler: dict[str, Any] | None = None  # state of the scaler of gradients

    @property
    def kind(self) -> Kind:
        """Whether it translates or parses."""
        return kind_of(self.pair)

    @property
    def steps(self) -> int:
        """How many steps its weights have seen, with those before its own training."""
        return (self.step or 0) + int(self.training.get("steps_before", 0))


# book/11-1-runs-that-survive.ipynb, cell read-training
def fits(name: str, value: Any) -> bool:
    """Whether part of the description of a training is as its readers take it."""
    if name in ("data", "pair"):
        return isinstance(value, str)
    if name in ("average", "keep", "step", "seed", "steps_before"):
        return is_number(value, 1 if name in ("average", "keep") else 0, whole=True)
    if name == "due":
        return isinstance(value, bool)
    if name in ("sums", "scaler"):
        numbers = isinstance(value, dict) and all(map(is_number, value.values()))
        return value is None or numbers
    return name != "minutes" or is_number(value)


def check_training(training: Any, path: Path) -> None:
    """Raise an InputError if what the file at `path` says of the training cannot be."""
    if not isinstance(training, dict):
        raise InputError(f"{path}: training={reprlib.repr(training)} is no description")
    for name, value in training.items():
        if not fits(name, value):
            said = f"training has {name}={reprlib.repr(value)}"
            raise InputError(f"{path}: {said}, which cannot be; use another checkpoint")


# book/11-1-runs-that-survive.ipynb, cell read-description
def read_description(folder: Path) -> Description:
    """What a checkpoint says of itself.

    Raises
    ------
    InputError
        If config.json is missing, damaged, or from something else.
    """
    path = folder / "config.json"
    try:
        found = json.loads(plain_file(path, 1_000_000).read_text(encoding="utf-8"))
        model, training = check_shape(found["model"]), found.get("training", {})
        named = "vocabulary_sha256" in found
        checksum = str(found["vocabulary_sha256"]) if named else None
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        fault = f"not the configuration of an aiayn model ({printable(error)})"
        raise InputError(f"{path}: {fault}") from None
    check_training(training, path)
    names = {field.name for field in fields(Description)}
    names -= {"model", "vocabulary_sha256", "training"}
    typed = {name: training[name] for name in names & training.keys()}
    return Description(model, checksum, training, **typed)
