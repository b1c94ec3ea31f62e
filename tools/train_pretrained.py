"""Train the package's two models.

python tools/train_pretrained.py [--check]

They are written to aiayn/weights/, weights of 16 bits beside the settings of
the training and the score on 300 pairs of `test`. With --check nothing is written: the
models are trained anew, in an empty cache, and have to score what is on record, within
a point.
"""

import argparse
import os
import shutil
import sys
import tempfile

from aiayn.data import Vocabulary, load_pairs
from aiayn.decoding import SearchConfig
from aiayn.device import keep_heap
from aiayn.metrics.bleu import corpus_bleu
from aiayn.metrics.evalb import bracket_scores
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.parsing.parser import PARSING_SEARCH, Parser, gold_trees
from aiayn.shipped import WEIGHTS, cached_model
from aiayn.training import recipe
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.checkpoint_metadata import Description, kind_of, read_description
from aiayn.translation import Translator

RECIPES = {"en-de": recipe("synthetic"), "en-trees": recipe("parser")}
PAIRS = 300


def score(model: EncoderDecoder, vocabulary: Vocabulary, pair: str) -> float:
    """BLEU on the first 300 pairs of `test`; of a parser, labelled F1."""
    text = load_pairs("synthetic", pair, "test")
    if kind_of(pair) == "parsing":
        trees = gold_trees(text)[:PAIRS]
        parser = Parser(Translator(model, vocabulary, PARSING_SEARCH))
        return bracket_scores(trees, parser([tree.words() for tree in trees])).f1
    made = Translator(model, vocabulary, SearchConfig())(text.source[:PAIRS])
    return corpus_bleu(made, text.target[:PAIRS])[0]


def ship(model: EncoderDecoder, vocabulary: Vocabulary, pair: str) -> None:
    """Put a model into the package, with its settings and its score in 16 bits."""
    scored = round(score(model.half().float(), vocabulary, pair), 2)
    config = RECIPES[pair]
    known = Description(config.model, config, data="synthetic", pair=pair, score=scored)
    shutil.rmtree(WEIGHTS / f"synthetic-{pair}", ignore_errors=True)
    save_checkpoint(WEIGHTS / f"synthetic-{pair}", model.half(), vocabulary, known)


def check(pair: str) -> None:
    """Train the model of a pair anew, and exit unless the package's is as good."""
    old = read_description(WEIGHTS / f"synthetic-{pair}").score or 0.0
    new = score(*cached_model(RECIPES[pair], pair), pair)
    print(f"{pair}: {old:.2f} in the package, {new:.2f} trained anew")
    if abs(old - new) > 1:
        sys.exit(f"{pair}: more than a point apart; run make pretrained")


def main() -> None:
    """Write the models, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    checking = parser.parse_args().check
    keep_heap()
    with tempfile.TemporaryDirectory() as empty:
        if checking:
            os.environ["AIAYN_CACHE"] = empty
        for pair, config in RECIPES.items():
            check(pair) if checking else ship(*cached_model(config, pair), pair)


if __name__ == "__main__":
    main()
