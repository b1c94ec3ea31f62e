"""Searching and scoring (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-10-searching-and-scoring.ipynb
"""

__all__ = [
    "TooLong",
    "search_in_batches",
]


# book/11-10-searching-and-scoring.ipynb, cell batches-imports
import warnings
from collections.abc import Callable

from tqdm import tqdm

from aiayn.data.batching import group_by_length, lengths_of, pad
from aiayn.fast_paths import fast_products
from aiayn.model.base import EncoderDecoder
from aiayn.translation.engine import engine_for
from aiayn.translation.products import Compute
from aiayn.translation.search import Allowed, Hypothesis, SearchConfig, beam_search


# book/11-10-searching-and-scoring.ipynb, cell batches
class TooLong(UserWarning):
    """A sentence was left out because it has too many tokens."""


def search_in_batches(
    model: EncoderDecoder,
    sources: list[list[int]],
    search: SearchConfig,
    batch_tokens: int,
    longest: int,
    allowed: Callable[[list[int]], Allowed | None] = lambda _: None,
    engine: bool = True,
    progress: bool = False,
    compute: Compute = "float32",
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, best first; none if it is empty or too long.

    Sentences of similar length are searched together, `batch_tokens` at a time. One of
    more than `longest` tokens is left out, with the warning `TooLong`. `allowed` is
    asked for each batch, with the rows of its sentences, for what `beam_search` is told
    to allow. Without the `engine`, which may `compute` in int8, the model is searched.
    """
    for number, source in enumerate(sources, start=1):
        if len(source) > longest:
            warnings.warn(
                f"sentence {number} has {len(source):,} tokens, more than {longest:,}:"
                " it is left out; split it",
                TooLong,
                stacklevel=3,
            )
    wanted = [row for row, source in enumerate(sources) if 1 < len(source) <= longest]
    lengths = lengths_of([(sources[row], sources[row]) for row in wanted])
    found: list[list[Hypothesis]] = [[] for _ in sources]
    device = next(model.parameters()).device
    decoder = engine_for(model, compute) if engine else model
    bar = tqdm(total=len(wanted), unit="sentence", disable=not progress)
    with bar, fast_products(device, model.config.d_model):
        for group in group_by_length(lengths, batch_tokens) if wanted else []:
            rows = [wanted[k] for k in group.tolist()]
            batch = pad([sources[row] for row in rows]).to(device)
            best = beam_search(decoder, batch, search, allowed(rows))
            for row, hypotheses in zip(rows, best, strict=True):
                found[row] = hypotheses
            bar.update(len(rows))
    return found
