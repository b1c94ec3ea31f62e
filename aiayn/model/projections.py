# Made by `make export` from book/1-paper/3-2-attention.ipynb
"""Queries, keys and values of all heads from one matrix product."""

# book/1-paper/3-2-attention.ipynb, cell head-projections
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class HeadProjections(nn.Linear):
    """W^Q, W^K, W^V of all heads as one matrix: one product, not 3h (section 3.2.2)."""

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int, bias: bool) -> None:
        self.h, self.widths = h, [h * d_k, h * d_k, h * d_v]
        super().__init__(d_model, sum(self.widths), bias)

    def reset_parameters(self) -> None:
        """Glorot for the three as one matrix, biases zero, as in the paper's code."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def project(
        self, x: Float[Tensor, "batch n d_model"], parts: slice = slice(3)
    ) -> list[Tensor]:
        """Some of queries, keys, values (parts 0, 1, 2), each (batch, h, n, width)."""
        widths = self.widths[parts]
        start = sum(self.widths[: parts.start or 0])
        rows = slice(start, start + sum(widths))
        bias = None if self.bias is None else self.bias[rows]
        y = F.linear(x, self.weight[rows], bias).split(widths, dim=-1)
        return [part.unflatten(-1, (self.h, -1)).transpose(1, 2) for part in y]
