# Made by `make export` from book/4-synthetic-corpus/2-two-grammars.ipynb
"""What a sentence can mean, and its form in English and in German."""

__all__ = [
    "Clause",
    "Notes",
    "Thing",
    "Word",
]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell package
from aiayn.synthetic.grammar.meaning import Clause, Notes, Thing, Word
