"""The Transformer of "Attention Is All You Need": to read, train and translate with.

    from aiayn import Translator, recipe, train

    pairs = [("The dog sleeps.", "Der Hund schläft."), ...]  # yours
    small = recipe("small", minutes=1, model={"vocabulary_size": 500})
    translator = train(small, pairs)
    translator("The dog sleeps.")
    translator.save("mine")  # and Translator.load("mine") gives it back

`Transformer("base")` is the paper's model. Everything comes from a chapter of the book,
which explains it; the command `aiayn --help` does the same from a shell.

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
    "register",
    "Transformer",
    "Parser",
    "TrainingConfig",
    "recipe",
    "bleu",
    "load",
    "save",
    "train",
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
from aiayn.model.registry import register
from aiayn.model.transformer import Transformer
from aiayn.parsing.parser import Parser
from aiayn.training.recipes import TrainingConfig, recipe
from aiayn.translation.bleu_scores import bleu
from aiayn.translation.learning import load, save, train
from aiayn.translation.search import SearchConfig, beam_search
from aiayn.translation.translator import Translator

__version__ = "0.1.0"
