"""The translator: plain text in, plain text out.

From "Searching and scoring" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/11-10-searching-and-scoring.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-10-searching-and-scoring.ipynb, cell imports
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from aiayn.data.batching import group_by_length, lengths_of, make_batch
from aiayn.data.text import sentence_list
from aiayn.data.vocabulary import EOS_ID, PAD_ID, Vocabulary
from aiayn.errors import InputError
from aiayn.model.base import EncoderDecoder
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.description import Description
from aiayn.training.trained_run import TrainedRun
from aiayn.translation.batches import CutOff as CutOff
from aiayn.translation.batches import TooLong as TooLong
from aiayn.translation.batches import UnknownLetters as UnknownLetters
from aiayn.translation.batches import search_in_batches, tokens_of
from aiayn.translation.bleu_scores import bleu as bleu
from aiayn.translation.products import Compute
from aiayn.translation.search import (
    PAPER_SEARCH,
    Hypothesis,
    check_numbers,
    length_penalty,
)
from aiayn.translation.search import SearchConfig as SearchConfig
from aiayn.translation.search import beam_search as beam_search


# book/11-10-searching-and-scoring.ipynb, cell translation
@dataclass(frozen=True)
class Translation:
    """What a model made of a sentence.

    Attributes
    ----------
    text : str
        The translation.
    score : float
        Its log probability, divided by the length penalty.
    log_probability : float
        Natural logarithm of the probability of its tokens, given the source.
    tokens : list of int
        The pieces of the text, with the end of the sentence.
    complete : bool
        Whether it has that end. Otherwise the search came to its limit of tokens.
    """

    text: str
    score: float
    log_probability: float
    tokens: list[int]

    @property
    def complete(self) -> bool:
        return self.tokens[-1:] == [EOS_ID]


def incomplete(found: list[list[Translation]], before: int = 0) -> list[int]:
    """Which sentences' best translations have no end; `before` came earlier."""
    numbered = enumerate(found, start=before + 1)
    return [number for number, each in numbered if each and not each[0].complete]


def distinct(hypotheses: list[Hypothesis], texts: Iterator[str]) -> list[Translation]:
    """Hypotheses with the texts that come next, best first, each text once."""
    found: dict[str, Translation] = {}
    # The texts go on with the next sentence's.
    for each, text in zip(hypotheses, texts, strict=False):
        translation = Translation(text, each.score, each.log_probability, each.tokens)
        found.setdefault(text, translation)
    return list(found.values())


