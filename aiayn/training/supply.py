"""Loads the batches of coming steps while the current one is computed.

From "Many workers" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/11-7-many-workers.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-7-many-workers.ipynb, cell supply-imports
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import torch

from aiayn.data.batching import Batch, Batches, GlobalBatch, group_by_length, make_batch
from aiayn.data.encoded import Encoded
from aiayn.data.sampling import BPEDropout, SampledBatches
from aiayn.training.preparation import Corpus
from aiayn.training.recipes import TrainingConfig
from aiayn.training.workers import Workers


# book/11-7-many-workers.ipynb, cell loop-batches
def training_batches(
    corpus: Corpus, config: TrainingConfig, workers: Workers
) -> Batches:
    """The batches of all steps, of which each worker has its share."""
    its, on_gpu = config.batches, workers.device.type == "cuda"
    make: Callable[..., Batches] = Batches
    if its.bpe_dropout or its.bidirectional:
        dropout = BPEDropout(corpus.vocabulary, its.bpe_dropout)
        make = partial(
            SampledBatches, dropout, config.longest, bidirectional=its.bidirectional
        )
    return make(
        corpus.train,
        corpus.train.lengths,
        its.tokens,
        config.seed,
        micro_batches=its.pieces or workers.world_size,
        rank=workers.rank,
        world_size=workers.world_size,
        multiple=8 if on_gpu else 1,  # tensor cores want widths of eight
    )


def validation_batches(
    examples: Encoded, tokens: int, device: torch.device
) -> list[Batch]:
    """All examples on the device, in batches of so many tokens a side, short first."""
    groups = group_by_length(examples.lengths, tokens)
    return [
        make_batch([examples[i] for i in group.tolist()]).to(device) for group in groups
    ]


# book/11-7-many-workers.ipynb, cell upcoming
def upcoming(
    batches: Batches, first: int, last: int, device: torch.device
) -> Iterator[tuple[int, GlobalBatch]]:
    """Batches of steps on the device, each made and copied while the last is used."""

    def ready(step: int) -> GlobalBatch:
        work = batches[step]
        moved = [batch.to(device) for batch in work.micro_batches]
        return replace(work, micro_batches=moved)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ready, first)
        for step in range(first, last + 1):
            work, waiting = waiting.result(), pool.submit(ready, min(step + 1, last))
            yield step, work
