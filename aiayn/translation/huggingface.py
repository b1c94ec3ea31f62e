"""Marian models read from folders as Hugging Face has them, or from its hub.

From "Other people's models" (paper, section 3):
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/14-other-peoples-models.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/3-workshop/14-other-peoples-models.ipynb, cell read-imports
import logging
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from aiayn.base_config import within
from aiayn.data.io import printable, read_bytes
from aiayn.data.marian_vocabulary import MarianVocabulary
from aiayn.data.vocabulary import BOS_ID
from aiayn.errors import InputError, NotFetched
from aiayn.model.marian import Marian, MarianConfig
from aiayn.model.transformer import Transformer
from aiayn.training.recipes import read_json
from aiayn.training.tensor_files import read_header

LOG = logging.getLogger(__name__)  # the command line shows what it says


# book/3-workshop/14-other-peoples-models.ipynb, cell named-weights
def named_weights(model: Transformer) -> dict[str, Tensor]:
    """The weights of both stacks by Hugging Face's names: views, to read or to fill."""
    views = dict[str, Tensor]()

    def add(name: str, module: nn.Module) -> None:
        for part in ("weight", "bias"):
            views[f"{name}.{part}"] = getattr(module, part).detach()

    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        layer: Any  # which PyTorch's list of modules does not tell
        for number, layer in enumerate(stack.layers):
            place = f"model.{side}.layers.{number}."
            attentions = {"self_attn": layer.self_attention}
            if side == "decoder":
                attentions["encoder_attn"] = layer.cross_attention
            for name, attention in attentions.items():
                projections = attention.projections
                for part in ("weight", "bias"):
                    whole = getattr(projections, part).detach()
                    for letter, view in zip(
                        "qkv", whole.split(projections.widths), strict=True
                    ):
                        views[f"{place}{name}.{letter}_proj.{part}"] = view
                add(f"{place}{name}.out_proj", attention.W_O)
            add(f"{place}fc1", layer.feed_forward.W_1)
            add(f"{place}fc2", layer.feed_forward.W_2)
            norms = [f"{name}_layer_norm" for name in attentions]
            norms.append("final_layer_norm")
            for name, residual in zip(norms, layer.residuals, strict=True):
                add(place + name, residual.norm)
        if isinstance(stack.norm, nn.LayerNorm):  # of pre-norm models
            add(f"model.{side}.layer_norm", stack.norm)
    return views


# book/3-workshop/14-other-peoples-models.ipynb, cell settings
# What a field of ours is called there, and what it is if it is not written.
SHAPE: dict[str, tuple[str, Any]] = {
    "d_model": ("d_model", 1024),
    "encoder_layers": ("encoder_layers", 12),
    "encoder_heads": ("encoder_attention_heads", 16),
    "encoder_d_ff": ("encoder_ffn_dim", 4096),
    "decoder_layers": ("decoder_layers", 12),
    "decoder_heads": ("decoder_attention_heads", 16),
    "decoder_d_ff": ("decoder_ffn_dim", 4096),
    "activation": ("activation_function", "gelu"),
    "dropout": ("dropout", 0.1),
    "attention_dropout": ("attention_dropout", 0.0),
    "scale_embeddings": ("scale_embedding", False),
    "tie_output": ("tie_word_embeddings", True),
    "positions": ("max_position_embeddings", 1024),
}
SEARCH: dict[str, tuple[str, Any]] = {
    "num_beams": ("num_beams", 1),
    "length_penalty": ("length_penalty", 1.0),
    "early_stopping": ("early_stopping", False),
    "max_length": ("max_length", 20),
}
# What would give another model, or another search, if it had another value.
SHAPE_ONLY: dict[str, Any] = {
    "model_type": "marian",
    "static_position_embeddings": True,
}
SHAPE_ONLY |= dict.fromkeys(
    "add_bias_logits add_final_layer_norm normalize_before normalize_embedding".split(),
    False,
)
SEARCH_ONLY: dict[str, Any] = {
    "do_sample": False,
    "num_beam_groups": 1,
    "renormalize_logits": False,
}
SEARCH_ONLY |= dict.fromkeys(["repetition_penalty", "encoder_repetition_penalty"], 1.0)
SEARCH_ONLY |= dict.fromkeys(
    "no_repeat_ngram_size encoder_no_repeat_ngram_size min_length"
    " diversity_penalty".split(),
    0,
)
SEARCH_ONLY |= dict.fromkeys(
    "min_new_tokens max_new_tokens forced_bos_token_id suppress_tokens"
    " begin_suppress_tokens sequence_bias force_words_ids penalty_alpha"
    " exponential_decay_length_penalty guidance_scale".split()
)


