"""The verbs of the command line.

Made by `make export` from "Launch" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/5-launch/1-launch.ipynb
"""

__all__ = [
    "format_scores",
    "score",
]


# book/5-launch/1-launch.ipynb, cell cli-front
from aiayn.cli.evaluation import format_scores as format_scores
from aiayn.cli.evaluation import score as score
