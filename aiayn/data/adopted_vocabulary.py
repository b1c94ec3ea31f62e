# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""Vocabularies of others, numbered as ours are."""

# book/3-workshop/14-other-peoples-models.ipynb, cell adopted-imports
from pathlib import Path
from typing import Any

import sentencepiece

from aiayn.data.tokenizers_vocabulary import TokenizersVocabulary, renumbered_tokenizer
from aiayn.data.vocabulary import SPECIAL_PIECES, Vocabulary
from aiayn.errors import InputError


# book/3-workshop/14-other-peoples-models.ipynb, cell adopted
def renumbered_model(model: bytes) -> bytes:
    """A serialised sentencepiece model with our numbers and names of special tokens."""
    try:
        from sentencepiece import sentencepiece_model_pb2 as proto
    except ImportError:
        fault = "a sentencepiece model with other special tokens than ours"
        raise InputError(f"{fault}: to read it, pip install protobuf") from None
    theirs = sentencepiece.SentencePieceProcessor()
    theirs.LoadFromSerializedProto(model)
    ids = [theirs.pad_id(), theirs.unk_id(), theirs.bos_id(), theirs.eos_id()]
    whole = proto.ModelProto.FromString(model)
    pieces = [proto.ModelProto.SentencePiece() for _ in SPECIAL_PIECES]
    for piece, k, name in zip(pieces, ids, SPECIAL_PIECES, strict=True):
        piece.type = piece.CONTROL
        if k >= 0:
            piece.CopyFrom(whole.pieces[k])
        piece.piece = name
    pieces += [piece for k, piece in enumerate(whole.pieces) if k not in ids]
    ours = proto.ModelProto()
    ours.CopyFrom(whole)
    ours.ClearField("pieces")
    ours.pieces.extend(pieces)
    for k, name in enumerate(["pad", "unk", "bos", "eos"]):
        setattr(ours.trainer_spec, f"{name}_id", k)
        setattr(ours.trainer_spec, f"{name}_piece", SPECIAL_PIECES[k])
    return bytes(ours.SerializeToString())


# book/3-workshop/14-other-peoples-models.ipynb, cell adopt-vocabulary
def adopt_vocabulary(model: Any) -> Vocabulary:
    """A vocabulary that anybody made, numbered as ours are.

    Parameters
    ----------
    model : Vocabulary, str, Path, SentencePieceProcessor or Tokenizer
        One of ours, which stays as it is, a sentencepiece model or a tokenizer of
        Hugging Face's, or the file of either; or a fast tokenizer of transformers; or
        the folder of a model of ours.

    Raises
    ------
    InputError
        If it is none of these, or a library that it needs is missing.
    """
    if isinstance(model, Vocabulary):
        return model
    name, tokenizer = "vocabulary", getattr(model, "backend_tokenizer", model)
    if isinstance(model, sentencepiece.SentencePieceProcessor):
        content = model.serialized_model_proto()
    elif hasattr(tokenizer, "to_str"):
        content = tokenizer.to_str().encode()
    elif isinstance(model, str | Path):
        path = Path(model)
        name = str(path / "vocabulary.model" if path.is_dir() else path)
        try:
            content = Path(name).read_bytes()
        except OSError as error:
            raise InputError(f"{name}: no vocabulary ({error})") from None
    else:
        kinds = "a Vocabulary, a sentencepiece model, a fast tokenizer or a file"
        raise InputError(f"vocabulary: give {kinds}, not a {type(model).__name__}")
    try:
        if content.lstrip().startswith(b"{"):  # JSON
            return TokenizersVocabulary(renumbered_tokenizer(content))
        return Vocabulary(renumbered_model(content))
    except (RuntimeError, InputError) as error:
        raise InputError(f"{name}: no vocabulary ({error})") from None
