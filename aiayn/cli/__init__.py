# Made by `make export` from book/5-launch/1-launch.ipynb
"""The verbs of the command line."""

# book/5-launch/1-launch.ipynb, cell cli-front
from aiayn.cli.evaluation import format_scores as format_scores
from aiayn.cli.evaluation import score as score
