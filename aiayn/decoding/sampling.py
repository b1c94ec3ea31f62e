# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""Sampling: translations are drawn, with a temperature, from the likeliest tokens."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell sampling-imports
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field, FiniteFloat
from torch import Tensor

from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.decoding.beam_search import (
    AllowedTokens,
    Hypothesis,
    SearchConfig,
    check_not_nan,
)
from aiayn.model.encoder_decoder import IncrementalDecoder


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell sampling
@dataclass(frozen=True)
class Sampling(SearchConfig):
    """How to draw translations from a model, token by token."""

    # how many are drawn, of which `n_best` are given back, the likeliest first
    beam: Annotated[int, Field(ge=1, le=1000)] = 1
    # divides the logits: the lower, the likelier what is drawn
    temperature: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    top_k: Annotated[int, Field(ge=1)] | None = None  # tokens that may be drawn; or all
    seed: int = 1  # the same sentences together give the same draws

    def draw(
        self, log_p: Float[Tensor, "rows vocabulary"], generator: torch.Generator
    ) -> Int[Tensor, "rows 1"]:
        """A token for each row."""
        scaled = log_p / self.temperature
        if self.top_k is not None:
            least = scaled.topk(min(self.top_k, scaled.shape[1])).values[:, -1:]
            scaled = scaled.masked_fill(scaled < least, -torch.inf)
        return torch.multinomial(scaled.softmax(dim=-1), 1, generator=generator)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell sample
@torch.inference_mode()
def sample(
    model: IncrementalDecoder,
    source: Int[Tensor, "batch n"],
    search: Sampling,
    allowed_tokens: AllowedTokens | None = None,
) -> list[list[Hypothesis]]:
    """Draw translations of a batch; arguments and result are as for `beam_search`."""
    source = source.repeat_interleave(search.beam, dim=0)
    generator = torch.Generator(source.device).manual_seed(search.seed)
    words = (source != PAD_ID).sum(dim=1, keepdim=True) - 1
    limits = (words + search.extra_length).clamp(min=1, max=model.config.max_positions)
    state, prefixes = model.start(source), torch.full_like(words, BOS_ID)
    total, goes_on = words * 0.0, words >= 0
    while goes_on.any():
        log_p = model.step(prefixes[:, -1:], state).log_softmax(dim=-1)
        check_not_nan(log_p.amax(dim=-1).tolist())
        log_p[:, PAD_ID] = -torch.inf
        if allowed_tokens is not None:
            allowed = allowed_tokens([*range(len(source))], prefixes[:, None])
            log_p = log_p.masked_fill(~allowed, -torch.inf)
        token = search.draw(log_p, generator)
        total += log_p.gather(1, token).masked_fill(~goes_on, 0.0)
        prefixes = torch.cat([prefixes, token.masked_fill(~goes_on, PAD_ID)], dim=1)
        goes_on &= (token != EOS_ID) & (prefixes.shape[1] <= limits)
    drawn = []
    for row, log_probability in zip(prefixes.tolist(), total.tolist(), strict=True):
        tokens = [token for token in row[1:] if token != PAD_ID]
        score = search.score(log_probability[0], len(tokens))
        drawn.append(Hypothesis(tokens, log_probability[0], score))
    groups = zip(*[iter(drawn)] * search.beam, strict=True)
    best_first = (sorted(group, key=lambda each: -each.score) for group in groups)
    return [group[: search.n_best] for group in best_first]
