# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""Export of a model to Hugging Face's transformers."""

# book/3-workshop/14-other-peoples-models.ipynb, cell write-imports
import copy
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from aiayn.data.io import cause
from aiayn.data.tokenizers_vocabulary import TokenizersVocabulary
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, Vocabulary
from aiayn.decoding.beam_search import PAPER_SEARCH
from aiayn.errors import InputError
from aiayn.model.attention import MultiHeadAttention
from aiayn.model.configuration import TransformerConfig
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.model.marian import sines_first
from aiayn.model.registry import check_roundtrip
from aiayn.model.transformer import Transformer
from aiayn.training.checkpoint_metadata import Description
from aiayn.translation.huggingface import named_weights


# book/3-workshop/14-other-peoples-models.ipynb, cell expressible
def expressible(model: EncoderDecoder) -> Transformer:
    """The model itself; an InputError if Hugging Face has no such model."""
    if type(model) is not Transformer:
        kind = type(model).__name__
        raise InputError(f"no conversion to Hugging Face for a {kind}")
    check_roundtrip(model)
    config, width = model.config, model.config.d_model // model.config.h
    unfit = []
    if config.positions != "sinusoidal":
        unfit.append(f"positions={config.positions!r}")
    if config.score != "scaled":
        unfit.append(f"score={config.score!r}")
    if config.d_model % config.h or {config.d_k or width, config.d_v or width} != {
        width
    }:
        unfit.append(f"d_k={config.d_k}, d_v={config.d_v} with {config.h} heads")
    if config.norm == "pre" and not config.share_embeddings:
        unfit.append("norm='pre' with two matrices of embeddings")
    if unfit:
        raise InputError(f"no conversion to Hugging Face for {', '.join(unfit)}")
    return model


# book/3-workshop/14-other-peoples-models.ipynb, cell in-marian-order
# Dimensions of the weights that are as wide as the model.
COLUMNS = ("embeddings.weight", "projections.weight", "W_1.weight")
ROWS = ("W_O.weight", "W_O.bias", "W_2.weight", "W_2.bias", "norm.weight", "norm.bias")


@torch.no_grad()
def in_marian_order(model: Transformer) -> Transformer:
    """A copy that computes the same with sines first, its lacking biases zeros."""
    model = copy.deepcopy(model).cpu().float()
    for module in model.modules():
        if isinstance(module, MultiHeadAttention) and module.W_O.bias is None:
            for linear in (module.projections, module.W_O):
                linear.bias = nn.Parameter(torch.zeros(linear.out_features))
    for name, weight in model.named_parameters():
        if name.endswith(COLUMNS):
            weight.copy_(sines_first(weight))
        elif name.endswith(ROWS):
            weight.copy_(sines_first(weight.movedim(0, -1)).movedim(-1, 0))
    return model


def huggingface_tensors(model: Transformer) -> dict[str, Tensor]:
    """What the file holds: tied matrices once, and zeros as biases of the logits."""
    ours = in_marian_order(model)
    tensors = named_weights(ours)
    if model.config.share_embeddings:
        tensors["model.shared.weight"] = ours.target_embeddings.weight
    else:
        tensors["model.encoder.embed_tokens.weight"] = ours.source_embeddings.weight
        tensors["model.decoder.embed_tokens.weight"] = ours.target_embeddings.weight
    tensors["final_logits_bias"] = torch.zeros(1, model.config.vocabulary_size)
    return {
        name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()
    }


# book/3-workshop/14-other-peoples-models.ipynb, cell huggingface-settings
LONGEST = 1 + PAPER_SEARCH.max_length + PAPER_SEARCH.extra_length  # with the start
SPECIAL = {
    "pad_token_id": PAD_ID,
    "bos_token_id": BOS_ID,
    "eos_token_id": EOS_ID,
    "decoder_start_token_id": BOS_ID,
    "forced_eos_token_id": EOS_ID,
}


def model_settings(config: TransformerConfig) -> dict[str, Any]:
    """What config.json says."""
    pre = config.norm == "pre"  # Pegasus has Marian's table and names, and pre-norm
    settings: dict[str, Any] = {
        "architectures": [
            "PegasusForConditionalGeneration" if pre else "MarianMTModel"
        ],
        "model_type": "pegasus" if pre else "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.vocabulary_size,
        "decoder_vocab_size": config.vocabulary_size,
        "share_encoder_decoder_embeddings": config.share_embeddings,
        "tie_word_embeddings": True,
        "d_model": config.d_model,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_function": "relu",
        "scale_embedding": True,
        "max_position_embeddings": LONGEST,
    }
    for side in ("encoder", "decoder"):
        settings[f"{side}_layers"] = config.N
        settings[f"{side}_attention_heads"] = config.h
        settings[f"{side}_ffn_dim"] = config.d_ff
    return settings | SPECIAL


# book/3-workshop/14-other-peoples-models.ipynb, cell search-settings
def search_settings() -> dict[str, Any]:
    """What generation_config.json says: the paper's numbers, as far as they go."""
    return {
        "num_beams": PAPER_SEARCH.beam,
        "length_penalty": PAPER_SEARCH.alpha,
        "early_stopping": False,
        "max_length": 512,
        "bad_words_ids": [[PAD_ID]],
        **SPECIAL,
    }


FAST_TOKENIZER = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_input_names": ["input_ids", "attention_mask"],
}


