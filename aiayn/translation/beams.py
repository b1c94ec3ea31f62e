"""The key-value caches of a fast decoder, shared by the beams of a sentence.

From "A fast decoder" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/11-2-a-fast-decoder.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-2-a-fast-decoder.ipynb, cell beams-imports
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from aiayn.model.attention import causal_mask


# book/11-2-a-fast-decoder.ipynb, cell stack-beams
def stack_beams(
    Q: Float[Tensor, "rows h n d_k"], batch: int
) -> Float[Tensor, "{batch} h _ d_k"]:
    """Put a sentence's beams into one row, so that what they share is not copied."""
    return Q.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2, 3)


def unstack_beams(
    heads: Float[Tensor, "batch h _ d_v"], rows: int
) -> Float[Tensor, "{rows} h n d_v"]:
    """Undo `stack_beams`: one row for each beam again."""
    return heads.unflatten(2, (rows // len(heads), -1)).transpose(1, 2).flatten(0, 1)


# book/11-2-a-fast-decoder.ipynb, cell growing-cache
class GrowingCache:
    """Keys and values with spare room at the end; a step moves nothing but its own."""

    def __init__(self) -> None:
        self.length = 0
        self.rooms: list[Tensor] = []

    def append(
        self,
        keys: Float[Tensor, "batch h n d_k"],
        values: Float[Tensor, "batch h n d_v"],
    ) -> list[Tensor]:
        """Add positions at the end and return all of them."""
        end = self.length + keys.shape[2]
        if not self.rooms:
            self.rooms = [keys.contiguous(), values.contiguous()]
        elif end > self.rooms[0].shape[2]:  # doubling the room keeps copies rare
            more = max(end, 2 * self.rooms[0].shape[2]) - self.length
            self.rooms = [F.pad(kept, (0, 0, 0, more)) for kept in self.contents()]
        for room, new in zip(self.rooms, (keys, values), strict=True):
            room[:, :, self.length : end] = new
        self.length = end
        return self.contents()

    def contents(self) -> list[Tensor]:
        """All keys and values so far."""
        return [room[:, :, : self.length] for room in self.rooms]

    def select(self, sentences: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order."""
        self.rooms = [room[sentences] for room in self.rooms]

    def pick(self, positions: Int[Tensor, "batch kept"]) -> None:
        """Keep these positions of each row, in this order."""
        self.rooms = [
            kept.take_along_dim(positions[:, None, :, None], 2)
            for kept in self.contents()
        ]
        self.length = positions.shape[1]


# book/11-2-a-fast-decoder.ipynb, cell engine-state
class EngineState:
    """What the engine carries from step to step; a sentence's beams are rows of it."""

    def __init__(
        self, memory: list[list[Tensor]], visible: Bool[Tensor, "batch 1 1 n"]
    ) -> None:
        self.memory = memory  # keys and values of each layer
        self.visible = visible  # which of them are of words
        self.target = [GrowingCache() for _ in memory]
        self.length = 0  # target positions so far, of each beam
        # None: one beam each, which sees all
        self.ancestry: Bool[Tensor, "batch beams kept"] | None = None

    def extend(self, rows: int, n: int) -> Bool[Tensor, "_ 1 _ _"] | None:
        """Make room for `n` more positions of each row, and say what each may see."""
        batch, beams = len(self.visible), rows // len(self.visible)
        self.length += n
        if self.ancestry is None and beams == 1:
            if n == 1:
                return None
            return causal_mask(n, self.length, self.visible.device)[None, None]
        kept = self.ancestry
        if kept is None:
            kept = self.visible.new_empty(batch, beams, 0)
        own = torch.block_diag(*[self.visible.new_ones(n, n).tril()] * beams)
        own = own.expand(batch, -1, -1)
        seen = torch.cat([kept.repeat_interleave(n, 1), own], dim=-1)
        self.ancestry = seen.unflatten(1, (beams, n))[:, :, -1]
        return seen[:, None]

    # book/11-2-a-fast-decoder.ipynb, cell select
    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, sentence by sentence, as many of each; no key moves."""
        beams = 1 if self.ancestry is None else self.ancestry.shape[1]
        sentences = (rows // beams).unique_consecutive()
        ancestry = self.ancestry
        if ancestry is None and len(rows) > len(sentences):
            # From now on there are several beams.
            ancestry = self.visible.new_ones(len(self.visible), 1, self.length)
        if len(sentences) < len(self.visible):
            self.visible = self.visible[sentences]
            self.memory = [[kept[sentences] for kept in layer] for layer in self.memory]
            for cache in self.target:
                cache.select(sentences)
        if ancestry is not None:
            ancestry = ancestry.flatten(0, 1)[rows].unflatten(0, (len(sentences), -1))
            self.ancestry = self.forget(ancestry)

    def forget(
        self, ancestry: Bool[Tensor, "batch beams kept"]
    ) -> Bool[Tensor, "batch beams _"]:
        """Drop the positions that no beam descends from, once they are the most."""
        alive = ancestry.any(dim=1)
        most = int(alive.sum(dim=1).max())
        if alive.shape[1] < 2 * most + 32:
            return ancestry
        positions = (~alive).byte().argsort(dim=1, stable=True)[:, :most]
        for kept in self.target:
            kept.pick(positions)
        return ancestry.take_along_dim(positions[:, None], dim=2)
