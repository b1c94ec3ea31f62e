# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""Tokenizers of Hugging Face, numbered as ours are."""

# book/3-workshop/14-other-peoples-models.ipynb, cell tokenizers-imports
import json
from collections.abc import Iterable
from typing import Any

from aiayn.data.lines import sentence_list
from aiayn.data.vocabulary import (
    EOS_ID,
    SPECIAL_PIECES,
    UNK_ID,
    Vocabulary,
    token_lists,
)
from aiayn.errors import InputError


# book/3-workshop/14-other-peoples-models.ipynb, cell read-tokenizer
def read_tokenizer(content: bytes) -> Any:
    """The tokenizer in its JSON, which cuts nothing off and fills nothing up.

    Raises
    ------
    InputError
        If there is none, or the library is missing.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        remedy = "to read it, pip install 'aiayn[huggingface]'"
        raise InputError(f"a tokenizer of Hugging Face's: {remedy}") from None
    try:
        tokenizer = Tokenizer.from_str(content.decode())
    except Exception as error:  # the library has no kind of its own
        raise InputError(f"not a tokenizer of Hugging Face's: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


# book/3-workshop/14-other-peoples-models.ipynb, cell renumbered-tokenizer
def renumbered_tokenizer(content: bytes) -> bytes:
    """A tokenizer's JSON with our special tokens first, and nothing that is random."""
    theirs = read_tokenizer(content)
    numbers = theirs.get_vocab()
    rest = sorted(numbers.keys() - SPECIAL_PIECES, key=numbers.get)
    ours = {piece: k for k, piece in enumerate([*SPECIAL_PIECES, *rest])}
    whole = json.loads(theirs.to_str())
    model = whole["model"]
    if isinstance(model["vocab"], list):  # of a unigram model, with scores
        scores = dict(model["vocab"])
        model["vocab"] = [(piece, scores.get(piece, 0.0)) for piece in ours]
        model["unk_id"] = UNK_ID
    else:
        # Without an unk_token, it would leave out letters that it does not know.
        model |= {"vocab": ours, "unk_token": SPECIAL_PIECES[UNK_ID]}
    if "dropout" in model:
        model["dropout"] = None
    whole["added_tokens"] = [
        token | {"id": ours[token["content"]]}
        for token in whole["added_tokens"]
        if token["content"] not in SPECIAL_PIECES
    ]
    whole["post_processor"] = None  # it would add special tokens
    return json.dumps(whole, ensure_ascii=False).encode()


# book/3-workshop/14-other-peoples-models.ipynb, cell tokenizers-vocabulary
class TokenizersVocabulary(Vocabulary):
    """The vocabulary of a tokenizer of Hugging Face's, numbered as ours are.

    Parameters
    ----------
    model : bytes
        The tokenizer's JSON, from `renumbered_tokenizer`.
    """

    def __init__(self, model: bytes) -> None:
        self.model, self.tokenizer = model, read_tokenizer(model)
        # Its own names, as Ġdog or ##s; see `pieces`.
        size = self.tokenizer.get_vocab_size()
        self.names = list(map(self.tokenizer.id_to_token, range(size)))
        if (first := self.names[: len(SPECIAL_PIECES)]) != SPECIAL_PIECES:
            wrong = f"a tokenizer that begins with {first}"
            raise InputError(f"{wrong}; train(vocabulary=…) takes it")

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, sentences: str | Iterable[str]) -> Any:
        """Tokens of a sentence or of each of several, with the end token."""
        if isinstance(sentences, str):
            return self.encode([sentences])[0]
        lines = sentence_list(sentences, "sentence")
        found = self.tokenizer.encode_batch_fast(lines, add_special_tokens=False)
        # A text that has the name of a special token does not have the token.
        return [
            [k if k > EOS_ID else UNK_ID for k in each.ids] + [EOS_ID] for each in found
        ]

    def decode(self, sequences: list[list[int]]) -> list[str]:
        """Plain text again, a line for each sequence; PAD, BOS, EOS vanish."""
        known = [
            [token for token in each if token > EOS_ID or token == UNK_ID]
            for each in token_lists(sequences)
        ]
        texts = self.tokenizer.decode_batch(known, skip_special_tokens=False)
        return [text.replace("\n", " ").strip() for text in texts]

    # book/3-workshop/14-other-peoples-models.ipynb, cell tokenizers-pieces
    def pieces(self, tokens: list[int]) -> list[str]:
        """The pieces as they are written; ▁ marks the beginning of a word."""
        behind = [[UNK_ID, token] for token in tokens]
        texts = self.tokenizer.decode_batch(behind, skip_special_tokens=False)
        return [
            text.removeprefix(SPECIAL_PIECES[UNK_ID]).replace(" ", "▁")
            if token > EOS_ID
            else SPECIAL_PIECES[token]
            for token, text in zip(tokens, texts, strict=True)
        ]

    def cut(self, sentence: str) -> list[str]:
        """The pieces of a sentence; one that is not known is its own letters."""
        found = self.tokenizer.encode(sentence, add_special_tokens=False)
        return [
            piece
            if token > EOS_ID
            else "▁" * sentence[:start].endswith(" ") + sentence[start:end]
            for token, piece, (start, end) in zip(
                found.ids, self.pieces(found.ids), found.offsets, strict=True
            )
        ]

    def normalize(self, text: str) -> str:
        """The text that is cut."""
        rules = self.tokenizer.normalizer
        return str(rules.normalize_str(text)) if rules else text

    # book/3-workshop/14-other-peoples-models.ipynb, cell for-transformers
    def for_transformers(self) -> Any:
        """The JSON that transformers reads, with the end token behind each sentence."""
        from tokenizers.processors import TemplateProcessing

        whole, end = read_tokenizer(self.model), SPECIAL_PIECES[EOS_ID]
        whole.add_special_tokens(SPECIAL_PIECES)
        whole.post_processor = TemplateProcessing(f"$A {end}", None, [(end, EOS_ID)])
        return json.loads(whole.to_str())
