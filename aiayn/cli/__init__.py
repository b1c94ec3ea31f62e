"""The verbs of the command line.

From "Launch" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/5-launch/1-launch.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "format_scores",
    "score",
]


# book/5-launch/1-launch.ipynb, cell cli-front
from aiayn.cli.evaluation import format_scores as format_scores
from aiayn.cli.evaluation import score as score
