# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""The translator: training it, saving it, and handing it over."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell translation-front
from aiayn.decoding.beam_search import SearchConfig as SearchConfig
from aiayn.decoding.beam_search import beam_search as beam_search
from aiayn.decoding.quantization import Compute as Compute
from aiayn.metrics.bleu import corpus_bleu as corpus_bleu
from aiayn.translation.ctranslate2_translator import (
    CTranslate2Translator as CTranslate2Translator,
)
from aiayn.translation.translator import Translation as Translation
from aiayn.translation.translator import Translator as Translator
