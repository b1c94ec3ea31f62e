"""Constituency parsing with a Transformer, and its score.

Made by `make export` from "Trees and parsing" (paper, section 6.3):
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/11-trees-and-parsing.ipynb
"""

__all__ = [
    "Parse",
    "Parser",
]


# book/3-workshop/11-trees-and-parsing.ipynb, cell parsing-front
from aiayn.parsing.parser import Parse as Parse
from aiayn.parsing.parser import Parser as Parser
