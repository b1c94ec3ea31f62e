# Made by `make export` from book/3-workshop/09-fast-decoding.ipynb
"""Linear layers for decoding: repacked weights, or 8-bit quantization."""

# book/3-workshop/09-fast-decoding.ipynb, cell products-imports
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from typing import Any, Literal

import torch
from torch import Tensor, nn

from aiayn.model.embeddings import Embeddings
from aiayn.model.projections import HeadProjections
from aiayn.model.transformer import Transformer


# book/3-workshop/09-fast-decoding.ipynb, cell packed-product
class PackedLinear(nn.Module):
    """x Wᵀ + b, with a weight in the order in which oneDNN reads it."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
        self.bias = None if bias is None else bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """The linear map of the last dimension."""
        no_activation: tuple[str, list[float], str] = "none", [], ""
        product = torch.ops.mkldnn._linear_pointwise.default
        return torch.as_tensor(product(x, self.weight, self.bias, *no_activation))


@lru_cache
def has_packed_linear() -> bool:
    """Whether there are packed products here, and exact ones."""
    x, weight = torch.randn(2, 33, 64, generator=torch.Generator().manual_seed(0))
    try:
        product = PackedLinear(weight, x[0, :33])(x)
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
    return bool(torch.allclose(product, x @ weight.T + x[0, :33], atol=1e-4))


# book/3-workshop/09-fast-decoding.ipynb, cell prepared-parts
LinearFactory = Callable[[Tensor, Tensor | None], nn.Module]  # of a weight and a bias


class ConvertedProjections(nn.Module):
    """`HeadProjections` whose queries, keys and values are products made once."""

    def __init__(self, original: HeadProjections, make_linear: LinearFactory) -> None:
        super().__init__()
        self.h, self.widths = original.h, original.widths
        self.weight, self.bias = original.weight, original.bias
        self.make_linear = make_linear
        self.ready: dict[tuple[int, int], nn.Module] = {}

    def project(self, x: Tensor, parts: slice = slice(3)) -> list[Tensor]:
        """As `HeadProjections.project`."""
        which = parts.start or 0, parts.stop
        if which not in self.ready:
            rows = slice(*(sum(self.widths[:part]) for part in which))
            bias = None if self.bias is None else self.bias[rows]
            self.ready[which] = self.make_linear(self.weight[rows], bias)
        y = self.ready[which](x).split(self.widths[parts], dim=-1)
        batch, n = x.shape[:2]
        return [part.view(batch, n, self.h, -1).transpose(1, 2) for part in y]


class ConvertedEmbeddings(Embeddings):
    """`Embeddings` whose logits are a product made once."""

    def __init__(self, original: Embeddings, make_linear: LinearFactory) -> None:
        nn.Module.__init__(self)
        self.weight, self.product = original.weight, make_linear(original.weight, None)

    def logits(self, x: Tensor) -> Tensor:
        """As `Embeddings.logits`."""
        return torch.as_tensor(self.product(x))


# book/3-workshop/09-fast-decoding.ipynb, cell prepared
def convert_linears(model: Transformer, make_linear: LinearFactory) -> Transformer:
    """A copy with linear maps that `make_linear` makes; the rest is shared."""
    shared: dict[int, Any] = {id(kept): kept for kept in model.parameters()}
    copy = deepcopy(model, shared | {id(kept): kept for kept in model.buffers()})
    kept: Any
    for part in list(copy.modules()):
        for name, kept in list(part.named_children()):
            if isinstance(kept, HeadProjections):
                setattr(part, name, ConvertedProjections(kept, make_linear))
            elif name in ("W_O", "W_1", "W_2", "output"):
                setattr(part, name, make_linear(kept.weight, kept.bias))
    if type(copy.target_embeddings) is Embeddings:  # a Marian has `output` instead
        copy.target_embeddings = ConvertedEmbeddings(
            copy.target_embeddings, make_linear
        )
    return copy


# book/3-workshop/09-fast-decoding.ipynb, cell eight-bit-product
class Int8Linear(nn.Module):
    """x Wᵀ + b in eight bits: a scale for each row of W, and one for each row of x."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        weight = weight.detach()
        scales = (weight.abs().amax(dim=1) / 127).clamp_min(1e-12)
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with warnings.catch_warnings():
            # PyTorch points to torchao, which has no such kernel for a processor.
            warnings.simplefilter("ignore", UserWarning)
            whole = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(whole, None)
        self.bias = None if bias is None else bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """The linear map of the last dimension."""
        largest = x.abs().amax(dim=-1, keepdim=True).clamp_min(1e-12)
        # The kernel knows one scale; rows within -1 and 1 can all have the same.
        product = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        y = torch.as_tensor(product(x / largest, 1 / 127, 128, self.packed))
        return y * largest if self.bias is None else self.bias.addcmul(y, largest)


def has_vnni() -> bool:
    """Whether this processor adds up products of bytes, and PyTorch lets it."""
    wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    return wide and torch.cpu._is_vnni_supported()


# book/3-workshop/09-fast-decoding.ipynb, cell product-for
Compute = Literal["float32", "int8"]
MIN_PACKED_WIDTH = (
    128  # d_model below which a product is too small to gain by its order
)


def linear_factory(model: Transformer, compute: Compute) -> LinearFactory | None:
    """What `convert_linears` makes of a model's linear maps; None: leave them alone.

    A `UserWarning` says why int8 is not to be had: there is no VNNI, or a GPU instead.
    """
    weight = model.target_embeddings.weight
    usual = weight.device.type == "cpu" and weight.dtype == torch.float32
    if compute == "int8":
        if usual and has_vnni():
            return Int8Linear
        where = "a processor with AVX-512 VNNI, and weights in float32"
        warnings.warn(f"int8 needs {where}: computing as usual", stacklevel=2)
    wide = weight.shape[1] >= MIN_PACKED_WIDTH
    return PackedLinear if usual and wide and has_packed_linear() else None
