# Made by `make export` from book/1-paper/3-0-model-architecture.ipynb
"""The cache of keys and values that a decoder keeps between steps."""

# book/1-paper/3-0-model-architecture.ipynb, cell key-value-cache
from jaxtyping import Float, Int
from torch import Tensor, nn


class KVCache:
    """Keys and values that later steps reuse: of the target so far, or the memory."""

    def __init__(self) -> None:
        self.length = 0  # positions that are kept
        self.buffers: list[Tensor] = []  # of keys and of values, with room for more

    @property
    def kept(
        self,
    ) -> tuple[Float[Tensor, "rows h m d_k"], Float[Tensor, "rows h m d_v"]]:
        """Keys and values of all positions so far."""
        keys, values = (buffer[:, :, : self.length] for buffer in self.buffers)
        return keys, values

    def append(
        self, keys: Float[Tensor, "rows h n d_k"], values: Float[Tensor, "rows h n d_v"]
    ) -> tuple[Float[Tensor, "rows h m d_k"], Float[Tensor, "rows h m d_v"]]:
        """Add positions at the end and return all of them."""
        start, end = self.length, self.length + keys.shape[2]
        self.length = end
        if not self.buffers:
            self.buffers = [keys, values]
            return keys, values
        capacity = self.buffers[0].shape[2]
        if end > capacity:  # doubling the room keeps copies rare
            spare = max(end, 2 * capacity) - capacity
            more = nn.ZeroPad2d((0, 0, 0, spare))
            self.buffers = [more(buffer) for buffer in self.buffers]
        for buffer, new in zip(self.buffers, (keys, values), strict=True):
            buffer[:, :, start:end] = new
        return self.kept

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; one may be named more than once."""
        self.buffers = [buffer[rows] for buffer in self.buffers]
