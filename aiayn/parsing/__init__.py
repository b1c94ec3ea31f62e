# Made by `make export` from book/3-workshop/11-trees-and-parsing.ipynb
"""Constituency parsing with a Transformer, and its score."""

# book/3-workshop/11-trees-and-parsing.ipynb, cell parsing-front
from aiayn.parsing.parser import Parse as Parse
from aiayn.parsing.parser import Parser as Parser
