# Made by `make export` from book/1-paper/4-why-self-attention.ipynb
"""The multiply-adds of a layer, counted as in Table 1."""

# book/1-paper/4-why-self-attention.ipynb, cell imports
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from aiayn.complexity.restricted_attention import sliding_window_attention
from aiayn.errors import InputError
from aiayn.model.attention import FusedAttention


@dataclass(frozen=True)
class Sizes:
    """The letters of Table 1."""

    n: int  # positions
    d: int  # numbers at each position
    k: int = 3  # width of a convolution's kernel
    r: int = 8  # positions in a neighbourhood


# book/1-paper/4-why-self-attention.ipynb, cell layers
class SelfAttention(nn.Module):
    """Attention as Table 1 counts it: one head, no projections; `r` restricts it."""

    def __init__(self, d: int, r: int | None = None) -> None:
        super().__init__()
        self.attention, self.r = FusedAttention(), r

    def forward(self, x: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
        """Let every position look at all, or at its neighbourhood."""
        head = x[:, None]
        if self.r is None:
            return self.attention(head, head, head)[:, 0]
        return sliding_window_attention(head, head, head, self.r)[:, 0]


class Convolution(nn.Module):
    """A convolution with a result for every position; zeros beyond the ends.

    `dilation` is the distance between neighbours in the kernel. With `groups=d` each of
    the d numbers is convolved by itself. The kernel surrounds its position, an even
    one reaching further right; a causal one lies to the left and ends there.
    """

    def __init__(
        self, d: int, k: int, dilation: int = 1, groups: int = 1, causal: bool = False
    ) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(
            d, d, k, dilation=dilation, groups=groups, bias=False
        )
        left = k - 1 if causal else (k - 1) // 2
        self.ends = dilation * left, dilation * (k - 1 - left)

    def forward(self, x: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
        """Convolve along the positions."""
        return self.convolution(F.pad(x.mT, self.ends)).mT


# book/1-paper/4-why-self-attention.ipynb, cell table-layers
def table_layers(sizes: Sizes) -> dict[str, nn.Module]:
    """The layers of Table 1 and the separable convolution of section 4's text."""
    d, k, r = sizes.d, sizes.k, sizes.r
    return {
        "self-attention": SelfAttention(d),
        "recurrent": nn.RNN(d, d, bias=False, batch_first=True),
        "convolutional": Convolution(d, k),
        "separable convolution": nn.Sequential(
            Convolution(d, k, groups=d), nn.Linear(d, d, bias=False)
        ),
        "restricted self-attention": SelfAttention(d, r),
    }


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


# book/1-paper/4-why-self-attention.ipynb, cell path-lengths
def path_lengths(n: int, steps: Iterable[Bool[Tensor, "n n"]]) -> Int[Tensor, "n n"]:
    """Steps on the shortest path to every output (row) from every input; 0 for none.

    Parameters
    ----------
    n : int
        Positions; no path of more than n steps is looked for.
    steps : iterable of Tensor
        What each step links, as `links` finds it. It may go on forever.
    """
    lengths = torch.zeros(n, n, dtype=torch.long)
    reached = torch.eye(n)
    for number, linked in enumerate(islice(steps, n), start=1):
        reached = (linked.float() @ reached).clamp(max=1)
        lengths[(lengths == 0) & (reached > 0)] = number
        if lengths.all():
            break
    return lengths


# book/1-paper/4-why-self-attention.ipynb, cell power-law
@dataclass(frozen=True)
class PowerLaw:
    """A product of powers of the sizes n, d, k, r."""

    constant: float  # by which the powers are multiplied
    exponents: dict[str, float]  # of each size, by its letter
    error: float  # the worst miss, as a share of what it was fitted to

    def __str__(self) -> str:
        factors = [] if f"{self.constant:.3g}" == "1" else [f"{self.constant:.3g}"]
        for name in "krnd":
            if power := round(self.exponents[name], 2):
                factors.append(name + {1.0: "", 2.0: "²"}.get(power, f"^{power:g}"))
        return " ".join(factors)


def fit_power_law(counts: dict[Sizes, int]) -> PowerLaw:
    """The power law through counts at several sizes, by least squares over logarithms.

    Raises
    ------
    InputError
        If the sizes do not vary independently, so that many laws would fit.
    """
    rows = [[1.0, *map(math.log, asdict(sizes).values())] for sizes in counts]
    A = torch.tensor(rows, dtype=torch.float64)
    y = torch.tensor(list(counts.values()), dtype=torch.float64).log()
    if torch.linalg.matrix_rank(A) < A.shape[1]:
        raise InputError(
            "n, d, k and r do not vary independently:"
            " count at all combinations of a few values"
        )
    solution = torch.linalg.lstsq(A, y[:, None]).solution[:, 0]
    error = float((A @ solution - y).abs().max().expm1())
    constant, *powers = solution.tolist()
    return PowerLaw(math.exp(constant), dict(zip("ndkr", powers, strict=True)), error)


# book/1-paper/4-why-self-attention.ipynb, cell longest-chain
def sequential_operations(layer: Callable[[Tensor], object], x: Tensor) -> int:
    """The longest chain of products in `layer(x)`, each needing the one before it.

    It is the chain of this way of computing: another way to the same result may have a
    shorter one. What comes between two products (softmax, tanh, sums) lengthens every
    chain by a constant factor, and is not counted.
    """
    with plain_operations():
        graph = make_fx(layer)(x).graph
    depth: dict[torch.fx.Node, int] = {}
    for node in graph.nodes:  # inputs come before what uses them
        before = max((depth[each] for each in node.all_input_nodes), default=0)
        is_product = getattr(node.target, "overloadpacket", None) in flop_registry
        depth[node] = before + is_product
    return max(depth.values())


# book/1-paper/4-why-self-attention.ipynb, cell links
def links(step: Callable[[Tensor], Tensor], n: int) -> Bool[Tensor, "outputs inputs"]:
    """Which of `n` positions depend on which after one step, found by gradients.

    Parameters
    ----------
    step : callable
        From (1, n, 4) to (1, n, 4): a layer, or several.
    n : int
        Positions.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, n, 4, generator=generator).requires_grad_()
    gradients = [
        torch.autograd.grad(output.sum(), x, retain_graph=True)[0]
        for output in step(x)[0]
    ]
    return torch.cat(gradients).ne(0).any(dim=-1)
