# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""Export of a model to CTranslate2."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell conversion-imports
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from aiayn.data.marian_vocabulary import MarianVocabulary
from aiayn.data.tokenizers_vocabulary import TokenizersVocabulary
from aiayn.data.vocabulary import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    SPECIAL_PIECES,
    UNK_ID,
    Vocabulary,
)
from aiayn.decoding.beam_search import PAPER_SEARCH
from aiayn.errors import InputError
from aiayn.model.attention import MultiHeadAttention
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.model.feed_forward import FeedForward
from aiayn.model.layers import Residual
from aiayn.model.marian import Marian
from aiayn.model.positions import LearnedPositions, sinusoidal_encoding
from aiayn.model.registry import check_roundtrip
from aiayn.model.transformer import Transformer
from aiayn.translation.huggingface_export import new_folder


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell conversion-parts
def numbers(tensor: Tensor) -> np.ndarray:
    """A tensor as CTranslate2 wants it."""
    return tensor.detach().float().cpu().numpy()


def fill_linear(spec: Any, weight: Tensor, bias: Tensor | None) -> None:
    """Fill in one matrix, and its bias if there is one."""
    spec.weight = numbers(weight)
    if bias is not None:
        spec.bias = numbers(bias)


def fill_norm(spec: Any, norm: Any) -> None:
    """Fill in a layer normalization."""
    spec.gamma, spec.beta = numbers(norm.weight), numbers(norm.bias)


def fill_attention(
    spec: Any, attention: MultiHeadAttention, residual: Residual
) -> None:
    """Fill in attention and norm: Q, K and V in one matrix, or the queries apart."""
    projections = attention.projections
    queries, *rest = projections.widths
    apart = len(spec.linear) == 3
    widths = [queries, sum(rest)] if apart else [queries + sum(rest)]
    weights, bias = projections.weight.split(widths), projections.bias
    biases = [None] * len(widths) if bias is None else bias.split(widths)
    for part, weight, bias in zip(spec.linear, weights, biases, strict=False):
        fill_linear(part, weight, bias)
    fill_linear(spec.linear[-1], attention.W_O.weight, attention.W_O.bias)
    fill_norm(spec.layer_norm, residual.norm)


def fill_feed_forward(spec: Any, network: FeedForward, residual: Residual) -> None:
    """Fill in a feed-forward network with its norm."""
    fill_linear(spec.linear_0, network.W_1.weight, network.W_1.bias)
    fill_linear(spec.linear_1, network.W_2.weight, network.W_2.bias)
    fill_norm(spec.layer_norm, residual.norm)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell conversion-model
def position_table(model: Transformer) -> Tensor:
    """The vectors that are added to the embeddings, one for each position."""
    if model.config.positions == "learned":
        assert isinstance(model.positions, LearnedPositions)
        return model.positions.table
    # As many as there are tokens in the longest translation.
    most = 1 + PAPER_SEARCH.max_length + PAPER_SEARCH.extra_length
    most = max(most, model.config.max_length)
    table = sinusoidal_encoding(most, model.config.d_model)
    return table if model.config.positions == "sinusoidal" else torch.zeros_like(table)


