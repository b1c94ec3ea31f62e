"""Random Marian models in folders, as `transformers` writes them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from aiayn.data.marian_vocabulary import MarianVocabulary
from aiayn.data.vocabulary import Vocabulary, train_vocabulary

transformers: Any = pytest.importorskip(
    "transformers", reason="transformers is not installed"
)

TEXT = """
the cat sat on a small old mat and the dog saw it while two big horses ran home
die katze saß auf einer kleinen alten matte und der hund sah sie
""".split()
SENTENCES = [" ".join(TEXT[i : i + n]) for i in range(len(TEXT)) for n in (1, 3, 5, 9)]
SMALL: dict[str, Any] = {
    "d_model": 24,
    "encoder_layers": 2,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_layers": 2,
    "decoder_attention_heads": 4,
    "decoder_ffn_dim": 40,
    "activation_function": "swish",
    "scale_embedding": True,
    "max_position_embeddings": 64,
    "max_length": 20,
    "num_beams": 4,
}
KINDS: dict[str, dict[str, Any]] = {
    "shared": {},
    "separate": {"share_encoder_decoder_embeddings": False},
    "relu": {"activation_function": "relu", "scale_embedding": False},
    "gelu": {"activation_function": "gelu", "encoder_ffn_dim": 28},
    "unequal": {"encoder_layers": 3, "decoder_layers": 1, "decoder_attention_heads": 2},
    "untied": {"tie_word_embeddings": False},
    "separate and untied": {
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
    },
}


@cache
def spm_models() -> tuple[Vocabulary, Vocabulary]:
    """What cuts the source, and what cuts the target."""
    return train_vocabulary(SENTENCES[:48], 60), train_vocabulary(SENTENCES, 70)


def numbered_pieces() -> tuple[list[str], list[str]]:
    """Both sides' pieces as OPUS-MT numbers them: the end first, padding last.

    One that sentencepiece knows is not among them.
    """
    source, target = (
        model.pieces(list(range(4, len(model)))) for model in spm_models()
    )
    source.remove("▁cat")
    ends = [">>deu<<", "<pad>"]
    return ["</s>", "<unk>", *source, *ends], ["</s>", "<unk>", *target, *ends]


def write_folder(path: Path, changes: dict[str, Any], end: float = 1.0) -> Any:
    """Write a random model as `transformers` does, and give it; `end` is a bias."""
    source, target = numbered_pieces()
    shared = changes.get("share_encoder_decoder_embeddings", True)
    if shared:
        source = target = list(dict.fromkeys([*source[:-1], *target]))
    numbers = [
        {piece: k for k, piece in enumerate(names)} for names in (source, target)
    ]
    pad, target_pad = len(source) - 1, len(target) - 1
    if not shared:  # one number of padding for both
        numbers[1]["<pad>"], numbers[1][target[pad]] = pad, target_pad
    limits = {"max_length": SMALL["max_length"], "num_beams": SMALL["num_beams"]}
    shape = {k: v for k, v in SMALL.items() if k not in limits} | changes
    config = transformers.MarianConfig(
        vocab_size=len(source),
        decoder_vocab_size=len(target),
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=0,
        **shape,
    )
    torch.manual_seed(1)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:  # the table of positions does not
                weight.normal_(0, 0.3)
        if shared:
            model.model.shared.weight[pad] = 0
        stacks = model.model.encoder, model.model.decoder
        for embedding in [stack.embed_tokens for stack in stacks]:
            if shared:  # also where the output is not tied
                embedding.weight.copy_(model.model.shared.weight)
            embedding.weight[pad] = 0
        model.final_logits_bias.normal_(0, 0.3)
        model.final_logits_bias[0, 0] += end
    model.generation_config = transformers.GenerationConfig(
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=0,
        bad_words_ids=[[pad]],
        length_penalty=1.0,
        early_stopping=False,
        **limits,
    )
    model.save_pretrained(path)
    for name, spm in zip(("source.spm", "target.spm"), spm_models(), strict=True):
        (path / name).write_bytes(spm.model)
    (path / "vocab.json").write_text(json.dumps(numbers[0]))
    tokenizer = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": not shared}
    if not shared:
        (path / "target_vocab.json").write_text(json.dumps(numbers[1]))
    (path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return model


def random_sources(count: int, size: int, pad: int) -> torch.Tensor:
    """Random tokens of theirs, of several lengths, with ends and padding."""
    rows = torch.full((count, 12), pad)
    for k in range(count):
        n = 1 + k % 11
        rows[k, :n] = torch.randint(2, size - 1, (n,))
        rows[k, :n][rows[k, :n] == pad] = 2
        rows[k, n] = 0
    return rows


def to_ours(vocabulary: MarianVocabulary, rows: torch.Tensor) -> torch.Tensor:
    """Their numbers as ours."""
    table = torch.zeros(max(vocabulary.ids) + 1, dtype=torch.long)
    for token, number in reversed(list(enumerate(vocabulary.ids))):
        table[number] = token
    return table[rows]


def generated(model: Any, rows: torch.Tensor, pad: int, **how: Any) -> list[list[int]]:
    """What `generate` writes, without the start and the padding."""
    written = model.generate(input_ids=rows, attention_mask=rows != pad, **how)
    return [[token for token in row if token != pad] for row in written[:, 1:].tolist()]
