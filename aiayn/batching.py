"""Training data and batching (paper, section 5.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-1-data-and-batching.ipynb
"""

__all__ = [
    "Example",
    "encode_pairs",
    "Batch",
    "make_batch",
    "pad",
    "group_by_length",
    "endless_batches",
]


# book/05-1-data-and-batching.ipynb, cell batching-imports
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from aiayn.data import InputError, Pairs
from aiayn.vocabulary import BOS_ID, PAD_ID, Vocabulary

# book/05-1-data-and-batching.ipynb, cell encode-pairs
Example = tuple[list[int], list[int]]


def encode_pairs(
    vocabulary: Vocabulary, pairs: Pairs, max_length: int, drop_too_long: bool = False
) -> list[Example]:
    """Tokens of every pair, each side ending in the end-of-sentence token.

    Raises
    ------
    InputError
        If a side has more than `max_length` tokens, unless such pairs are to be dropped.
    """
    examples = []
    encoded = zip(vocabulary.encode(pairs.source), vocabulary.encode(pairs.target), strict=True)
    for number, (source, target) in enumerate(encoded, start=1):
        if max(len(source), len(target)) <= max_length:
            examples.append((source, target))
        elif not drop_too_long:
            at_source = len(source) > max_length
            name = pairs.source_name if at_source else pairs.target_name
            raise InputError(
                f"{name}, line {number}: {len(source if at_source else target)} tokens, more than "
                f"max_length={max_length}; split the sentence, or drop such pairs with --drop-too-long"
            )
    if not examples:
        raise InputError(f"{pairs.source_name}: no pairs of at most max_length={max_length} tokens; raise it")
    return examples


# book/05-1-data-and-batching.ipynb, cell batch
@dataclass(frozen=True)
class Batch:
    """Pairs of similar length, padded to one length on either side."""

    source: Int[Tensor, "batch n"]
    target: Int[Tensor, "batch m"]
    """What the decoder reads: the sentence behind the start token, without its end."""
    labels: Int[Tensor, "batch m"]
    """What it has to say: the sentence with its end."""

    @property
    def tokens(self) -> int:
        """Tokens that are not padding, source and target together."""
        return int((self.source != PAD_ID).sum() + (self.labels != PAD_ID).sum())

    def to(self, device: torch.device) -> "Batch":
        """The same batch elsewhere."""
        return Batch(self.source.to(device), self.target.to(device), self.labels.to(device))


# book/05-1-data-and-batching.ipynb, cell make-batch
def make_batch(examples: list[Example]) -> Batch:
    """Pad examples into one batch."""
    labels = pad([target for _, target in examples])
    start = torch.full_like(labels[:, :1], BOS_ID)
    target = torch.cat([start, labels[:, :-1]], dim=1).masked_fill(labels == PAD_ID, PAD_ID)
    return Batch(pad([source for source, _ in examples]), target, labels)


def pad(sequences: list[list[int]]) -> Int[Tensor, "batch n"]:
    """One row for each sequence, filled up with padding."""
    tensors = [torch.tensor(sequence) for sequence in sequences]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PAD_ID)


# book/05-1-data-and-batching.ipynb, cell group-by-length
def group_by_length(
    examples: list[Example], tokens: int, generator: np.random.Generator | None = None
) -> list[list[int]]:
    """Which examples share a batch: neighbours in length, at most `tokens` on either side, padding counted.

    An example that is longer than that is a batch of its own.

    Parameters
    ----------
    examples : list
        Token sequences, source and target.
    tokens : int
        The paper's 25000, for source and target each.
    generator : numpy.random.Generator, optional
        Draws anew who is whose neighbour among equals, and the order of the batches.
    """
    source, target = shapes = np.array([(len(source), len(target)) for source, target in examples]).T
    tie = np.arange(len(examples)) if generator is None else generator.permutation(len(examples))
    groups: list[list[int]] = [[]]
    longest = np.zeros(2, dtype=int)
    for index in np.lexsort([tie, source - target, np.maximum(source, target)]):
        grown = np.maximum(longest, shapes[:, index])
        if groups[-1] and grown.max() * (len(groups[-1]) + 1) > tokens:
            groups.append([])
            grown = shapes[:, index]
        groups[-1].append(int(index))
        longest = grown
    if generator is not None:
        generator.shuffle(groups)
    return groups


# book/05-1-data-and-batching.ipynb, cell endless-batches
def endless_batches(examples: list[Example], tokens: int, seed: int) -> Iterator[Batch]:
    """Batches for ever; each epoch holds every example once, in an order that `seed` and the epoch fix."""
    epoch = 0
    while True:
        for group in group_by_length(examples, tokens, np.random.default_rng([seed, epoch])):
            yield make_batch([examples[index] for index in group])
        epoch += 1
