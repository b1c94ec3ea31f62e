"""The base class of all encoder-decoder models, and of their configurations.

From "Other scores, and what a kernel does" (paper, section 3.2):
https://github.com/OWNER/aiayn/blob/main/book/11-8-other-scores-and-kernels.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-8-other-scores-and-kernels.ipynb, cell frame-imports
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    Protocol,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from jaxtyping import Float, Int
from torch import Tensor, nn

from aiayn.errors import InputError
from aiayn.model.embeddings import Embeddings

# book/11-8-other-scores-and-kernels.ipynb, cell is-of
KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "nothing",
}


def is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type; true, false and NaN are no numbers."""
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if kind in (int, float):
        number = isinstance(value, kind | int) and not isinstance(value, bool)
        return number and value == value
    return isinstance(value, get_origin(kind) or kind)


# book/11-8-other-scores-and-kernels.ipynb, cell check-fields
def check_fields(
    settings: Any,
    bounds: dict[str, tuple[float, float]],
    usual: tuple[float, float] = (1, 100_000),
) -> None:
    """Refuse a field of a dataclass that is not of its type, or a number out of bounds.

    `bounds` are the least and the greatest number by field, and `usual` those of all
    other numbers.

    Raises
    ------
    InputError
        It names the field and its value.
    """
    types = get_type_hints(type(settings))
    for field in fields(settings):
        value, kind = getattr(settings, field.name), types[field.name]
        kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        if not any(is_of(value, kind) for kind in kinds):
            names = [
                KINDS.get(each, getattr(each, "__name__", str(each))) for each in kinds
            ]
            wanted = " or ".join(names)
            if get_origin(kinds[0]) is Literal:
                wanted = f"one of {', '.join(get_args(kinds[0]))}"
            raise InputError(f"{field.name}={value!r:.60}: must be {wanted}")
        low, high = bounds.get(field.name, usual)
        if {int, float} & {*kinds} and value is not None and not low <= value <= high:
            limit = f"at least {low:,}" if value < low else f"at most {high:,}"
            raise InputError(f"{field.name}={value!r:.60}: must be {limit}")


# book/11-8-other-scores-and-kernels.ipynb, cell model-config
@dataclass(frozen=True)
class ModelConfig:
    """What the shapes of all models have in common; by default the paper's base model.

    Raises
    ------
    InputError
        If no such model can be built.
    """

    vocabulary_size: int = 37000  # tokens, of both languages together
    d_model: int = 512  # width of embeddings, and of what goes from layer to layer
    dropout: float = 0.1  # share of numbers that are set to zero in training
    pad_id: int = 0  # the token that fills up a batch

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        most = 10_000_000
        bounds = {
            "vocabulary_size": (1, most),
            "max_length": (1, most),
            "N": (1, 1000),
            "dropout": (0, 1),
            "attention_dropout": (0, 1),
        }
        check_fields(self, {**bounds, "pad_id": (0, most)})
        if self.pad_id >= self.vocabulary_size:
            raise InputError(
                f"pad_id={self.pad_id}:"
                f" the vocabulary has {self.vocabulary_size} tokens"
            )

    @property
    def longest(self) -> int | None:
        """Positions that such a model has, where it has no more than so many."""
        return None

    def forward_flops(self, n: Any, m: Any) -> Any:
        """FLOPs of products for a source of `n` and a target of `m` tokens (5.2)."""
        raise NotImplementedError(f"{type(self).__name__} does not count its products")


# book/11-8-other-scores-and-kernels.ipynb, cell state
@runtime_checkable
class State(Protocol):
    """What a model carries from one word that it writes to the next."""

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; one may be named more than once."""


@runtime_checkable
class StepByStep(Protocol):
    """What a search asks of a model that writes word by word."""

    @property
    def config(self) -> ModelConfig:
        """The model's shape."""

    def start(self, source: Int[Tensor, "batch n"]) -> State:
        """Encode the source once; the `State` is for `step`."""

    def step(
        self, tokens: Int[Tensor, "rows m"], state: Any
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed the state's rows their newest target tokens, and score the next one."""


# book/11-8-other-scores-and-kernels.ipynb, cell encoder-decoder
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

    def start(self, source: Int[Tensor, "batch n"]) -> State:
        """Encode the source once; the `State` is for `step`."""
        raise NotImplementedError(f"{type(self).__name__} does not define start")

    def step(
        self, tokens: Int[Tensor, "rows m"], state: Any
    ) -> Float[Tensor, "rows vocabulary"]:
        """Feed the newest target tokens, and score the next one."""
        raise NotImplementedError(f"{type(self).__name__} does not define step")

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
            raise ValueError(
                f"{len(source)} sources, {len(target)} targets:"
                " row k must translate row k"
            )
        return self.logits(self.decode(target, self.encode(source), source))
