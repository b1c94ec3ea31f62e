# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""The metadata of a checkpoint: its model and its training, checked and typed."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell description-imports
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat

from aiayn.base_config import MAY_CHANGE, BaseConfig, within
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import ModelConfig
from aiayn.training.recipes import TrainingConfig, read_json

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell description
Kind = Literal["translation", "parsing"]
Text = Annotated[str | None, MAY_CHANGE]
Count = Annotated[int | None, Field(ge=0), MAY_CHANGE]
Minutes = Annotated[FiniteFloat | None, Field(ge=0), MAY_CHANGE]
Numbers = Annotated[dict[str, FiniteFloat] | None, MAY_CHANGE]


def kind_of(pair: str | None) -> Kind:
    """What a model learns from such a pair, source first: to translate, or to parse."""
    return "parsing" if (pair or "").endswith("-trees") else "translation"


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell description-class
@dataclass(frozen=True)
class Description(BaseConfig):
    """What a checkpoint tells of its model, and of the training that led to it."""

    model: ModelConfig
    training: TrainingConfig | None = None  # how it was trained, if that is known
    vocabulary_sha256: Text = None  # the checksum of its vocabulary
    # The texts have checksums, and may have other names now; what follows from them.
    data: Text = None  # corpus or folder
    texts: Text = None  # or the files, with their columns
    pairs: Count = None  # that are learned from
    left_out: Count = None  # of the pairs, because a side is too long, or unequal
    pair: str | None = None  # languages, source first
    corpus: str | None = None  # the checksum of what is learned from
    valid: str | None = None  # the checksum of what it is validated on
    init: str | None = None  # the model that it began with
    versions: Annotated[dict[str, str] | None, MAY_CHANGE] = None  # of packages
    step: Count = None  # how many were taken
    minutes: Minutes = None  # how long that took
    # whether it was written at its time, and not because the training was to stop
    due: Annotated[bool, MAY_CHANGE] = True
    sums: Numbers = None  # of the meter
    scaler: Numbers = None  # state of the scaler of gradients
    command: Text = None  # that trained it
    # of a model that is shipped, and on what
    score: Annotated[FiniteFloat | None, MAY_CHANGE] = None
    scored_on: Text = None

    def to_dict(self) -> dict[str, Any]:
        """What is known, as JSON can hold it; the model only once."""
        values = super().to_dict()
        if self.training:
            del values["model"]
        defaults = {each.name: each.default for each in fields(self)}
        return {name: each for name, each in values.items() if each != defaults[name]}

    @classmethod
    def from_dict(cls, values: Any) -> "Description":
        """What `to_dict` wrote, or else an InputError."""
        values = {each.name: each.default for each in fields(cls)[1:]} | values
        if isinstance(training := values["training"], dict):
            values["model"] = training.get("model")
        return super().from_dict(values)

    # book/3-workshop/04-checkpoints-and-resuming.ipynb, cell description-kind
    @property
    def kind(self) -> Kind:
        """Whether it translates or parses."""
        return kind_of(self.pair)

    @property
    def steps(self) -> int:
        """How many steps its weights have seen, with those before its own training."""
        before = self.training.optimizer.steps_before if self.training else 0
        return (self.step or 0) + before


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell read-description
def read_description(folder: Path) -> Description:
    """What a checkpoint says of itself.

    Raises
    ------
    InputError
        If config.json is missing, damaged, or from something else.
    """
    path = folder / "config.json"
    values = read_json(path)
    if isinstance(values, dict) and "architectures" in values:
        fault = "a model of Hugging Face's, which translates and is looked into here"
        raise InputError(f"{folder}: {fault}; only a run of aiayn is trained on")
    with within(f"{path}: "):
        return Description.from_dict(values)
