"""The synthetic English-German corpus, made by two grammars.

From "The corpus":
https://github.com/OWNER/aiayn/blob/main/book/4-synthetic-corpus/4-corpus.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "Pair",
    "sample",
]


# book/4-synthetic-corpus/4-corpus.ipynb, cell synthetic-front
from aiayn.synthetic.corpus import Pair as Pair
from aiayn.synthetic.corpus import sample as sample
