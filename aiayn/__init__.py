"""Conclusion (paper, section 7).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/07-conclusion.ipynb
"""

__all__ = [
    "laboratory",
    "InputError",
    "Pairs",
    "load_pairs",
    "Transformer",
    "TransformerConfig",
    "config",
    "Parser",
    "TrainingConfig",
    "recipe",
    "train",
    "SearchConfig",
    "Translator",
    "beam_search",
    "bleu",
    "attention_view",
    "Vocabulary",
    "load_vocabulary",
    "train_vocabulary",
]


# book/07-conclusion.ipynb, cell public-names
from aiayn import laboratory
from aiayn.data import InputError, Pairs, load_pairs
from aiayn.model import Transformer, TransformerConfig, config
from aiayn.parsing import Parser
from aiayn.recipes import TrainingConfig, recipe
from aiayn.training import train
from aiayn.translation import SearchConfig, Translator, beam_search, bleu
from aiayn.visualization import attention_view
from aiayn.vocabulary import Vocabulary, load_vocabulary, train_vocabulary
