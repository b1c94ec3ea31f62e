"""Sentencepiece models of others: numbered as ours, and cutting text as before."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import aiayn
from aiayn.base_config import changed
from aiayn.data.adopted_vocabulary import adopt_vocabulary
from aiayn.data.vocabulary import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    UNK_ID,
    Vocabulary,
    train_vocabulary,
)
from aiayn.errors import InputError
from aiayn.training import recipe
from aiayn.translation import Translator

PAIRS = [(f"the {a} is {b}", f"der {a} ist {b}") for a in "abcdefg" for b in "uvwxyz"]
TEXT = [side for pair in PAIRS for side in pair]
IDS: dict[str, dict[str, Any]] = {
    "ours": {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3},
    "none for padding": {"pad_id": -1, "unk_id": 0, "bos_id": 1, "eos_id": 2},
    "as T5": {"pad_id": 0, "unk_id": 2, "bos_id": -1, "eos_id": 1},
    "last": {"pad_id": 3, "unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_piece": "[PAD]"},
}


def model(kind: str = "unigram", **special: Any) -> bytes:
    """A model as somebody else may have trained it."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(TEXT),
        model_writer=written,
        model_type=kind,
        vocab_size=30,
        hard_vocab_limit=False,
        minloglevel=2,
        **(special or IDS["none for padding"]),
    )
    return written.getvalue()


@pytest.mark.parametrize("special", IDS.values(), ids=IDS)
@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_text_is_cut_as_before(kind: str, special: dict[str, Any]) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model(kind, **special))
    ours = adopt_vocabulary(theirs)
    program = ours.processor
    ids = program.pad_id(), program.unk_id(), program.bos_id(), program.eos_id()
    assert ids == (PAD_ID, UNK_ID, BOS_ID, EOS_ID)
    assert ours.pieces([0, 1, 2, 3]) == ["<pad>", "<unk>", "<s>", "</s>"]
    missing = sum(number == -1 for number in special.values())
    assert len(ours) == theirs.GetPieceSize() + missing
    for line in TEXT[::9]:
        assert ours.cut(line) == theirs.EncodeAsPieces(line)
        tokens = ours.encode(line)
        assert tokens[-1] == EOS_ID and ours.decode([[BOS_ID, *tokens, PAD_ID]]) == [
            line
        ]
    assert ours.encode("ß")[-2:] == [UNK_ID, EOS_ID]
    assert Vocabulary(ours.model).encode(TEXT) == ours.encode(TEXT)


@pytest.mark.parametrize(
    ("kind", "size", "pieces"),
    [
        ("word", 21, ["▁the", "▁a", "▁is"]),
        ("char", 23, [*"▁the▁a▁is"]),
        ("unigram", 26, [*"▁the▁a", "▁is"]),
    ],
)
def test_other_kinds_are_learned(kind: Any, size: int, pieces: list[str]) -> None:
    learned = train_vocabulary(TEXT, size, model_type=kind)
    assert learned.cut("the a is") == pieces and adopt_vocabulary(learned) is learned
    if kind != "char":  # which has all letters and no more
        with pytest.raises(InputError, match=r"holds .* pieces at most; ask for fewer"):
            train_vocabulary(TEXT, 900, model_type=kind)


def test_a_training_takes_one_and_its_run_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "their.model").write_bytes(model("word"))
    small = recipe("synthetic", model={"N": 1, "d_model": 16, "d_ff": 32, "h": 2})
    small = changed(small, steps=3)
    how: Any = {"progress": False, "out": tmp_path / "run"}
    vocabulary = str(tmp_path / "their.model")
    translator = aiayn.train(small, PAIRS, vocabulary=vocabulary, **how)
    expected = adopt_vocabulary(vocabulary)
    assert translator.vocabulary.model == expected.model
    assert translator.model.config.vocabulary_size == len(expected)
    assert Translator.load(tmp_path / "run").vocabulary.cut("the a is") == [
        *("▁the", "▁a", "▁is")
    ]
    longer = changed(small, steps=5)
    again = aiayn.train(longer, PAIRS, vocabulary=vocabulary, resume=True, **how)
    assert again.steps == 5 and again.vocabulary.model == expected.model
    assert adopt_vocabulary(tmp_path / "run").model == expected.model
    with pytest.raises(InputError, match="init has one already"):
        aiayn.train(small, PAIRS, init=again, vocabulary=vocabulary, progress=False)


def test_what_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "junk").write_bytes(b"junk")
    for given, message in (
        (tmp_path / "junk", r"junk: no vocabulary \("),
        (tmp_path / "nowhere", r"nowhere: no vocabulary \(.*No such file"),
        ({"a": 1}, "vocabulary: give a Vocabulary, a sentencepiece model.*not a dict"),
    ):
        with pytest.raises(InputError, match=message):
            adopt_vocabulary(given)
    (tmp_path / "model").write_bytes(model())
    monkeypatch.setitem(sys.modules, "sentencepiece.sentencepiece_model_pb2", None)
    monkeypatch.delattr(sentencepiece, "sentencepiece_model_pb2", raising=False)
    with pytest.raises(InputError, match="pip install protobuf"):
        adopt_vocabulary(tmp_path / "model")
