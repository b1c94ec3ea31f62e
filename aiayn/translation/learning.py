"""Your own text (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-3-your-own-text.ipynb
"""

__all__ = [
    "SomePairs",
    "Start",
    "pairs_of",
    "hold_out",
    "example",
    "initial",
    "train",
    "texts",
    "save",
    "load",
]


# book/11-3-your-own-text.ipynb, cell imports
import random
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from aiayn.data.corpora import Pairs, load_pairs
from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.fast_paths import find_device
from aiayn.model.base import EncoderDecoder
from aiayn.training.checkpoint import load_model, save_checkpoint
from aiayn.training.loop import Initial, train_model
from aiayn.training.optimizer import learning_rate
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig
from aiayn.training.recipes import recipe as named_recipe
from aiayn.training.trained_run import TrainedRun
from aiayn.translation.search import SearchConfig
from aiayn.translation.translator import Translator

SomePairs = Pairs | Iterable[tuple[str, str]]
Start = Path | str | Translator | EncoderDecoder | tuple[EncoderDecoder, Vocabulary]


# book/11-3-your-own-text.ipynb, cell pairs-of
def pairs_of(text: SomePairs) -> Pairs:
    """Sentences with their translations, as `Pairs`; an `InputError` names the first that is none."""
    if isinstance(text, Pairs):
        return text
    rows = list(text)
    for number, row in enumerate(rows, start=1):
        if isinstance(row, str) or len(row) != 2 or not all(isinstance(side, str) for side in row):
            raise InputError(f"pair {number} is {row!r:.60}: give (sentence, translation)")
    return Pairs([source for source, _ in rows], [target for _, target in rows])


def hold_out(pairs: Pairs, seed: int) -> tuple[Pairs, Pairs]:
    """Pairs to learn from, and a twentieth of them, at most 1,000, to validate on; no source is in both."""
    sources = sorted(set(pairs.source))
    if len(sources) < 2:
        raise InputError(f"{pairs.source_name}: too few sentences to hold one out; give valid=…")
    number = min(1000, max(1, len(sources) // 20))
    chosen = set(random.Random(seed).sample(sources, number))

    def part(held: bool) -> Pairs:
        rows = [k for k, source in enumerate(pairs.source) if (source in chosen) == held]
        which = " (held out)" if held else " (without those held out)"
        sides = [pairs.source[k] for k in rows], [pairs.target[k] for k in rows]
        return Pairs(*sides, pairs.source_name + which, pairs.target_name + which)

    return part(held=False), part(held=True)


# book/11-3-your-own-text.ipynb, cell example
def example(model: EncoderDecoder, vocabulary: Vocabulary, source: torch.Tensor) -> str:
    """A sentence, given as tokens, and what the model makes of it so far."""
    (text,) = vocabulary.decode([source.tolist()])
    made = Translator(model, vocabulary, SearchConfig(beam=1))(text)
    return " → ".join(textwrap.shorten(side, 72, placeholder=" …") for side in (text, made))


def initial(init: Start, config: TrainingConfig) -> tuple[Initial, str]:
    """The model that a training begins with, and how its learning rate will go on, in words."""
    vocabulary: Vocabulary | None
    steps = 0
    if isinstance(init, str | Path):
        run = TrainedRun.read(init)
        model, vocabulary = run.load("cpu")
        name, steps = str(init), run.description.steps
    elif isinstance(init, Translator):
        model, vocabulary, name, steps = init.model, init.vocabulary, "a Translator", init.steps
    else:
        model, vocabulary = init if isinstance(init, tuple) else (init, None)
        name = "a model in memory"
    start = Initial(model, vocabulary, name, steps)
    config = start.adapt(config)
    before, width = config.steps_before, config.model.d_model
    rate = learning_rate(before + 1, width, config.warmup, config.rate_factor)
    way = f"falls on from {rate:.1e}" if before >= config.warmup else f"rises from {rate:.1e}"
    said = f"begins with {name}, trained for {before:,} steps: the learning rate {way}; Adam begins anew"
    return start, said


# book/11-3-your-own-text.ipynb, cell train
def train(
    recipe: TrainingConfig | str,
    pairs: SomePairs | str | Path,
    valid: SomePairs | None = None,
    out: Path | str | None = None,
    init: Start | None = None,
    device: torch.device | str | None = None,
    on_log: Callable[[dict[str, float]], Any] | None = None,
    *,
    pair: str | None = None,
    progress: bool = True,
    **options: bool,
) -> Translator:
    """Train a model to translate (section 5).

    Parameters
    ----------
    recipe, pairs, valid
        How; pairs, or the name of a corpus or folder; what to validate on: unless given, the corpus's own
        `val`, or a twentieth of the pairs, which is held out.
    out, init
        A new folder for the run, a temporary one unless given; what to begin with: a run's folder, a
        `Translator`, a model, or a model with its vocabulary. Its shape and vocabulary are kept.
    device, on_log, progress
        Where, a GPU if there is one; is called with each line of the metrics; whether a bar is shown.
    pair : str
        Languages, source first: of a corpus en-de unless given.
    **options
        `drop_too_long`, `resume`, `tensorboard`, `compile`: as for `aiayn.training.loop.train_model`.
    """
    config = named_recipe(recipe) if isinstance(recipe, str) else recipe
    if out is None and options.get("resume"):
        raise InputError("resume: give out=…, the folder of the run that is to go on")
    shown = Progress(progress, on_log, example)
    start, said = (None, "") if init is None else initial(init, config)
    data, pair = texts(pairs, valid, pair, config.seed, shown)
    if said:
        shown.say(said)
    with TemporaryDirectory() as shelf:
        folder = Path(shelf, "run") if out is None else Path(out)
        train_model(config, data, pair, folder, init=start, device=device, progress=shown, **options)
        return Translator.load(folder, device=device)


# book/11-3-your-own-text.ipynb, cell texts
def texts(
    pairs: SomePairs | str | Path, valid: SomePairs | None, pair: str | None, seed: int, shown: Progress
) -> tuple[str | tuple[Pairs, Pairs], str | None]:
    """What `train_model` is to learn from, and its languages, so far as they are known."""
    if isinstance(pairs, str | Path):
        name, pair = str(pairs), pair or "en-de"
        return (name if valid is None else (load_pairs(name, pair, "train"), pairs_of(valid))), pair
    if valid is not None:
        return (pairs_of(pairs), pairs_of(valid)), pair
    kept, held = hold_out(pairs_of(pairs), seed)
    shown.say(f"{len(held):,} pairs are held out, {len(kept):,} are trained on; valid=… changes that")
    return (kept, held), pair


# book/11-3-your-own-text.ipynb, cell save
def save(model: EncoderDecoder, folder: Path | str, vocabulary: Vocabulary | None = None) -> None:
    """Write a model to a new folder; an `InputError` says if another one would come back."""
    save_checkpoint(folder, model, vocabulary, {})


def load(folder: Path | str, device: torch.device | str | None = None) -> EncoderDecoder:
    """The model that `save` or `Translator.save` wrote, or a run has left; on a GPU if there is one."""
    run, where = TrainedRun.read(folder), find_device(device)
    return load_model(run.checkpoints, run.description).to(where)
