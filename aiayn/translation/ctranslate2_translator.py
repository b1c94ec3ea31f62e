# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""A translator whose searches CTranslate2 runs."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell engine-imports
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from aiayn.data.vocabulary import EOS_ID, Vocabulary
from aiayn.decoding.batched import BatchDecoder
from aiayn.decoding.beam_search import Hypothesis, SearchConfig
from aiayn.decoding.huggingface_search import HuggingFaceSearch
from aiayn.decoding.quantization import Compute
from aiayn.decoding.sampling import Sampling
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.translation.ctranslate2 import distinct_pieces, write_ctranslate2
from aiayn.translation.translator import Translator

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell engine
MAX_SENTENCES = 32  # of a batch; a thread takes one batch


class CTranslate2Decoder:
    """A model in CTranslate2, which searches by its own rule."""

    def __init__(
        self, model: EncoderDecoder, vocabulary: Vocabulary, compute: Compute
    ) -> None:
        with TemporaryDirectory() as folder:
            place = Path(folder, "model")
            write_ctranslate2(model, vocabulary, place)
            import ctranslate2  # an extra, of which the line before would have told

            self.program: Any = ctranslate2.Translator(
                str(place),
                device=next(model.parameters()).device.type,
                compute_type=compute,
                inter_threads=torch.get_num_threads(),
                intra_threads=1,
            )
        self.positions = model.config.max_positions
        self.pieces = distinct_pieces(vocabulary)
        target = enumerate(distinct_pieces(vocabulary.target))
        self.numbers = {piece: token for token, piece in target}

    # book/3-workshop/07-beam-search-and-bleu.ipynb, cell engine-search
    def search(
        self, source: Int[Tensor, "batch n"], search: SearchConfig
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source, best first, scored as `search` scores."""
        if isinstance(search, Sampling):
            raise InputError("CTranslate2's engine does not draw: use Translator")
        words = [row[: row.index(EOS_ID)] for row in source.tolist()]
        if isinstance(search, HuggingFaceSearch):
            limit = search.limit
        else:
            limit = max(map(len, words)) + search.extra_length
        found = self.program.translate_batch(
            [[self.pieces[token] for token in row] for row in words],
            beam_size=search.beam,
            num_hypotheses=search.n_best,
            length_penalty=search.alpha,
            min_decoding_length=0,
            max_decoding_length=min(limit, self.positions or limit),
            max_input_length=0,  # else a long source is cut silently
            max_batch_size=MAX_SENTENCES,
            return_scores=True,
            return_end_token=True,
        )
        return [self.hypotheses(result, search) for result in found]

    def hypotheses(self, result: Any, search: SearchConfig) -> list[Hypothesis]:
        """What it gives for a sentence; it divides by a power of the length."""
        listed = []
        for pieces, score in zip(result.hypotheses, result.scores, strict=True):
            log_p = score * max(1, len(pieces)) ** search.alpha
            tokens = [self.numbers[piece] for piece in pieces]
            listed.append(Hypothesis(tokens, log_p, search.score(log_p, len(tokens))))
        return sorted(listed, key=lambda hypothesis: -hypothesis.score)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell engine-translator
class CTranslate2Translator(Translator):
    """A `Translator` whose searches CTranslate2 runs, by its own rule.

    It counts a translation as ended only among the best `beam` candidates, and divides
    by |Y|^α. Its `n_best` are by that; scores are computed as ever.
    """

    def make_decoder(self) -> BatchDecoder:
        """The model in CTranslate2."""
        return CTranslate2Decoder(self.model, self.vocabulary, self.compute)

    def n_best(self, *args: Any, prefix: str = "", **options: Any) -> Any:
        """As `Translator.n_best`, but without a prefix."""
        if prefix:
            raise InputError("CTranslate2's engine forces no prefix: use Translator")
        return super().n_best(*args, **options)
