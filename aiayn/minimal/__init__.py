"""Two whole models on a page each: the paper's, and one of today.

Made by `make export` from "Since 2017" (paper, section 7):
https://github.com/OWNER/aiayn/blob/main/book/2-since-2017/1-since-2017.ipynb
"""

# book/2-since-2017/1-since-2017.ipynb, cell minimal-front
__all__: list[str] = []  # two models of their own; import the module that you read
