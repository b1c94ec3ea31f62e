# Made by `make export` from book/3-workshop/09-fast-decoding.ipynb
"""The key-value caches of a fast decoder, shared by the beams of a sentence."""

# book/3-workshop/09-fast-decoding.ipynb, cell beams-imports
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from aiayn.model.attention import causal_mask
from aiayn.model.kv_cache import KVCache


# book/3-workshop/09-fast-decoding.ipynb, cell stack-beams
def stack_beams(
    Q: Float[Tensor, "rows h n d_k"], batch: int
) -> Float[Tensor, "{batch} h _ d_k"]:
    """Put a sentence's beams into one row, so that what they share is not copied."""
    rows, h, n, d_k = Q.shape
    if rows == batch:
        return Q
    return Q.view(batch, -1, h, n, d_k).transpose(1, 2).reshape(batch, h, -1, d_k)


def unstack_beams(
    heads: Float[Tensor, "batch h _ d_v"], rows: int
) -> Float[Tensor, "{rows} h n d_v"]:
    """Undo `stack_beams`: one row for each beam again."""
    batch, h, _, d_v = heads.shape
    if rows == batch:
        return heads
    beams = heads.unflatten(2, (rows // batch, -1))
    return beams.transpose(1, 2).reshape(rows, h, -1, d_v)


# book/3-workshop/09-fast-decoding.ipynb, cell pick
def gather_positions(cache: KVCache, positions: Int[Tensor, "batch kept"]) -> KVCache:
    """A cache with these positions of each row, in this order."""
    index, picked = positions[:, None, :, None], KVCache()
    picked.append(*(kept.take_along_dim(index, 2) for kept in cache.kept))
    return picked


# book/3-workshop/09-fast-decoding.ipynb, cell engine-state
class FastDecoderState:
    """What the decoder carries from step to step; a sentence's beams are rows of it."""

    def __init__(
        self, memory: list[list[Tensor]], mask: Bool[Tensor, "batch 1 1 n"]
    ) -> None:
        self.memory = memory  # keys and values of each layer
        self.mask = mask  # which of them are of words
        self.target = [KVCache() for _ in memory]
        self.length = 0  # target positions so far, of each beam
        # None: one beam each, which sees all
        self.ancestry: Bool[Tensor, "batch beams kept"] | None = None

    def extend(self, rows: int, n: int) -> Bool[Tensor, "_ 1 _ _"] | None:
        """Make room for `n` more positions of each row, and say what each may see."""
        batch, beams = len(self.mask), rows // len(self.mask)
        self.length += n
        if self.ancestry is None and beams == 1:
            if n == 1:
                return None
            return causal_mask(n, self.length, self.mask.device)[None, None]
        ancestry = self.ancestry
        if ancestry is None:
            ancestry = self.mask.new_empty(batch, beams, 0)
        own_tokens = torch.block_diag(*[self.mask.new_ones(n, n).tril()] * beams)
        own_tokens = own_tokens.expand(batch, -1, -1)
        mask = torch.cat([ancestry.repeat_interleave(n, 1), own_tokens], dim=-1)
        self.ancestry = mask.unflatten(1, (beams, n))[:, :, -1]
        return mask[:, None]

    # book/3-workshop/09-fast-decoding.ipynb, cell select
    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, sentence by sentence, as many of each; no key moves."""
        beams = 1 if self.ancestry is None else self.ancestry.shape[1]
        sentences = (rows // beams).unique_consecutive()
        ancestry = self.ancestry
        if ancestry is None and len(rows) > len(sentences):
            # From now on there are several beams.
            ancestry = self.mask.new_ones(len(self.mask), 1, self.length)
        if len(sentences) < len(self.mask):
            self.mask = self.mask[sentences]
            self.memory = [[kept[sentences] for kept in layer] for layer in self.memory]
            for cache in self.target:
                cache.select(sentences)
        if ancestry is not None:
            ancestry = ancestry.flatten(0, 1)[rows].unflatten(0, (len(sentences), -1))
            self.ancestry = self.drop_unused(ancestry)

    def drop_unused(
        self, ancestry: Bool[Tensor, "batch beams kept"]
    ) -> Bool[Tensor, "batch beams _"]:
        """Drop the positions that no beam descends from, once they are the most."""
        alive = ancestry.any(dim=1)
        most = int(alive.sum(dim=1).max())
        if alive.shape[1] < 2 * most + 32:
            return ancestry
        positions = (~alive).byte().argsort(dim=1, stable=True)[:, :most]
        self.target = [gather_positions(cache, positions) for cache in self.target]
        return ancestry.take_along_dim(positions[:, None], dim=2)
