# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""Everything that fixes a training run except its data, by name."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell recipes-imports
import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, FiniteFloat

from aiayn.base_config import MAY_CHANGE, BaseConfig, changed, within
from aiayn.data.io import printable
from aiayn.errors import InputError, did_you_mean
from aiayn.model.baselines.conv_seq2seq import CONVOLUTIONAL
from aiayn.model.baselines.recurrent import RECURRENT
from aiayn.model.configuration import TransformerConfig, config
from aiayn.model.encoder_decoder import ModelConfig
from aiayn.training.optimizer import learning_rate

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell parts
Steps = Annotated[int, Field(ge=0, le=10**9)]


@dataclass(frozen=True)
class VocabularyConfig(BaseConfig):
    """Which kind of vocabulary is learned; its size is the model's."""

    # spell letters that the vocabulary lacks, by 256 pieces for bytes
    byte_fallback: bool = False
    lowercase: bool = False  # read and write small letters only


@dataclass(frozen=True)
class BatchConfig(BaseConfig):
    """What a step reads (section 5.1)."""

    # tokens of a batch on either side, padding counted, at most
    tokens: Annotated[int, Field(ge=1, le=10**8)] = 25_000
    # micro-batches of a step, which workers share; one for each worker where None
    micro_batches: Annotated[int | None, Field(ge=1, le=4096), MAY_CHANGE] = None
    # longest side, in tokens; a longer one is refused, or left out with skip_long
    max_length: Annotated[int, Field(ge=1, le=10**6)] = 256
    skip_long: bool = False  # leave out pairs of which a side is longer
    # how many times as long as the other a side may be, or the pair is left out; in
    # tokens; any where None
    max_ratio: Annotated[float | None, Field(ge=1, le=10**6)] = None
    bidirectional: Steps = 0  # first steps, in which half of the pairs are turned round
    # share of the merges that are skipped when a word is cut into pieces
    bpe_dropout: Annotated[float, Field(ge=0, le=0.9)] = 0.0


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell optimizer-part
@dataclass(frozen=True)
class OptimizerConfig(BaseConfig):
    """How the weights move (section 5.3)."""

    # steps in which the learning rate rises
    warmup: Annotated[int, Field(ge=1, le=10**9)] = 4000
    # multiplies the paper's learning rate
    rate_factor: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    # last steps, in which the rate falls from its peak to nothing
    cooldown: Steps = 0
    # steps of a run that this one goes on from: the rate falls on from there
    steps_before: Steps = 0
    muon: bool = False  # move the layers' matrices by Muon instead of Adam
    # share of themselves, times the rate, that Muon's matrices lose in a step
    weight_decay: Annotated[FiniteFloat, Field(ge=0)] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight_decay and not self.muon:
            given = f"weight_decay={self.weight_decay}"
            raise InputError(f"{given}: it is part of Muon; set muon, too")


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell checkpoint-part
@dataclass(frozen=True)
class CheckpointConfig(BaseConfig):
    """When a run is saved, and what is kept (section 6.1)."""

    # minutes from one checkpoint to the next
    minutes: Annotated[FiniteFloat, Field(ge=0), MAY_CHANGE] = 10.0
    # the same in steps, which count if they are given
    steps: Annotated[int | None, Field(ge=1, le=10**9), MAY_CHANGE] = None
    # fewer checkpoints: before the last `keep`, at most one in so many `minutes`
    sparse: Annotated[bool, MAY_CHANGE] = False
    # how many of the last checkpoints stay
    keep: Annotated[int, Field(ge=1, le=10**6), MAY_CHANGE] = 20
    # how many of the last checkpoints are averaged for translating
    average: Annotated[int, Field(ge=1, le=10**6), MAY_CHANGE] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sparse and self.steps is None:
            advice = "leaves some of every `steps` out; give those"
            raise InputError(f"sparse=True: {advice}")
        if self.average > self.keep:
            fault = f"more checkpoints than the keep={self.keep} that stay"
            raise InputError(f"average={self.average}: {fault}")


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell training-config
@dataclass(frozen=True)
class TrainingConfig(BaseConfig):
    """All that fixes a run but its data; by default the paper's base run (section 5).

    `help` explains a part, too, such as `help(config.batches)`. An `InputError` names a
    setting that is of another type, or makes no sense.
    """

    model: ModelConfig = TransformerConfig()  # the shape of the model
    vocabulary: VocabularyConfig = VocabularyConfig()  # the kind of vocabulary
    batches: BatchConfig = BatchConfig()  # what a step reads
    optimizer: OptimizerConfig = OptimizerConfig()  # how the weights move
    checkpoints: CheckpointConfig = CheckpointConfig()  # when a run is saved
    # steps after which the run ends
    steps: Annotated[int, Field(ge=1, le=10**9), MAY_CHANGE] = 100_000
    # minutes after which it ends in any case, earlier sessions included
    minutes: Annotated[FiniteFloat | None, Field(gt=0), MAY_CHANGE] = None
    # checkpoints without a better validation loss, after which the run ends
    patience: Annotated[int | None, Field(ge=1, le=10**9), MAY_CHANGE] = None
    # share of a label that is spread over the vocabulary (section 5.4)
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1
    bfloat16: bool = False  # multiply in 16 bits on a processor, too
    # seed of the weights, the order of batches, and dropout
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1

    @property
    def longest(self) -> int:
        """Tokens that a sentence may have, for the recipe and for its model."""
        most = self.batches.max_length
        return min(most, self.model.max_positions or most)

    # book/3-workshop/04-checkpoints-and-resuming.ipynb, cell rate-of-a-step
    def rate(self, step: int) -> float:
        """The learning rate of a step, by the paper's schedule or with a cooldown."""
        optimizer = self.optimizer
        schedule = partial(
            learning_rate,
            d_model=self.model.d_model,
            warmup=optimizer.warmup,
            factor=optimizer.rate_factor,
        )
        steps_taken = step + optimizer.steps_before
        if not optimizer.cooldown:
            return schedule(steps_taken)
        peak = schedule(min(steps_taken, optimizer.warmup))
        return peak * min(1.0, (self.steps - step + 1) / optimizer.cooldown)


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell recipes
RECIPES = {
    "base": TrainingConfig(),
    "big": TrainingConfig(
        config("big"), checkpoints=CheckpointConfig(average=20), steps=300_000
    ),
    "small": TrainingConfig(
        config("small"),
        batches=BatchConfig(tokens=2000),
        optimizer=OptimizerConfig(warmup=800, rate_factor=1.28),
        checkpoints=CheckpointConfig(minutes=1.0),
    ),
    "synthetic": TrainingConfig(
        config("synthetic"),
        batches=BatchConfig(tokens=1000),
        optimizer=OptimizerConfig(warmup=400),
        checkpoints=CheckpointConfig(steps=100),
        steps=4400,
    ),
}


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell multi30k-recipes
RECIPES |= {
    "multi30k": TrainingConfig(
        config("multi30k"),
        VocabularyConfig(lowercase=True),
        BatchConfig(tokens=2048, bidirectional=2800, bpe_dropout=0.1),
        OptimizerConfig(
            warmup=1000,
            rate_factor=1.012,  # a peak of 0.002
            cooldown=4000,
            muon=True,
            weight_decay=0.3,
        ),
        CheckpointConfig(steps=500, keep=5, average=4),  # all of the last fifth
        steps=10_000,
        label_smoothing=0.2,
        bfloat16=True,
    ),
    "multi30k-wu": TrainingConfig(
        config("multi30k-wu"),
        batches=BatchConfig(tokens=8192),
        optimizer=OptimizerConfig(warmup=2000, rate_factor=2.53),  # a peak of 0.005
        checkpoints=CheckpointConfig(steps=55, average=10),
        steps=8000,
        patience=10,
    ),
    "tatoeba": TrainingConfig(
        config("tatoeba"),
        batches=BatchConfig(tokens=2048, bpe_dropout=0.1),
        optimizer=OptimizerConfig(
            warmup=800,
            rate_factor=0.905,  # a peak of 0.002
            cooldown=4000,
            muon=True,
            weight_decay=0.3,
        ),
        checkpoints=CheckpointConfig(steps=450, keep=5, average=4),
        steps=10_000,
        bfloat16=True,
    ),
}


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell parser-recipes
RECIPES |= {
    name: replace(RECIPES["synthetic"], model=shape)
    for name, shape in (RECURRENT | CONVOLUTIONAL).items()
}
_WSJ = TrainingConfig(
    config("wsj"),
    batches=BatchConfig(max_length=1000),
    checkpoints=CheckpointConfig(steps=500),
    steps=40_000,
    patience=10,
)
RECIPES |= {
    "parser": TrainingConfig(
        config("parser"),
        batches=BatchConfig(tokens=1500),
        optimizer=OptimizerConfig(warmup=400),
        checkpoints=CheckpointConfig(steps=100),
        steps=3000,
    ),
    "craft": replace(
        RECIPES["small"],
        model=config("craft"),
        batches=BatchConfig(tokens=2000, max_length=1000),
        checkpoints=CheckpointConfig(steps=300, keep=5),
        steps=6000,
    ),
    "wsj": _WSJ,
    "wsj-semi": TrainingConfig(
        config("wsj-semi"), batches=BatchConfig(max_length=1000)
    ),
    "wsj-t2t": replace(
        _WSJ,
        model=config("wsj-t2t"),
        optimizer=OptimizerConfig(warmup=16_000, rate_factor=5.0),
    ),
}


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell recipe
def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; an InputError if there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        fault = f"not a configuration ({printable(error)})"
        raise InputError(f"{path}: {fault}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: not a configuration (no JSON object)")
    return content


