# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""Beam search with a length penalty."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell search-imports
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from aiayn.base_config import BaseConfig
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import IncrementalDecoder


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell length-penalty
def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6) ** alpha, which divides log probabilities (Wu et al. 2016)."""
    return ((5 + length) / 6) ** alpha


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell search-config
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
            fault = f"n_best={self.n_best}, beam={self.beam}: wanted is n_best <= beam"
            raise InputError(f"{fault}; raise beam (--beam {self.n_best})")

    def score(self, log_probability: float, length: int) -> float:
        """The log probability of so many tokens, divided by the length penalty."""
        return log_probability / length_penalty(length, self.alpha)


PAPER_SEARCH = SearchConfig()


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell hypothesis
@dataclass(frozen=True)
class Hypothesis:
    """A finished translation."""

    # with the end-of-sentence token, unless the search had to stop before it
    tokens: list[int]
    log_probability: float  # natural logarithm, of the tokens given the source
    score: float  # the log probability divided by the length penalty


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell greatest-of-blocks
BLOCK_SIZE = 64  # words, of which only the greatest is looked at first


def block_maxima(
    log_p: Float[Tensor, "rows vocabulary"],
) -> Float[Tensor, "rows blocks"]:
    """The greatest number of each `BLOCK_SIZE` words; the last block may be smaller."""
    whole = log_p.shape[1] // BLOCK_SIZE
    blocks, rest = log_p.tensor_split([whole * BLOCK_SIZE], dim=1)
    greatest = blocks.unflatten(1, (whole, BLOCK_SIZE)).amax(dim=2)
    if not rest.numel():
        return greatest
    return torch.cat([greatest, rest.amax(dim=1, keepdim=True)], dim=1)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell expand
def expand(
    logits: Float[Tensor, "rows vocabulary"],
    live: Float[Tensor, "batch beams"],
    width: int,
    allowed_tokens: Bool[Tensor, "rows vocabulary"] | None = None,
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
    if allowed_tokens is not None:
        log_p = log_p.masked_fill(~allowed_tokens, -torch.inf)
    greatest = block_maxima(log_p)
    count, words = greatest.shape[1], log_p.shape[1]
    greatest = (greatest + live.view(-1, 1)).view(batch, -1)
    block = greatest.topk(min(width, greatest.shape[1]), dim=-1).indices.unsqueeze(-1)
    first = torch.arange(batch, device=live.device)[:, None, None] * beams
    row = first + block // count
    token = block % count * BLOCK_SIZE + torch.arange(BLOCK_SIZE, device=live.device)
    beyond = token >= words  # where the last block is not full
    token = token.clamp(max=words - 1)
    total = log_p[row, token] + live.flatten()[row]
    total = total.masked_fill(beyond, -torch.inf).flatten(1)
    best, index = total.topk(min(width, total.shape[1]), dim=-1)
    row, token = row.flatten(1), token.flatten(1)
    return best, row.gather(1, index // BLOCK_SIZE), token.gather(1, index)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell finished
class BeamHypotheses:
    """The best finished translations of one sentence, of at most `limit` tokens."""

    def __init__(self, search: SearchConfig, limit: int) -> None:
        self.search, self.limit, self.done = search, limit, False
        self.hypotheses: list[Hypothesis] = []

    def add(self, tokens: list[int], log_probability: float) -> None:
        """Keep a translation if it is among the best; when closed, none."""
        if self.done:
            return
        score = self.search.score(log_probability, len(tokens))
        self.hypotheses.append(Hypothesis(tokens, log_probability, score))
        self.hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
        del self.hypotheses[self.search.beam :]

    def is_done(self, live: float) -> bool:
        """Whether live prefixes, the best at `live`, can no longer change the n best.

        A prefix only loses probability by growing, and no length divides it by more
        than the limit does.
        """
        bound = self.search.score(live, self.limit)
        best = self.hypotheses[: self.search.n_best]
        return len(best) == self.search.n_best and best[-1].score >= bound


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell still-going
AllowedTokens = Callable[
    [list[int], Int[Tensor, "batch beams length"]], Bool[Tensor, "rows vocabulary"]
]
# When no more than this part of a batch goes on, what is done is taken out of it.
COMPACTION_THRESHOLD = 7 / 8


def check_not_nan(log_probabilities: list[float]) -> None:
    """Raise an InputError if one is NaN, as happens if weights are too large."""
    if any(map(math.isnan, log_probabilities)):
        raise InputError(
            "the model computes no numbers: its weights are too large;"
            " use another checkpoint"
        )


def unfinished_rows(
    results: list[BeamHypotheses],
    active: list[int],
    prefixes: Int[Tensor, "batch beams length"],
    live: Float[Tensor, "batch beams"],
) -> list[int]:
    """The rows that go on; at the limit, with nothing finished, prefixes must do."""
    stay, best = [], live[:, 0].tolist()
    check_not_nan(best)
    for row, sentence in enumerate(active):
        result = results[sentence]
        if result.done:
            continue
        if prefixes.shape[-1] - 1 >= result.limit:
            if not result.hypotheses:
                for column in live[row].isfinite().nonzero().flatten().tolist():
                    tokens = prefixes[row, column, 1:].tolist()
                    result.add(tokens, float(live[row, column]))
            result.done = True
        elif result.is_done(best[row]):
            result.done = True
        else:
            stay.append(row)
    return stay


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell collect-ended
def collect_ended(
    results: Sequence[BeamHypotheses],
    active: list[int],
    prefixes: Int[Tensor, "batch candidates length"],
    scores: Float[Tensor, "batch candidates"],
    ended: Bool[Tensor, "batch candidates"],
) -> None:
    """Give each sentence its hypotheses that have ended now."""
    where = ended.nonzero(as_tuple=True)
    rows, tokens, scores_there = where[0], prefixes[where], scores[where]
    found = zip(rows.tolist(), tokens.tolist(), scores_there.tolist(), strict=True)
    for row, hypothesis, log_p in found:
        results[active[row]].add(hypothesis[1:], log_p)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell beam-search
@torch.inference_mode()
def beam_search(
    model: IncrementalDecoder,
    source: Int[Tensor, "batch n"],
    search: SearchConfig = PAPER_SEARCH,
    allowed_tokens: AllowedTokens | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch (section 6.1) with a model in evaluation mode.

    `source` holds sentences with their ends, padded; what comes out for one does not
    depend on the others. `allowed_tokens` is told which sentences are still searched,
    by their rows in the batch, and the prefixes of each; it answers which tokens may
    follow. Gives each sentence's `n_best` hypotheses, best first; fewer where fewer end
    within the limit.
    """
    words = (source != PAD_ID).sum(dim=1) - 1  # the end token is not counted
    limits = (words + search.extra_length).clamp(min=1, max=model.config.max_positions)
    # A beam of 1 ends where the end is the likeliest.
    width = 2 * search.beam if search.beam > 1 else 1
    results = [BeamHypotheses(search, limit) for limit in limits.tolist()]
    active = list(range(len(source)))  # which sentence each row of the state belongs to
    state = model.start(source)
    prefixes = source.new_full((len(source), 1, 1), BOS_ID)
    live = torch.zeros(len(source), 1, device=source.device)
    for length in range(1, 1 + max(limits.tolist())):
        logits = model.step(prefixes[:, :, -1].flatten()[:, None], state)
        may_follow = allowed_tokens and allowed_tokens(active, prefixes)
        best, origin, token = expand(logits, live, width, may_follow)
        prefixes = prefixes.flatten(0, 1)[origin]
        prefixes = torch.cat([prefixes, token.unsqueeze(-1)], dim=-1)
        ended = token == EOS_ID
        collect_ended(results, active, prefixes, best, ended & best.isfinite())
        live = best.masked_fill(ended, -torch.inf)
        live, kept = live.topk(min(search.beam, live.shape[1]), dim=-1)
        prefixes = prefixes.gather(1, kept.unsqueeze(-1).expand(-1, -1, length + 1))
        rows = origin.gather(1, kept)
        stay = unfinished_rows(results, active, prefixes, live)
        if not stay:
            break
        # To move a few sentences costs more than to compute them.
        if len(stay) <= COMPACTION_THRESHOLD * len(active):
            rows, prefixes, live = rows[stay], prefixes[stay], live[stay]
            active = [active[row] for row in stay]
        state.select(rows.flatten())
    return [result.hypotheses[: search.n_best] for result in results]
