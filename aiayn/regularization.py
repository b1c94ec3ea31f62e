"""Regularization (paper, section 5.4).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-4-regularization.ipynb
"""

__all__ = [
    "label_smoothed_loss",
]


# book/05-4-regularization.ipynb, cell imports
from jaxtyping import Float, Int
from torch import Tensor


# book/05-4-regularization.ipynb, cell label-smoothed-loss
def label_smoothed_loss(
    logits: Float[Tensor, "tokens vocabulary"], labels: Int[Tensor, " tokens"], epsilon: float = 0.1
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Cross entropy to labels of which a share `epsilon` is spread over the whole vocabulary (section 5.4).

    Parameters
    ----------
    logits : Tensor
        Scores of the words only: select them before the projection, so that padding costs nothing.
    labels : Tensor
        The right tokens.
    epsilon : float
        The share, the label itself included among those that receive it.

    Returns
    -------
    loss : Tensor
        Sum over tokens, in nats: what is minimised.
    nll : Tensor
        Sum of -log p(label), in nats and without a gradient: perplexity is exp(nll / tokens).
    """
    log_p = logits.log_softmax(dim=-1)
    nll = -log_p.gather(1, labels[:, None]).sum()
    loss = (1 - epsilon) * nll - epsilon * log_p.mean(dim=-1).sum()
    return loss, nll.detach()