def check_only(values: dict[str, Any], known: dict[str, Any]) -> None:
    """Raise an InputError at a setting that no model, or no search, here has."""
    for name, only in known.items():
        value = values.get(name)
        if value is not None and value != only:
            raise InputError(f"{name}={value!r:.60}: only {only!r} is known here")


# book/3-workshop/14-other-peoples-models.ipynb, cell special-ids
@dataclass(frozen=True)
class Folder:
    """The settings in a folder of Hugging Face's, read once."""

    path: Path
    config: dict[str, Any]
    generation: dict[str, Any]
    tokenizer: dict[str, Any]

    @classmethod
    def read(cls, path: Path | str) -> "Folder":
        """An InputError says what is wrong, or of another kind."""
        path = Path(path)
        config = read_json(path / "config.json")
        generation, tokenizer = config, dict[str, Any]()
        if (path / "generation_config.json").exists():  # older folders have none
            generation = read_json(path / "generation_config.json")
        if (path / "tokenizer_config.json").exists():
            tokenizer = read_json(path / "tokenizer_config.json")
        with within(f"{path / 'config.json'}: "):
            check_only({"model_type": "nothing"} | config, SHAPE_ONLY)
        with within(f"{path}, its search: "):
            check_only(generation, SEARCH_ONLY)
        with within(f"{path / 'tokenizer_config.json'}: "):
            check_only(tokenizer, {"sp_model_kwargs": {}})
        return cls(path, config, generation, tokenizer)

    def token(self, name: str, default: int | None) -> Any:
        """The number of a special token, or nothing."""
        value = self.config.get(name, default)
        value = value if self.generation.get(name) is None else self.generation[name]
        if value is None or type(value) is int:
            return value
        raise InputError(f"{self.path}: {name}={value!r:.60}: wanted is one number")

    def numbers(self, file: str) -> dict[str, int]:
        """The pieces of a vocabulary, and the numbers that the model has for them."""
        numbers: Any = read_json(self.path / file)
        if not all(type(number) is int and number >= 0 for number in numbers.values()):
            raise InputError(f"{self.path / file}: not a number for each piece")
        return numbers

    def special(self, file: str, numbers: dict[str, int]) -> tuple[int, int, int]:
        """In a vocabulary, the numbers of padding, unknown pieces and the end."""
        specials = []
        for kind, usual in (("pad", "<pad>"), ("unk", "<unk>"), ("eos", "</s>")):
            name = self.tokenizer.get(f"{kind}_token") or usual
            name = str(name["content"] if isinstance(name, dict) else name)
            if name not in numbers:
                raise InputError(f"{self.path / file}: has no {name}")
            specials.append(numbers[name])
        return specials[0], specials[1], specials[2]


# book/3-workshop/14-other-peoples-models.ipynb, cell renumber
def renumbered(first: list[int], size: int) -> list[int]:
    """For each of our tokens, padding, unknown, start and end `first`, theirs."""
    return first + [number for number in range(size) if number not in first]


