# Made by `make export` from book/1-paper/4-why-self-attention.ipynb
"""The multiply-adds of a layer, counted as in Table 1."""

# book/1-paper/4-why-self-attention.ipynb, cell imports
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from aiayn.errors import InputError


# book/1-paper/4-why-self-attention.ipynb, cell multiply-adds
@contextmanager
def plain_operations() -> Iterator[None]:
    """Compute attention and LSTM as separate products, not by one kernel."""
    onednn: Any = torch.backends.mkldnn
    before, onednn.enabled = onednn.enabled, False
    try:
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        onednn.enabled = before


def multiply_adds(layer: Callable[[Tensor], object], x: Tensor) -> int:
    """The multiply-adds of all matrix products and convolutions in `layer(x)`.

    `x` is on the CPU or the meta device. Work on single numbers (softmax, tanh, sums)
    is not counted, zeros that pad a convolution are.

    Raises
    ------
    InputError
        If there was no product to be seen.
    """
    with plain_operations(), FlopCounterMode(display=False) as counter:
        layer(x)
    if not counter.get_total_flops():
        raise InputError(
            "no product was seen: a fused operation that the counter does not know?"
        )
    return counter.get_total_flops() // 2
