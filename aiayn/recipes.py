"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "TrainingConfig",
    "RECIPES",
    "recipe",
]


# book/05-training.ipynb, cell recipes-imports
from dataclasses import dataclass, replace
from typing import Any

from aiayn.convolutional_model import CONVOLUTIONAL
from aiayn.data import InputError
from aiayn.encoder_decoder import ModelConfig
from aiayn.model import TransformerConfig, config
from aiayn.recurrent import RECURRENT


# book/05-training.ipynb, cell training-config
@dataclass(frozen=True)
class TrainingConfig:
    """All that fixes a run but its data. The defaults are the paper's base run (section 5).

    `batch_tokens` bounds either side of a batch, padding counted. A batch is cut into `micro_batches`
    pieces, one for each worker where None. `warmup` and `rate_factor` belong to
    `aiayn.optimizer.learning_rate`. `label_smoothing` is the share of a label that is spread over the
    vocabulary. Sentences of more than `max_length` tokens are refused. A checkpoint is written every
    `checkpoint_minutes`, or every `checkpoint_steps` if they are given; the last `keep` stay, and the last
    `average` are averaged for translating (section 6.1). After `patience` checkpoints without a better
    validation loss the run ends. `seed` is that of the weights, the order of batches, and dropout.
    """

    model: ModelConfig = TransformerConfig()
    steps: int = 100_000
    batch_tokens: int = 25_000
    micro_batches: int | None = None
    warmup: int = 4000
    rate_factor: float = 1.0
    label_smoothing: float = 0.1
    max_length: int = 256
    checkpoint_minutes: float = 10.0
    checkpoint_steps: int | None = None
    keep: int = 20
    average: int = 5
    patience: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        positive = "steps batch_tokens micro_batches warmup max_length checkpoint_steps keep average patience"
        for name in positive.split():
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name}={value}: must be at least 1")
        if not 0 <= self.seed < 2**31:
            raise InputError(f"seed={self.seed}: must be between 0 and {2**31 - 1}")
        if not 0 <= self.label_smoothing < 1 or self.rate_factor <= 0:
            raise InputError(
                f"label_smoothing={self.label_smoothing}, rate_factor={self.rate_factor}: the one must be "
                "at least 0 and less than 1, the other more than 0"
            )
        if self.average > self.keep:
            raise InputError(f"average={self.average}: more checkpoints than the keep={self.keep} that stay")


# book/05-training.ipynb, cell recipes
RECIPES = {
    "base": TrainingConfig(),
    "big": TrainingConfig(config("big"), steps=300_000, average=20),
    "small": TrainingConfig(
        config("small"), batch_tokens=2000, warmup=800, rate_factor=1.28, checkpoint_minutes=1.0
    ),
    "multi30k": TrainingConfig(
        config("multi30k"),
        steps=8000,
        batch_tokens=8192,
        warmup=2000,
        rate_factor=2.53,  # a peak of 0.005
        checkpoint_steps=55,
        average=10,
        patience=10,
    ),
    "laboratory": TrainingConfig(
        config("laboratory"),
        steps=4400,
        batch_tokens=1000,
        warmup=400,
        checkpoint_steps=100,
    ),
}


# book/05-training.ipynb, cell parser-recipes
_RIVALS = {**RECURRENT, **CONVOLUTIONAL}
RECIPES |= {name: replace(RECIPES["laboratory"], model=shape) for name, shape in _RIVALS.items()}
RECIPES |= {
    "parser": TrainingConfig(
        config("laboratory", vocabulary_size=1500),
        steps=3000,
        batch_tokens=1500,
        warmup=400,
        checkpoint_steps=100,
    ),
    "wsj": TrainingConfig(
        config("base", vocabulary_size=16_000, N=4, d_model=1024, dropout=0.2),
        steps=40_000,
        max_length=1000,
        checkpoint_steps=500,
        patience=10,
    ),
    "wsj-semi": TrainingConfig(config("base", vocabulary_size=32_000, N=4, d_model=1024), max_length=1000),
    "wsj-t2t": TrainingConfig(
        config("base", vocabulary_size=16_000, N=6, d_model=1024, dropout=0.2),
        steps=40_000,
        warmup=16_000,
        rate_factor=5.0,
        max_length=1000,
        checkpoint_steps=500,
        patience=10,
    ),
}


def recipe(name: str, **changes: Any) -> TrainingConfig:
    """How the model of that name is trained, with `changes`.

    Raises
    ------
    InputError
        If there is no such configuration.
    """
    try:
        known = RECIPES[name] if name in RECIPES else TrainingConfig(config(name))
    except ValueError as error:
        raise InputError(str(error)) from None
    return replace(known, **changes)
