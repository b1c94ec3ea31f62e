# Made by `make export` from book/3-workshop/10-attention-scores.ipynb
"""The base class of all encoder-decoder models, and of their configurations."""

# book/3-workshop/10-attention-scores.ipynb, cell frame-imports
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from aiayn.base_config import BaseConfig
from aiayn.errors import InputError, did_you_mean
from aiayn.model.embeddings import Embeddings


# book/3-workshop/10-attention-scores.ipynb, cell model-config
@dataclass(frozen=True)
class ModelConfig(BaseConfig):
    """What the shapes of all models have in common; by default the paper's base model.

    Raises
    ------
    InputError
        If no such model can be built.
    """

    # tokens, of both languages together
    vocabulary_size: Annotated[int, Field(ge=1, le=10**7)] = 37000
    # width of embeddings, and of what goes from layer to layer
    d_model: Annotated[int, Field(ge=1, le=100_000)] = 512
    # share of numbers that are set to zero in training
    dropout: Annotated[float, Field(ge=0, le=1)] = 0.1
    pad_id: Annotated[int, Field(ge=0)] = 0  # the token that fills up a batch

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        super().__post_init__()
        if self.pad_id >= self.vocabulary_size:
            raise InputError(
                f"pad_id={self.pad_id}:"
                f" the vocabulary has {self.vocabulary_size} tokens"
            )

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, with the name of the architecture."""
        return {"architecture": architecture_of(self), **super().to_dict()}

    @classmethod
    def from_dict(cls, values: Any) -> Any:
        """The configuration that `to_dict` wrote, of the class that it names."""
        fields = {**values} if isinstance(values, dict) else {}
        name = fields.pop("architecture", None)
        if name not in [*ARCHITECTURES]:  # a list has no hash
            advice = f"{did_you_mean(str(name), ARCHITECTURES)}; register your own"
            advice += ", in a module that the shell's --import names"
            raise InputError(f"architecture={name!r:.60}: is not known; {advice}")
        return super(ModelConfig, ARCHITECTURES[name][0]).from_dict(fields)

    # book/3-workshop/10-attention-scores.ipynb, cell model-lengths
    @property
    def max_positions(self) -> int | None:
        """Positions that such a model has, where it has no more than so many."""
        return None

    def forward_flops(self, n: Any, m: Any) -> Any:
        """FLOPs of products for a source of `n` and a target of `m` tokens (5.2)."""
        raise NotImplementedError(f"{type(self).__name__} does not count its products")


# book/3-workshop/10-attention-scores.ipynb, cell state
@runtime_checkable
class IncrementalState(Protocol):
    """What a model carries from one word that it writes to the next."""

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; one may be named more than once."""


@runtime_checkable
class IncrementalDecoder(Protocol):
    """What a search asks of a model that decodes step by step."""

    @property
    def config(self) -> ModelConfig:
        """The model's shape."""

    def start(self, source: Int[Tensor, "batch n"]) -> IncrementalState:
        """Encode the source once; the `IncrementalState` is for `step`."""

    def step(
        self, tokens: Int[Tensor, "rows m"], state: Any
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed the state's rows their newest target tokens, and score the next one."""


# book/3-workshop/10-attention-scores.ipynb, cell encoder-decoder
class EncoderDecoder(nn.Module):
    """A model that reads one sequence and writes another."""

    config: ModelConfig
    target_embeddings: Embeddings

    def encode(self, source: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n width"]:
        """The memory: a vector for each source token."""
        raise NotImplementedError(f"{type(self).__name__} does not define encode")

    def decode(
        self,
        target: Int[Tensor, "batch m"],
        memory: Float[Tensor, "batch n width"],
        source: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch m d_model"]:
        """A vector for each target position, of which `logits` makes scores."""
        raise NotImplementedError(f"{type(self).__name__} does not define decode")

    def start(self, source: Int[Tensor, "batch n"]) -> IncrementalState:
        """Encode the source once; the `IncrementalState` is for `step`."""
        raise NotImplementedError(f"{type(self).__name__} does not define start")

    def step(
        self, tokens: Int[Tensor, "rows m"], state: Any
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed the newest target tokens, and score the next one."""
        raise NotImplementedError(f"{type(self).__name__} does not define step")

    # book/3-workshop/10-attention-scores.ipynb, cell teacher-forcing
    def layers(self) -> list[nn.Module]:
        """The parts that are worth compiling, one by one."""
        return list(self.children())

    def logits(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocabulary"]:
        """Scores of the vocabulary; softmax makes the next token's distribution."""
        return self.target_embeddings.logits(x)

    def forward(
        self, source: Int[Tensor, "batch n"], target: Int[Tensor, "batch m"]
    ) -> Float[Tensor, "batch m vocabulary"]:
        """Score every next token after every prefix of the target (teacher forcing)."""
        if len(source) != len(target):
            counts = f"{len(source)} sources, {len(target)} targets"
            raise ValueError(f"{counts}: row k must translate row k")
        return self.logits(self.decode(target, self.encode(source), source))


# book/3-workshop/10-attention-scores.ipynb, cell architectures
# By name, the class of a configuration and what builds the model; the registry's.
ARCHITECTURES: dict[str, tuple[type[ModelConfig], Callable[[Any], EncoderDecoder]]] = {}


def class_name(kind: type) -> str:
    """By which a class is known, also after the cell that defines it ran again."""
    return f"{kind.__module__}.{kind.__qualname__}"


def architecture_of(config: ModelConfig) -> str:
    """The name of a configuration's architecture; of several, the latest."""
    for name, (kind, _) in reversed(ARCHITECTURES.items()):
        if class_name(type(config)) == class_name(kind):
            return name
    own = type(config).__name__
    advice = f"first aiayn.register('a name', {own}, YourModel)"
    raise InputError(f"{own}: no model is known for it; {advice}")
