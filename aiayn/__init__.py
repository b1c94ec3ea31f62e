"""Conclusion (paper, section 7).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/07-conclusion.ipynb
"""

__all__ = [
    "laboratory",
    "bleu",
    "Pairs",
    "load_pairs",
    "InputError",
    "Transformer",
    "TransformerConfig",
    "config",
    "Parser",
    "TrainingConfig",
    "recipe",
    "SearchConfig",
    "beam_search",
    "train",
    "Translator",
    "attention_view",
    "Vocabulary",
    "load_vocabulary",
    "train_vocabulary",
]


# book/07-conclusion.ipynb, cell public-names
from aiayn import laboratory
from aiayn.bleu_scores import bleu
from aiayn.data import Pairs, load_pairs
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig, config
from aiayn.parsing import Parser
from aiayn.recipes import TrainingConfig, recipe
from aiayn.search import SearchConfig, beam_search
from aiayn.training import train
from aiayn.translation import Translator
from aiayn.visualization import attention_view
from aiayn.vocabulary import Vocabulary, load_vocabulary, train_vocabulary
