# Made by `make export` from book/4-synthetic-corpus/4-corpus.ipynb
"""The synthetic English-German corpus, made by two grammars."""

# book/4-synthetic-corpus/4-corpus.ipynb, cell synthetic-front
from aiayn.synthetic.corpus import Pair as Pair
from aiayn.synthetic.corpus import sample as sample
