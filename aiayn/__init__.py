# Made by `make export` from book/1-paper/7-conclusion.ipynb
"""The Transformer of "Attention Is All You Need": to read, train and translate with.

    from aiayn import Translator, recipe, train

    pairs = [("The dog sleeps.", "Der Hund schläft."), ...]  # yours
    small = recipe("small", minutes=1, model={"vocabulary_size": 500})
    translator = train(small, pairs)
    translator("The dog sleeps.")
    translator.save("mine")  # and Translator.load("mine") gives it back

`Transformer("base")` is the paper's model. Everything comes from a chapter of the book,
which explains it; the command `aiayn --help` does the same from a shell.
"""

# book/1-paper/7-conclusion.ipynb, cell public-names
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiayn import synthetic as synthetic
    from aiayn.data.corpora import Pairs as Pairs
    from aiayn.data.corpora import load_pairs as load_pairs
    from aiayn.data.formats import read_pairs as read_pairs
    from aiayn.data.vocabulary import Vocabulary as Vocabulary
    from aiayn.data.vocabulary import load_vocabulary as load_vocabulary
    from aiayn.data.vocabulary import train_vocabulary as train_vocabulary
    from aiayn.decoding.beam_search import SearchConfig as SearchConfig
    from aiayn.decoding.beam_search import beam_search as beam_search
    from aiayn.errors import InputError as InputError
    from aiayn.metrics.bleu import corpus_bleu as corpus_bleu
    from aiayn.model.configuration import TransformerConfig as TransformerConfig
    from aiayn.model.configuration import config as config
    from aiayn.model.registry import register as register
    from aiayn.model.transformer import Transformer as Transformer
    from aiayn.parsing.parser import Parser as Parser
    from aiayn.shipped import pretrained as pretrained
    from aiayn.training.recipes import TrainingConfig as TrainingConfig
    from aiayn.training.recipes import recipe as recipe
    from aiayn.translation.api import load as load
    from aiayn.translation.api import save as save
    from aiayn.translation.api import train as train
    from aiayn.translation.translator import Translator as Translator
    from aiayn.visualization.page import attention_view as attention_view

__version__ = "0.1.0"


# book/1-paper/7-conclusion.ipynb, cell first-use
# The module of each public name.
_MODULES = {
    "synthetic": "aiayn.synthetic",
    "Pairs": "aiayn.data.corpora",
    "load_pairs": "aiayn.data.corpora",
    "read_pairs": "aiayn.data.formats",
    "Vocabulary": "aiayn.data.vocabulary",
    "load_vocabulary": "aiayn.data.vocabulary",
    "train_vocabulary": "aiayn.data.vocabulary",
    "InputError": "aiayn.errors",
    "attention_view": "aiayn.visualization.page",
    "TransformerConfig": "aiayn.model.configuration",
    "config": "aiayn.model.configuration",
    "register": "aiayn.model.registry",
    "Transformer": "aiayn.model.transformer",
    "Parser": "aiayn.parsing.parser",
    "pretrained": "aiayn.shipped",
    "TrainingConfig": "aiayn.training.recipes",
    "recipe": "aiayn.training.recipes",
    "corpus_bleu": "aiayn.metrics.bleu",
    "load": "aiayn.translation.api",
    "save": "aiayn.translation.api",
    "train": "aiayn.translation.api",
    "SearchConfig": "aiayn.decoding.beam_search",
    "beam_search": "aiayn.decoding.beam_search",
    "Translator": "aiayn.translation.translator",
}
__all__ = [*_MODULES]

if not TYPE_CHECKING:  # for a type checker, what is not imported above is not there

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_MODULES[name])
        value = module if _MODULES[name] == f"aiayn.{name}" else getattr(module, name)
        globals()[name] = value  # found without this function from now on
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES})
