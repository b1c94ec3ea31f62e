"""Two languages from one meaning (laboratory).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/10-2-two-languages.ipynb
"""

__all__ = [
    "Clause",
    "Notes",
    "Thing",
    "Word",
]


# book/10-2-two-languages.ipynb, cell package
from aiayn.laboratory.grammar.meaning import Clause, Notes, Thing, Word
