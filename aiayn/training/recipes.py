"""Everything that fixes a training run except its data, by name.

From "Runs that survive" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/11-1-runs-that-survive.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-1-runs-that-survive.ipynb, cell recipes-imports
import math
from dataclasses import dataclass, fields, replace
from typing import Any

from aiayn.errors import InputError, did_you_mean
from aiayn.model.base import ModelConfig, check_fields
from aiayn.model.configuration import PRESETS, TransformerConfig, config
from aiayn.model.convolutional import CONVOLUTIONAL
from aiayn.model.recurrent import RECURRENT
from aiayn.training.optimizer import learning_rate

# book/11-1-runs-that-survive.ipynb, cell check-numbers
MOST = dict.fromkeys(("steps", "warmup", "checkpoint_steps", "patience"), 10**9)
MOST |= {"batch_tokens": 10**8, "max_length": 10**6, "keep": 10**6, "average": 10**6}
MOST |= {"micro_batches": 4096, "seed": 2**31 - 1}


# book/11-1-runs-that-survive.ipynb, cell little-text
@dataclass(frozen=True, kw_only=True)
class LittleText:
    """What a recipe may do about little text; it does none of it unless told."""

    # share of the merges that are skipped when a word is cut into pieces
    bpe_dropout: float = 0.0
    bidirectional: int = 0  # first steps, in which half of the pairs are turned round
    word_dropout: float = 0.0  # share of the tokens that are read as unknown
    r_drop: float = 0.0  # weight of what two passes with other dropout disagree
    r_drop_after: int = 0  # steps without it
    lowercase: bool = False  # read and write small letters only
    cooldown: int = 0  # last steps, in which the rate falls from its peak to nothing
    muon: bool = False  # move the layers' matrices by Muon instead of Adam
    weight_decay: float = 0.0  # times the rate: what Muon's matrices lose in a step

    def r_drop_at(self, step: int) -> float:
        """The weight of R-Drop at a step."""
        return self.r_drop if step > self.r_drop_after else 0.0


# book/11-1-runs-that-survive.ipynb, cell training-config
@dataclass(frozen=True)
class TrainingConfig(LittleText):
    """All that fixes a run but its data; by default the paper's base run (section 5).

    An `InputError` names a setting that is no number, or one that makes no sense.
    """

    model: ModelConfig = TransformerConfig()  # the shape of the model
    steps: int = 100_000  # after which the run ends
    # after which it ends in any case, those of earlier sessions included
    minutes: float = math.inf
    # taken by a training that this one goes on from: the rate falls on from there
    steps_before: int = 0
    batch_tokens: int = 25_000  # of a batch on either side, padding counted, at most
    # pieces of a batch; one for each worker where None
    micro_batches: int | None = None
    warmup: int = 4000  # steps in which the learning rate rises (section 5.3)
    rate_factor: float = 1.0  # multiplies the learning rate
    # share of a label that is spread over the vocabulary (section 5.4)
    label_smoothing: float = 0.1
    max_length: int = 256  # tokens; longer sentences are refused
    # of the tokens of a pair's sides, beyond which it is left out; any where None
    max_ratio: float | None = None
    # spell letters that the vocabulary lacks, by 256 pieces for bytes
    byte_fallback: bool = False
    bfloat16: bool = False  # multiply in 16 bits on a processor, too
    checkpoint_minutes: float = 10.0  # from one checkpoint to the next
    # the same in steps, which count if they are given
    checkpoint_steps: int | None = None
    # before the last `keep` of those steps, no checkpoint within `checkpoint_minutes`
    sparse: bool = False
    keep: int = 20  # of the last checkpoints, so many stay
    # of the last checkpoints, so many are averaged for translating (section 6.1)
    average: int = 5
    # checkpoints without a better validation loss, after which the run ends
    patience: int | None = None
    seed: int = 1  # of the weights, the order of batches, and dropout

    def __post_init__(self) -> None:
        check_recipe(self)

    @property
    def longest(self) -> int:
        """Tokens that a sentence may have, for the recipe and for its model."""
        return min(self.max_length, self.model.longest or self.max_length)

    # book/11-1-runs-that-survive.ipynb, cell rate-of-a-step
    def rate(self, step: int) -> float:
        """The learning rate of a step, by the paper's schedule or with a cooldown."""
        taken, known = step + self.steps_before, (self.warmup, self.rate_factor)
        if not self.cooldown:
            return learning_rate(taken, self.model.d_model, *known)
        peak = learning_rate(min(taken, self.warmup), self.model.d_model, *known)
        return peak * min(1.0, (self.steps - step + 1) / self.cooldown)


