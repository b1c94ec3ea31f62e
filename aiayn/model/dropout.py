# Made by `make export` from book/1-paper/5-4-regularization.ipynb
"""Dropout that is fast on a CPU."""

# book/1-paper/5-4-regularization.ipynb, cell dropout
import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Dropout):
    """Zero each number with probability p, divide the others by 1 - p (section 5.4).

    As `torch.nn.Dropout`, in training only, and faster on a CPU, where p is rounded
    to a multiple of 2**-16.
    """

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Drop numbers of x, drawn anew by torch's global generator."""
        plain = not self.training or self.p in (0, 1) or self.inplace
        if plain or x.device.type != "cpu":
            return super().forward(x)
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64)
        draws.random_(-(2**63), None)
        threshold = min(round(2**16 * self.p), 2**16 - 1) - 2**15
        keep = draws.view(torch.int16)[: x.numel()].view(x.shape) >= threshold
        return (x * keep).mul_(1 / (1 - self.p))
