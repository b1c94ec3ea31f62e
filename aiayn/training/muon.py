# Made by `make export` from book/3-workshop/06-low-resource.ipynb
"""Muon for the weight matrices of the layers, and Adam for everything else."""

# book/3-workshop/06-low-resource.ipynb, cell muon-imports
import torch
from jaxtyping import Float
from torch import Tensor, nn


def orthogonal(
    matrices: Float[Tensor, "batch rows columns"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "batch rows columns"]:
    """Matrices with nearly the same singular vectors, and singular values near 1.

    The products are computed in `dtype`.
    """
    if matrices.shape[-2] > matrices.shape[-1]:
        return orthogonal(matrices.mT, dtype).mT
    size = torch.linalg.matrix_norm(matrices, keepdim=True)
    x = (matrices / size.clamp(min=1e-7)).to(dtype)
    for _ in range(5):
        square = x @ x.mT
        factor = torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315)
        x = torch.baddbmm(x, factor, x, beta=3.4445)  # a x + (b square + c square²) x
    return x.to(matrices.dtype)


# book/3-workshop/06-low-resource.ipynb, cell muon
class Muon(torch.optim.Adam):
    """Muon (Jordan, 2024) for the layers' matrices, the paper's Adam for the rest.

    Learning rates are those of Adam (section 5.3). In each step, a matrix loses the
    share rate times `weight_decay` of its size. Of a matrix, `exp_avg` is kept; its
    `exp_avg_sq` stays 0, so that a checkpoint has one form.
    """

    def __init__(
        self,
        model: nn.Module,
        dtype: torch.dtype = torch.float32,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(
            model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True
        )
        self.dtype, self.weight_decay = dtype, weight_decay  # dtype: of the products
        self.parts: dict[Tensor, list[int]] = {
            layer.weight: getattr(layer, "widths", [layer.out_features])
            for layer in model.modules()
            if isinstance(layer, nn.Linear)
        }

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Move all parameters that have a gradient; the matrices' are then gone."""
        gradients = {p: p.grad for p in self.parts if p.grad is not None}
        for matrix in gradients:
            matrix.grad = None  # Adam leaves it alone
        super().step()
        rate: float = self.param_groups[0]["lr"]
        alike: dict[torch.Size, list[tuple[Tensor, Tensor]]] = {}
        for matrix, gradient in gradients.items():
            momentum = self.averaged(matrix, gradient).split(self.parts[matrix])
            blocks = matrix.split(self.parts[matrix])
            for block, mean in zip(blocks, momentum, strict=True):
                alike.setdefault(block.shape, []).append((block, mean))
        for shape, pairs in alike.items():
            length, decay = 0.2 * max(shape) ** 0.5 * rate, 1 - rate * self.weight_decay
            moves = orthogonal(
                torch.stack([momentum for _, momentum in pairs]), self.dtype
            )
            for (matrix, _), move in zip(pairs, moves, strict=True):
                matrix.mul_(decay).sub_(move, alpha=length)

    # book/3-workshop/06-low-resource.ipynb, cell muon-averaged
    def averaged(self, matrix: Tensor, gradient: Tensor) -> Tensor:
        """The mean of the gradients, the latest weighted most (Nesterov momentum)."""
        state = self.state[matrix]
        if not state:
            state["step"] = torch.zeros(())
            state |= {k: torch.zeros_like(matrix) for k in ("exp_avg", "exp_avg_sq")}
        state["step"] += 1
        state["exp_avg"].lerp_(gradient, 0.05)
        return gradient.lerp(state["exp_avg"], 0.95)
