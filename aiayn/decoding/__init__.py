# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""Beam search, and a decoder that is fast on a CPU."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell decoding-front
from aiayn.decoding.beam_search import SearchConfig as SearchConfig
from aiayn.decoding.beam_search import beam_search as beam_search
from aiayn.decoding.huggingface_search import HuggingFaceSearch as HuggingFaceSearch
from aiayn.decoding.quantization import Compute as Compute
from aiayn.decoding.sampling import Sampling as Sampling
