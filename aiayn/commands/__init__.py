"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "report",
    "score",
]


# book/09-launch.ipynb, cell commands-front
from aiayn.commands.evaluation import report as report
from aiayn.commands.evaluation import score as score
