"""The variations of the model in Table 3.

From "Sweeps and evidence" (paper, section 6.2):
https://github.com/OWNER/aiayn/blob/main/book/11-12-sweeps-and-evidence.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "Comparison",
    "compare",
    "judge",
    "judge_statement",
    "ROWS",
    "Row",
    "row_config",
]


# book/11-12-sweeps-and-evidence.ipynb, cell table3-front
from aiayn.table3.comparison import Comparison as Comparison
from aiayn.table3.comparison import compare as compare
from aiayn.table3.comparison import judge as judge
from aiayn.table3.comparison import judge_statement as judge_statement
from aiayn.table3.rows import ROWS as ROWS
from aiayn.table3.rows import Row as Row
from aiayn.table3.rows import row_config as row_config
