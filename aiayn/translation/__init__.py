"""Beam search, the translator, and BLEU.

From "Searching and scoring" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/11-10-searching-and-scoring.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "bleu",
    "Compute",
    "SearchConfig",
    "beam_search",
    "Translation",
    "Translator",
]


# book/11-10-searching-and-scoring.ipynb, cell translation-front
from aiayn.translation.bleu_scores import bleu as bleu
from aiayn.translation.products import Compute
from aiayn.translation.search import SearchConfig as SearchConfig
from aiayn.translation.search import beam_search as beam_search
from aiayn.translation.translator import Translation as Translation
from aiayn.translation.translator import Translator as Translator