# book/11-1-runs-that-survive.ipynb, cell check-recipe
def check_recipe(config: TrainingConfig) -> None:
    """Refuse a setting that is no number, or one that makes no sense.

    Raises
    ------
    InputError
        It names the setting.
    """
    bounds: dict[str, tuple[float, float]]
    bounds = {name: (1, most) for name, most in MOST.items()}
    bounds |= {"seed": (0, MOST["seed"]), "steps_before": (0, 10**9)}
    bounds["max_ratio"] = (1, 10**6)
    bounds |= dict.fromkeys(("bpe_dropout", "word_dropout"), (0, 0.9))
    check_fields(config, bounds, usual=(0, math.inf))
    smoothing, factor = config.label_smoothing, config.rate_factor
    if not smoothing < 1 or not 0 < factor < math.inf:
        given = f"label_smoothing={smoothing}, rate_factor={factor}"
        wanted = "the one must be less than 1, the other more than 0, and finite"
        raise InputError(f"{given}: {wanted}")
    if config.weight_decay and not config.muon:
        given = f"weight_decay={config.weight_decay}"
        raise InputError(f"{given}: it is part of Muon; set muon=True, too")
    if config.average > config.keep:
        fault = f"more checkpoints than the keep={config.keep} that stay"
        raise InputError(f"average={config.average}: {fault}")


# book/11-1-runs-that-survive.ipynb, cell recipes
RECIPES = {
    "base": TrainingConfig(),
    "big": TrainingConfig(config("big"), steps=300_000, average=20),
    "small": TrainingConfig(
        config("small"),
        batch_tokens=2000,
        warmup=800,
        rate_factor=1.28,
        checkpoint_minutes=1.0,
    ),
    "laboratory": TrainingConfig(
        config("laboratory"),
        steps=4400,
        batch_tokens=1000,
        warmup=400,
        checkpoint_steps=100,
    ),
}


# book/11-1-runs-that-survive.ipynb, cell multi30k-recipes
RECIPES |= {
    "multi30k": TrainingConfig(
        config("multi30k", dropout=0.2),
        steps=10_000,
        batch_tokens=2048,
        warmup=1000,
        rate_factor=1.012,  # a peak of 0.002
        label_smoothing=0.2,
        checkpoint_steps=500,
        keep=5,
        average=4,  # all of the last fifth
        bpe_dropout=0.1,
        lowercase=True,
        cooldown=4000,
        muon=True,
        weight_decay=0.3,
        bidirectional=2800,
        bfloat16=True,
    ),
    "multi30k-wu": TrainingConfig(
        config("multi30k-wu"),
        steps=8000,
        batch_tokens=8192,
        warmup=2000,
        rate_factor=2.53,  # a peak of 0.005
        checkpoint_steps=55,
        average=10,
        patience=10,
    ),
}


# book/11-1-runs-that-survive.ipynb, cell parser-recipes
_RIVALS = {**RECURRENT, **CONVOLUTIONAL}
RECIPES |= {
    name: replace(RECIPES["laboratory"], model=shape) for name, shape in _RIVALS.items()
}
# Both as in Tensor2Tensor's wsj-t2t. The paper chose them on section 22, and gives no
# value: that wsj has the same, and wsj-semi, with more text, base's 0.1, is our choice.
_DROPOUT = {"dropout": 0.2, "attention_dropout": 0.2}
_LESS = {"dropout": 0.1, "attention_dropout": 0.1}
RECIPES |= {
    "parser": TrainingConfig(
        config("laboratory", vocabulary_size=1500),
        steps=3000,
        batch_tokens=1500,
        warmup=400,
        checkpoint_steps=100,
    ),
    "wsj": TrainingConfig(
        config("base", vocabulary_size=16_000, N=4, d_model=1024, **_DROPOUT),
        steps=40_000,
        max_length=1000,
        checkpoint_steps=500,
        patience=10,
    ),
    "wsj-semi": TrainingConfig(
        config("base", vocabulary_size=32_000, N=4, d_model=1024, **_LESS),
        max_length=1000,
    ),
    "wsj-t2t": TrainingConfig(
        config("base", vocabulary_size=16_000, N=6, d_model=1024, **_DROPOUT),
        steps=40_000,
        warmup=16_000,
        rate_factor=5.0,
        max_length=1000,
        checkpoint_steps=500,
        patience=10,
    ),
}


# book/11-1-runs-that-survive.ipynb, cell recipe
def recipe(name: str, **changes: Any) -> TrainingConfig:
    """How the model of that name is trained: one of `RECIPES`, or the paper's way.

    `changes` are fields of `TrainingConfig` that are to differ, or of the model:
    `recipe("small", N=2)`. Of `max_length`, which both have, it is the training's.

    Raises
    ------
    InputError
        If there is no such configuration or field, or a value makes no sense.
    """
    names = list(dict.fromkeys([*PRESETS, *RECIPES]))
    if name not in names:
        raise InputError(f"unknown configuration {name!r}: {did_you_mean(name, names)}")
    known = RECIPES[name] if name in RECIPES else TrainingConfig(config(name))
    own = [field.name for field in fields(known)]
    mine = {key: value for key, value in changes.items() if key in own}
    settings = replace(known, **mine)
    shape = {key: value for key, value in changes.items() if key not in own}
    names = [field.name for field in fields(settings.model)]
    for key in shape:
        if key not in names:
            meant = did_you_mean(key, [*own, *names])
            raise InputError(f"{key}={shape[key]!r:.60}: no such setting; {meant}")
    return replace(settings, model=replace(settings.model, **shape))
