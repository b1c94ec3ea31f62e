"""What a sentence can mean, and its form in English and in German.

From "Two grammars":
https://github.com/OWNER/aiayn/blob/main/book/4-synthetic-corpus/2-two-grammars.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "Clause",
    "Notes",
    "Thing",
    "Word",
]


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell package
from aiayn.synthetic.grammar.meaning import Clause, Notes, Thing, Word
