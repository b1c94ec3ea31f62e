"""Group real sentences into the paper's batches, count their tokens, and write
book/runs/batching.json.

python bench/batching.py

Multi30k English-German, all 29,000 pairs of training; and the lengths of WMT's
newstest2013 and newstest2014, drawn 200,000 times, since the training text itself is
gigabytes. Every batch of an epoch is counted, with its padding and without, in one
piece and in the eight that eight GPUs would share.
"""

from collections import Counter
from typing import Any

import numpy as np
import records

from aiayn.data import Batches, Pairs, encode_pairs, load_pairs, train_vocabulary
from aiayn.data.batching import lengths_of
from aiayn.data.vocabulary import PAD_ID

TOKENS, DRAWN = 25_000, 200_000


def counted(pairs: Pairs, size: int, drawn: int | None = None) -> dict[str, Any]:
    """Means over the batches of an epoch, of either side."""
    vocabulary = train_vocabulary([*pairs.source, *pairs.target], size)
    examples = encode_pairs(vocabulary, pairs, max_length=1000)
    lengths = lengths_of(examples)
    found: dict[str, Any] = {"pairs": len(pairs), "vocabulary": size}
    found |= {"pieces_a_sentence": [round(float(x), 1) for x in lengths.mean(axis=0)]}
    if drawn:
        chosen = np.random.default_rng(1).integers(len(examples), size=drawn)
        examples, lengths = [examples[i] for i in chosen.tolist()], lengths[chosen]
        found["drawn"] = drawn
    for pieces in (1, 8):
        batches = Batches(examples, lengths, TOKENS, seed=1, micro_batches=pieces)
        seen: Counter[int] = Counter()
        words, places = [], []
        for step in range(1, batches.steps_per_epoch + 1):
            work = batches[step]
            seen.update(work.indices.tolist())
            sides = [(batch.source, batch.labels) for batch in work.micro_batches]
            words.append(
                [sum(int((s[k] != PAD_ID).sum()) for s in sides) for k in (0, 1)]
            )
            places.append([sum(s[k].numel() for s in sides) for k in (0, 1)])
        found[f"in {pieces}"] = {
            "batches": len(words),
            "each_pair_once": seen == Counter(range(len(examples))),
            "most_places": int(np.max(places)),
            "mean_tokens": np.mean(words, axis=0).round().astype(int).tolist(),
            "mean_places": np.mean(places, axis=0).round().astype(int).tolist(),
            "least_tokens": np.min(words, axis=0).tolist(),
        }
    return found


def main() -> None:
    """Write the record, and print it."""
    tests = [
        load_pairs("wmt14", "en-de", split)
        for split in ("newstest2013", "newstest2014")
    ]
    english = [line for pairs in tests for line in pairs.source]
    news = Pairs(english, [line for pairs in tests for line in pairs.target])
    findings = {
        "tokens": TOKENS,
        "multi30k": counted(load_pairs("multi30k", "en-de", "train"), 8000),
        "newstest": counted(news, 16_000, DRAWN),
    }
    records.write("batching", findings)


if __name__ == "__main__":
    main()
