# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""What attention heads do."""

# book/3-workshop/12-visualizations.ipynb, cell analysis-front
from aiayn.analysis.attention_maps import SentenceAttention as SentenceAttention
from aiayn.analysis.attention_maps import attention_of as attention_of
