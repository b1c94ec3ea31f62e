# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""What a folder of Hugging Face's says of a Marian model and its vocabularies."""

# book/3-workshop/14-other-peoples-models.ipynb, cell settings-imports
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.base_config import within
from aiayn.data.io import read_bytes
from aiayn.data.marian_vocabulary import MarianVocabulary
from aiayn.data.vocabulary import PAD_ID
from aiayn.errors import InputError
from aiayn.model.marian import MarianConfig
from aiayn.training.recipes import read_json

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


# book/3-workshop/14-other-peoples-models.ipynb, cell settings-only
# What would give another model, or another search, if it had another value.
SHAPE_ONLY: dict[str, Any] = {
    "model_type": "marian",
    "static_position_embeddings": True,
}
SHAPE_ONLY |= dict.fromkeys(
    "add_bias_logits add_final_layer_norm normalize_before normalize_embedding".split(),
    False,
)
SEARCH_ONLY: dict[str, Any] = {"do_sample": False, "num_beam_groups": 1}
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


# book/3-workshop/14-other-peoples-models.ipynb, cell folder
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

    # book/3-workshop/14-other-peoples-models.ipynb, cell special-ids
    def token(self, name: str, default: int | None) -> Any:
        """The number of a special token, or nothing."""
        value = self.config.get(name, default)
        value = value if self.generation.get(name) is None else self.generation[name]
        if value is None or type(value) is int:
            return value
        raise InputError(f"{self.path}: {name}={value!r:.60}: wanted is one number")

    def size(self, name: str) -> int | None:
        """How many tokens a vocabulary has, if it is written."""
        value = self.config.get(name)
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


# book/3-workshop/14-other-peoples-models.ipynb, cell read-vocabulary
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

    size = folder.size("vocab_size") or 58101
    start = folder.token("decoder_start_token_id", 58100)
    shared = folder.config.get("share_encoder_decoder_embeddings", True)
    if shared:
        target = language("vocab.json", size, "target.spm", start)
    else:
        target_size = folder.size("decoder_vocab_size") or size
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
    shared = folder.config.get("share_encoder_decoder_embeddings", True)
    values: dict[str, Any] = {
        "architecture": "marian",
        "pad_id": PAD_ID,
        "vocabulary_size": len(vocabulary),
        "target_vocabulary_size": None if shared else len(vocabulary.target),
    }
    for names, settings in ((SHAPE, folder.config), (SEARCH, folder.generation)):
        for ours, (theirs, default) in names.items():
            value = settings.get(theirs)
            values[ours] = default if value is None else value
    pad, _, _, end = vocabulary.target.ids[:4]
    banned = folder.generation.get("bad_words_ids") or []
    if banned not in ([], [[pad]]):
        raise InputError(f"bad_words_ids={banned!r:.60}: only padding may be banned")
    forced = folder.generation.get("forced_eos_token_id")
    if forced not in (None, end):
        raise InputError(f"forced_eos_token_id={forced!r:.60}: the end is {end}")
    values |= {"bans_padding": banned != [], "forced_end": forced == end}
    values["renormalizes"] = folder.generation.get("renormalize_logits") is True
    config: MarianConfig = MarianConfig.from_dict(values)
    return config
