"""Train the laboratory's two models for the package: python tools/models.py [--check]

They are written to aiayn/laboratory/trained/, weights of 16 bits beside the settings of
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
from aiayn.fast_paths import keep_heap
from aiayn.laboratory_model import SHIPPED, cached_model
from aiayn.model.base import EncoderDecoder
from aiayn.parsing.evalb import evalb
from aiayn.parsing.parser import PARSING_SEARCH, Parser, gold_trees
from aiayn.training import recipe
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.description import Description, kind_of, read_description
from aiayn.translation import SearchConfig, Translator
from aiayn.translation.bleu_scores import bleu

RECIPES = {"en-de": recipe("laboratory"), "en-trees": recipe("parser")}
PAIRS = 300


def score(model: EncoderDecoder, vocabulary: Vocabulary, pair: str) -> float:
    """BLEU on the first 300 pairs of `test`; of a parser, labelled F1."""
    text = load_pairs("laboratory", pair, "test")
    if kind_of(pair) == "parsing":
        trees = gold_trees(text)[:PAIRS]
        parser = Parser(Translator(model, vocabulary, PARSING_SEARCH))
        return evalb(trees, parser([tree.words() for tree in trees])).f1
    made = Translator(model, vocabulary, SearchConfig())(text.source[:PAIRS])
    return bleu(made, text.target[:PAIRS])[0]


def ship(model: EncoderDecoder, vocabulary: Vocabulary, pair: str) -> None:
    """Put a model into the package, with its settings and its score in 16 bits."""
    scored = round(score(model.half().float(), vocabulary, pair), 2)
    config = RECIPES[pair]
    known = Description(
        config.model, config, data="laboratory", pair=pair, score=scored
    )
    shutil.rmtree(SHIPPED / pair, ignore_errors=True)
    save_checkpoint(SHIPPED / pair, model.half(), vocabulary, known)


def check(pair: str) -> None:
    """Train the model of a pair anew, and exit unless the package's is as good."""
    old = read_description(SHIPPED / pair).score or 0.0
    new = score(*cached_model(RECIPES[pair], pair), pair)
    print(f"{pair}: {old:.2f} in the package, {new:.2f} trained anew")
    if abs(old - new) > 1:
        sys.exit(f"{pair}: more than a point apart; run make models")


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
