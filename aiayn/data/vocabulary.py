# Made by `make export` from book/1-paper/5-1-data-and-batching.ipynb
"""A byte-pair encoding that source and target language share."""

# book/1-paper/5-1-data-and-batching.ipynb, cell vocabulary-imports
import io
import operator
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, overload

import sentencepiece

from aiayn.data.io import cause, regular_file, write_atomically
from aiayn.data.lines import checked_sentences, normalize_spaces, sentence_list
from aiayn.data.normalization import normalization_rules
from aiayn.data.packed import MAX_LINE_BYTES
from aiayn.errors import InputError

MAX_SENTENCES = 4_000_000  # the most to learn a vocabulary from

PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(4)  # of a sentence: its start and its end
SPECIAL_PIECES = ["<pad>", "<unk>", "<s>", "</s>"]  # by these numbers


# book/1-paper/5-1-data-and-batching.ipynb, cell vocabulary
class Vocabulary:
    """Pieces of words and their numbers, shared by both languages (section 5.1).

    A subclass may cut text by another library. It numbers the special tokens alike and
    has `encode`, `decode`, `pieces`, `cut` and `normalize`, its length, and as `model`
    the bytes that `load_vocabulary` reads.

    Parameters
    ----------
    model : bytes
        A serialised sentencepiece model.
    """

    def __init__(self, model: bytes) -> None:
        self.model, self.processor = model, processor(model)

    def __len__(self) -> int:
        return int(self.processor.GetPieceSize())

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} pieces)"

    @overload
    def encode(self, sentences: str) -> list[int]: ...  # type: ignore[overload-overlap]

    @overload
    def encode(self, sentences: Iterable[str]) -> list[list[int]]: ...

    def encode(self, sentences: str | Iterable[str]) -> list[int] | list[list[int]]:
        """Tokens of a sentence or of each of several, with the end token."""
        if isinstance(sentences, str):
            return self.encode([sentences])[0]
        lines = sentence_list(sentences, "sentence")
        texts = [normalize_spaces(each, self.processor) for each in lines]
        return [self.processor.Encode(text, add_eos=True) for text in texts]

    def decode(self, sequences: list[list[int]]) -> list[str]:
        """Plain text again, a line for each sequence; PAD, BOS, EOS vanish."""
        texts = [self.processor.Decode(tokens) for tokens in token_lists(sequences)]
        # A model from elsewhere may have rules that turn letters into line feeds.
        return [str(text).replace("\n", " ") for text in texts]

    def pieces(self, tokens: list[int]) -> list[str]:
        """The pieces as they are written; ▁ marks the beginning of a word."""
        return [str(self.processor.IdToPiece(token)) for token in tokens]

    # book/1-paper/5-1-data-and-batching.ipynb, cell learned-from
    def cut(self, sentence: str) -> list[str]:
        """The pieces of a sentence; one that is not known is its own letters."""
        text = normalize_spaces(sentence, self.processor)
        return [str(piece) for piece in self.processor.EncodeAsPieces(text)]

    @property
    def target(self) -> "Vocabulary":
        """That of the language which is written: this one, which both share."""
        return self

    # book/1-paper/5-1-data-and-batching.ipynb, cell processor
    def normalize(self, text: str) -> str:
        """The text that is cut: with plain spaces, and by the model's own rules."""
        text = normalize_spaces(text, self.processor)
        return str(self.processor.Normalize(text)).replace("▁", " ").strip()

    # book/1-paper/5-1-data-and-batching.ipynb, cell load-vocabulary
    def save(self, path: Path | str) -> None:
        """Write the model to a file."""
        write_atomically(Path(path), self.model)


