# Made by `make export` from book/3-workshop/05-distributed-training.ipynb
"""What a training begins with: a new model, another one, or its last checkpoint."""

# book/3-workshop/05-distributed-training.ipynb, cell initialization-imports
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from aiayn.base_config import changed, differences, settings
from aiayn.data.corpora import Pairs
from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder, ModelConfig
from aiayn.model.registry import build, check_roundtrip
from aiayn.training.checkpoint_metadata import Description
from aiayn.training.muon import Muon
from aiayn.training.optimizer import make_optimizer
from aiayn.training.preprocess import Corpus, prepare_corpus, vocabulary_config
from aiayn.training.recipes import (
    RECIPES,
    OptimizerConfig,
    TrainingConfig,
    VocabularyConfig,
)
from aiayn.training.resume import (
    check_same_training,
    newest_checkpoint,
    resumable_description,
)
from aiayn.training.run_folder import Run

# book/3-workshop/05-distributed-training.ipynb, cell prepare-run
# A trained model goes on with other text at this share of the learning rate.
FINE_TUNING_RATE = 0.1


@dataclass(frozen=True)
class InitialModel:
    """The model that a run begins with, instead of a new one."""

    model: EncoderDecoder
    vocabulary: Vocabulary | None  # None: one is learned
    name: str  # for the record
    steps: int = 0  # that it was trained for

    def adapt(self, config: TrainingConfig) -> TrainingConfig:
        """The recipe with this model's shape and vocabulary, as `adapt_config`."""
        check_roundtrip(self.model)
        kind = vocabulary_config(self.vocabulary) if self.vocabulary else None
        return adapt_config(config, self.model.config, self.steps, kind)


def adapt_config(
    config: TrainingConfig,
    shape: ModelConfig,
    steps: int,
    kind: VocabularyConfig | None,
) -> TrainingConfig:
    """A recipe with another shape, but its own dropout, and the kind of a vocabulary.

    Its rate falls on from so many steps, at a tenth, unless `steps_before` says how it
    goes on. Errors are `check_kept`'s.
    """
    asked, shape = config, replace(shape, dropout=config.model.dropout)
    config = replace(asked, model=shape, vocabulary=kind or asked.vocabulary)
    check_kept(asked, config)
    optimizer = config.optimizer
    if optimizer.steps_before or not steps:
        return config
    rate = optimizer.rate_factor * FINE_TUNING_RATE
    return replace(
        config, optimizer=replace(optimizer, steps_before=steps, rate_factor=rate)
    )


# book/3-workshop/05-distributed-training.ipynb, cell check-kept
def check_kept(asked: TrainingConfig, kept: TrainingConfig) -> None:
    """Refuse a shape or a vocabulary that somebody chose if the model has another.

    Chosen is what the recipe does not have from the named one that is most like it.
    """
    base = min(RECIPES.values(), key=lambda each: len(differences(each, asked)))
    chosen = differences(base, asked)
    for name, (wanted, has) in differences(asked, kept).items():
        if name in chosen or name == "model.architecture":
            fault = f"the model to begin with (init) has {has}, which is kept"
            raise InputError(f"{name}={wanted}: {fault}; give that, or leave it out")


# book/3-workshop/05-distributed-training.ipynb, cell starting-point
@dataclass(frozen=True)
class StartingPoint:
    """What a run begins with, or goes on with."""

    config: TrainingConfig  # the recipe, with the shape of `init`
    last: Path | None = None  # the checkpoint that it goes on from
    was: Description | None = None  # what that says of itself
    init: InitialModel | None = None  # else the model that it begins with
    name: str | None = None  # of the `init` with which it began

    @property
    def vocabulary(self) -> Vocabulary | Path | None:
        """Known already, or None: it is learned."""
        if self.last is not None:
            return self.last / "vocabulary.model"
        return self.init.vocabulary if self.init else None


# book/3-workshop/05-distributed-training.ipynb, cell beginning
def starting_point(
    config: TrainingConfig,
    out: Path,
    resume: bool,
    init: Callable[[], InitialModel] | None,
) -> StartingPoint:
    """What a run into a folder begins with.

    One that goes on needs nothing of its `init` anymore: its checkpoint has it all.
    """
    last = newest_checkpoint(out) if resume else None
    if last is None:
        start = init() if init else None
        config = start.adapt(config) if start else config
        return StartingPoint(config, init=start, name=start.name if start else None)
    was = resumable_description(last)
    if was.training and not config.batches.micro_batches:
        # With another number, dropout would be another.
        config = changed(
            config, batches={"micro_batches": was.training.batches.micro_batches}
        )
    if was.init is not None:
        assert was.training
        steps = was.training.optimizer.steps_before
        config = adapt_config(config, was.model, steps, was.training.vocabulary)
    elif init:
        fault = "the run began with a new model, not with the one that is named now"
        raise InputError(f"{out}: {fault}; leave that out, or choose another")
    return StartingPoint(config, last, was, name=was.init)


