# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""Beam search by the rule of Hugging Face's `generate`."""

# book/3-workshop/14-other-peoples-models.ipynb, cell search-imports
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor

from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.decoding.beam_search import (
    COMPACTION_THRESHOLD,
    PAPER_SEARCH,
    AllowedTokens,
    BeamHypotheses,
    Hypothesis,
    SearchConfig,
    check_not_nan,
    collect_ended,
    expand,
)
from aiayn.model.encoder_decoder import IncrementalDecoder, ModelConfig
from aiayn.model.marian import MarianConfig


# book/3-workshop/14-other-peoples-models.ipynb, cell search-config
@dataclass(frozen=True)
class HuggingFaceSearch(SearchConfig):
    """How Hugging Face's `generate` searches, with its names in brackets."""

    # prefixes kept at each step (num_beams); 1 is greedy search
    beam: Annotated[int, Field(ge=1, le=1000)] = 4
    # power of the length that divides log probabilities (length_penalty)
    alpha: Annotated[float, Field(ge=0, le=10)] = 1.0
    # whether as many ends as prefixes suffice; False: if these prefixes are worse as
    # long as they are now, "never": if they would be as long as the limit, too
    early_stopping: bool | Literal["never"] = False
    # tokens of a translation, its end among them (max_length, without the start);
    # `extra_length` does not count
    limit: Annotated[int, Field(ge=1, le=100_000)] = 511
    forced_end: bool = True  # the last of them is the end (forced_eos_token_id)

    def score(self, log_probability: float, length: int) -> float:
        """The log probability of so many tokens, divided by a power of their number."""
        return log_probability / length**self.alpha


# book/3-workshop/14-other-peoples-models.ipynb, cell usual-search
def usual_search(config: ModelConfig) -> SearchConfig:
    """The paper's search, or what the files of a Marian model ask for."""
    if not isinstance(config, MarianConfig):
        return PAPER_SEARCH
    limit = config.max_length - 1
    beam, alpha = config.num_beams, config.length_penalty
    stopping, forced_end = config.early_stopping, config.forced_end
    return HuggingFaceSearch(
        beam, alpha, early_stopping=stopping, limit=limit, forced_end=forced_end
    )


def never_padding(config: ModelConfig) -> AllowedTokens | None:
    """For a Marian model that is not to write padding: all other tokens are allowed."""
    if not isinstance(config, MarianConfig) or not config.bans_padding:
        return None
    allowed = torch.ones(config.target_vocabulary_size or config.vocabulary_size) > 0
    allowed[PAD_ID] = False

    def all_but_padding(
        _: list[int], prefixes: Int[Tensor, "batch beams length"]
    ) -> Bool[Tensor, "rows vocabulary"]:
        rows = prefixes.shape[0] * prefixes.shape[1]
        return allowed.to(prefixes.device).expand(rows, -1)

    return all_but_padding


# book/3-workshop/14-other-peoples-models.ipynb, cell finished
class FinishedBeams(BeamHypotheses):
    """The best finished translations of one sentence."""

    search: HuggingFaceSearch

    def is_done_at(self, live: float, length: int) -> bool:
        """Whether the search is over for prefixes of `length`, the best at `live`."""
        if len(self.hypotheses) < self.search.beam:
            return False
        stopping = self.search.early_stopping
        if stopping is True:
            return True
        bound = self.search.score(live, self.limit if stopping == "never" else length)
        return self.hypotheses[-1].score >= bound


# book/3-workshop/14-other-peoples-models.ipynb, cell huggingface-search
@torch.inference_mode()
def huggingface_search(
    model: IncrementalDecoder,
    source: Int[Tensor, "batch n"],
    search: HuggingFaceSearch,
    allowed_tokens: AllowedTokens | None = None,
) -> list[list[Hypothesis]]:
    """As `beam_search`, by the rule of Hugging Face's `generate`."""
    limit = min(search.limit, model.config.max_positions or search.limit)
    width = 2 * search.beam if search.beam > 1 else 1
    results = [FinishedBeams(search, limit) for _ in source]
    active, state = list(range(len(source))), model.start(source)
    prefixes = source.new_full((len(source), 1, 1), BOS_ID)
    live = torch.zeros(len(source), 1, device=source.device)
    for length in range(1, limit + 1):
        logits = model.step(prefixes[:, :, -1].flatten()[:, None], state)
        if length == limit and search.forced_end:  # it costs nothing
            logits = torch.full_like(logits, -torch.inf)
            logits[:, EOS_ID] = 0.0
        may_follow = allowed_tokens and allowed_tokens(active, prefixes)
        best, origin, token = expand(logits, live, width, may_follow)
        check_not_nan(best[:, 0].tolist())
        prefixes = prefixes.flatten(0, 1)[origin]
        prefixes = torch.cat([prefixes, token.unsqueeze(-1)], dim=-1)
        ended = (token == EOS_ID) | (length == limit)
        kept = ended & best.isfinite()
        kept[:, search.beam :] = False  # ends further down are lost
        collect_ended(results, active, prefixes, best, kept)
        live = best.masked_fill(ended, -torch.inf)
        live, columns = live.topk(min(search.beam, live.shape[1]), dim=-1)
        prefixes = prefixes.gather(1, columns[:, :, None].expand(-1, -1, length + 1))
        for sentence, most in zip(active, live[:, 0].tolist(), strict=True):
            result = results[sentence]
            result.done = result.done or result.is_done_at(most, length)
        stay = [row for row, sent in enumerate(active) if not results[sent].done]
        if not stay:
            break
        rows = origin.gather(1, columns)
        if len(stay) <= COMPACTION_THRESHOLD * len(active):
            rows, prefixes, live = rows[stay], prefixes[stay], live[stay]
            active = [active[row] for row in stay]
        state.select(rows.flatten())
    return [result.hypotheses[: search.n_best] for result in results]
