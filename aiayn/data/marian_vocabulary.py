# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""The two vocabularies of a Marian model, numbered as ours is."""

# book/3-workshop/14-other-peoples-models.ipynb, cell vocabulary-imports
import re
from collections.abc import Iterable
from typing import Any

import sentencepiece

from aiayn.data.lines import normalize_spaces, sentence_list
from aiayn.data.vocabulary import EOS_ID, UNK_ID, Vocabulary, token_lists
from aiayn.errors import InputError


# book/3-workshop/14-other-peoples-models.ipynb, cell marian-vocabulary
class MarianVocabulary(Vocabulary):
    """One language of a Marian model: what cuts it, and the numbers of its pieces.

    Parameters
    ----------
    model : bytes
        A serialised sentencepiece model. Its own numbers are not used.
    names : list of str
        Each token's piece, the special ones first, as in `Vocabulary`.
    ids : list of int
        Each token's number in the model's own files.
    target : MarianVocabulary, optional
        That of the language which is written, if this is not it.
    """

    def __init__(
        self,
        model: bytes,
        names: list[str],
        ids: list[int],
        target: "MarianVocabulary | None" = None,
    ) -> None:
        self.cutter, self.processor = model, sentencepiece.SentencePieceProcessor()
        try:
            self.processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise InputError(f"not a sentencepiece model ({error})") from None
        self.names, self.ids, self._target = names, ids, target or self
        numbered = reversed(list(enumerate(names)))  # so that the first of two stays
        self.numbers = {name: token for token, name in numbered if name}

    def __len__(self) -> int:
        return len(self.names)

    @property
    def target(self) -> "MarianVocabulary":
        """That of the language which is written."""
        return self._target

    @property
    def model(self) -> bytes:  # type: ignore[override]  # it can only be read
        """There is not one."""
        fault = "a Marian vocabulary is more than one sentencepiece model"
        raise InputError(f"{fault}; keep the folder that it was read from")

    # book/3-workshop/14-other-peoples-models.ipynb, cell marian-cut
    def cut(self, sentence: str) -> list[str]:
        """The pieces of a sentence; a prefix such as >>deu<< is one."""
        language = re.match(r">>.*?<<", sentence)
        prefix = [language[0]] if language else []
        text = normalize_spaces(sentence[len("".join(prefix)) :], self.processor)
        return [*prefix, *map(str, self.processor.EncodeAsPieces(text))]

    def encode(self, sentences: str | Iterable[str]) -> Any:
        """Tokens of a sentence or of each of several, with the end token."""
        if isinstance(sentences, str):
            return self.encode([sentences])[0]
        encoded = []
        for sentence in sentence_list(sentences, "sentence"):
            # sentencepiece may know a piece that the list of names lacks.
            known = (self.numbers.get(piece, UNK_ID) for piece in self.cut(sentence))
            encoded.append([*known, EOS_ID])
        return encoded

    def decode(self, sequences: list[list[int]]) -> list[str]:
        """Plain text again, a line for each sequence; special tokens vanish."""
        texts = []
        for tokens in token_lists(sequences):
            pieces = self.pieces([token for token in tokens if token > EOS_ID])
            text = str(self.processor.DecodePieces(pieces)).replace("▁", " ")
            texts.append(text.replace("\n", " ").strip())
        return texts

    def pieces(self, tokens: list[int]) -> list[str]:
        """The pieces as they are written; ▁ marks the beginning of a word."""
        return [self.names[token] for token in tokens]
