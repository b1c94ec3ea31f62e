"""Model variations (paper, section 6.2).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/06-2-model-variations.ipynb
"""

__all__ = [
    "compare",
    "ROWS",
    "Row",
    "row_config",
]


# book/06-2-model-variations.ipynb, cell table3-front
from aiayn.table3.comparison import compare as compare
from aiayn.table3.rows import ROWS as ROWS
from aiayn.table3.rows import Row as Row
from aiayn.table3.rows import row_config as row_config
