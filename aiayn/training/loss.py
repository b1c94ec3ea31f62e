# Made by `make export` from book/1-paper/5-4-regularization.ipynb
"""Cross-entropy with label smoothing, and a form that holds no whole logits."""

# book/1-paper/5-4-regularization.ipynb, cell label-smoothed-loss
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint


def label_smoothed_loss(
    logits: Float[Tensor, "tokens vocabulary"],
    labels: Int[Tensor, " tokens"],
    epsilon: float = 0.1,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Cross entropy to labels, a share `epsilon` spread over all words (section 5.4).

    Parameters
    ----------
    logits : Tensor
        Scores of the words only: select them before the projection, so that padding
        costs nothing.
    labels : Tensor
        The right tokens.
    epsilon : float
        The share, the label itself included among those that receive it.

    Returns
    -------
    loss : Tensor
        Sum over tokens, in nats: what is minimised.
    nll : Tensor
        Sum of -log p(label), in nats and without a gradient: perplexity is
        exp(nll / tokens).
    """
    log_p = logits.log_softmax(dim=-1)
    nll = -log_p.gather(1, labels[:, None]).sum()
    loss = (1 - epsilon) * nll
    if epsilon:  # 0 times the infinite surprise at a logit of -inf is NaN
        loss = loss - epsilon * log_p.mean(dim=-1).sum()
    return loss, nll.detach()


# book/1-paper/5-4-regularization.ipynb, cell projected-loss
class ProjectedLoss(torch.autograd.Function):
    """`projected_loss`: gradients come in the forward pass, chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, labels: Tensor, epsilon: float, chunk: int
    ) -> tuple[Tensor, Tensor]:
        V, wanted = len(weight), any(ctx.needs_input_grad)
        dweight = torch.zeros_like(weight if wanted else weight[:0])
        ctx.gradients = torch.empty_like(x), dweight
        loss = nll = x.new_zeros(())
        rows = max(1, chunk // V)
        for part, gradient, label in zip(
            *(t.split(rows) for t in (x, ctx.gradients[0], labels)), strict=True
        ):
            logits = part @ weight.T
            dtype = torch.promote_types(logits.dtype, torch.float32)
            log_p = logits.log_softmax(dim=-1, dtype=dtype)
            surprise = -log_p.gather(1, label[:, None]).sum()
            loss, nll = loss + (1 - epsilon) * surprise, nll + surprise
            if epsilon:
                loss = loss - epsilon * log_p.mean(dim=-1).sum()
            if wanted:
                difference = log_p.exp_().sub_(epsilon / V)  # p - q
                row = torch.arange(len(label), device=x.device)
                difference[row, label] -= 1 - epsilon
                difference = difference.to(weight.dtype)
                gradient.copy_(difference @ weight)
                dweight.add_(difference.T @ part)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        # Scaled in place, so a second time would be wrong.
        if ctx.gradients is None:
            raise RuntimeError("projected_loss: its gradient can be taken only once")
        (dx, dweight), ctx.gradients = (g.mul_(upstream) for g in ctx.gradients), None
        return dx, dweight, None, None, None


# book/1-paper/5-4-regularization.ipynb, cell float16-loss
def float16_loss(
    x: Tensor, weight: Tensor, labels: Tensor, epsilon: float, chunk: int
) -> tuple[Tensor, Tensor]:
    """`projected_loss`, gradients in the backward pass: they have a scaler's factor.

    Each chunk's logits are computed a second time then.
    """

    def of_part(part: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        return label_smoothed_loss((part @ weight.T).float(), label, epsilon)

    loss = nll = x.new_zeros((), dtype=torch.float32)
    rows = max(1, chunk // len(weight))
    for part, label in zip(x.split(rows), labels.split(rows), strict=True):
        more, surprise = checkpoint(
            of_part, part, label, use_reentrant=False, preserve_rng_state=False
        )
        loss, nll = loss + more, nll + surprise
    return loss, nll


# book/1-paper/5-4-regularization.ipynb, cell projected-loss-function
CHUNK = {"cpu": 1 << 22, "cuda": 1 << 27}


def projected_loss(
    x: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    labels: Int[Tensor, " tokens"],
    epsilon: float = 0.1,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """`label_smoothed_loss(x @ weight.T, labels, epsilon)` without holding all logits.

    Parameters
    ----------
    x : Tensor
        The decoder's vectors, of words only.
    weight : Tensor
        The projection to logits (section 3.4).
    labels, epsilon
        As for `label_smoothed_loss`.

    Returns
    -------
    loss, nll : Tensor
        As from `label_smoothed_loss`; the gradient only once, and no second derivative.
    """
    chunk = CHUNK.get(x.device.type, CHUNK["cuda"])
    if not torch.is_grad_enabled():  # or the gradients would be made for nothing
        x, weight = x.detach(), weight.detach()
    elif (x[:0] @ weight.T).dtype == torch.float16:  # as autocast may decide
        return float16_loss(x, weight, labels, epsilon, chunk)
    loss, nll = ProjectedLoss.apply(x, weight, labels, epsilon, chunk)
    return loss, nll