def fill_stacks(
    encoder: Any, decoder: Any, model: Transformer, positions: Tensor
) -> None:
    """Fill in embeddings, positions and layers."""
    encoder.embeddings[0].weight = numbers(model.source_embeddings.weight)
    target = numbers(model.target_embeddings.weight)
    decoder.embeddings.weight = decoder.projection.weight = target
    for stack in (encoder, decoder):
        stack.position_encodings.encodings = numbers(positions)
    layer: Any  # which PyTorch's list of modules does not tell
    for spec, layer in zip(encoder.layer, model.encoder.layers, strict=True):
        fill_attention(spec.self_attention, layer.self_attention, layer.residuals[0])
        fill_feed_forward(spec.ffn, layer.feed_forward, layer.residuals[1])
    for spec, layer in zip(decoder.layer, model.decoder.layers, strict=True):
        fill_attention(spec.self_attention, layer.self_attention, layer.residuals[0])
        fill_attention(spec.attention, layer.cross_attention, layer.residuals[1])
        fill_feed_forward(spec.ffn, layer.feed_forward, layer.residuals[2])


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell conversion-spec
def ctranslate2_spec(model: Transformer) -> Any:
    """The model as CTranslate2 describes it."""
    from ctranslate2.specs import transformer_spec

    config, pre = model.config, model.config.norm == "pre"
    head = {} if config.d_k is None else {"head_dim": config.d_k}
    encoder = transformer_spec.TransformerEncoderSpec(
        config.N, config.h, pre_norm=pre, **head
    )
    decoder = transformer_spec.TransformerDecoderSpec(
        config.N, config.h, pre_norm=pre, **head
    )
    fill_stacks(encoder, decoder, model, position_table(model))
    if pre:
        fill_norm(encoder.layer_norm, model.encoder.norm)
        fill_norm(decoder.layer_norm, model.decoder.norm)
    return transformer_spec.TransformerSpec(encoder, decoder)


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell conversion-marian
def marian_spec(model: Marian) -> Any:
    """A Marian model as CTranslate2 describes it."""
    from ctranslate2.specs import transformer_spec
    from ctranslate2.specs.common_spec import Activation

    config = model.config
    activation = {"relu": Activation.RELU, "gelu": Activation.GELU}.get(
        config.activation, Activation.SWISH
    )
    encoder = transformer_spec.TransformerEncoderSpec(
        config.encoder_layers, config.encoder_heads, False, activation=activation
    )
    decoder = transformer_spec.TransformerDecoderSpec(
        config.decoder_layers, config.decoder_heads, False, activation=activation
    )
    encoder.scale_embeddings = decoder.scale_embeddings = config.scale_embeddings
    fill_stacks(encoder, decoder, model, model.get_buffer("positions.table"))
    bias = model.output.bias.detach().clone()
    if config.bans_padding:
        bias[PAD_ID] = -1e9
    fill_linear(decoder.projection, model.output.weight, bias)
    return transformer_spec.TransformerSpec(encoder, decoder)


def cutters(vocabulary: Vocabulary) -> dict[str, bytes]:
    """The sentencepiece models to put beside a model, by their files' names."""
    if isinstance(vocabulary, MarianVocabulary):
        return {"source.spm": vocabulary.cutter, "target.spm": vocabulary.target.cutter}
    return {"vocabulary.model": vocabulary.model}


def distinct_pieces(vocabulary: Vocabulary) -> list[str]:
    """All pieces, the special ones by our names; a number without one gets one."""
    if isinstance(vocabulary, TokenizersVocabulary):
        return vocabulary.names
    pieces = vocabulary.pieces(list(range(4, len(vocabulary))))
    named = [piece or f"<{token}>" for token, piece in enumerate(pieces, start=4)]
    return [*SPECIAL_PIECES, *named]


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell convertible
def convertible(model: EncoderDecoder) -> Transformer:
    """The model itself; an InputError if CTranslate2 has no such model."""
    if isinstance(model, Marian):
        return model
    if type(model) is not Transformer:
        raise InputError(
            f"CTranslate2 has no model such as {type(model).__name__};"
            " choose another model"
        )
    check_roundtrip(model)
    config = model.config
    faults = [f"score={config.score!r}"] * (config.score != "scaled")
    faults += [f"positions={config.positions!r}"] * (config.positions == "relative")
    faults += [f"d_k={config.d_k}, d_v={config.d_v}"] * (config.d_k != config.d_v)
    if faults:
        raise InputError(f"no conversion to CTranslate2 with {', '.join(faults)}")
    return model


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell write-ctranslate2
def write_ctranslate2(
    model: EncoderDecoder, vocabulary: Vocabulary, folder: Path | str
) -> None:
    """Write a model and its vocabulary for CTranslate2 to a new folder (section 6.1).

    Its input is the pieces that `vocabulary.model` cuts a sentence into, and its output
    is pieces; of a Marian model, `source.spm` cuts, and `target.spm` joins.

    Raises
    ------
    InputError
        If the folder is there already, if CTranslate2 is not installed, or if it has no
        such model.
    """
    model = convertible(model)
    with new_folder(Path(folder)) as part:
        try:
            if isinstance(model, Marian):
                spec = marian_spec(model)
            else:
                spec = ctranslate2_spec(model)
        except ImportError:
            raise InputError(
                "CTranslate2 is not installed: pip install 'aiayn[ctranslate2]'"
            ) from None
        pieces = distinct_pieces(vocabulary)
        spec.register_source_vocabulary(pieces)
        spec.register_target_vocabulary(distinct_pieces(vocabulary.target))
        spec.config.unk_token, spec.config.eos_token = pieces[UNK_ID], pieces[EOS_ID]
        spec.config.bos_token = spec.config.decoder_start_token = pieces[BOS_ID]
        spec.config.add_source_eos = True
        spec.validate()
        spec.optimize()
        spec.save(str(part))
        for name, content in cutters(vocabulary).items():
            (part / name).write_bytes(content)