def read_vocabulary(folder: Folder) -> MarianVocabulary:
    """Both languages, with padding, unknown, start and end numbered as ours are.

    Where the start is another token as well, as with OPUS-MT the padding, it has two
    numbers here.
    """

    def language(
        file: str, size: int, spm: str, start: int | None, **target: Any
    ) -> Any:
        numbers = folder.numbers(file)
        pad, unk, end = folder.special(file, numbers)
        if max(numbers.values()) >= size:
            fault = f"numbers up to {max(numbers.values())} for a model of {size}"
            raise InputError(f"{folder.path / file}: {fault}")
        ids = renumbered([pad, unk, pad if start is None else start, end], size)
        names = dict(zip(numbers.values(), numbers, strict=True))
        path = folder.path / spm
        with within(f"{path}: "):
            pieces = [names.get(number, "") for number in ids]
            return MarianVocabulary(read_bytes(path), pieces, ids, **target)

    size = folder.config.get("vocab_size", 58101)
    start = folder.token("decoder_start_token_id", 58100)
    shared = folder.config.get("share_encoder_decoder_embeddings", True)
    if shared:
        target = language("vocab.json", size, "target.spm", start)
    else:
        target_size = folder.config.get("decoder_vocab_size") or size
        target = language("target_vocab.json", target_size, "target.spm", start)
    pad, _, _, end = target.ids[:4]
    stated = folder.token("pad_token_id", 58100), folder.token("eos_token_id", 0)
    if stated != (pad, end):
        fault = f"padding and end are {stated}, but {(pad, end)} in the vocabulary"
        raise InputError(f"{folder.path}: {fault}")
    start = start if shared else None
    return language("vocab.json", size, "source.spm", start, target=target)


# book/3-workshop/14-other-peoples-models.ipynb, cell read-config
def read_config(folder: Folder, vocabulary: MarianVocabulary) -> MarianConfig:
    """The shape of the model, and its search; what is not known is an InputError."""
    values: dict[str, Any] = {"vocabulary_size": len(vocabulary)}
    if not folder.config.get("share_encoder_decoder_embeddings", True):
        values["target_vocabulary_size"] = len(vocabulary.target)
    for names, settings in ((SHAPE, folder.config), (SEARCH, folder.generation)):
        for ours, (theirs, default) in names.items():
            value = settings.get(theirs)
            values[ours] = default if value is None else value
    pad, _, _, end = vocabulary.target.ids[:4]
    banned = folder.generation.get("bad_words_ids") or []
    if banned not in ([], [[pad]]):
        raise InputError(f"bad_words_ids={banned!r:.60}: only padding may be banned")
    forced = folder.token("forced_eos_token_id", None)
    if forced not in (None, end):
        raise InputError(f"forced_eos_token_id={forced}: the end is {end}")
    return MarianConfig(**values, bans_padding=banned != [], forced_end=forced == end)


# book/3-workshop/14-other-peoples-models.ipynb, cell read-tensors
def read_tensors_of(folder: Path) -> Mapping[str, Tensor]:
    """The weights in a folder; an InputError if there are none."""
    path, pickled = folder / "model.safetensors", folder / "pytorch_model.bin"
    if path.exists() or not pickled.exists():
        read_header(path)
        return load_file(path)
    LOG.warning(
        "%s: a pickle, read by torch.load with weights_only=True, which makes tensors"
        " of it and runs nothing else",
        pickled,
    )
    try:
        weights = torch.load(pickled, map_location="cpu", weights_only=True)
    except (
        OSError,
        RuntimeError,
        ValueError,
        EOFError,
        pickle.UnpicklingError,
    ) as error:
        reason = printable(str(error).partition("\n")[0])
        raise InputError(f"{pickled}: no weights alone ({reason})") from None
    tensors = weights if isinstance(weights, dict) else {"its content": weights}
    for name, weight in tensors.items():
        if not isinstance(weight, Tensor):
            raise InputError(f"{pickled}: {printable(name)} is no tensor")
    return tensors


# book/3-workshop/14-other-peoples-models.ipynb, cell fill
TABLES = (
    "model.encoder.embed_positions.weight",
    "model.decoder.embed_positions.weight",
)


