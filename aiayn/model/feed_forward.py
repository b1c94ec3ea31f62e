# Made by `make export` from book/1-paper/3-3-feed-forward.ipynb
"""The position-wise feed-forward network."""

# book/1-paper/3-3-feed-forward.ipynb, cell feed-forward
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2, the same for every position (section 3.3).

    Parameters
    ----------
    d_model, d_ff : int
        Width of what goes in and out; width between, the paper's 2048.
    activation : callable
        What stands between the two maps, the paper's ReLU unless given.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Callable[[Tensor], Tensor] = torch.relu_,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)
        for linear in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(
        self,
        x: Float[Tensor, "*batch d_model"],
    ) -> Float[Tensor, "*batch d_model"]:
        """Transform each position by itself."""
        # ReLU in place, as nothing else needs what W_1 gave: it saves a tensor.
        return self.W_2(self.activation(self.W_1(x)))
