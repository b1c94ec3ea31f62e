# Made by `make export` from book/3-workshop/10-attention-scores.ipynb
"""Attention wrapped, to record its weights or to change what it computes."""

# book/3-workshop/10-attention-scores.ipynb, cell recording-imports
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from aiayn.model.attention import Attention

# book/3-workshop/10-attention-scores.ipynb, cell wrapped-attention
Change = Callable[[Tensor, Tensor], Tensor]  # heads and weights to other heads


class WrappedAttention(Attention):
    """What another attention gives, written out; `change` may put other heads there."""

    def __init__(self, wrapped: Attention, change: Change) -> None:
        super().__init__(wrapped.score)
        self.wrapped, self.change = wrapped, change

    def attend(
        self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
    ) -> tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch n m"]]:
        """What `change` makes of heads and weights, and the weights."""
        heads, weights = self.wrapped.attend(Q, K, V, mask)
        return self.change(heads, weights), weights


@contextmanager
def wrapped_attention(
    model: nn.Module, changes: Mapping[str, Change]
) -> Iterator[None]:
    """Within it, what these attentions of `model` compute is changed on its way out."""
    modules = {name: model.get_submodule(name) for name in changes}
    try:
        for name, wrapped in modules.items():
            assert isinstance(wrapped, Attention)
            model.set_submodule(name, WrappedAttention(wrapped, changes[name]))
        yield
    finally:
        for name, wrapped in modules.items():
            model.set_submodule(name, wrapped)


# book/3-workshop/10-attention-scores.ipynb, cell recorded-attention
@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the weights of every attention of `model` while the block runs, by name.

    Each entry is (batch, h, queries, keys), that of the last call.
    """
    recorded: dict[str, Tensor] = {}

    def record(name: str, heads: Tensor, weights: Tensor) -> Tensor:
        recorded[name.removesuffix(".attention")] = weights.detach()
        return heads

    changes = {
        name: partial(record, name)
        for name, module in model.named_modules()
        if isinstance(module, Attention) and not name.endswith(".wrapped")
    }
    with wrapped_attention(model, changes):
        yield recorded
