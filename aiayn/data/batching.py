"""Training data and batching (paper, section 5.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-1-data-and-batching.ipynb
"""

__all__ = [
    "Tokens",
    "Example",
    "encode_pairs",
    "too_long",
    "Batch",
    "make_batch",
    "pad",
    "lengths_of",
    "group_by_length",
    "Examples",
    "GlobalBatch",
    "check_shares",
    "Batches",
    "micro_batch",
    "padded_positions",
]


# book/05-1-data-and-batching.ipynb, cell batching-imports
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

# book/05-1-data-and-batching.ipynb, cell encode-pairs
Tokens = list[int] | np.ndarray
Example = tuple[Tokens, Tokens]


def encode_pairs(
    vocabulary: Vocabulary, pairs: Pairs, max_length: int, drop_too_long: bool = False
) -> list[Example]:
    """Tokens of every pair, each side ending in the end-of-sentence token, all in memory.

    Raises
    ------
    InputError
        If a side has more than `max_length` tokens, unless such pairs are to be dropped.
    """
    examples: list[Example] = []
    encoded = zip(vocabulary.encode(list(pairs.source)), vocabulary.encode(list(pairs.target)), strict=True)
    for number, (source, target) in enumerate(encoded, start=1):
        if max(len(source), len(target)) <= max_length:
            examples.append((source, target))
        elif not drop_too_long:
            raise too_long(pairs, number, len(source), len(target), max_length)
    if not examples:
        raise InputError(f"{pairs.source_name}: no pairs of at most max_length={max_length} tokens; raise it")
    return examples


def too_long(pairs: Pairs, line: int, source: int, target: int, max_length: int) -> InputError:
    """The complaint about a line with so many tokens on its sides."""
    at_source = source > max_length
    return InputError(
        f"{pairs.source_name if at_source else pairs.target_name}, line {line}: "
        f"{source if at_source else target} tokens, more than max_length={max_length}; "
        "split the sentence, or drop such pairs with --drop-too-long"
    )


# book/05-1-data-and-batching.ipynb, cell batch
@dataclass(frozen=True)
class Batch:
    """Pairs of similar length, padded to one length on either side."""

    source: Int[Tensor, "batch n"]
    """What the encoder reads: the sentence with its end."""
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
        pin = device.type == "cuda" and not self.source.is_cuda  # a copy from there need not wait
        sides = (s.pin_memory() if pin else s for s in (self.source, self.target, self.labels))
        return Batch(*(side.to(device, non_blocking=True) for side in sides))


# book/05-1-data-and-batching.ipynb, cell make-batch
def make_batch(examples: Sequence[Example], multiple: int = 1) -> Batch:
    """Pad examples into one batch; its widths are multiples of `multiple`, which some GPUs like to be 8."""
    labels = pad([target for _, target in examples], multiple)
    start = torch.full_like(labels[:, :1], BOS_ID)
    target = torch.cat([start, labels[:, :-1]], dim=1).masked_fill(labels == PAD_ID, PAD_ID)
    return Batch(pad([source for source, _ in examples], multiple), target, labels)


