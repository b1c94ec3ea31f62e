"""What a sentence can mean, and its form in English and in German.

From "Two languages from one meaning":
https://github.com/OWNER/aiayn/blob/main/book/10-2-two-languages.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "Clause",
    "Notes",
    "Thing",
    "Word",
]


# book/10-2-two-languages.ipynb, cell package
from aiayn.laboratory.grammar.meaning import Clause, Notes, Thing, Word
