# Made by `make export` from book/1-paper/5-1-data-and-batching.ipynb
"""Batches of sentences of similar length, the same for any number of workers."""

# book/1-paper/5-1-data-and-batching.ipynb, cell batch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int, Integer
from torch import Tensor

from aiayn.data.corpora import Pairs
from aiayn.data.vocabulary import BOS_ID, PAD_ID, Vocabulary
from aiayn.errors import InputError


@dataclass(frozen=True)
class Batch:
    """Pairs of similar length, padded to one length on either side."""

    source: Int[Tensor, "batch n"]
    """What the encoder reads: the sentence with its end."""
    target: Int[Tensor, "batch m"]
    """What the decoder reads: the sentence after the start token, without its end."""
    labels: Int[Tensor, "batch m"]
    """What it has to predict: the sentence with its end."""

    @property
    def tokens(self) -> int:
        """Tokens that are not padding, source and target together."""
        return int((self.source != PAD_ID).sum() + (self.labels != PAD_ID).sum())

    def to(self, device: torch.device | str) -> "Batch":
        """The batch on another device."""
        device = torch.device(device)
        # A copy from pinned memory need not wait.
        pin = device.type == "cuda" and not self.source.is_cuda
        sides = self.source, self.target, self.labels
        pinned = (side.pin_memory() if pin else side for side in sides)
        return Batch(*(side.to(device, non_blocking=True) for side in pinned))


# book/1-paper/5-1-data-and-batching.ipynb, cell make-batch
Tokens = list[int] | np.ndarray
Example = tuple[Tokens, Tokens]


def make_batch(examples: Sequence[Example], multiple: int = 1) -> Batch:
    """Pad examples into one batch, whose widths are multiples of `multiple`."""
    labels = pad([target for _, target in examples], multiple)
    start = torch.full_like(labels[:, :1], BOS_ID)
    shifted = torch.cat([start, labels[:, :-1]], dim=1)
    target = shifted.masked_fill(labels == PAD_ID, PAD_ID)
    return Batch(pad([source for source, _ in examples], multiple), target, labels)


