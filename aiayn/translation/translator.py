# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""The translator: plain text in, plain text out."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell imports
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from aiayn.data.batching import group_by_length, lengths_of, make_batch
from aiayn.data.columns import SomePairs, pairs_of
from aiayn.data.formats import read_pairs
from aiayn.data.lines import sentence_list
from aiayn.data.vocabulary import EOS_ID, PAD_ID, Vocabulary
from aiayn.decoding.batched import (
    BatchDecoder,
    batched_beam_search,
    forced_prefix,
    tokenize_lines,
)
from aiayn.decoding.batched import CutOff as CutOff
from aiayn.decoding.batched import TooLong as TooLong
from aiayn.decoding.batched import UnknownLetters as UnknownLetters
from aiayn.decoding.beam_search import Hypothesis, check_not_nan
from aiayn.decoding.beam_search import SearchConfig as SearchConfig
from aiayn.decoding.fast_decoder import fast_decoder_for, weights_version
from aiayn.decoding.huggingface_search import never_padding, usual_search
from aiayn.decoding.quantization import Compute
from aiayn.device import find_device
from aiayn.errors import InputError
from aiayn.metrics.bleu import MetricResult
from aiayn.metrics.bleu_variants import scores_with_paper
from aiayn.model.encoder_decoder import EncoderDecoder, IncrementalDecoder
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.checkpoint_metadata import Description
from aiayn.translation.huggingface import read_run

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell translation
# With more beams than these, fewer sentences are searched at a time, to save memory.
FULL_BATCH_BEAM = 8


@dataclass(frozen=True)
class Translation:
    """What a model made of a sentence."""

    text: str
    score: float  # its log probability, divided by the length penalty
    log_probability: float  # natural logarithm, given the source
    tokens: list[int]  # the pieces of the text, with the end of the sentence

    @property
    def complete(self) -> bool:
        """Whether it has that end, or else the search came to its limit of tokens."""
        return self.tokens[-1:] == [EOS_ID]


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell distinct
def incomplete(translations: list[list[Translation]], before: int = 0) -> list[int]:
    """Which sentences' best translations have no end; `before` came earlier."""
    numbered = enumerate(translations, start=before + 1)
    return [number for number, each in numbered if each and not each[0].complete]


