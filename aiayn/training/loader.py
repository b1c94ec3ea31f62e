# Made by `make export` from book/3-workshop/05-distributed-training.ipynb
"""Loads the batches of coming steps while the current one is computed."""

# book/3-workshop/05-distributed-training.ipynb, cell supply-imports
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import torch

from aiayn.data.batching import Batch, Batches, GlobalBatch, group_by_length, make_batch
from aiayn.data.bpe_dropout import BPEDropout, SampledBatches
from aiayn.data.tokenized import Encoded
from aiayn.training.distributed import Workers
from aiayn.training.preprocess import Corpus
from aiayn.training.recipes import TrainingConfig


# book/3-workshop/05-distributed-training.ipynb, cell loop-batches
def training_batches(
    corpus: Corpus, config: TrainingConfig, workers: Workers
) -> Batches:
    """The batches of all steps, of which each worker has its share."""
    batch_config, on_gpu = config.batches, workers.device.type == "cuda"
    make: Callable[..., Batches] = Batches
    if batch_config.bpe_dropout or batch_config.bidirectional:
        dropout = BPEDropout(corpus.vocabulary, batch_config.bpe_dropout)
        make = partial(
            SampledBatches,
            dropout,
            config.longest,
            bidirectional=batch_config.bidirectional,
        )
    return make(
        corpus.train,
        corpus.train.lengths,
        batch_config.tokens,
        config.seed,
        micro_batches=batch_config.micro_batches or workers.world_size,
        rank=workers.rank,
        world_size=workers.world_size,
        multiple=8 if on_gpu else 1,  # tensor cores want widths of eight
    )


def validation_batches(
    examples: Encoded, tokens: int, device: torch.device
) -> list[Batch]:
    """All examples on the device, in batches of so many tokens a side, short first.

    Of 4,096 at most: more would only take memory.
    """
    groups = group_by_length(examples.lengths, min(tokens, 4096))
    return [
        make_batch([examples[i] for i in group.tolist()]).to(device) for group in groups
    ]


# book/3-workshop/05-distributed-training.ipynb, cell upcoming
def prefetch(
    batches: Batches, first: int, last: int, device: torch.device
) -> Iterator[tuple[int, GlobalBatch]]:
    """Batches of steps on the device, each made and copied while the last is used."""

    def load(step: int) -> GlobalBatch:
        global_batch = batches[step]
        micro_batches = [batch.to(device) for batch in global_batch.micro_batches]
        return replace(global_batch, micro_batches=micro_batches)

    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(load, first)
        for step in range(first, last + 1):
            global_batch = pending.result()
            pending = pool.submit(load, min(step + 1, last))
            yield step, global_batch
