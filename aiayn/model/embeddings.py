# Made by `make export` from book/1-paper/3-4-embeddings-and-softmax.ipynb
"""Token embeddings that share one matrix with the output projection."""

# book/1-paper/3-4-embeddings-and-softmax.ipynb, cell embeddings
import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


class Embeddings(nn.Module):
    """Vectors for tokens, and scores for tokens, by one matrix (section 3.4).

    Parameters
    ----------
    vocabulary_size, d_model : int
        Rows and columns of the matrix, drawn with variance 1 / d_model.
    """

    def __init__(self, vocabulary_size: int, d_model: int) -> None:
        super().__init__()
        entries = torch.randn(vocabulary_size, d_model) / math.sqrt(d_model)
        self.weight = nn.Parameter(entries)

    def forward(
        self,
        tokens: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch n d_model"]:
        """Look tokens up, times sqrt(d_model)."""
        return F.embedding(tokens, self.weight) * math.sqrt(self.weight.shape[1])

    def logits(
        self,
        x: Float[Tensor, "*batch d_model"],
    ) -> Float[Tensor, "*batch vocabulary"]:
        """Score every token: the linear map before the softmax, without a bias."""
        return F.linear(x, self.weight)

    def extra_repr(self) -> str:
        """Rows and columns, for `print`."""
        return "{}, {}".format(*self.weight.shape)
