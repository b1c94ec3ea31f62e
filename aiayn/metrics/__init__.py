# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""BLEU, the F1 of trees, and what a difference between runs means."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell metrics-front
# Each module by itself: sacreBLEU and scipy take a second to load.
