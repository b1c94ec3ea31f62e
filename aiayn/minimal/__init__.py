# Made by `make export` from book/2-since-2017/1-since-2017.ipynb
"""Two whole models on a page each: the paper's, and one of today."""

# book/2-since-2017/1-since-2017.ipynb, cell minimal-front
# Two models of their own: import the module that you read.
