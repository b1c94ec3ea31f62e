"""The synthetic English-German corpus, made by two grammars.

From "The laboratory":
https://github.com/OWNER/aiayn/blob/main/book/00-1-laboratory.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "Pair",
    "sample",
]


# book/00-1-laboratory.ipynb, cell laboratory-front
from aiayn.laboratory.corpus import Pair as Pair
from aiayn.laboratory.corpus import sample as sample