def tokenizer_settings(shared: bool, pair: str | None) -> dict[str, Any]:
    """What tokenizer_config.json says."""
    source, _, target = (pair or "").partition("-")
    return {
        "tokenizer_class": "MarianTokenizer",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "source_lang": source or None,
        "target_lang": target or None,
        "separate_vocabs": not shared,
        "model_max_length": LONGEST,
        "clean_up_tokenization_spaces": False,
    }


# book/3-workshop/14-other-peoples-models.ipynb, cell new-folder
@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to write to that gets its name when all is there.

    Raises
    ------
    InputError
        If it is there already, or cannot be written.
    """
    if os.path.lexists(folder):
        advice = "choose another folder, or remove it"
        raise InputError(f"{folder}: is there already; {advice}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".aiayn-") as place:
            part = Path(place, "model")
            part.mkdir()
            yield part
            os.rename(part, folder)
    except OSError as error:
        fault = f"cannot be written ({cause(error)})"
        advice = "take another folder or make room"
        raise InputError(f"{folder}: {fault}; {advice}") from None


# book/3-workshop/14-other-peoples-models.ipynb, cell write-huggingface
def write_huggingface(
    model: EncoderDecoder,
    vocabulary: Vocabulary,
    folder: Path | str,
    description: Description | None = None,
) -> None:
    """Write a model for Hugging Face's transformers to a new folder.

    Post-norm models become `MarianMTModel`, pre-norm ones
    `PegasusForConditionalGeneration`; `AutoTokenizer` and `AutoModelForSeq2SeqLM` load
    them. The card, README.md, says what the `description` knows.

    Raises
    ------
    InputError
        If the folder is there already or cannot be written, or there is no such model.
    """
    model, folder = expressible(model), Path(folder)
    pair = description.pair if description else None
    shared = model.config.share_embeddings
    settings: dict[str, Any] = {
        "config.json": model_settings(model.config),
        "generation_config.json": search_settings(),
        "tokenizer_config.json": tokenizer_settings(shared, pair),
    }
    if isinstance(vocabulary, TokenizersVocabulary):
        settings["tokenizer_config.json"] |= FAST_TOKENIZER
        settings["tokenizer.json"] = vocabulary.for_transformers()
    else:
        pieces = vocabulary.pieces(list(range(len(vocabulary))))
        settings["vocab.json"] = {piece: token for token, piece in enumerate(pieces)}
        if not shared:
            settings["target_vocab.json"] = settings["vocab.json"]
    with new_folder(folder) as part:
        for name, content in settings.items():
            text = json.dumps(content, indent=1, ensure_ascii=False)
            (part / name).write_text(text + "\n", encoding="utf-8")
        for name in ("source.spm", "target.spm") * ("vocab.json" in settings):
            (part / name).write_bytes(vocabulary.model)
        card = model_card(folder.name, model, description)
        (part / "README.md").write_text(card, encoding="utf-8")
        save_file(
            huggingface_tensors(model), part / "model.safetensors", {"format": "pt"}
        )
        shutil.copymode(part / "README.md", part / "model.safetensors")


# book/3-workshop/14-other-peoples-models.ipynb, cell card
CARD = """---
{header}
---

# {name}

A Transformer after "Attention Is All You Need", {languages}, trained with
[aiayn](https://github.com/OWNER/aiayn).

{facts}

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
model = AutoModelForSeq2SeqLM.from_pretrained("{name}")
words = tokenizer("A sentence.", return_tensors="pt")
print(tokenizer.batch_decode(model.generate(**words), skip_special_tokens=True))
```

The search in `generation_config.json` has another length penalty than the paper's, and
text is not brought into Unicode's form NFC first, so some translations may not be
aiayn's.
"""


# book/3-workshop/14-other-peoples-models.ipynb, cell model-card
LICENSED = {  # texts of which this package knows it
    "craft": "craft, the CRAFT treebank, CC BY 3.0",
    "synthetic": "the synthetic corpus of aiayn, MIT",
    "tatoeba": "tatoeba, sentences of Tatoeba's members, CC BY 2.0 FR",
}


def model_card(name: str, model: Transformer, description: Description | None) -> str:
    """A README.md that says what is known of a run, and what is not."""
    pair = (description.pair if description else None) or "unknown languages"
    config, unknown = model.config, "not known; whoever publishes it adds it here"
    numbers = sum(weight.numel() for weight in model.parameters())
    facts = {
        "Model": f"{config.N} layers, d_model {config.d_model}, d_ff {config.d_ff},"
        f" {config.h} heads, {config.norm}-norm, {config.vocabulary_size:,} pieces,"
        f" {numbers:,} parameters",
        "Data": unknown,
        "Training": unknown,
        "Score": unknown,
        "Licence": unknown,
    }
    if description and description.data:
        pairs = f", {description.pairs:,} pairs" if description.pairs else ""
        facts["Data"] = LICENSED.get(description.data, description.data) + pairs
    if description and description.step:
        minutes = f", {description.minutes:.0f} minutes" if description.minutes else ""
        facts["Training"] = f"{description.steps:,} steps{minutes}"
    if description and description.score is not None:
        scored_on = description.scored_on or "the pairs that its author chose"
        facts["Score"] = f"{description.score} BLEU, on {scored_on}"
    header = ["library_name: transformers", "pipeline_tag: translation"]
    if description and description.pair:
        languages = description.pair.split("-")
        header.append(
            f"language: [{', '.join(json.dumps(each) for each in languages)}]"
        )
    lines = "\n".join(f"- **{fact}**: {text}." for fact, text in facts.items())
    return CARD.format(header="\n".join(header), name=name, languages=pair, facts=lines)
