"""The Transformer of "Attention Is All You Need": to read, train and translate with.

    from aiayn import Translator, recipe, train

    pairs = [("The dog sleeps.", "Der Hund schläft."), ...]  # yours
    small = recipe("small", minutes=1, model={"vocabulary_size": 500})
    translator = train(small, pairs)
    translator("The dog sleeps.")
    translator.save("mine")  # and Translator.load("mine") gives it back

`Transformer("base")` is the paper's model. Everything comes from a chapter of the book,
which explains it; the command `aiayn --help` does the same from a shell.

From "Conclusion" (paper, section 7):
https://github.com/OWNER/aiayn/blob/main/book/07-conclusion.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
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
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


# book/07-conclusion.ipynb, cell first-use
# The module of each public name.
_MODULES = {
    "laboratory": "aiayn.laboratory",
    "Pairs": "aiayn.data.corpora",
    "load_pairs": "aiayn.data.corpora",
    "Vocabulary": "aiayn.data.vocabulary",
    "load_vocabulary": "aiayn.data.vocabulary",
    "train_vocabulary": "aiayn.data.vocabulary",
    "InputError": "aiayn.errors",
    "attention_view": "aiayn.inside.view",
    "TransformerConfig": "aiayn.model.configuration",
    "config": "aiayn.model.configuration",
    "register": "aiayn.model.registry",
    "Transformer": "aiayn.model.transformer",
    "Parser": "aiayn.parsing.parser",
    "TrainingConfig": "aiayn.training.recipes",
    "recipe": "aiayn.training.recipes",
    "bleu": "aiayn.translation.bleu_scores",
    "load": "aiayn.translation.learning",
    "save": "aiayn.translation.learning",
    "train": "aiayn.translation.learning",
    "SearchConfig": "aiayn.translation.search",
    "beam_search": "aiayn.translation.search",
    "Translator": "aiayn.translation.translator",
}

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
