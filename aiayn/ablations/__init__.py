# Made by `make export` from book/3-workshop/08-ablations-and-statistics.ipynb
"""The variations of the model in Table 3."""

# book/3-workshop/08-ablations-and-statistics.ipynb, cell ablations-front
from aiayn.ablations.comparison import Comparison as Comparison
from aiayn.ablations.comparison import compare as compare
from aiayn.ablations.comparison import judge as judge
from aiayn.ablations.comparison import judge_statement as judge_statement
from aiayn.ablations.rows import ROWS as ROWS
from aiayn.ablations.rows import Row as Row
from aiayn.ablations.rows import row_config as row_config
