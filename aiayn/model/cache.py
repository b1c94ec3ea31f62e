"""The cache of keys and values that a decoder keeps between steps.

From "Model architecture" (paper, section 3):
https://github.com/OWNER/aiayn/blob/main/book/03-model-architecture.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/03-model-architecture.ipynb, cell key-value-cache
import torch
from jaxtyping import Float, Int
from torch import Tensor


class KeyValueCache:
    """Keys and values that later steps reuse: of the target so far, or the memory."""

    def __init__(self) -> None:
        self.kept: tuple[Tensor, Tensor] | None = None

    @property
    def length(self) -> int:
        """How many positions are kept."""
        return 0 if self.kept is None else self.kept[0].shape[2]

    def append(
        self, keys: Float[Tensor, "rows h n d_k"], values: Float[Tensor, "rows h n d_v"]
    ) -> tuple[Float[Tensor, "rows h m d_k"], Float[Tensor, "rows h m d_v"]]:
        """Add positions at the end and return all of them."""
        if self.kept is not None:
            keys = torch.cat([self.kept[0], keys], dim=2)
            values = torch.cat([self.kept[1], values], dim=2)
        self.kept = keys, values
        return self.kept

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; one may be named more than once."""
        if self.kept is not None:
            self.kept = self.kept[0][rows], self.kept[1][rows]
