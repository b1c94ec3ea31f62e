"""Conclusion (paper, section 7).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/07-conclusion.ipynb
"""

__all__ = [
    "laboratory",
    "Pairs",
    "load_pairs",
    "Vocabulary",
    "load_vocabulary",
    "train_vocabulary",
    "InputError",
    "attention_view",
    "TransformerConfig",
    "config",
    "Transformer",
    "Parser",
    "train",
    "TrainingConfig",
    "recipe",
    "bleu",
    "SearchConfig",
    "beam_search",
    "Translator",
]


# book/07-conclusion.ipynb, cell public-names
from aiayn import laboratory
from aiayn.data.corpora import Pairs, load_pairs
from aiayn.data.vocabulary import Vocabulary, load_vocabulary, train_vocabulary
from aiayn.errors import InputError
from aiayn.inside.view import attention_view
from aiayn.model.configuration import TransformerConfig, config
from aiayn.model.transformer import Transformer
from aiayn.parsing.parser import Parser
from aiayn.training.loop import train
from aiayn.training.recipes import TrainingConfig, recipe
from aiayn.translation.bleu_scores import bleu
from aiayn.translation.search import SearchConfig, beam_search
from aiayn.translation.translator import Translator
