"""Train `synthetic-en-de` with several seeds; book/runs/synthetic-models.json.

python bench/synthetic_models.py [--seeds 1 2 3]

A run has BLEU on test, novel and long, chrF beside it (`test_chrf`), and the shares of
right pronouns; `spread` has each one's mean over the seeds and its standard deviation.
"""

import argparse
import os
import tempfile
import time
from statistics import mean, stdev

import records

from aiayn.device import keep_heap
from aiayn.metrics.bleu import bootstrap_scores, corpus_bleu
from aiayn.shipped import cached_model
from aiayn.synthetic import sample
from aiayn.synthetic.corpus import Pair
from aiayn.training import recipe
from aiayn.translation import Translator

PAIRS = 1000


def pronouns_right(translations: list[str], pairs: list[Pair]) -> float:
    """The share of sentences of split `pronouns` whose pronoun after weil is right."""

    def pronoun(text: str) -> str:
        words = text.lower().replace(",", "").split()
        return words[words.index("weil") + 1] if "weil" in words[:-1] else ""

    right = sum(
        pronoun(text) == pronoun(pair.target)
        for text, pair in zip(translations, pairs, strict=True)
    )
    return right / len(pairs)


def scores(translator: Translator, n: int) -> dict[str, float]:
    """BLEU on `n` pairs each of test, novel and long, and the share of right pronouns.

    `pronouns_singular` counts only those where both readings have "it", so that no
    plural gives a hint.
    """
    found = dict[str, float]()
    for split in ("test", "novel", "long"):
        pairs = sample(n, split=split)
        translations = translator([pair.source for pair in pairs])
        found[split], _ = corpus_bleu(translations, [pair.target for pair in pairs])
    pairs = sample(n, split="pronouns")
    translations = translator([pair.source for pair in pairs])
    found["pronouns"] = pronouns_right(translations, pairs)
    twos = zip(pairs[::2], pairs[1::2], strict=True)
    single = [
        pair
        for two in twos
        if all(" it " in f" {each.source.lower()}" for each in two)
        for pair in two
    ]
    translations = translator([pair.source for pair in single])
    found["pronouns_singular"] = pronouns_right(translations, single)
    return found


def chrf(translator: Translator, split: str) -> float:
    """Of as many pairs as BLEU is."""
    pairs = sample(PAIRS, split=split)
    found = bootstrap_scores(
        translator([pair.source for pair in pairs]), [pair.target for pair in pairs]
    )
    return found["chrF"].value


def run(seed: int) -> dict[str, float]:
    """Train with an empty cache, the corpus drawn too; then translate."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["AIAYN_CACHE"] = cache
        began = time.monotonic()
        translator = Translator(*cached_model(recipe("synthetic", seed=seed), "en-de"))
        minutes = (time.monotonic() - began) / 60
    found = scores(translator, PAIRS)
    found |= {
        f"{split}_chrf": chrf(translator, split) for split in ("test", "novel", "long")
    }
    return {"seed": seed, "minutes": round(minutes, 2)} | {
        name: round(each, 4) for name, each in found.items()
    }


def spread(runs: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Of each measure the mean over the seeds, and the standard deviation."""
    names = [name for name in runs[0] if name not in ("seed", "minutes")]
    values = {name: [run[name] for run in runs] for name in names}
    return {
        name: {"mean": round(mean(v), 4), "sd": round(stdev(v), 4)}
        for name, v in values.items()
    }


def main() -> None:
    """Write the record, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    keep_heap()
    runs = [run(seed) for seed in arguments.seeds]
    over_seeds = {"spread": spread(runs)} if len(runs) > 1 else {}
    records.write("synthetic-models", {"pairs": PAIRS, "runs": runs} | over_seeds)


if __name__ == "__main__":
    main()
