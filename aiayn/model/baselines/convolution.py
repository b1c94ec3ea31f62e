# Made by `make export` from book/1-paper/2-background.ipynb
"""Dilated, causal, separable and gated convolutions over sequences."""

# book/1-paper/2-background.ipynb, cell imports
import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from aiayn.model.dropout import Dropout


# book/1-paper/2-background.ipynb, cell convolution
class Convolution(nn.Module):
    """Sum of linear maps of `kernel` places, `dilation` apart (sections 2 and 4).

    A `causal` one reads a position and those before it; any other, as many before as
    after, and its kernel must be odd. A `separable` one sums each column by itself,
    then maps all columns together.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        kernel: int,
        dilation: int = 1,
        causal: bool = False,
        separable: bool = False,
    ) -> None:
        super().__init__()
        check_kernel(kernel, dilation, causal)
        self.reach = (kernel - 1) * dilation  # from the first place to the last
        self.left = self.reach if causal else self.reach // 2
        depthwise = nn.Conv1d(
            d_in, d_in, kernel, dilation=dilation, groups=d_in, bias=False
        )
        self.maps = (
            nn.Sequential(depthwise, nn.Conv1d(d_in, d_out, 1))
            if separable
            else nn.Conv1d(d_in, d_out, kernel, dilation=dilation)
        )

    # book/1-paper/2-background.ipynb, cell convolution-forward
    def forward(
        self,
        x: Float[Tensor, "batch n d_in"],
        mask: Bool[Tensor, "batch n"] | None = None,
        past: "LastInputs | None" = None,
    ) -> Float[Tensor, "batch n d_out"]:
        """Sum around each position; zero beyond the ends and where `mask` hides."""
        if mask is not None:
            x = x.masked_fill(~mask.unsqueeze(-1), 0.0)
        if past is not None and self.left < self.reach:
            raise ValueError(
                "a centred convolution reads what is still to come: take causal=True"
            )
        if past is None:
            x = F.pad(x, (0, 0, self.left, self.reach - self.left))
        else:
            x = past.extend(x, self.reach)
        return self.maps(x.transpose(1, 2)).transpose(1, 2)


# book/1-paper/2-background.ipynb, cell check-kernel
def check_kernel(kernel: int, dilation: int, causal: bool) -> None:
    """Reject a convolution that has no places to read, or no middle.

    Raises
    ------
    ValueError
        With what to do instead.
    """
    if kernel < 1:
        raise ValueError(
            f"kernel={kernel}: must be at least 1, which reads the position itself"
        )
    if dilation < 1:
        raise ValueError(
            f"dilation={dilation}: must be at least 1, which leaves no gaps"
        )
    if not causal and kernel % 2 == 0:
        near = f"{kernel - 1} or {kernel + 1}"
        raise ValueError(
            f"kernel={kernel}: an even one has no middle; take {near}, or causal=True"
        )


# book/1-paper/2-background.ipynb, cell last-inputs
class LastInputs:
    """What a causal convolution will read again as a target is written word by word."""

    def __init__(self) -> None:
        self.inputs: Tensor | None = None  # (rows, reach, d)

    def extend(
        self, x: Float[Tensor, "rows m d"], reach: int
    ) -> Float[Tensor, "rows _ d"]:
        """The last `reach` inputs, zeros where there were none, and the new ones."""
        if self.inputs is None:
            self.inputs = x.new_zeros(len(x), reach, x.shape[-1])
        both = torch.cat([self.inputs, x], dim=1)
        self.inputs = both[:, both.shape[1] - reach :]
        return both

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order."""
        if self.inputs is not None:
            self.inputs = self.inputs[rows]


# book/1-paper/2-background.ipynb, cell scaled-sum
def scaled_sum(
    a: Float[Tensor, "*shape"], b: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """(a + b) / sqrt(2): keeps the variance of a and b, if equal and independent."""
    return (a + b) * math.sqrt(0.5)


# book/1-paper/2-background.ipynb, cell gated-convolution
class GatedConvolution(nn.Module):
    """A convolution to twice the width, one half the gate of the other (a GLU).

    Parameters
    ----------
    d_model, kernel, dilation, causal, separable
        As for `Convolution`.
    dropout : float
        Share of the input that is dropped in training.
    """

    def __init__(
        self,
        d_model: int,
        kernel: int,
        dilation: int,
        causal: bool,
        separable: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.convolution = Convolution(
            d_model, 2 * d_model, kernel, dilation, causal, separable
        )
        for maps in self.convolution.maps.modules():
            if isinstance(maps, nn.Conv1d):
                # The gate takes three quarters of the variance.
                gain = 1 if maps.groups > 1 else 4
                std = math.sqrt(gain / maps.weight[0].numel())
                nn.init.normal_(maps.weight, std=std)
                if maps.bias is not None:
                    nn.init.zeros_(maps.bias)

    def forward(
        self,
        x: Float[Tensor, "batch n d_model"],
        mask: Bool[Tensor, "batch n"] | None = None,
        past: "LastInputs | None" = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """What the gate lets through; see `Convolution` for the arguments."""
        return F.glu(self.convolution(self.dropout(x), mask, past), dim=-1)
