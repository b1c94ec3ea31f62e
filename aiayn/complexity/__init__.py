"""What a layer and a training run cost.

From "Why self-attention" (paper, section 4):
https://github.com/OWNER/aiayn/blob/main/book/1-paper/4-why-self-attention.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "estimate_table",
]


# book/1-paper/4-why-self-attention.ipynb, cell complexity-front
from aiayn.complexity.flops import estimate_table as estimate_table
