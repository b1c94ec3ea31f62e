# Made by `make export` from book/3-workshop/13-training-api.ipynb
"""Trains a translator on given sentence pairs; saves and loads models."""

# book/3-workshop/13-training-api.ipynb, cell imports
import random
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from aiayn.data.adopted_vocabulary import adopt_vocabulary
from aiayn.data.columns import SomePairs, announce, pairs_of
from aiayn.data.corpora import Pairs, load_pairs
from aiayn.data.formats import HUB, read_pairs
from aiayn.data.vocabulary import Vocabulary
from aiayn.decoding.beam_search import SearchConfig
from aiayn.device import find_device
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.training.checkpoint import load_model, save_checkpoint
from aiayn.training.initialization import InitialModel
from aiayn.training.preprocess import vocabulary_config
from aiayn.training.progress import Callback, Progress
from aiayn.training.recipes import TrainingConfig
from aiayn.training.recipes import recipe as named_recipe
from aiayn.training.trained_run import TrainedRun
from aiayn.training.trainer import TrainingResult, train_model
from aiayn.translation.translator import Translator

Start = Path | str | Translator | EncoderDecoder | tuple[EncoderDecoder, Vocabulary]


# book/3-workshop/13-training-api.ipynb, cell pairs-of
def hold_out(pairs: Pairs, seed: int) -> tuple[Pairs, Pairs]:
    """Pairs to learn from, and a twentieth, at most 1,000, to validate on.

    No source is in both.
    """
    sources = sorted(set(pairs.source))
    if len(sources) < 2:
        raise InputError(
            f"{pairs.source_name}: too few sentences to hold one out; give valid=…"
        )
    number = min(1000, max(1, len(sources) // 20))
    chosen = set(random.Random(seed).sample(sources, number))

    def part(held: bool) -> Pairs:
        rows = [
            (source, target, pairs.line_number(number))
            for number, (source, target) in enumerate(pairs, start=1)
            if (source in chosen) == held
        ]
        sources, targets, numbers = (list(each) for each in zip(*rows, strict=True))
        which = " (held out)" if held else " (without those held out)"
        names = pairs.source_name + which, pairs.target_name + which
        return Pairs(sources, targets, *names, line_numbers=numbers)

    return part(held=False), part(held=True)


# book/3-workshop/13-training-api.ipynb, cell example
def example(model: EncoderDecoder, vocabulary: Vocabulary, source: torch.Tensor) -> str:
    """A sentence, given as tokens, and what the model makes of it so far."""
    (text,) = vocabulary.decode([source.tolist()])
    with warnings.catch_warnings(action="ignore"):  # it is no finished model
        made = Translator(model, vocabulary, SearchConfig(beam=1))(text)
    sides = [textwrap.shorten(side, 72, placeholder=" …") for side in (text, made)]
    return " → ".join(sides)


# book/3-workshop/13-training-api.ipynb, cell initial
def initial(init: Start, config: TrainingConfig) -> tuple[InitialModel, str]:
    """What a run begins with, and how its learning rate will go on, in words."""
    model: Any
    vocabulary: Any
    steps = 0
    if isinstance(init, str | Path) and str(init).strip():
        run = TrainedRun.read(init)
        model, vocabulary = run.load("cpu")
        name, steps = str(init), run.description.steps
    elif isinstance(init, Translator):
        model, vocabulary = init.model, init.vocabulary
        name, steps = "a Translator", init.steps
    else:
        (model, vocabulary), name = (init, None), "a model in memory"
        if isinstance(init, tuple) and len(init) == 2:
            model, vocabulary = init
    valid_vocabulary = isinstance(vocabulary, Vocabulary | None)
    if not isinstance(model, EncoderDecoder) or not valid_vocabulary:
        raise InputError(
            "init: give a run's folder, a Translator, a model, or (model, vocabulary)"
        )
    start = InitialModel(model, vocabulary, name, steps)
    asked, config = config.model, start.adapt(config)
    rate, later = (config.rate(step) for step in (1, 2))
    way = "falls on" if later < rate else "rises" if later > rate else "goes on"
    steps = config.optimizer.steps_before
    trained = f"trained for {steps:,} steps"
    if not steps:
        trained = "whose steps are not known (optimizer.steps_before says them)"
    message = f"begins with {name}, {trained}:"
    message += f" the learning rate {way} from {rate:.1e}; Adam begins anew"
    if asked != config.model:
        message += "; its own shape is kept, not the recipe's"
    return start, message


# book/3-workshop/13-training-api.ipynb, cell begin-with
def deferred_initial(
    init: Start | None, config: TrainingConfig, shown: Progress
) -> Callable[[], InitialModel] | None:
    """`initial`, for a run that begins; one that goes on will not call it."""
    if init is None:
        return None

    def load_initial() -> InitialModel:
        start, message = initial(init, config)
        shown.say(message)
        return start

    return load_initial


# book/3-workshop/13-training-api.ipynb, cell train
def train(
    recipe: TrainingConfig | str,
    pairs: SomePairs | str | Path,
    valid: SomePairs | str | Path | None = None,
    out: Path | str | None = None,
    init: Start | None = None,
    device: torch.device | str | None = None,
    *,
    pair: str | None = None,
    columns: str | None = None,
    progress: bool = True,
    resume: bool = False,
    tensorboard: bool = False,
    compile: bool = False,
    callback: Callback | None = None,
    every: int = 50,
    vocabulary: Any = None,
) -> Translator:
    """Train a model to translate (section 5); if interrupted, give what it has by then.

    `recipe` says how. `pairs` are a list of (sentence, translation), a data frame, a
    `datasets.Dataset`, a file as for `read_pairs`, or a corpus or folder by name; their
    languages are `pair`, source first, a table's columns `columns`. `valid` are pairs
    to validate on, or else the corpus's own `val`, or a twentieth. The run is in `out`,
    or a temporary folder; `resume` goes on with it. `init` is what to begin with: a
    run's folder, a `Translator`, a model, or a model with its vocabulary; these stay,
    whatever shape the recipe has. `device` is a GPU, if any. `progress` shows a
    bar, `tensorboard` writes its files, `compile` compiles the layers. `callback` gets
    the step, the metrics and the model after `every` so many steps; if it returns True,
    the training ends there. `vocabulary` is a `Vocabulary`, a sentencepiece model, a
    tokenizer of Hugging Face's or a file of one; unless given, one is learned.
    """
    config, adopted = checked_config(recipe, out, resume), None
    if vocabulary is not None:
        config, adopted = with_vocabulary(config, vocabulary, init)
    shown = Progress(progress, example)
    data, pair = training_texts(pairs, valid, pair, columns, config.seed, shown)
    with TemporaryDirectory() as shelf:
        folder = Path(shelf, "run") if out is None else Path(out)
        how: Any = {"tensorboard": tensorboard, "compile": compile, "device": device}
        how |= {"progress": shown, "callback": callback, "every": every}
        how |= {"init": deferred_initial(init, config, shown), "vocabulary": adopted}
        result = train_model(config, data, pair, folder, resume, **how)
        report_interruption(result, shown)
        return Translator.load(folder, device=device)


# book/3-workshop/13-training-api.ipynb, cell texts
def pairs_from(
    text: SomePairs | str | Path, columns: str | None, pair: str | None, shown: Progress
) -> Pairs:
    """Pairs of a file, or in memory; says which side is the source."""
    if isinstance(text, str | Path):
        pairs = read_pairs(text, columns=columns, pair=pair)
    else:
        pairs = pairs_of(text, columns, pair)
    shown.say(announce(pairs))
    return pairs


def training_texts(
    pairs: SomePairs | str | Path,
    valid: SomePairs | str | Path | None,
    pair: str | None,
    columns: str | None,
    seed: int,
    shown: Progress,
) -> tuple[str | tuple[Pairs, Pairs], str | None]:
    """What `train_model` learns from, and its languages, so far as they are known."""
    validated_on = None
    if valid is not None:
        validated_on = pairs_from(valid, columns, pair, shown)
    name = str(pairs) if isinstance(pairs, str | Path) else ""
    if name and not Path(name).is_file() and not name.startswith(HUB):
        pair = pair or "en-de"
        if validated_on is None:
            return name, pair
        return (load_pairs(name, pair, "train"), validated_on), pair
    trained_on = pairs_from(pairs, columns, pair, shown)
    pair = pair or trained_on.languages
    if validated_on is None:
        trained_on, validated_on = hold_out(trained_on, seed)
        shown.say(
            f"{len(validated_on):,} pairs are held out, {len(trained_on):,} are"
            " trained on; valid=… changes that"
        )
    return (trained_on, validated_on), pair


# book/3-workshop/13-training-api.ipynb, cell checked
def checked_config(recipe: Any, out: Path | str | None, resume: bool) -> TrainingConfig:
    """The recipe, or the one of that name; an `InputError` if none, or no folder."""
    config = named_recipe(recipe) if isinstance(recipe, str) else recipe
    if not isinstance(config, TrainingConfig):
        raise InputError(
            "recipe: give a name, or what aiayn.recipe makes,"
            f" not a {type(recipe).__name__}"
        )
    if out == "" or (out is None and resume):
        raise InputError(
            "out: name the folder of the run" + " that is to go on" * resume
        )
    return config


def with_vocabulary(
    config: TrainingConfig, given: Any, init: Start | None
) -> tuple[TrainingConfig, Vocabulary]:
    """A recipe for a vocabulary that is there, and the vocabulary."""
    if init is not None:
        raise InputError("vocabulary: init has one already; leave one of the two out")
    vocabulary = adopt_vocabulary(given)
    shape = replace(config.model, vocabulary_size=len(vocabulary))
    kind = vocabulary_config(vocabulary)
    return replace(config, model=shape, vocabulary=kind), vocabulary


def report_interruption(result: TrainingResult, shown: Progress) -> None:
    """Say so if a run was stopped before its end."""
    if not result.ended:
        advice = "with resume=True, a run that has a folder goes on"
        message = f"interrupted after step {result.step:,}; {advice}"
        shown.say(message)
        if not shown.shown:
            warnings.warn(message, stacklevel=3)


# book/3-workshop/13-training-api.ipynb, cell save
def save(
    model: EncoderDecoder,
    folder: Path | str,
    vocabulary: Vocabulary | None = None,
    overwrite: bool = False,
) -> None:
    """Write a model to a new folder, or over another; an `InputError` if it cannot be.

    As it cannot if another model would come back.
    """
    save_checkpoint(folder, model, vocabulary, overwrite=overwrite)


def load(
    folder: Path | str, device: torch.device | str | None = None
) -> EncoderDecoder:
    """The model that `save`, a `Translator` or a run left; on a GPU if there is one."""
    run, chosen = TrainedRun.read(folder), find_device(device)
    return load_model(run.checkpoints, run.description).to(chosen)
