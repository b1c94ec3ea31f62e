"""Train the laboratory's two models for the package: python tools/models.py [--check]

They are written to aiayn/laboratory/trained/, with weights of 16 bits and a checksum of
what they belong to. With --check nothing is written: they are trained anew, in an empty
cache, and have to score what those in the package do, within a point.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from aiayn.data import Vocabulary, load_pairs
from aiayn.fast_paths import keep_heap
from aiayn.laboratory_model import MODEL, cached_model, fingerprint, shipped_model
from aiayn.model.base import EncoderDecoder
from aiayn.parsing.parser import PARSING_SEARCH
from aiayn.training import recipe
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.description import kind_of
from aiayn.translation import SearchConfig, Translator
from aiayn.translation.bleu_scores import bleu

FOLDER = Path(__file__).resolve().parents[1] / "aiayn" / "laboratory" / "trained"
RECIPES = {"en-de": recipe("laboratory"), "en-trees": recipe("parser")}


def score(model: EncoderDecoder, vocabulary: Vocabulary, pair: str) -> float:
    """BLEU on 300 pairs of `test`; brackets of trees are words."""
    text = load_pairs("laboratory", pair, "test")
    how = PARSING_SEARCH if kind_of(pair) == "parsing" else SearchConfig()
    made = Translator(model, vocabulary, how)(text.source[:300])
    return bleu(made, text.target[:300])[0]


def write(pair: str) -> None:
    """Train the model of a pair, or take it from the cache, and put it in its place."""
    config = RECIPES[pair]
    model, vocabulary = cached_model(config, pair)
    shutil.rmtree(FOLDER / pair, ignore_errors=True)
    said = {"pair": pair, "fingerprint": fingerprint(config, MODEL)}
    save_checkpoint(FOLDER / pair, model.half(), vocabulary, said)


def check(pair: str) -> None:
    """Train the model of a pair anew, and exit unless the package's is as good."""
    config = RECIPES[pair]
    shipped = shipped_model(config, pair)
    if shipped is None:
        sys.exit(f"{pair}: the package's model is of other code; run make models")
    old, new = score(*shipped, pair), score(*cached_model(config, pair), pair)
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
        for pair in RECIPES:
            check(pair) if checking else write(pair)


if __name__ == "__main__":
    main()
