"""What a layer and a training run cost.

Made by `make export` from "Why self-attention" (paper, section 4):
https://github.com/OWNER/aiayn/blob/main/book/1-paper/4-why-self-attention.ipynb
"""

__all__ = [
    "estimate_table",
]


# book/1-paper/4-why-self-attention.ipynb, cell complexity-front
from aiayn.complexity.flops import estimate_table as estimate_table