# book/11-10-searching-and-scoring.ipynb, cell translator
class Translator:
    """A trained model that translates plain text.

    Parameters
    ----------
    model, vocabulary : EncoderDecoder, Vocabulary
        What a `TrainedRun` loads.
    search : SearchConfig
        How to search.
    engine : bool
        Whether the `aiayn.translation.engine` decodes: the same translations, sooner.
    description : Description, optional
        How the model was trained, as a checkpoint says it; `save` writes it down again.
    compute : str
        `int8` lets the engine round weights to eight bits: nearly the same, and sooner
        if the model is wide.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        vocabulary: Vocabulary,
        search: SearchConfig = PAPER_SEARCH,
        engine: bool = True,
        description: Description | None = None,
        compute: Compute = "float32",
    ) -> None:
        check_parts(model, vocabulary)
        self.model, self.vocabulary = model.eval(), vocabulary
        self.search, self.engine, self.compute = search, engine, compute
        self.description = description

    @classmethod
    def load(
        cls,
        folder: Path | str,
        average: int | None = None,
        search: SearchConfig = PAPER_SEARCH,
        device: torch.device | str | None = None,
        compute: Compute = "float32",
    ) -> "Translator":
        """A run's model, the mean of its last checkpoints; on a GPU if there is one."""
        run = TrainedRun.read(folder, average)
        model, vocabulary = run.load(device)
        known = run.description
        return cls(model, vocabulary, search, description=known, compute=compute)

    # book/11-10-searching-and-scoring.ipynb, cell translate-text
    def __call__(
        self,
        text: str | Iterable[str],
        batch_tokens: int = 2000,
        progress: bool = False,
    ) -> Any:
        """Translate a sentence or a list of them.

        An empty one stays empty, and one that is too long becomes so, with the warning
        `TooLong`. Two more name what may be wrong: `UnknownLetters` of a sentence,
        `CutOff` of a translation. `batch_tokens` bounds a batch's source.
        """
        lines = sentence_list([text] if isinstance(text, str) else text, "sentence")
        found = self.n_best(lines, 1, batch_tokens, progress)
        best = [translations[0].text if translations else "" for translations in found]
        if cut_off := incomplete(found):
            warnings.warn(CutOff(cut_off), stacklevel=2)
        return best[0] if isinstance(text, str) else best

    # book/11-10-searching-and-scoring.ipynb, cell translate-lines
    def n_best(
        self,
        lines: Sequence[str],
        n: int,
        batch_tokens: int = 2000,
        progress: bool = False,
        before: int = 0,
    ) -> list[list[Translation]]:
        """The `n` best translations of each line; none of an empty or too long one.

        Warnings count the lines that came `before` these, too.
        """
        lines = sentence_list(lines, "sentence")
        search = replace(self.search, n_best=n)
        sources = tokens_of(self.vocabulary, lines, before)
        longest = min(search.max_length, self.model.config.longest or search.max_length)
        tokens = batch_tokens * WIDE // max(WIDE, search.beam)
        found = search_in_batches(
            self.model,
            sources,
            search,
            tokens,
            longest,
            engine=self.engine,
            progress=progress,
            compute=self.compute,
            before=before,
        )
        written = [each.tokens for hypotheses in found for each in hypotheses]
        texts = iter(self.vocabulary.decode(written))
        return [distinct(hypotheses, texts) for hypotheses in found]

    # book/11-10-searching-and-scoring.ipynb, cell translator-save
    def save(self, folder: Path | str) -> None:
        """Write model and vocabulary to a new folder, for `load`."""
        save_checkpoint(folder, self.model, self.vocabulary, self.description)

    @property
    def steps(self) -> int:
        """How many steps the model was trained for, so far as that is known."""
        return self.description.steps if self.description else 0

    def __repr__(self) -> str:
        numbers = sum(weight.numel() for weight in self.model.parameters())
        model = f"{type(self.model).__name__} of {numbers:,} parameters"
        return f"Translator({model}, {self.vocabulary}, beam {self.search.beam})"

    # book/11-10-searching-and-scoring.ipynb, cell score-lines
    @torch.inference_mode()
    def score(
        self, sources: Sequence[str], targets: Sequence[str]
    ) -> list[Translation]:
        """Score given translations, as the search scores its own (section 6.1).

        Raises
        ------
        InputError
            If there are not as many targets as sources.
        """
        sources = sentence_list(sources, "source")
        targets = sentence_list(targets, "target")
        if len(sources) != len(targets):
            counts = f"{len(sources)} sources, but {len(targets)} targets"
            raise InputError(f"{counts}: they must be pairs")
        model, vocabulary = self.model, self.vocabulary
        device = next(model.parameters()).device
        known = tokens_of(vocabulary, sources), tokens_of(vocabulary, targets)
        examples, scored = list(zip(*known, strict=True)), dict[int, Translation]()
        for group in group_by_length(lengths_of(examples), 1000) if examples else []:
            rows = group.tolist()
            batch = make_batch([examples[row] for row in rows]).to(device)
            log_p = model(batch.source, batch.target).log_softmax(dim=-1)
            log_p = log_p.gather(-1, batch.labels.unsqueeze(-1)).squeeze(-1)
            totals = log_p.masked_fill(batch.labels == PAD_ID, 0.0).sum(dim=1).tolist()
            check_numbers(totals)
            for row, total in zip(rows, totals, strict=True):
                tokens = examples[row][1]
                score = total / length_penalty(len(tokens), self.search.alpha)
                scored[row] = Translation(targets[row].strip(), score, total, tokens)
        return [scored[row] for row in range(len(examples))]


# book/11-10-searching-and-scoring.ipynb, cell translate-lines
# With more beams, fewer sentences are searched at a time, for the sake of memory.
WIDE = 8


def check_parts(model: object, vocabulary: object) -> None:
    """Raise an InputError if a translator cannot be made of these."""
    for part, wanted in ((model, EncoderDecoder), (vocabulary, Vocabulary)):
        if not isinstance(part, wanted):
            kind = type(part).__name__
            raise InputError(f"a Translator needs {wanted.__name__}, not {kind}")