# book/1-paper/5-1-data-and-batching.ipynb, cell train-vocabulary
def train_vocabulary(
    sentences: Iterable[str],
    size: int,
    symbols: Iterable[str] = (),
    byte_fallback: bool = False,
    lowercase: bool = False,
    model_type: Literal["bpe", "unigram", "word", "char"] = "bpe",
) -> Vocabulary:
    """Learn a vocabulary of `size` pieces, the special ones and the `symbols` included.

    A symbol is one piece wherever a word begins with it. With `byte_fallback`, 256
    pieces are bytes, for letters that are not in the text; with `lowercase` all letters
    become lower-case. Only the `model_type` "bpe" is the paper's. From more than
    `MAX_SENTENCES`, that many are drawn, always the same; the rest is read and
    forgotten, so an iterator will do. Too few pieces or too many letters are an
    `InputError`.
    """
    model, faults = io.BytesIO(), list[BaseException]()
    try:
        with normalization_rules(lowercase) as rules:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=training_sentences(sentences, faults),
                model_writer=model,
                model_type=model_type,
                vocab_size=size,
                input_sentence_size=MAX_SENTENCES,
                shuffle_input_sentence=True,  # otherwise it would take the first
                character_coverage=1.0,
                normalization_rule_name="identity",  # what is read is what is scored
                normalization_rule_tsv=rules,
                max_sentence_length=MAX_LINE_BYTES,  # else left out silently
                pad_id=PAD_ID,
                unk_id=UNK_ID,
                bos_id=BOS_ID,
                eos_id=EOS_ID,
                user_defined_symbols=[f"▁{symbol}" for symbol in symbols],
                byte_fallback=byte_fallback,
                minloglevel=2,
            )
    except RuntimeError as error:
        if faults:
            raise faults[0] from None
        why = f"cannot be learned: {explain_error(str(error))}"
        raise InputError(f"a vocabulary_size of {size} {why}") from None
    return Vocabulary(model.getvalue())


# book/1-paper/5-1-data-and-batching.ipynb, cell learned-from
def training_sentences(
    sentences: Iterable[str], faults: list[BaseException]
) -> Iterator[str]:
    """Sentences for sentencepiece, which hides an error's message; see `faults`."""
    try:
        for each in checked_sentences(sentences, "sentence"):
            # It would leave out sentences with its sign for unknown letters, and
            # learn pieces that end a line.
            text = unicodedata.normalize("NFC", each)
            yield text.replace("▅", " ").replace("\n", " ")
    except (Exception, KeyboardInterrupt) as error:
        faults.append(error)
        raise


def token_lists(sequences: Iterable[Iterable[int]]) -> list[list[int]]:
    """Tokens of several sentences as lists, also from arrays and tensors.

    TypeError for a single one, which sentencepiece would decode letter by letter.
    """
    try:
        return [list(map(operator.index, each)) for each in sequences]
    except TypeError:
        expected = "a list of tokens for each of several sentences"
        raise TypeError(f"decode wants {expected}: put one into a list") from None


# book/1-paper/5-1-data-and-batching.ipynb, cell processor
def processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    """The program in a serialised sentencepiece model.

    Raises
    ------
    InputError
        If it is not such a model, or has special tokens other than ours.
    """
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError as error:
        raise InputError(f"not a sentencepiece model ({error})") from None
    ids = (
        processor.pad_id(),
        processor.unk_id(),
        processor.bos_id(),
        processor.eos_id(),
    )
    if ids != (PAD_ID, UNK_ID, BOS_ID, EOS_ID):
        wrong = f"a sentencepiece model with special tokens {ids}"
        raise InputError(f"{wrong}; train(vocabulary=…) takes it")
    return processor


# book/1-paper/5-1-data-and-batching.ipynb, cell load-vocabulary
def explain_error(error: str) -> str:
    """What sentencepiece means, in plain words."""
    if most := re.search(r"value <= (\d+)", error):
        holds = f"the text holds {most[1]} pieces at most"
        return f"{holds}; ask for fewer, or bring more text"
    if least := re.search(r"required_chars\. \d+ vs (\d+)", error):
        letters = "the letters and the special tokens alone"
        return f"{letters} take {least[1]} pieces; ask for more"
    return "the text is empty" if "sentences_.empty" in error else error


def load_vocabulary(path: Path | str) -> Vocabulary:
    """Read a vocabulary that `Vocabulary.save` wrote.

    Raises
    ------
    InputError
        If there is none, or the file is not a sentencepiece model.
    """
    try:
        model = regular_file(Path(path)).read_bytes()
        if model.startswith(b"{"):  # JSON
            from aiayn.data.tokenizers_vocabulary import TokenizersVocabulary

            return TokenizersVocabulary(model)
        return Vocabulary(model)
    except (OSError, InputError) as error:
        raise InputError(f"{path}: no vocabulary ({cause(error)})") from None
