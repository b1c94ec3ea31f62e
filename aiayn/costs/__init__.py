"""Why self-attention (paper, section 4).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/04-why-self-attention.ipynb
"""

__all__ = [
    "plan_table",
]


# book/04-why-self-attention.ipynb, cell costs-front
from aiayn.costs.hardware import plan_table as plan_table
