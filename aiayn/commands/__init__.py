"""The verbs of the command line.

From "Launch" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "report",
    "score",
]


# book/09-launch.ipynb, cell commands-front
from aiayn.commands.evaluation import report as report
from aiayn.commands.evaluation import score as score