def pad(sequences: Sequence[Tokens], multiple: int = 1) -> Int[Tensor, "batch n"]:
    """One row for each sequence, filled up with padding."""
    width = -(-max(map(len, sequences)) // multiple) * multiple
    rows = np.full((len(sequences), width), PAD_ID, dtype=np.int64)
    for row, sequence in zip(rows, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(rows)


# book/05-1-data-and-batching.ipynb, cell group-by-length
def lengths_of(examples: Sequence[Example]) -> Int[np.ndarray, "examples 2"]:
    """Tokens of either side of every example."""
    return np.array([(len(source), len(target)) for source, target in examples], dtype=int).reshape(-1, 2)


def group_by_length(
    lengths: Integer[np.ndarray, "examples 2"], tokens: int, generator: np.random.Generator | None = None
) -> list[np.ndarray]:
    """Which examples share a batch: neighbours in length, at most `tokens` on either side, padding counted.

    An example that is longer than that is a batch of its own. In a batch, too, neighbours are alike.

    Parameters
    ----------
    lengths : array of int
        Tokens of the source and of the target of every example.
    tokens : int
        The paper's 25000, for source and target each.
    generator : numpy.random.Generator, optional
        Draws anew who is whose neighbour among equals, and the order of the batches.
    """
    source, target = lengths.T.astype(np.int32)  # a difference of unsigned numbers would be none
    longer = np.maximum(source, target)
    turning = np.where(longer % 2, source - target, target - source)  # up one length, down the next
    order = np.arange(len(longer)) if generator is None else generator.permutation(len(longer))
    order = order[np.lexsort([turning[order], longer[order]])]
    longer, start, groups = longer[order], 0, []
    while start < len(order):
        fits = longer[start : start + max(1, tokens // int(longer[start]))]
        places = fits * np.arange(1, len(fits) + 1)  # of a batch that ends here: it grows with each example
        stop = start + max(1, int(np.searchsorted(places, tokens, side="right")))
        groups.append(order[start:stop])
        start = stop
    if generator is not None:
        generator.shuffle(groups)
    return groups


# book/05-1-data-and-batching.ipynb, cell global-batch
@runtime_checkable
class Examples(Protocol):
    """Examples by number: a list of them, or `aiayn.data.encoded.Encoded`."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Example: ...


@dataclass(frozen=True)
class GlobalBatch:
    """What all workers together learn from in one step, and the share of one of them."""

    micro_batches: list[Batch]
    """This worker's share, to be computed one after another."""
    words: int
    """Target tokens of the whole global batch, over all workers, padding not counted."""
    tokens: int
    """Source and target tokens of the whole global batch, padding not counted."""
    positions: int
    """The same with padding."""
    numbers: np.ndarray
    """Which examples they are, counted from 0."""


def check_shares(micro_batches: int, world_size: int) -> None:
    """Raise an InputError if so many pieces cannot be dealt out evenly to so many workers."""
    if micro_batches % world_size:
        ways = [str(n) for n in range(1, micro_batches + 1) if micro_batches % n == 0]
        raise InputError(
            f"{world_size} workers cannot share {micro_batches} micro-batches evenly: "
            f"take {' or '.join(ways)} workers, or a multiple of {world_size} micro-batches"
        )


# book/05-1-data-and-batching.ipynb, cell batches
class Batches:
    """The global batch of any step, by its number: 1, 2, 3 and on for ever.

    `examples` have `lengths`, as `lengths_of` or `Encoded.lengths` give them. What is learned from in a step
    depends on them, on `tokens` a side, on `seed` and on the step, and on nothing else. It is cut into
    `micro_batches` pieces, which are dealt out evenly to `world_size` workers, or else an InputError says
    how many there may be; this one is number `rank`. Widths are padded to multiples of `multiple`.
    """

    def __init__(
        self,
        examples: Examples,
        lengths: Integer[np.ndarray, "examples 2"],
        tokens: int,
        seed: int,
        micro_batches: int = 1,
        rank: int = 0,
        world_size: int = 1,
        multiple: int = 1,
    ) -> None:
        check_shares(micro_batches, world_size)
        self.examples, self.lengths, self.tokens, self.seed = examples, lengths, tokens, seed
        self.rank, self.world_size = rank, world_size
        self.micro_batches, self.multiple = micro_batches, multiple
        self.epoch, self.groups = 0, self.draw(0)
        self.steps_per_epoch = len(self.groups)  # of any epoch: chance decides only who meets whom, and when

    def draw(self, epoch: int) -> list[np.ndarray]:
        """The groups of an epoch, in its order."""
        return group_by_length(self.lengths, self.tokens, np.random.default_rng([self.seed, epoch]))

    def __getitem__(self, step: int) -> GlobalBatch:
        if step < 1:
            raise InputError(f"step {step}: there is no such step, the first is 1")
        epoch, place = divmod(step - 1, self.steps_per_epoch)
        if epoch != self.epoch:
            self.epoch, self.groups = epoch, self.draw(epoch)
        group = self.groups[place]
        pieces = np.array_split(group, self.micro_batches)  # neighbours, so that they need little padding
        shares = [micro_batch(self, piece, group) for piece in pieces[self.rank :: self.world_size]]
        lengths = self.lengths[group].astype(int)
        filled = [piece for piece in pieces if len(piece)]
        positions = sum(padded_positions(self.lengths[piece], self.multiple) for piece in filled)
        return GlobalBatch(shares, int(lengths[:, 1].sum()), int(lengths.sum()), positions, group)


# book/05-1-data-and-batching.ipynb, cell micro-batch
def micro_batch(batches: Batches, piece: np.ndarray, group: np.ndarray) -> Batch:
    """The examples of a piece; in place of an empty one, an example of its group with nothing to say."""
    chosen = piece if len(piece) else group[:1]
    batch = make_batch([batches.examples[index] for index in chosen.tolist()], batches.multiple)
    return batch if len(piece) else replace(batch, labels=torch.full_like(batch.labels, PAD_ID))


def padded_positions(lengths: Integer[np.ndarray, "examples 2"], multiple: int) -> int:
    """Positions in a batch of examples so long, source and target together, padding counted."""
    return len(lengths) * sum(-(-side // multiple) * multiple for side in lengths.max(axis=0).tolist())
