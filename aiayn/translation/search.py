"""Beam search with a length penalty.

From "Searching and scoring" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/11-10-searching-and-scoring.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-10-searching-and-scoring.ipynb, cell search-imports
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from aiayn.base_config import BaseConfig
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.errors import InputError
from aiayn.model.base import StepByStep


# book/11-10-searching-and-scoring.ipynb, cell length-penalty
def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6) ** alpha, which divides log probabilities (Wu et al. 2016)."""
    return ((5 + length) / 6) ** alpha


# book/11-10-searching-and-scoring.ipynb, cell search-config
@dataclass(frozen=True)
class SearchConfig(BaseConfig):
    """How to search for a translation (section 6.1)."""

    # prefixes kept at each step; 1 is greedy search
    beam: Annotated[int, Field(ge=1, le=1000)] = 4
    # strength of the length penalty; 0 compares plain log probabilities
    alpha: Annotated[float, Field(ge=0, le=10)] = 0.6
    # how many tokens a translation may have, its end among them, beyond the words of
    # its source; no model writes more than it has positions
    extra_length: Annotated[int, Field(ge=0, le=100_000)] = 50
    # how many hypotheses to give back, at most `beam`
    n_best: Annotated[int, Field(ge=1)] = 1
    # source tokens; sentences of more are not translated
    max_length: Annotated[int, Field(ge=1, le=100_000)] = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_best > self.beam:
            raise InputError(
                f"n_best={self.n_best}, beam={self.beam}: wanted is n_best <= beam"
            )


PAPER_SEARCH = SearchConfig()


# book/11-10-searching-and-scoring.ipynb, cell hypothesis
@dataclass(frozen=True)
class Hypothesis:
    """A finished translation.

    Attributes
    ----------
    tokens : list of int
        With the end-of-sentence token, unless the search had to stop before it.
    log_probability : float
        Natural logarithm of the probability of the tokens given the source.
    score : float
        The log probability divided by the length penalty.
    """

    tokens: list[int]
    log_probability: float
    score: float


# book/11-10-searching-and-scoring.ipynb, cell greatest-of-blocks
BLOCK = 64  # words, of which only the greatest is looked at first


def greatest_of_blocks(
    log_p: Float[Tensor, "rows vocabulary"],
) -> Float[Tensor, "rows blocks"]:
    """The greatest number of each `BLOCK` words; the last block may be smaller."""
    whole = log_p.shape[1] // BLOCK
    blocks, rest = log_p.tensor_split([whole * BLOCK], dim=1)
    greatest = blocks.unflatten(1, (whole, BLOCK)).amax(dim=2)
    if not rest.numel():
        return greatest
    return torch.cat([greatest, rest.amax(dim=1, keepdim=True)], dim=1)


