"""BLEU, the F1 of trees, and what a difference between runs means.

Made by `make export` from "Beam search and BLEU" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/07-beam-search-and-bleu.ipynb
"""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell metrics-front
__all__: list[str] = []  # each module by itself: sacreBLEU and scipy take a second
