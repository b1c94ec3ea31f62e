"""Tokenizers of Hugging Face as vocabularies: numbered as ours, text as it was."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import aiayn
from aiayn.analysis.attention_maps import attention_of
from aiayn.base_config import changed
from aiayn.data.adopted_vocabulary import adopt_vocabulary
from aiayn.data.bpe_dropout import BPEDropout
from aiayn.data.tokenizers_vocabulary import TokenizersVocabulary
from aiayn.data.vocabulary import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    SPECIAL_PIECES,
    UNK_ID,
    load_vocabulary,
)
from aiayn.errors import InputError
from aiayn.model.configuration import TransformerConfig
from aiayn.model.transformer import Transformer
from aiayn.training import recipe
from aiayn.training.preprocess import vocabulary_config
from aiayn.translation import Translator
from aiayn.translation.ctranslate2 import write_ctranslate2
from aiayn.translation.huggingface_export import write_huggingface

tokenizers: Any = pytest.importorskip("tokenizers", reason="tokenizers is missing")
decoders, models = tokenizers.decoders, tokenizers.models
splitters, trainers = tokenizers.pre_tokenizers, tokenizers.trainers

PAIRS = [(f"the {a} is {b}", f"der {a} ist {b}") for a in "abcdefg" for b in "uvwxyz"]
TEXT = [*(side for pair in PAIRS for side in pair), "schöne Grüße!"]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def trained(tokenizer: Any, kind: str, special: list[str], **how: Any) -> Any:
    """A tokenizer with pieces from the text."""
    trainer = getattr(trainers, f"{kind}Trainer")
    learned = trainer(special_tokens=special, show_progress=False, **how)
    tokenizer.train_from_iterator(TEXT, learned)
    return tokenizer


def bytes_pairs(special: list[str]) -> Any:
    """Byte pairs of bytes, as GPT-2 has them."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = splitters.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = splitters.ByteLevel.alphabet()
    return trained(tokenizer, "Bpe", special, vocab_size=290, initial_alphabet=alphabet)


