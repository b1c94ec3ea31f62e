# Made by `make export` from book/1-paper/5-3-optimizer.ipynb
"""Adam, and the learning-rate schedule with its warm-up."""

# book/1-paper/5-3-optimizer.ipynb, cell make-optimizer
import torch
from torch import nn


def make_optimizer(model: nn.Module) -> torch.optim.Adam:
    """Adam with the paper's constants; `set_rate` sets its rate before each step."""
    return torch.optim.Adam(
        model.parameters(),
        lr=0.0,
        betas=(0.9, 0.98),
        eps=1e-9,
        fused=True,
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Let the next step use this learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate


# book/1-paper/5-3-optimizer.ipynb, cell learning-rate
def learning_rate(
    step: int, d_model: int, warmup: int = 4000, factor: float = 1.0
) -> float:
    """The paper's schedule (section 5.3): up in a line, then down as 1 / sqrt(step).

    Parameters
    ----------
    step : int
        From 1.
    d_model, warmup : int
        Width of the model; step of the peak.
    factor : float
        Multiplies the whole; 1 in the paper.

    Raises
    ------
    ValueError
        If there is no such step or no warm-up.
    """
    if step < 1 or warmup < 1:
        raise ValueError(
            f"step={step}, warmup={warmup}:"
            " steps are counted from 1, and the peak is one of them"
        )
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