def distinct(hypotheses: list[Hypothesis], texts: Iterator[str]) -> list[Translation]:
    """Hypotheses with the texts that come next, best first, each text once."""
    translations: dict[str, Translation] = {}
    # The texts go on with the next sentence's.
    for each, text in zip(hypotheses, texts, strict=False):
        translation = Translation(text, each.score, each.log_probability, each.tokens)
        translations.setdefault(text, translation)
    return list(translations.values())


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell translator
class Translator:
    """A trained model, with its vocabulary, that translates plain text.

    Parameters
    ----------
    search : SearchConfig, optional
        How to search; unless given, the paper's way, or that of a Marian's files.
    description : Description, optional
        How the model was trained, as a checkpoint says it; `save` writes it down again.
    compute : str
        `int8` lets the decoder round weights to eight bits, nearly the same.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        vocabulary: Vocabulary = None,  # type: ignore[assignment]  # refused below
        search: SearchConfig | None = None,
        description: Description | None = None,
        compute: Compute = "float32",
    ) -> None:
        for part, kind in ((model, EncoderDecoder), (vocabulary, Vocabulary)):
            if not isinstance(part, kind):
                fault = f"a Translator needs {kind.__name__}, not {type(part).__name__}"
                raise InputError(f"{fault}: Translator(*aiayn.pretrained('en-de'))")
        self.model, self.vocabulary = model.eval(), vocabulary
        self.search = search or usual_search(model.config)
        self.compute, self.description = compute, description
        self._decoder: tuple[object, IncrementalDecoder | BatchDecoder] | None = None

    @classmethod
    def load(
        cls,
        folder: Path | str,
        average: int | None = None,
        search: SearchConfig | None = None,
        device: torch.device | str | None = None,
        compute: Compute = "float32",
        beam: int | None = None,
    ) -> "Translator":
        """The mean of a run's last checkpoints, or Marian; on a GPU if there is one."""
        run = read_run(folder, average)
        search = search or usual_search(run.description.model)
        search = search if beam is None else replace(search, beam=beam)
        return cls(*run.load(device), search, run.description, compute)

    # book/3-workshop/07-beam-search-and-bleu.ipynb, cell translate-text
    @property
    def decoder(self) -> IncrementalDecoder | BatchDecoder:
        """What `make_decoder` makes, made anew once a weight has changed."""
        state = self.compute, weights_version(self.model)
        if self._decoder is None or self._decoder[0] != state:
            self._decoder = state, self.make_decoder()
        return self._decoder[1]

    def make_decoder(self) -> IncrementalDecoder | BatchDecoder:
        """A fast decoder, or the model itself if it has parts of others."""
        return fast_decoder_for(self.model, self.compute)

    def __call__(
        self,
        text: str | Iterable[str],
        batch_tokens: int = 2000,
        progress: bool = False,
        *,
        beam: int | None = None,
        prefix: str = "",
    ) -> Any:
        """Translate a sentence or a list of them.

        An empty one stays empty, and one that is too long becomes so, with the warning
        `TooLong`. Two more name what may be wrong: `UnknownLetters` of a sentence,
        `CutOff` of a translation. `batch_tokens` bounds a batch's source; `beam` takes
        the place of the search's; every translation begins with `prefix`.
        """
        lines = sentence_list([text] if isinstance(text, str) else text, "sentence")
        options: Any = {"beam": beam, "prefix": prefix}
        n_best = self.n_best(lines, 1, batch_tokens, progress, **options)
        best = [translations[0].text if translations else "" for translations in n_best]
        if cut_off := incomplete(n_best):
            warnings.warn(CutOff(cut_off), stacklevel=2)
        return best[0] if isinstance(text, str) else best

    # book/3-workshop/07-beam-search-and-bleu.ipynb, cell n-best-lists
    def n_best(
        self,
        lines: str | Sequence[str],
        n: int,
        batch_tokens: int = 2000,
        progress: bool = False,
        before: int = 0,
        *,
        beam: int | None = None,
        prefix: str = "",
    ) -> Any:
        """The `n` best translations of each line, fewer if the beam ends with fewer;
        none of an empty or too long one.

        Of one sentence, its own. `before` lines precede these in what warnings count;
        `beam` and `prefix` are as for a call.
        """
        if isinstance(lines, str):
            options: Any = {"beam": beam, "prefix": prefix}
            return self.n_best([lines], n, batch_tokens, progress, before, **options)[0]
        lines = sentence_list(lines, "sentence")
        beam = self.search.beam if beam is None else beam
        search = replace(self.search, beam=beam, n_best=n)
        # Several hypotheses may be one text, cut into tokens differently.
        search = replace(search, n_best=1 if n == 1 else beam)
        sources = tokenize_lines(self.vocabulary, lines, before)
        positions = self.model.config.max_positions or search.max_length
        longest = min(search.max_length, positions)
        tokens = batch_tokens * FULL_BATCH_BEAM // max(FULL_BATCH_BEAM, search.beam)
        first = forced_prefix(self.vocabulary.target, prefix)
        results = batched_beam_search(
            self.model,
            sources,
            search,
            tokens,
            longest,
            lambda rows: first(rows) or never_padding(self.model.config),
            decoder=self.decoder,
            progress=progress,
            before=before,
        )
        written = [each.tokens for hypotheses in results for each in hypotheses]
        texts = iter(self.vocabulary.target.decode(written))
        return [distinct(hypotheses, texts)[:n] for hypotheses in results]

    # book/3-workshop/07-beam-search-and-bleu.ipynb, cell translator-save
    def save(self, folder: Path | str, overwrite: bool = False) -> None:
        """Write model and vocabulary for `load`, to a new folder or over another."""
        parts = self.model, self.vocabulary, self.description
        save_checkpoint(folder, *parts, overwrite=overwrite)

    def to(self, device: torch.device | str) -> "Translator":
        """The same translator, with its model on another device from now on."""
        self.model.to(find_device(device))
        self._decoder = None
        return self

    @property
    def steps(self) -> int:
        """How many steps the model was trained for, so far as that is known."""
        return self.description.steps if self.description else 0

    def __repr__(self) -> str:
        numbers = sum(weight.numel() for weight in self.model.parameters())
        model = f"{type(self.model).__name__} of {numbers:,} parameters"
        return f"Translator({model}, {self.vocabulary}, beam {self.search.beam})"

    # book/3-workshop/07-beam-search-and-bleu.ipynb, cell score-lines
    @torch.inference_mode()
    def score(self, sources: str | Sequence[str], targets: str | Sequence[str]) -> Any:
        """Score given translations, as the search scores its own (section 6.1).

        Of one sentence and its translation, that one's; of lists, a list.

        Raises
        ------
        InputError
            If there are not as many targets as sources.
        """
        if isinstance(sources, str) and isinstance(targets, str):
            return self.score([sources], [targets])[0]
        sources = sentence_list(sources, "source")
        targets = sentence_list(targets, "target")
        if len(sources) != len(targets):
            counts = f"{len(sources)} sources, but {len(targets)} targets"
            raise InputError(f"{counts}: they must be pairs")
        model, vocabulary = self.model, self.vocabulary
        device = next(model.parameters()).device
        source_tokens = tokenize_lines(vocabulary, sources)
        target_tokens = tokenize_lines(vocabulary.target, targets)
        examples = list(zip(source_tokens, target_tokens, strict=True))
        scored = dict[int, Translation]()
        for group in group_by_length(lengths_of(examples), 1000) if examples else []:
            rows = group.tolist()
            batch = make_batch([examples[row] for row in rows]).to(device)
            log_p = model(batch.source, batch.target).log_softmax(dim=-1)
            log_p = log_p.gather(-1, batch.labels.unsqueeze(-1)).squeeze(-1)
            totals = log_p.masked_fill(batch.labels == PAD_ID, 0.0).sum(dim=1).tolist()
            check_not_nan(totals)
            for row, total in zip(rows, totals, strict=True):
                tokens = examples[row][1]
                score = self.search.score(total, len(tokens))
                scored[row] = Translation(targets[row].strip(), score, total, tokens)
        return [scored[row] for row in range(len(examples))]

    # book/3-workshop/07-beam-search-and-bleu.ipynb, cell evaluate
    def evaluate(
        self,
        pairs: SomePairs | str | Path,
        baseline: "Translator | Sequence[str] | None" = None,
        language: str | None = None,
        progress: bool = False,
    ) -> dict[str, MetricResult]:
        """Translate the sources of pairs, and score that by BLEU and chrF.

        Also by BLEU as in the paper; each with a 95% interval and a signature.

        Parameters
        ----------
        pairs : Pairs, iterable or path
            What `pairs_of` takes, or a file as for `read_pairs`.
        baseline : Translator or list of str, optional
            Another translator, or its translations: then the results are by how much
            this one's scores exceed theirs, on the same draws of sentences.
        language : str, optional
            Into which is translated, for the paper's form: `de`. The training's own,
            if that is known; otherwise the form is left out.
        progress : bool
            Whether to show a bar.
        """
        if isinstance(pairs, str | Path):
            pairs = read_pairs(pairs)
        test = pairs_of(pairs)
        trained = self.description.pair if self.description else None
        language = language or (trained or test.languages or "").partition("-")[2]
        theirs: Any = baseline
        if isinstance(baseline, Translator):
            theirs = baseline(test.source, progress=progress)
        ours = self(test.source, progress=progress)
        return scores_with_paper(ours, test.target, language, theirs)
