"""What attention heads do.

From "Visualizations":
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/12-visualizations.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "SentenceAttention",
    "attention_of",
]


# book/3-workshop/12-visualizations.ipynb, cell analysis-front
from aiayn.analysis.attention_maps import SentenceAttention as SentenceAttention
from aiayn.analysis.attention_maps import attention_of as attention_of
