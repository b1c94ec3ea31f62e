# Made by `make export` from book/3-workshop/10-attention-scores.ipynb
"""All models of the book, and the parts that they are made of."""

# book/3-workshop/10-attention-scores.ipynb, cell model-front
from aiayn.model.attention import Attention as Attention
from aiayn.model.attention import FusedAttention as FusedAttention
from aiayn.model.attention import MultiHeadAttention as MultiHeadAttention
from aiayn.model.attention import causal_mask as causal_mask
from aiayn.model.attention import padding_mask as padding_mask
from aiayn.model.configuration import TransformerConfig as TransformerConfig
from aiayn.model.configuration import config as config
from aiayn.model.embeddings import Embeddings as Embeddings
from aiayn.model.encoder_decoder import EncoderDecoder as EncoderDecoder
from aiayn.model.encoder_decoder import ModelConfig as ModelConfig
from aiayn.model.layers import Decoder as Decoder
from aiayn.model.layers import DecoderLayer as DecoderLayer
from aiayn.model.layers import Encoder as Encoder
from aiayn.model.layers import EncoderLayer as EncoderLayer
from aiayn.model.positions import SinusoidalPositions as SinusoidalPositions
from aiayn.model.recording import recorded_attention as recorded_attention
from aiayn.model.registry import build as build
from aiayn.model.registry import register as register
from aiayn.model.transformer import Transformer as Transformer
from aiayn.model.transformer import decoder_layer as decoder_layer
from aiayn.model.transformer import encoder_layer as encoder_layer
