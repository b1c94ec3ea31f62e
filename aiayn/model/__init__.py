"""All models of the book, and the parts that they are made of.

From "Other scores, and what a kernel does" (paper, section 3.2):
https://github.com/OWNER/aiayn/blob/main/book/11-8-other-scores-and-kernels.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "Attention",
    "FusedAttention",
    "MultiHeadAttention",
    "causal_mask",
    "padding_mask",
    "EncoderDecoder",
    "ModelConfig",
    "TransformerConfig",
    "config",
    "Embeddings",
    "recorded_attention",
    "SinusoidalPositions",
    "build",
    "register",
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "Transformer",
    "decoder_layer",
    "encoder_layer",
]


# book/11-8-other-scores-and-kernels.ipynb, cell model-front
from aiayn.model.attention import Attention as Attention
from aiayn.model.attention import FusedAttention as FusedAttention
from aiayn.model.attention import MultiHeadAttention as MultiHeadAttention
from aiayn.model.attention import causal_mask as causal_mask
from aiayn.model.attention import padding_mask as padding_mask
from aiayn.model.base import EncoderDecoder as EncoderDecoder
from aiayn.model.base import ModelConfig as ModelConfig
from aiayn.model.configuration import TransformerConfig as TransformerConfig
from aiayn.model.configuration import config as config
from aiayn.model.embeddings import Embeddings as Embeddings
from aiayn.model.kernels import recorded_attention as recorded_attention
from aiayn.model.positions import SinusoidalPositions as SinusoidalPositions
from aiayn.model.registry import build as build
from aiayn.model.registry import register as register
from aiayn.model.stacks import Decoder as Decoder
from aiayn.model.stacks import DecoderLayer as DecoderLayer
from aiayn.model.stacks import Encoder as Encoder
from aiayn.model.stacks import EncoderLayer as EncoderLayer
from aiayn.model.transformer import Transformer as Transformer
from aiayn.model.transformer import decoder_layer as decoder_layer
from aiayn.model.transformer import encoder_layer as encoder_layer
