# Made by `make export` from book/3-workshop/12-visualizations.ipynb
"""Pictures of attention, in a notebook or on a page."""

# book/3-workshop/12-visualizations.ipynb, cell visualization-front
from aiayn.visualization.page import attention_view as attention_view
from aiayn.visualization.page import write_page as write_page
