"""Train the models that ship with the package.

python tools/train_pretrained.py [NAME ...] [--check]

They are written to aiayn/weights/NAME: weights, and the settings of the training with a
score. Without names these are the synthetic corpus's two; `en-de`
takes 90 minutes, and goes on from runs/pretrained-en-de if that is there. With --check
nothing is written: the models are trained anew, and have to score what is on record,
within the tolerance below.
"""

import argparse
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import sacrebleu

from aiayn.data import Vocabulary, load_pairs
from aiayn.decoding import SearchConfig
from aiayn.device import keep_heap
from aiayn.metrics.bleu import corpus_bleu
from aiayn.metrics.evalb import bracket_scores
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.parsing.parser import PARSING_SEARCH, Parser, gold_trees
from aiayn.shipped import cached_model
from aiayn.training import recipe, train_model
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.checkpoint_metadata import Description, read_description
from aiayn.training.progress import Progress
from aiayn.training.trained_run import SHIPPED, TrainedRun
from aiayn.translation import Translator


@dataclass(frozen=True)
class Shipped:
    """What a model is trained with, and how its score is found again."""

    recipe: str
    data: str
    pair: str
    split: str  # whose pairs it is scored on
    pairs: int
    tolerance: float  # of the score, for a training on another machine
    every: int = 1  # the first of so many pairs counts; Tatoeba is sorted by length


MODELS = {
    "synthetic-en-de": Shipped("synthetic", "synthetic", "en-de", "test", 300, 1.0),
    "synthetic-en-trees": Shipped("parser", "synthetic", "en-trees", "test", 300, 1.0),
    "en-de": Shipped("tatoeba", "tatoeba", "en-de", "val", 200, 0.5, every=12),
}
SYNTHETIC = [name for name in MODELS if name.startswith("synthetic")]


def score(model: EncoderDecoder, vocabulary: Vocabulary, name: str) -> float:
    """BLEU on the pairs that a model is scored on; of a parser, labelled F1."""
    known = MODELS[name]
    text = load_pairs(known.data, known.pair, known.split)
    if known.pair == "en-trees":
        trees = gold_trees(text)[: known.pairs]
        parser = Parser(Translator(model, vocabulary, PARSING_SEARCH))
        return bracket_scores(trees, parser([tree.words() for tree in trees])).f1
    rows = slice(None, known.pairs * known.every, known.every)
    made = Translator(model, vocabulary, SearchConfig())(text.source[rows])
    references = list(text.target[rows])
    if known.data == "synthetic":
        return corpus_bleu(made, references)[0]
    return sacrebleu.corpus_bleu(made, [references]).score


def trained(name: str, folder: Path) -> tuple[EncoderDecoder, Vocabulary]:
    """The model of a name: from the cache, or a run in this folder that goes on."""
    known = MODELS[name]
    config = recipe(known.recipe)
    if known.data == "synthetic":
        return cached_model(config, known.pair)
    run, progress = folder / f"pretrained-{name}", Progress()
    train_model(
        config, known.data, known.pair, run, resume=run.exists(), progress=progress
    )
    return TrainedRun.read(run).load("cpu")


def ship(model: EncoderDecoder, vocabulary: Vocabulary, name: str) -> None:
    """Put a model into the package, with its settings and the score that it has there.

    The model's card, README.md, is written by hand and stays.
    """
    known, folder = MODELS[name], SHIPPED / name
    config, int8 = recipe(known.recipe), known.data != "synthetic"
    about = Description(
        config.model, config, data=known.data, pair=known.pair, step=config.steps
    )
    with tempfile.TemporaryDirectory() as scratch:
        part = Path(scratch, "part")
        save_checkpoint(part, model if int8 else model.half(), vocabulary, int8=int8)
        as_stored = TrainedRun.read(part).load("cpu")
        about = replace(about, score=round(score(*as_stored, name), 2))
        cased = "" if known.pair == "en-trees" else ", cased"
        which = f"first {known.pairs} pairs"
        if known.every > 1:
            which = f"{known.pairs} pairs, one in {known.every}"
        scored_on = f"{known.data} {known.split}, {which}{cased}"
        about = replace(about, scored_on=scored_on)
        save_checkpoint(Path(scratch, name), model, vocabulary, about, int8=int8)
        folder.mkdir(exist_ok=True)
        for path in Path(scratch, name).iterdir():
            shutil.copy(path, folder)


def check(name: str, folder: Path) -> None:
    """Train a model anew, and exit unless the package's is as good."""
    old = read_description(SHIPPED / name).score or 0.0
    new = score(*trained(name, folder), name)
    print(f"{name}: {old:.2f} in the package, {new:.2f} trained anew")
    if abs(old - new) > MODELS[name].tolerance:
        sys.exit(f"{name}: too far apart; run make pretrained MODEL={name}")


def main() -> None:
    """Write the models, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - MODELS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(MODELS)}")
    keep_heap()
    for name in arguments.names or SYNTHETIC:
        with tempfile.TemporaryDirectory() as empty:
            if arguments.check:
                os.environ["AIAYN_CACHE"] = empty
                check(name, Path(empty))
            else:
                ship(*trained(name, Path("runs")), name)


if __name__ == "__main__":
    main()
