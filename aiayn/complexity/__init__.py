# Made by `make export` from book/1-paper/4-why-self-attention.ipynb
"""What a layer and a training run cost."""

# book/1-paper/4-why-self-attention.ipynb, cell complexity-front
from aiayn.complexity.flops import estimate_table as estimate_table
