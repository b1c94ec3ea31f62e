"""Model architecture (paper, section 3).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/03-model-architecture.ipynb
"""

__all__ = [
    "ModelConfig",
    "State",
    "EncoderDecoder",
]


# book/03-model-architecture.ipynb, cell frame-imports
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from jaxtyping import Float, Int
from torch import Tensor, nn

from aiayn.embeddings import Embeddings


# book/03-model-architecture.ipynb, cell model-config
@dataclass(frozen=True)
class ModelConfig:
    """What the shapes of all models have in common; the defaults are the paper's base model's."""

    vocabulary_size: int = 37000  # tokens, of both languages together
    d_model: int = 512  # width of embeddings, and of what goes from layer to layer
    dropout: float = 0.1  # share of numbers that are set to zero in training
    pad_id: int = 0  # the token that fills up a batch

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        for name in ("vocabulary_size", "d_model"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")
        if not 0 <= self.dropout <= 1:
            raise ValueError(f"dropout={self.dropout}: must lie between 0 and 1")
        if not 0 <= self.pad_id < self.vocabulary_size:
            raise ValueError(f"pad_id={self.pad_id}: the vocabulary has {self.vocabulary_size} tokens")

    @property
    def longest(self) -> int | None:
        """Positions that such a model has, where it has no more than so many."""
        return None

    def forward_flops(self, n: Any, m: Any) -> Any:
        """FLOPs of the matrix products for source and target of `n` and `m` tokens: see chapter 5.2."""
        raise NotImplementedError("for a Transformer: aiayn.hardware.forward_flops(config, n, m)")


# book/03-model-architecture.ipynb, cell state
class State(Protocol):
    """What a model carries from one word that it writes to the next."""

    def select(self, rows: Int[Tensor, " kept"], sentences: Int[Tensor, " going"] | None = None) -> None:
        """Keep these rows, in this order, and where given, only the sentences to which they belong."""


# book/03-model-architecture.ipynb, cell encoder-decoder
class EncoderDecoder(nn.Module):
    """A model that reads one sequence and writes another."""

    config: ModelConfig
    target_embeddings: Embeddings

    @abstractmethod
    def encode(self, source: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n width"]:
        """The memory: a vector for each source token."""

    @abstractmethod
    def decode(
        self,
        target: Int[Tensor, "batch m"],
        memory: Float[Tensor, "batch n width"],
        source: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch m d_model"]:
        """A vector for each target position, from which `logits` tells the next token."""

    @abstractmethod
    def start(self, source: Int[Tensor, "batch n"]) -> Any:
        """Encode the source once; the `State` is for `step`."""

    @abstractmethod
    def step(self, tokens: Int[Tensor, "rows m"], state: Any) -> Float[Tensor, "rows vocabulary"]:
        """Feed the newest target tokens, and score the next one."""

    def layers(self) -> list[nn.Module]:
        """The parts that are worth compiling, one by one."""
        return list(self.children())

    def logits(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocabulary"]:
        """Scores of the whole vocabulary; their softmax is the distribution of the next token."""
        return self.target_embeddings.logits(x)

    def forward(
        self, source: Int[Tensor, "batch n"], target: Int[Tensor, "batch m"]
    ) -> Float[Tensor, "batch m vocabulary"]:
        """Score every next token after every prefix of the target (teacher forcing)."""
        return self.logits(self.decode(target, self.encode(source), source))