# book/3-workshop/05-distributed-training.ipynb, cell prepare-once
def prepare_run_corpus(
    run: Run,
    start: StartingPoint,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    progress: bool,
    given: Vocabulary | None = None,
) -> Corpus:
    """`prepare_corpus` with a vocabulary: known, `given`, or what rank 0 wrote."""
    path, vocabulary = run.folder / "vocabulary.model", start.vocabulary or given
    if vocabulary is None and not run.writes:
        vocabulary = path
    corpus = prepare_corpus(start.config, data, pair, vocabulary, progress)
    if run.writes:
        corpus.vocabulary.save(path)
    return corpus


def corpus_facts(corpus: Corpus) -> dict[str, Any]:
    """What tells the texts of a run from others, and how much of them it reads."""
    vocabulary, left_out = corpus.train, corpus.train.dropped + corpus.train.unequal
    found = {"corpus": vocabulary.folder.name, "valid": corpus.valid.folder.name}
    return found | {"pairs": len(vocabulary), "left_out": left_out}


# book/3-workshop/05-distributed-training.ipynb, cell settings
def describe_run(
    start: StartingPoint,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    command: str | None = None,
) -> Description:
    """What a run is made with; an InputError if its checkpoint says otherwise.

    So that is found out before any text is read; texts are compared later.
    """
    versions = {name: metadata.version(name) for name in ("aiayn", "sentencepiece")}
    versions |= {"torch": torch.__version__}  # which names the build, such as +cpu
    names = None
    if not isinstance(data, str) and not data[0].source_name.startswith("source"):
        names = f"{data[0].source_name}; {data[0].target_name}"
        names = names.replace(" (without those held out)", "")
    description = Description(
        start.config.model,
        start.config,
        data=data if isinstance(data, str) else None,
        texts=names,
        pair=pair,
        init=start.name,
        versions=versions,
        command=command or (start.was.command if start.was else None),
    )
    if start.last and start.was:
        was = start.was
        same_texts = replace(description, corpus=was.corpus, valid=was.valid)
        check_same_training(start.last, was, same_texts)
    return description


def shared_facts(
    description: Description, start: StartingPoint, out: Path
) -> dict[str, Any]:
    """What all workers of a run have to be told alike."""
    # A text or a model may have another name on each machine.
    alike = replace(description, data=None, init=None, versions=None, command=None)
    facts = {n.removeprefix("training."): v for n, v in settings(alike).items()}
    last = start.last.name if start.last else None
    return {**facts, "out": str(out), "goes on from": last}


# book/3-workshop/05-distributed-training.ipynb, cell check-config
def short_run(config: TrainingConfig, steps: float) -> str:
    """What to say of a run of so many steps if it ends in its warm-up; else nothing."""
    warmup, taken = config.optimizer.warmup, steps + config.optimizer.steps_before
    if warmup <= taken:
        return ""
    ends = f"after about {taken:,.0f} the run ends; optimizer.warmup shortens that"
    return f"the learning rate rises for {warmup:,} steps, but {ends}"


def check_config(config: TrainingConfig, every: int) -> None:
    """Refuse what would fail after hours of work; warn of a rate left high."""
    if every < 1:
        raise InputError(f"every={every}: the callback is called every 1 step or more")
    with torch.device("meta"):
        check_roundtrip(build(config.model))
    if (cooldown := config.optimizer.cooldown) and config.minutes is not None:
        falls = f"the rate falls in the last {cooldown:,} of {config.steps:,}"
        ends = f"not if {config.minutes:g} minutes end the training before"
        warnings.warn(f"{falls} steps, {ends}; give fewer steps", stacklevel=3)


# book/3-workshop/05-distributed-training.ipynb, cell build-model
def build_model(start: StartingPoint, device: torch.device) -> EncoderDecoder:
    """The model to be trained, with weights from the seed or from `init`."""
    torch.manual_seed(start.config.seed)  # of the first weights
    model = build(start.config.model).to(device)
    if start.init:
        model.load_state_dict(start.init.model.state_dict())
    return model


def build_optimizer(
    model: EncoderDecoder, config: OptimizerConfig, dtype: torch.dtype
) -> torch.optim.Optimizer:
    """Muon where the recipe asks for it, or else Adam."""
    if config.muon:
        return Muon(model, dtype, config.weight_decay)
    return make_optimizer(model)