# book/11-10-searching-and-scoring.ipynb, cell expand
def expand(
    logits: Float[Tensor, "rows vocabulary"],
    live: Float[Tensor, "batch beams"],
    width: int,
    allowed: Bool[Tensor, "rows vocabulary"] | None = None,
) -> tuple[
    Float[Tensor, "batch best"], Int[Tensor, "batch best"], Int[Tensor, "batch best"]
]:
    """The `width` likeliest extensions of each sentence's live prefixes by one token.

    Returns
    -------
    log_probability, origin, token : Tensor
        Of the longer prefix; the row that it lengthens; the token added. Best first.
    """
    batch, beams = live.shape
    log_p = logits.log_softmax(dim=-1)
    if allowed is not None:
        log_p = log_p.masked_fill(~allowed, -torch.inf)
    greatest = greatest_of_blocks(log_p)
    count, words = greatest.shape[1], log_p.shape[1]
    greatest = (greatest + live.view(-1, 1)).view(batch, -1)
    block = greatest.topk(min(width, greatest.shape[1]), dim=-1).indices.unsqueeze(-1)
    first = torch.arange(batch, device=live.device)[:, None, None] * beams
    row = first + block // count
    token = block % count * BLOCK + torch.arange(BLOCK, device=live.device)
    beyond = token >= words  # where the last block is not full
    token = token.clamp(max=words - 1)
    total = log_p[row, token] + live.flatten()[row]
    total = total.masked_fill(beyond, -torch.inf).flatten(1)
    best, index = total.topk(min(width, total.shape[1]), dim=-1)
    row, token = row.flatten(1), token.flatten(1)
    return best, row.gather(1, index // BLOCK), token.gather(1, index)


# book/11-10-searching-and-scoring.ipynb, cell finished
class Finished:
    """The best finished translations of one sentence, of at most `limit` tokens."""

    def __init__(self, search: SearchConfig, limit: int) -> None:
        self.search, self.limit, self.closed = search, limit, False
        self.hypotheses: list[Hypothesis] = []

    def add(self, tokens: list[int], log_probability: float) -> None:
        """Keep a translation if it is among the best; when closed, none."""
        if self.closed:
            return
        score = log_probability / length_penalty(len(tokens), self.search.alpha)
        self.hypotheses.append(Hypothesis(tokens, log_probability, score))
        self.hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
        del self.hypotheses[self.search.beam :]

    def complete(self, live: float) -> bool:
        """Whether live prefixes, the best at `live`, can no longer change the n best.

        A prefix only loses probability by growing, and no length divides it by more
        than the limit does.
        """
        bound = live / length_penalty(self.limit, self.search.alpha)
        best = self.hypotheses[: self.search.n_best]
        return len(best) == self.search.n_best and best[-1].score >= bound


# book/11-10-searching-and-scoring.ipynb, cell still-going
Allowed = Callable[
    [list[int], Int[Tensor, "batch beams length"]], Bool[Tensor, "rows vocabulary"]
]
# When no more than this part of a batch goes on, what is done is taken out of it.
LEAVING = 7 / 8


def check_numbers(log_probabilities: list[float]) -> None:
    """Raise an InputError if one is NaN, as happens if weights are too large."""
    if any(map(math.isnan, log_probabilities)):
        raise InputError(
            "the model computes no numbers: its weights are too large;"
            " use another checkpoint"
        )


def still_going(
    results: list[Finished],
    going: list[int],
    prefixes: Int[Tensor, "batch beams length"],
    live: Float[Tensor, "batch beams"],
) -> list[int]:
    """The rows that go on; at the limit, with nothing finished, prefixes must do."""
    stay, best = [], live[:, 0].tolist()
    check_numbers(best)
    for row, sentence in enumerate(going):
        result = results[sentence]
        if result.closed:
            continue
        if prefixes.shape[-1] - 1 >= result.limit:
            if not result.hypotheses:
                for column in live[row].isfinite().nonzero().flatten().tolist():
                    tokens = prefixes[row, column, 1:].tolist()
                    result.add(tokens, float(live[row, column]))
            result.closed = True
        elif result.complete(best[row]):
            result.closed = True
        else:
            stay.append(row)
    return stay


# book/11-10-searching-and-scoring.ipynb, cell beam-search
@torch.inference_mode()
def beam_search(
    model: StepByStep,
    source: Int[Tensor, "batch n"],
    search: SearchConfig = PAPER_SEARCH,
    allowed: Allowed | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch (section 6.1) with a model in evaluation mode or an `Engine`.

    `source` holds sentences with their ends, padded; what comes out for one does not
    depend on the others. `allowed` is told which sentences are still searched, by their
    rows in the batch, and the prefixes of each; it answers which tokens may follow.

    Returns
    -------
    list of list of Hypothesis
        For each sentence its `n_best` hypotheses, best first; fewer where fewer end
        within the limit.
    """
    words = (source != PAD_ID).sum(dim=1) - 1  # the end token is not counted
    limits = (words + search.extra_length).clamp(min=1, max=model.config.longest)
    # A beam of 1 ends where the end is the likeliest.
    width = 2 * search.beam if search.beam > 1 else 1
    results = [Finished(search, limit) for limit in limits.tolist()]
    going = list(range(len(source)))  # which sentence each row of the state belongs to
    state = model.start(source)
    prefixes = source.new_full((len(source), 1, 1), BOS_ID)
    live = torch.zeros(len(source), 1, device=source.device)
    for length in range(1, 1 + max(limits.tolist())):
        logits = model.step(prefixes[:, :, -1].flatten()[:, None], state)
        may_follow = allowed and allowed(going, prefixes)
        best, origin, token = expand(logits, live, width, may_follow)
        prefixes = prefixes.flatten(0, 1)[origin]
        prefixes = torch.cat([prefixes, token.unsqueeze(-1)], dim=-1)
        ended = token == EOS_ID
        at = (ended & best.isfinite()).nonzero(as_tuple=True)
        for row, tokens, log_p in zip(
            at[0].tolist(), prefixes[at].tolist(), best[at].tolist(), strict=True
        ):
            results[going[row]].add(tokens[1:], log_p)
        live = best.masked_fill(ended, -torch.inf)
        live, kept = live.topk(min(search.beam, live.shape[1]), dim=-1)
        prefixes = prefixes.gather(1, kept.unsqueeze(-1).expand(-1, -1, length + 1))
        rows, stay = origin.gather(1, kept), still_going(results, going, prefixes, live)
        if not stay:
            break
        # To move a few sentences costs more than to compute them.
        if len(stay) <= LEAVING * len(going):
            rows, prefixes, live = rows[stay], prefixes[stay], live[stay]
            going = [going[row] for row in stay]
        state.select(rows.flatten())
    return [result.hypotheses[: search.n_best] for result in results]
