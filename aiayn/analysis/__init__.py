"""What attention heads do.

Made by `make export` from "Visualizations":
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/12-visualizations.ipynb
"""

__all__ = [
    "SentenceAttention",
    "attention_of",
]


# book/3-workshop/12-visualizations.ipynb, cell analysis-front
from aiayn.analysis.attention_maps import SentenceAttention as SentenceAttention
from aiayn.analysis.attention_maps import attention_of as attention_of
