"""Word dropout and R-Drop, for small corpora.

From "Little text" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/11-13-little-text.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-13-little-text.ipynb, cell regularization-imports
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from aiayn.data.batching import Batch
from aiayn.data.vocabulary import EOS_ID, PAD_ID, UNK_ID
from aiayn.model.base import EncoderDecoder
from aiayn.training.loss import CHUNK, label_smoothed_loss
from aiayn.training.recipes import TrainingConfig
from aiayn.training.step import Objective


def hide_words(batch: Batch, p: float) -> Batch:
    """Tokens that are read become unknown, each with probability p; labels stay."""
    if p == 0:
        return batch

    def hidden(tokens: Tensor) -> Tensor:
        chosen = torch.rand(tokens.shape, device=tokens.device) < p
        return tokens.masked_fill(chosen & (tokens > EOS_ID), UNK_ID)

    return replace(batch, source=hidden(batch.source), target=hidden(batch.target))


# book/11-13-little-text.ipynb, cell r-drop-loss
def r_drop_loss(
    logits: Float[Tensor, "2 tokens vocabulary"],
    labels: Int[Tensor, " tokens"],
    epsilon: float,
    alpha: float,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Mean of the smoothed losses of two passes, and how far they disagree.

    R-Drop (Liang and others, 2021), halved. Gives sums over tokens, as
    `label_smoothed_loss`: what is minimised, and -log p of both passes' mean.
    """
    loss, nll = label_smoothed_loss(logits.flatten(0, 1), labels.repeat(2), epsilon)
    log_p, log_q = logits.log_softmax(dim=-1)
    # D(p || q) + D(q || p), term by term
    apart = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()
    return loss / 2 + alpha / 4 * apart, nll / 2


# book/11-13-little-text.ipynb, cell r-drop-gradient
def r_drop_gradient(
    log_p: Float[Tensor, "2 tokens vocabulary"],
    labels: Int[Tensor, " tokens"],
    epsilon: float,
    alpha: float,
) -> tuple[Float[Tensor, "2 tokens vocabulary"], Tensor, Tensor]:
    """Gradient of `r_drop_loss`, the loss, and -log p; `log_p` is used up."""
    row, V = torch.arange(len(labels), device=labels.device), log_p.shape[-1]
    nll, smooth = -log_p[:, row, labels].sum(), -log_p.mean(dim=-1).sum()
    apart = log_p[0] - log_p[1]
    p = log_p.exp_()
    gradient = p * apart
    gradient[1].neg_()
    divergence = gradient.sum(dim=-1, keepdim=True)
    share = alpha / 4
    gradient.mul_(share).addcmul_(p, 0.5 + share * (1 - divergence))
    gradient[0].sub_(p[1], alpha=share)
    gradient[1].sub_(p[0], alpha=share)
    gradient.sub_(epsilon / V / 2)
    gradient[:, row, labels] -= (1 - epsilon) / 2
    loss = ((1 - epsilon) * nll + epsilon * smooth) / 2 + share * divergence.sum()
    return gradient, loss, nll / 2


# book/11-13-little-text.ipynb, cell projected-r-drop
class ProjectedRDrop(torch.autograd.Function):
    """`r_drop_loss` of projections, whose gradients are made a portion at a time."""

    @staticmethod
    def forward(
        ctx: Any,
        both: Float[Tensor, "2 tokens d_model"],
        weight: Float[Tensor, "vocabulary d_model"],
        labels: Int[Tensor, " tokens"],
        epsilon: float,
        alpha: float,
        chunk: int,
    ) -> tuple[Tensor, Tensor]:
        dweight, sums = torch.zeros_like(weight), both.new_zeros(2).float()
        ctx.gradients = torch.empty_like(both), dweight
        rows = max(1, chunk // (2 * len(weight)))
        portions = (t.split(rows, -2) for t in (both, ctx.gradients[0]))
        for part, gradient, label in zip(*portions, labels.split(rows), strict=True):
            log_p = (part @ weight.T).float().log_softmax(dim=-1)
            found, *losses = r_drop_gradient(log_p, label, epsilon, alpha)
            found = found.to(weight.dtype)
            gradient.copy_(found @ weight)
            dweight.add_(found.flatten(0, 1).T @ part.flatten(0, 1))
            sums += torch.stack(losses)
        loss, nll = sums
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        dx, dweight = (gradient * upstream for gradient in ctx.gradients)
        return dx, dweight, None, None, None, None


# book/11-13-little-text.ipynb, cell regularized-objective
class RegularizedObjective(Objective):
    """`Objective` with the recipe's word dropout and R-Drop.

    Attributes
    ----------
    step : int
        The one that is being taken, on which it depends whether there is R-Drop.
    """

    def __init__(self, model: EncoderDecoder, config: TrainingConfig) -> None:
        super().__init__(model, config.label_smoothing)
        self.config, self.step = config, 0

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and -log p, summed over the words of a batch."""
        alpha, hidden = self.config.r_drop_at(self.step), self.config.word_dropout
        if not alpha:
            return super().forward(hide_words(batch, hidden))
        sides = (batch.source, batch.target, batch.labels)
        twice = hide_words(Batch(*(torch.cat([side, side]) for side in sides)), hidden)
        vectors = self.model.decode(
            twice.target, self.model.encode(twice.source), twice.source
        )
        words = batch.labels != PAD_ID
        both = torch.stack([half[words] for half in vectors.chunk(2)])
        weight = self.model.target_embeddings.weight
        chunk = CHUNK.get(both.device.type, CHUNK["cuda"])
        how = self.epsilon, alpha, chunk
        loss, nll = ProjectedRDrop.apply(both, weight, batch.labels[words], *how)
        return loss, nll
