"""Attention (paper, section 3.2).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/03-2-attention.ipynb
"""

__all__ = [
    "KeyValueCache",
    "stack_beams",
    "unstack_beams",
    "own_positions",
]


# book/03-2-attention.ipynb, cell cache-imports
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor


# book/03-2-attention.ipynb, cell key-value-cache
class KeyValueCache:
    """Keys and values that later decoding steps use again: of the target so far, or of the memory.

    It writes in place, which autograd forbids: it is for decoding, not for training.
    """

    def __init__(self) -> None:
        self.length = 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def append(
        self, keys: Float[Tensor, "batch h n d_k"], values: Float[Tensor, "batch h n d_v"]
    ) -> tuple[Float[Tensor, "batch h m d_k"], Float[Tensor, "batch h m d_v"]]:
        """Add positions at the end and return all of them."""
        end = self.length + keys.shape[2]
        if self._keys is None or self._values is None:
            self._keys, self._values = keys.contiguous(), values.contiguous()
        else:
            if end > self._keys.shape[2]:  # doubling the room keeps copies rare
                room = max(end, 2 * self._keys.shape[2]) - self.length
                self._keys = F.pad(self._keys[:, :, : self.length], (0, 0, 0, room))
                self._values = F.pad(self._values[:, :, : self.length], (0, 0, 0, room))
            self._keys[:, :, self.length : end] = keys
            self._values[:, :, self.length : end] = values
        self.length = end
        return self.contents()

    def contents(self) -> tuple[Float[Tensor, "batch h m d_k"], Float[Tensor, "batch h m d_v"]]:
        """All keys and values so far."""
        if self._keys is None or self._values is None:
            raise ValueError("the cache is empty: append keys and values first")
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def select(self, sentences: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self._keys is not None and self._values is not None:
            self._keys, self._values = self._keys[sentences], self._values[sentences]

    def pick(self, positions: Int[Tensor, "batch kept"]) -> None:
        """Keep these positions of each row, in this order."""
        keys, values = (kept.take_along_dim(positions[:, None, :, None], 2) for kept in self.contents())
        self._keys, self._values, self.length = keys, values, positions.shape[1]


# book/03-2-attention.ipynb, cell beams
def stack_beams(Q: Float[Tensor, "rows h n d_k"], batch: int) -> Float[Tensor, "{batch} h _ d_k"]:
    """Let the beams of one sentence be one row, so that what they share need not be copied for each."""
    return Q.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2, 3)


def unstack_beams(heads: Float[Tensor, "batch h _ d_v"], rows: int) -> Float[Tensor, "{rows} h n d_v"]:
    """Undo `stack_beams`: one row for each beam again."""
    return heads.unflatten(2, (rows // len(heads), -1)).transpose(1, 2).flatten(0, 1)


def own_positions(
    kept: Float[Tensor, "batch h m d"], visible: Bool[Tensor, "batch 1 n m"], beams: int
) -> Float[Tensor, "rows h _ d"]:
    """A row for each beam, of what its newest query may see: for attention that goes by distance."""
    newest = visible[:, 0].unflatten(1, (beams, -1))[:, :, -1]
    index = newest.nonzero()[:, 2].view(len(kept), beams, 1, -1, 1)
    return kept[:, None].take_along_dim(index, dim=3).flatten(0, 1)
