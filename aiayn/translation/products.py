"""Linear layers for decoding: repacked weights, or 8-bit quantization.

From "A fast decoder" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/11-2-a-fast-decoder.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-2-a-fast-decoder.ipynb, cell products-imports
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


# book/11-2-a-fast-decoder.ipynb, cell packed-product
class PackedProduct(nn.Module):
    """x Wᵀ + b, with a weight in the order in which oneDNN reads it."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
        self.bias = None if bias is None else bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """The linear map of the last dimension."""
        how: tuple[str, list[float], str] = "none", [], ""  # no activation after it
        product = torch.ops.mkldnn._linear_pointwise
        return torch.as_tensor(product(x, self.weight, self.bias, *how))


@lru_cache
def packs() -> bool:
    """Whether there are packed products here, and exact ones."""
    x, weight = torch.randn(2, 33, 64, generator=torch.Generator().manual_seed(0))
    try:
        found = PackedProduct(weight, x[0, :33])(x)
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
    return bool(torch.allclose(found, x @ weight.T + x[0, :33], atol=1e-4))


# book/11-2-a-fast-decoder.ipynb, cell prepared-parts
Make = Callable[[Tensor, Tensor | None], nn.Module]  # of a weight and a bias


class PreparedProjections(nn.Module):
    """`HeadProjections` whose queries, keys and values are products made once."""

    def __init__(self, known: HeadProjections, make: Make) -> None:
        super().__init__()
        self.h, self.widths = known.h, known.widths
        self.weight, self.bias, self.make = known.weight, known.bias, make
        self.ready: dict[tuple[int, int], nn.Module] = {}

    def project(self, x: Tensor, parts: slice = slice(3)) -> list[Tensor]:
        """As `HeadProjections.project`."""
        which = parts.start or 0, parts.stop
        if which not in self.ready:
            rows = slice(*(sum(self.widths[:part]) for part in which))
            bias = None if self.bias is None else self.bias[rows]
            self.ready[which] = self.make(self.weight[rows], bias)
        y = self.ready[which](x).split(self.widths[parts], dim=-1)
        return [part.unflatten(-1, (self.h, -1)).transpose(1, 2) for part in y]


class PreparedEmbeddings(Embeddings):
    """`Embeddings` whose logits are a product made once."""

    def __init__(self, known: Embeddings, make: Make) -> None:
        nn.Module.__init__(self)
        self.weight, self.product = known.weight, make(known.weight, None)

    def logits(self, x: Tensor) -> Tensor:
        """As `Embeddings.logits`."""
        return torch.as_tensor(self.product(x))


# book/11-2-a-fast-decoder.ipynb, cell prepared
def prepared(model: Transformer, make: Make) -> Transformer:
    """A copy whose linear maps are what `make` makes of them; the rest is shared."""
    shared: dict[int, Any] = {id(kept): kept for kept in model.parameters()}
    copy = deepcopy(model, shared | {id(kept): kept for kept in model.buffers()})
    kept: Any
    for part in list(copy.modules()):
        for name, kept in list(part.named_children()):
            if isinstance(kept, HeadProjections):
                setattr(part, name, PreparedProjections(kept, make))
            elif name in ("W_O", "W_1", "W_2"):
                setattr(part, name, make(kept.weight, kept.bias))
    copy.target_embeddings = PreparedEmbeddings(copy.target_embeddings, make)
    return copy


# book/11-2-a-fast-decoder.ipynb, cell eight-bit-product
class EightBitProduct(nn.Module):
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


# book/11-2-a-fast-decoder.ipynb, cell product-for
Compute = Literal["float32", "int8"]
NARROW = 128  # d_model below which a product is too small to gain by its order


def product_for(model: Transformer, compute: Compute) -> Make | None:
    """What `prepared` should make of a model's linear maps; None: leave them alone.

    A `UserWarning` says why int8 is not to be had: there is no VNNI, or a GPU instead.
    """
    weight = model.target_embeddings.weight
    usual = weight.device.type == "cpu" and weight.dtype == torch.float32
    if compute == "int8":
        if usual and has_vnni():
            return EightBitProduct
        where = "a processor with AVX-512 VNNI, and weights in float32"
        warnings.warn(f"int8 needs {where}: computing as usual", stacklevel=2)
    wide = weight.shape[1] >= NARROW
    return PackedProduct if usual and wide and packs() else None