def word_piece(special: list[str]) -> Any:
    """Beginnings of words and what follows, in small letters, as BERT has them."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(strip_accents=False)
    tokenizer.pre_tokenizer = splitters.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return trained(tokenizer, "WordPiece", special, vocab_size=60)


def words(special: list[str]) -> Any:
    """Whole words."""
    tokenizer = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = splitters.WhitespaceSplit()
    return trained(tokenizer, "WordLevel", special)


def unigram(special: list[str]) -> Any:
    """Pieces with scores, as T5 has them."""
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = splitters.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return trained(tokenizer, "Unigram", special, vocab_size=60, unk_token=special[-1])


Maker = Callable[[list[str]], Any]
CASES: dict[str, tuple[Maker, list[str]]] = {
    "one token for all": (bytes_pairs, ["<|endoftext|>"]),
    "as RoBERTa": (bytes_pairs, ["<s>", "<pad>", "</s>", "<unk>"]),
    "none": (bytes_pairs, []),
    "as BERT": (word_piece, BERT),
    "others": (words, ["</s>", "[UNK]", "<pad>"]),
    "as T5": (unigram, ["<pad>", "</s>", "<unk>"]),
}


@pytest.mark.parametrize(("make", "special"), CASES.values(), ids=CASES)
def test_text_is_cut_as_before(make: Maker, special: list[str]) -> None:
    theirs = make(special)
    ours = adopt_vocabulary(theirs)
    assert isinstance(ours, TokenizersVocabulary)
    assert len(ours) == len({*theirs.get_vocab(), *SPECIAL_PIECES})
    assert ours.pieces([0, 1, 2, 3]) == SPECIAL_PIECES
    for line in TEXT[::9]:
        tokens = ours.encode(line)
        assert tokens[-1] == EOS_ID and min(tokens) == EOS_ID
        names = theirs.encode(line, add_special_tokens=False).tokens
        assert [ours.names[token] for token in tokens[:-1]] == names
        (text,) = ours.decode([[BOS_ID, *tokens, PAD_ID]])
        assert text == line
        assert ours.cut(line) == ours.pieces(tokens[:-1])
        assert "".join(ours.cut(line)).replace("▁", " ").strip() == line
    assert TokenizersVocabulary(ours.model).encode(TEXT) == ours.encode(TEXT)


@pytest.mark.parametrize(("make", "special"), CASES.values(), ids=CASES)
def test_text_has_no_special_tokens_and_its_end_is_the_only_one(
    make: Maker, special: list[str]
) -> None:
    theirs = make(special)
    theirs.enable_truncation(2)
    theirs.enable_padding(length=9)
    first = [(name, theirs.token_to_id(name)) for name in special[:1]]
    if first:
        theirs.post_processor = tokenizers.processors.TemplateProcessing(
            f"{special[0]} $A", None, first
        )
    ours = adopt_vocabulary(theirs)
    for text in ("<pad> the a </s> is u", "", "ß 𒐫"):
        tokens = ours.encode(text)
        assert not {PAD_ID, BOS_ID, EOS_ID} & set(tokens[:-1]) and tokens[-1] == EOS_ID
    assert len(ours.encode("the a is u the a is u")) > 8
    if make is bytes_pairs:
        strange = "<pad> <s> 𒐫 </s> [UNK] a\tb  c"
        assert ours.decode([ours.encode(strange)]) == [strange]
    else:
        assert UNK_ID in ours.encode("𒐫") and "𒐫" in ours.cut("a 𒐫")[-1]


def test_letters_that_a_bpe_does_not_know_are_not_left_out() -> None:
    theirs = tokenizers.Tokenizer(models.BPE(dropout=0.5))
    theirs.pre_tokenizer = splitters.WhitespaceSplit()
    theirs = trained(theirs, "Bpe", [], vocab_size=60)
    assert theirs.encode("aβb").tokens == ["a", "b"]
    ours = adopt_vocabulary(theirs)
    assert ours.encode("aβb")[1] == UNK_ID and ours.cut("aβb")[1] == "β"
    assert all(ours.encode("schöne der") == ours.encode("schöne der") for _ in "12345")


def test_kinds_are_known() -> None:
    byte = vocabulary_config(adopt_vocabulary(bytes_pairs([])))
    small = vocabulary_config(adopt_vocabulary(word_piece(BERT)))
    assert (byte.byte_fallback, byte.lowercase) == (True, False)
    assert (small.byte_fallback, small.lowercase) == (False, True)


def test_bpe_dropout_cuts_bytes_otherwise_and_refuses_whole_words() -> None:
    vocabulary = adopt_vocabulary(bytes_pairs([]))
    usual = vocabulary.encode("der g ist schöne the")
    assert BPEDropout(vocabulary, 0.0)(usual, Random(1)) == usual
    drawn = BPEDropout(vocabulary, 0.5)(usual, Random(1))
    assert len(drawn) > len(usual)
    assert vocabulary.decode([drawn]) == vocabulary.decode([usual])
    for make in (word_piece, words):
        with pytest.raises(InputError, match=r"bpe_dropout=0.1: this vocabulary does"):
            BPEDropout(adopt_vocabulary(make(BERT)), 0.1)


SHAPE: Any = {"N": 1, "d_model": 16, "d_ff": 32, "h": 2}


def small_recipe(steps: int) -> Any:
    """A model that trains in a moment."""
    return changed(recipe("synthetic", model=SHAPE), steps=steps)


LOAD = """
import sys, aiayn
translator = aiayn.Translator.load(sys.argv[1])
print(ascii([translator.vocabulary.encode(sys.argv[2]), translator(sys.argv[2])]))
"""


@pytest.mark.parametrize("kind", ["one token for all", "as BERT", "others"])
def test_a_training_takes_one_and_its_run_keeps_it(kind: str, tmp_path: Path) -> None:
    make, special = CASES[kind]
    make(special).save(str(tmp_path / "tokenizer.json"))
    how: Any = {"progress": False, "out": tmp_path / "run"}
    how["vocabulary"] = tmp_path / "tokenizer.json"
    translator = aiayn.train(small_recipe(3), PAIRS, **how)
    expected = adopt_vocabulary(how["vocabulary"])
    assert translator.vocabulary.model == expected.model
    assert translator.model.config.vocabulary_size == len(expected)
    assert "is" in attention_of(translator, *PAIRS[0]).source.words
    if kind == "as BERT":  # a new process is slow
        command = [sys.executable, "-c", LOAD, str(tmp_path / "run"), "the a is u"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        written = ascii([expected.encode("the a is u"), translator("the a is u")])
        assert done.stdout.strip() == written
    else:
        loaded = Translator.load(tmp_path / "run")
        assert loaded("the a is u") == translator("the a is u")
    again = aiayn.train(small_recipe(5), PAIRS, resume=True, **how)
    assert again.steps == 5 and again.vocabulary.model == expected.model


@pytest.mark.parametrize(("make", "special"), CASES.values(), ids=CASES)
def test_other_programs_read_it(
    make: Maker, special: list[str], tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    vocabulary = adopt_vocabulary(make(special))
    model = Transformer(TransformerConfig(len(vocabulary), **SHAPE))
    write_huggingface(model, vocabulary, tmp_path / "transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "transformers")
    assert len(theirs) == len(vocabulary)
    for line in TEXT[::9]:
        tokens = vocabulary.encode(line)
        made = {"input_ids": tokens, "attention_mask": [1] * len(tokens)}
        assert dict(theirs(line)) == made
        text = theirs.decode([PAD_ID, BOS_ID, *tokens], skip_special_tokens=True)
        assert text.strip() == line
    pytest.importorskip("ctranslate2")
    write_ctranslate2(model, vocabulary, tmp_path / "ctranslate2")
    names = json.loads((tmp_path / "ctranslate2/shared_vocabulary.json").read_text())
    cutter = tokenizers.Tokenizer.from_file(
        str(tmp_path / "ctranslate2/vocabulary.model")
    )
    assert names == [cutter.id_to_token(number) for number in range(len(vocabulary))]


def test_one_of_transformers_is_its_backend() -> None:
    theirs = words(BERT)
    fast = SimpleNamespace(backend_tokenizer=theirs)
    assert adopt_vocabulary(fast).model == adopt_vocabulary(theirs).model
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=theirs)
    assert adopt_vocabulary(fast).encode(TEXT) == adopt_vocabulary(theirs).encode(TEXT)


def test_what_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "vocabulary.model"
    path.write_text(json.dumps({"model": 1}))
    for read in (adopt_vocabulary, load_vocabulary):
        with pytest.raises(InputError, match="not a tokenizer of Hugging Face's"):
            read(path)
    words(BERT).save(str(path))
    with pytest.raises(InputError, match=r"\[PAD\].*train\(vocabulary=…\) takes it"):
        load_vocabulary(path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    for read in (adopt_vocabulary, load_vocabulary):
        with pytest.raises(InputError, match=r"pip install 'aiayn\[huggingface\]'"):
            read(path)