@torch.no_grad()
def fill(
    model: Marian, vocabulary: MarianVocabulary, tensors: Mapping[str, Tensor]
) -> None:
    """Copy Hugging Face's tensors into a model; an InputError if they are others."""
    source, target, output = (
        model.source_embeddings.weight,
        model.target_embeddings.weight,
        model.output,
    )
    # The same parameter under several names, if it is shared.
    rows: dict[str, tuple[Tensor, list[int]]] = {
        "model.encoder.embed_tokens.weight": (source, vocabulary.ids),
        "model.decoder.embed_tokens.weight": (target, vocabulary.target.ids),
        "lm_head.weight": (output.weight, vocabulary.target.ids),
        "final_logits_bias": (output.bias, vocabulary.target.ids),
    }
    if source is target:
        rows["model.shared.weight"] = source, vocabulary.ids
    views, filled = named_weights(model), {id(output.bias)}  # it may be missing
    place: Tensor
    value: Tensor
    for name, tensor in tensors.items():
        if name in TABLES:  # it is no weight, so it has to be ours
            place = model.get_buffer("positions.table")
            value = tensor.to(place)
            filled.add(id(place))
        elif name in rows:
            place, ids = rows[name]
            value = tensor.flatten() if name == "final_logits_bias" else tensor
            ids_fit = len(value) == 1 + max(ids)
            value = value.to(place)[ids] if ids_fit else value
        elif name in views:
            place, value = views[name], tensor.to(views[name])
        else:
            raise InputError(f"{printable(name)}: no weight of a Marian model")
        if place.shape != value.shape or not value.isfinite().all():
            fault = f"is {tuple(tensor.shape)}, or not finite, for {tuple(place.shape)}"
            raise InputError(f"{name} {fault}")
        twin = id(place) in filled and name != "final_logits_bias"
        if twin and not torch.allclose(place, value, atol=1e-3):
            raise InputError(f"{name} differs from what it should be tied to")
        if not twin:
            place.copy_(value)
        filled.add(id(place))
    lacking = [name for name, view in views.items() if id(view) not in filled]
    lacking += [name for name, (place, _) in rows.items() if id(place) not in filled]
    if lacking:
        raise InputError(f"{lacking[0]} is missing, and {len(lacking) - 1} more")
    if vocabulary.target.ids[BOS_ID] in [
        *vocabulary.target.ids[:2],
        vocabulary.target.ids[3],
    ]:
        output.bias[BOS_ID] = -1e9  # the second number of a token is never written


# book/3-workshop/14-other-peoples-models.ipynb, cell read-huggingface
def is_huggingface(folder: Path | str) -> bool:
    """Whether a folder is Hugging Face's: its config.json names the type of a model."""
    path = Path(folder) / "config.json"
    return path.is_file() and "model_type" in read_json(path)


def read_huggingface(folder: Path | str) -> tuple[Marian, MarianVocabulary]:
    """A Marian model, such as OPUS-MT's, from a folder as Hugging Face has it.

    Raises
    ------
    InputError
        If a file is missing or damaged, or of a model that is not known here.
    """
    files = Folder.read(folder)
    vocabulary = read_vocabulary(files)
    with within(f"{files.path}: "):
        model = Marian(read_config(files, vocabulary))
        fill(model, vocabulary, read_tensors_of(files.path))
    return model.eval(), vocabulary


# book/3-workshop/14-other-peoples-models.ipynb, cell from-hub
HUB_FILES = """config.json generation_config.json tokenizer_config.json vocab.json
target_vocab.json source.spm target.spm model.safetensors""".split()


def from_hub(name: str) -> Path:
    """Fetch OWNER/MODEL from Hugging Face's hub, or OWNER/MODEL@REVISION; its folder.

    Without a revision, it is the newest, and a line says which.

    Raises
    ------
    InputError
        If huggingface_hub is not installed.
    NotFetched
        If there is no such model, or no network.
    """
    try:
        import huggingface_hub
    except ModuleNotFoundError:
        raise InputError(f"{name}: to fetch it, pip install huggingface_hub") from None
    owner_and_model, _, revision = name.partition("@")
    try:
        if not revision:
            revision = str(huggingface_hub.HfApi().model_info(owner_and_model).sha)
            LOG.warning("%s@%s gives this model again", owner_and_model, revision)
        folder = Path(
            huggingface_hub.snapshot_download(
                owner_and_model, revision=revision, allow_patterns=HUB_FILES
            )
        )
        if not (folder / "model.safetensors").exists():
            huggingface_hub.snapshot_download(
                owner_and_model, revision=revision, allow_patterns="pytorch_model.bin"
            )
    except Exception as error:  # whatever the libraries below it raise
        reason = printable(str(error).partition("\n")[0])
        raise NotFetched(f"{name}: cannot be fetched from the hub ({reason})") from None
    return folder
