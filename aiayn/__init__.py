"""Conclusion (paper, section 7).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/07-conclusion.ipynb
"""

__all__ = [
    "Transformer",
    "TransformerConfig",
    "config",
]


# book/07-conclusion.ipynb, cell public-names
from aiayn.model import Transformer, TransformerConfig, config