def with_learning_rate(config: TrainingConfig, peak: float) -> TrainingConfig:
    """A recipe whose learning rate, at the end of its warm-up, has this peak."""
    warmup = config.optimizer.warmup
    paper = learning_rate(warmup, config.model.d_model, warmup)
    with within(f"learning_rate={peak}: "):
        return changed(config, optimizer={"rate_factor": peak / paper})


def recipe(
    name: str, learning_rate: float | None = None, **changes: Any
) -> TrainingConfig:
    """How the model of that name is trained, or the run of which that is `config.json`.

    `changes` are fields of `TrainingConfig` that are to differ; a dictionary changes
    fields of a part, as in `recipe("small", minutes=1, optimizer={"warmup": 100})`.
    `learning_rate` is its peak, in place of `optimizer.rate_factor`.

    Raises
    ------
    InputError
        If there is no such recipe or field, or a value makes no sense.
    """
    if learning_rate is not None:
        return with_learning_rate(recipe(name, **changes), learning_rate)
    if name in RECIPES:
        return changed(RECIPES[name], **changes)
    if not name.endswith(".json"):
        hint = f"{did_you_mean(name, RECIPES)}; or give a run's config.json"
        raise InputError(f"unknown recipe {name!r}: {hint}")
    content = read_json(Path(name))
    with within(f"{name}: "):
        config = TrainingConfig.from_dict(content.get("training", content))
    return changed(config, **changes)
