"""Model architecture (paper, section 3).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/03-model-architecture.ipynb
"""

__all__ = [
    "Attention",
    "MultiHeadAttention",
    "TransformerConfig",
    "config",
    "build",
    "Decoder",
    "Encoder",
    "Transformer",
]


# book/03-model-architecture.ipynb, cell model-front
from aiayn.model.attention import Attention as Attention
from aiayn.model.attention import MultiHeadAttention as MultiHeadAttention
from aiayn.model.configuration import TransformerConfig as TransformerConfig
from aiayn.model.configuration import config as config
from aiayn.model.registry import build as build
from aiayn.model.stacks import Decoder as Decoder
from aiayn.model.stacks import Encoder as Encoder
from aiayn.model.transformer import Transformer as Transformer