def pad(sequences: Sequence[Tokens], multiple: int = 1) -> Int[Tensor, "batch n"]:
    """One row for each sequence, filled up with padding."""
    width = -(-max(map(len, sequences)) // multiple) * multiple
    rows = np.full((len(sequences), width), PAD_ID, dtype=np.int64)
    for row, sequence in zip(rows, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(rows)


# book/1-paper/5-1-data-and-batching.ipynb, cell encode-pairs
def encode_pairs(
    vocabulary: Vocabulary, pairs: Pairs, max_length: int, skip_long: bool = False
) -> list[Example]:
    """Tokens of every pair, in memory; each side ends in the end-of-sentence token.

    Raises
    ------
    InputError
        If a side has more than `max_length` tokens, and such pairs are not dropped.
    """
    examples: list[Example] = []
    sides = (vocabulary.encode(list(side)) for side in (pairs.source, pairs.target))
    for number, (source, target) in enumerate(zip(*sides, strict=True), start=1):
        if max(len(source), len(target)) <= max_length:
            examples.append((source, target))
        elif not skip_long:
            raise too_long_error(pairs, number, len(source), len(target), max_length)
    if not examples:
        at_most = f"no pairs of at most max_length={max_length} tokens"
        raise InputError(f"{pairs.source_name}: {at_most}; raise it")
    return examples


def too_long_error(
    pairs: Pairs,
    line: int,
    source: int,
    target: int,
    max_length: int,
) -> InputError:
    """The complaint about a line with this many tokens on its sides."""
    at_source = source > max_length
    return InputError(
        f"{pairs.source_name if at_source else pairs.target_name}, "
        f"line {pairs.line_number(line)}: "
        f"{source if at_source else target} tokens, more than max_length={max_length}; "
        "split the sentence, or skip such pairs (skip_long)"
    )


# book/1-paper/5-1-data-and-batching.ipynb, cell order-by-length
def lengths_of(examples: Sequence[Example]) -> Int[np.ndarray, "examples 2"]:
    """Tokens of either side of every example."""
    lengths = [(len(source), len(target)) for source, target in examples]
    return np.array(lengths, dtype=int).reshape(-1, 2)


def order_by_length(
    lengths: Integer[np.ndarray, "examples 2"],
) -> Int[np.ndarray, " examples"]:
    """Examples by their longer side, then the difference, rising and falling in turn.

    So neighbours are alike across the border between two lengths, too.
    """
    source, target = lengths.T.astype(np.int32)  # unsigned numbers have no difference
    longer = np.maximum(source, target)
    turning = np.where(longer % 2, source - target, target - source)
    return np.lexsort([turning, longer])


# book/1-paper/5-1-data-and-batching.ipynb, cell group-by-length
def group_by_length(
    lengths: Integer[np.ndarray, "examples 2"],
    tokens: int,
    generator: np.random.Generator | None = None,
) -> list[np.ndarray]:
    """Which examples share a batch: neighbours in length.

    Parameters
    ----------
    lengths : array of int
        Tokens of the source and of the target of every example.
    tokens : int
        The most on either side, padding counted: the paper's 25000. An example that is
        longer is a batch of its own.
    generator : numpy.random.Generator, optional
        Shuffles pairs of equal lengths, and the order of the batches.
    """
    order = np.arange(len(lengths))
    if generator is not None:
        order = generator.permutation(len(lengths))
    order = order[order_by_length(lengths[order])]
    longer, start, groups = lengths[order].max(axis=1), 0, []
    while start < len(order):
        fits = longer[start : start + max(1, tokens // int(longer[start]))]
        places = fits * np.arange(1, len(fits) + 1)  # of a batch that ends here
        stop = start + max(1, int(np.searchsorted(places, tokens, side="right")))
        groups.append(order[start:stop])
        start = stop
    if generator is not None:
        generator.shuffle(groups)
    return groups


# book/1-paper/5-1-data-and-batching.ipynb, cell batches
class Batches:
    """The global batch of any step, by its number: 1, 2, 3 and so on.

    What a step learns from depends only on `examples`, with their `lengths` (from
    `lengths_of` or `Encoded`), on `tokens` a side, `seed` and the step. It is cut into
    `micro_batches` for `world_size` workers, of which this is number `rank`; an
    InputError says why if it cannot be. Widths are multiples of `multiple`.
    """

    def __init__(
        self,
        examples: "Examples",
        lengths: Integer[np.ndarray, "examples 2"],
        tokens: int,
        seed: int,
        micro_batches: int = 1,
        rank: int = 0,
        world_size: int = 1,
        multiple: int = 1,
    ) -> None:
        check_shares(micro_batches, world_size)
        self.examples, self.lengths = examples, lengths
        self.tokens, self.seed = tokens, seed
        self.rank, self.world_size = rank, world_size
        self.micro_batches, self.multiple = micro_batches, multiple
        self.epoch, self.groups = 0, self.draw(0)
        self.steps_per_epoch = len(self.groups)  # shuffling never changes the number

    def draw(self, epoch: int) -> list[np.ndarray]:
        """The groups of an epoch, in its order."""
        generator = np.random.default_rng([self.seed, epoch])
        return group_by_length(self.lengths, self.tokens, generator)

    def group(self, step: int) -> np.ndarray:
        """Which examples a step learns from."""
        if step < 1:
            raise InputError(f"step {step}: there is no such step, the first is 1")
        epoch, place = divmod(step - 1, self.steps_per_epoch)
        if epoch != self.epoch:
            self.epoch, self.groups = epoch, self.draw(epoch)
        return self.groups[place]

    def __getitem__(self, step: int) -> "GlobalBatch":
        group = self.group(step)
        return shard_batch(self, group, self.examples, self.lengths[group])


# book/1-paper/5-1-data-and-batching.ipynb, cell global-batch
@dataclass(frozen=True)
class GlobalBatch:
    """What all workers learn from in one step, and the share of one of them."""

    micro_batches: list[Batch]
    """This worker's share, computed one after another."""
    target_tokens: int
    """Target tokens of the whole global batch, of all workers, without padding."""
    tokens: int
    """Source and target tokens of the whole global batch, without padding."""
    positions: int
    """The same with padding."""
    indices: np.ndarray
    """Which examples they are, counted from 0."""
    lengths: Integer[np.ndarray, "examples 2"]
    """Tokens of source and target of each of them."""


def shard_batch(
    batches: Batches,
    group: np.ndarray,
    examples: "Examples",
    lengths: Integer[np.ndarray, "examples 2"],
) -> GlobalBatch:
    """A group of examples as a global batch, cut into runs of neighbours in length.

    `lengths` are those of the group, `examples` have their numbers in the corpus.
    """
    number, multiple = batches.micro_batches, batches.multiple
    own_parts = np.array_split(group, number)[batches.rank :: batches.world_size]
    micro_batches = [micro_batch(examples, part, group, multiple) for part in own_parts]
    nonempty = [part for part in np.array_split(lengths, number) if len(part)]
    positions = sum(padded_positions(part, multiple) for part in nonempty)
    target_tokens, tokens = int(lengths[:, 1].sum()), int(lengths.sum())
    return GlobalBatch(micro_batches, target_tokens, tokens, positions, group, lengths)


# book/1-paper/5-1-data-and-batching.ipynb, cell micro-batch
@runtime_checkable
class Examples(Protocol):
    """Examples by number: a list of them, or `aiayn.data.tokenized.Encoded`."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Example: ...


def micro_batch(
    examples: Examples, part: np.ndarray, group: np.ndarray, multiple: int
) -> Batch:
    """The examples of a part; of an empty one, a pair with nothing to predict."""
    chosen = part if len(part) else group[:1]
    batch = make_batch([examples[index] for index in chosen.tolist()], multiple)
    if len(part):
        return batch
    return replace(batch, labels=torch.full_like(batch.labels, PAD_ID))


def padded_positions(lengths: Integer[np.ndarray, "examples 2"], multiple: int) -> int:
    """Positions of source and target in a batch of these lengths, with padding."""
    widths = (-(-side // multiple) * multiple for side in lengths.max(axis=0).tolist())
    return len(lengths) * sum(widths)


def check_shares(micro_batches: int, world_size: int) -> None:
    """Raise an InputError if workers cannot have equal numbers of micro-batches."""
    if micro_batches % world_size:
        ways = [str(n) for n in range(1, micro_batches + 1) if micro_batches % n == 0]
        raise InputError(
            f"{world_size} workers cannot share {micro_batches} micro-batches evenly: "
            f"take {' or '.join(ways)} workers, "
            f"or a multiple of {world_size} micro-batches"
        )
