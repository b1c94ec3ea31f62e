"""Pictures of attention, in a notebook or on a page.

From "Visualizations":
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/12-visualizations.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "attention_view",
    "write_page",
]


# book/3-workshop/12-visualizations.ipynb, cell visualization-front
from aiayn.visualization.page import attention_view as attention_view
from aiayn.visualization.page import write_page as write_page
