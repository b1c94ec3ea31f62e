# Made by `make export` from book/1-paper/4-why-self-attention.ipynb
"""Self-attention restricted to a sliding window."""

# book/1-paper/4-why-self-attention.ipynb, cell first-seen
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from aiayn.errors import InputError


def window_starts(
    n: int, r: int, device: torch.device | None = None
) -> Int[Tensor, " n"]:
    """The first of the `r` nearest positions that each of `n` sees (section 4).

    At the ends the window is moved inwards. If r is even, it reaches one position
    further to the right.

    Raises
    ------
    InputError
        If r is less than 1: a position that sees nothing has no weights.
    """
    if r < 1:
        raise InputError(
            f"r={r}: a neighbourhood must hold at least 1 position, its own"
        )
    return (torch.arange(n, device=device) - (r - 1) // 2).clamp(0, max(n - r, 0))


# book/1-paper/4-why-self-attention.ipynb, cell restricted-attention
def sliding_window_attention(
    Q: Float[Tensor, "batch h n d_k"],
    K: Float[Tensor, "batch h n d_k"],
    V: Float[Tensor, "batch h n d_v"],
    r: int,
) -> Float[Tensor, "batch h n d_v"]:
    """Sliding-window attention: every position sees the `r` nearest (section 4).

    Queries go in blocks of r, each with the 2 r keys that it needs: about 4 r n d_k
    multiply-adds. With r of n or more it is full attention. The sequences of a batch
    have one length: padding would move the last windows.

    Raises
    ------
    InputError
        If r is less than 1.
    """
    *shape, n, _ = Q.shape
    first, r = window_starts(n, r, Q.device), min(r, n)
    width = min(n, 2 * r)
    places = torch.arange(-(-n // r) * r, device=Q.device)
    queries = places.clamp(max=n - 1).view(-1, r)  # the last, repeated
    starts = first[queries[:, :1]].clamp(max=n - width)
    keys = starts + torch.arange(width, device=Q.device)
    ahead = keys[:, None, :] - first[queries][:, :, None]
    Q, K, V = (
        each[..., rows, :].flatten(0, 1)
        for each, rows in ((Q, queries), (K, keys), (V, keys))
    )
    near = (ahead >= 0) & (ahead < r)
    heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=near)
    return heads.unflatten(0, shape).flatten(2, 3)[..., :n, :]
