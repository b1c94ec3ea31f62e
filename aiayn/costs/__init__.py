"""What a layer and a training run cost.

From "Why self-attention" (paper, section 4):
https://github.com/OWNER/aiayn/blob/main/book/04-why-self-attention.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "plan_table",
]


# book/04-why-self-attention.ipynb, cell costs-front
from aiayn.costs.hardware import plan_table as plan_table
