"""The laboratory (laboratory).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/00-1-laboratory.ipynb
"""

__all__ = [
    "source_path",
    "DOCUMENTED",
    "without_docstrings",
    "parsed",
    "imported",
    "PARSING",
    "TRAINING",
    "MODEL",
    "own_settings",
    "fingerprint",
    "cached_model",
    "shipped_model",
    "laboratory_model",
    "laboratory_parser",
    "pronouns_right",
    "scores",
]


# book/00-1-laboratory.ipynb, cell model-imports
import ast
import hashlib
import io
import shutil
import tempfile
import tokenize
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from filelock import FileLock

from aiayn.data.files import cache_folder
from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.laboratory.corpus import Pair, sample
from aiayn.model.base import EncoderDecoder
from aiayn.training.checkpoint import load_checkpoint
from aiayn.training.description import read_description
from aiayn.training.loop import train_model
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig, recipe
from aiayn.training.trained_run import TrainedRun
from aiayn.translation.bleu_scores import bleu
from aiayn.translation.translator import Translator


# book/00-1-laboratory.ipynb, cell fingerprint
def source_path(module: str) -> Path | None:
    """The file of a module of this package; None if there is no module of that name."""
    spec = None
    with suppress(ModuleNotFoundError):  # its would-be package may be a module
        spec = find_spec(module)
    return Path(spec.origin) if spec and spec.origin else None


DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def without_docstrings(source: str, tree: ast.Module) -> str:
    """What a module does, for a checksum: neither comments nor docstrings count."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno - 1, node.body[0].end_lineno or 0
            lines[first:last] = [""] * (last - first)
    return "\n".join(line.rstrip() for line in lines if line.strip())


# Once, since Python 3.11 fails where two threads parse at the same time.
@cache
def parsed(source: str) -> tuple[str, list[str]]:
    """What a module does, and all that may be a module which it imports from here."""
    tree, names = ast.parse(source), list[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "")[:6] == "aiayn.":
            names += [f"{node.module}.{alias.name}" for alias in node.names]
            names.append(str(node.module))
    return without_docstrings(source, tree), names


def imported(module: str, found: dict[str, str]) -> dict[str, str]:
    """Add to `found` what a module does, and all that it imports from this package."""
    path = source_path(module)
    if module not in found and path is not None:
        found[module], names = parsed(path.read_text(encoding="utf-8"))
        for name in names:
            imported(name, found)
    return found


# book/00-1-laboratory.ipynb, cell checksum
PARSING = Lock()
TRAINING = ("aiayn.training.loop",)  # with all that it imports
MODEL = ("aiayn.laboratory.corpus", "aiayn.model.registry")


def own_settings(config: Any) -> dict[str, Any]:
    """The fields of a configuration that are not as usual."""
    usual = type(config)()
    pairs = ((field.name, getattr(config, field.name)) for field in fields(config))
    return {name: value for name, value in pairs if value != getattr(usual, name)}


def fingerprint(config: TrainingConfig, modules: Sequence[str] = TRAINING) -> str:
    """A checksum of what makes the model: code (the data, too) and configuration."""
    sources = dict[str, str]()
    with PARSING:
        for module in modules:
            imported(module, sources)
    made_of = sorted(sources.items()), own_settings(config)
    return hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]


# book/00-1-laboratory.ipynb, cell cached-model
def cached_model(
    config: TrainingConfig, pair: str
) -> tuple[EncoderDecoder, Vocabulary]:
    """A model of the laboratory's corpus: trained now, or read from the cache.

    Parameters
    ----------
    config : TrainingConfig
        How it is trained.
    pair : str
        What it learns: `en-de`, or `en-trees`.

    Returns
    -------
    EncoderDecoder, Vocabulary
        The mean of the last checkpoints of the run.

    Raises
    ------
    InputError
        If the cache cannot be written to.
    """
    name = fingerprint(config) if pair == "en-de" else f"{pair}-{fingerprint(config)}"
    folder = cache_folder() / "laboratory" / name
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            try:
                return TrainedRun.read(folder).load("cpu")
            except InputError:  # not there yet, or damaged
                shutil.rmtree(folder, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as part:
                run = Path(part, "run")
                train_model(config, "laboratory", pair, run, progress=Progress())
                if TrainedRun.read(run).description.step != config.steps:
                    raise KeyboardInterrupt  # a signal ended the training
                run.rename(folder)
            return TrainedRun.read(folder).load("cpu")
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error}); set AIAYN_CACHE to another folder"
        ) from None


# book/00-1-laboratory.ipynb, cell laboratory-model
def shipped_model(
    config: TrainingConfig, pair: str
) -> tuple[EncoderDecoder, Vocabulary] | None:
    """The model that comes with the package; None if another is asked for.

    Also if the code that draws the sentences or computes the model is not what it was.
    """
    package = source_path("aiayn.laboratory")
    folder = package.with_name("trained") / pair if package else Path(pair)
    try:
        description = read_description(folder)
    except InputError:
        return None
    if description.training.get("fingerprint") != fingerprint(config, MODEL):
        return None
    return load_checkpoint([folder], description)


def laboratory_model(seed: int = 1) -> tuple[EncoderDecoder, Vocabulary]:
    """The model that the book looks into, English to German; see `cached_model`.

    With seed 1 it comes with the package.
    """
    config = recipe("laboratory", seed=seed)
    return shipped_model(config, "en-de") or cached_model(config, "en-de")


def laboratory_parser(seed: int = 1) -> tuple[EncoderDecoder, Vocabulary]:
    """The parser of the recipe `parser`, with seed 1 as it comes with the package.

    As for `laboratory_model`; an InputError says if the cache cannot be written to.
    """
    config = recipe("parser", seed=seed)
    return shipped_model(config, "en-trees") or cached_model(config, "en-trees")


# book/00-1-laboratory.ipynb, cell scores
def pronouns_right(translations: list[str], pairs: list[Pair]) -> float:
    """The share of sentences of split `pronouns` whose pronoun after weil is right."""

    def pronoun(text: str) -> str:
        words = text.lower().replace(",", "").split()
        return words[words.index("weil") + 1] if "weil" in words[:-1] else ""

    right = sum(
        pronoun(text) == pronoun(pair.target)
        for text, pair in zip(translations, pairs, strict=True)
    )
    return right / len(pairs)


def scores(translator: Translator, n: int) -> dict[str, float]:
    """BLEU on `n` pairs each of test, novel and long, and the share of right pronouns.

    `pronouns_singular` counts only those where both readings have "it", so that no
    plural gives a hint.
    """
    found = dict[str, float]()
    for split in ("test", "novel", "long"):
        pairs = sample(n, split=split)
        translations = translator([pair.source for pair in pairs])
        found[split], _ = bleu(translations, [pair.target for pair in pairs])
    pairs = sample(n, split="pronouns")
    translations = translator([pair.source for pair in pairs])
    found["pronouns"] = pronouns_right(translations, pairs)
    twos = zip(pairs[::2], pairs[1::2], strict=True)
    single = [
        pair
        for two in twos
        if all(" it " in f" {each.source.lower()}" for each in two)
        for pair in two
    ]
    translations = translator([pair.source for pair in single])
    found["pronouns_singular"] = pronouns_right(translations, single)
    return found
