"""bench/decoding.py with tiny models: each program a process of its own, CTranslate2's
without PyTorch; what a lead is, and the record.
"""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")

import decoding
import decoding_ctranslate2
import records
from programs import Answer
from small_runs import TINY

from aiayn.data import Pairs, load_pairs, train_vocabulary
from aiayn.model import Transformer
from aiayn.translation import Translator

PROGRAMS = ["aiayn", "ctranslate2", "ctranslate2 int8"]


@pytest.fixture
def small(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a record; what is measured is tiny."""

    def pairs(_: str, pair: str, split: str) -> Pairs:
        return load_pairs(
            str(corpus), pair, {"test_2016_flickr": "val"}.get(split, split)
        )

    monkeypatch.setattr(decoding, "load_pairs", pairs)
    monkeypatch.setattr(decoding, "SHAPES", {"small": TINY})
    monkeypatch.setattr(decoding, "SENTENCES", {1: 2, 8: 10})
    monkeypatch.setattr(decoding, "OURS", ["aiayn"])
    monkeypatch.setattr(records, "RUNS", tmp_path)
    old = decoding.kind(1) | {"instructions": "another"}
    (tmp_path / "decoding-speed.json").write_text(json.dumps({"kinds": [old]}))
    return tmp_path


def test_programs_find_the_same_and_the_record_has_rates_and_leads(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "decoding.py --shapes small --beams 1 4 --batches 8 --rounds 2 --record"
    monkeypatch.setattr(sys, "argv", [*command.split(), "--threads", "1"])
    decoding.main()
    record = json.loads((small / "decoding-speed.json").read_text(encoding="utf-8"))
    kept, found = record["kinds"]
    assert kept["instructions"] == "another" and found["threads"] == 1
    assert [row["beam"] for row in found["fixed"]] == [1, 4]
    for row in found["fixed"]:
        least, usual, most = row["lead of aiayn"]
        assert 0 < least <= usual <= most
        assert all(row[name] > 0 for name in PROGRAMS)
        assert row["as ctranslate2"] == 1
    assert capsys.readouterr().out.count("small, beam") == 2


def test_a_trained_model_translates_text_in_both(small: Path) -> None:
    pairs = decoding.load_pairs("multi30k", "en-de", "train")
    vocabulary = train_vocabulary([*pairs.source, *pairs.target], TINY.vocabulary_size)
    Translator(Transformer(TINY), vocabulary).save(small / "run")
    found = decoding.real_work(small / "run", rounds=1, threads=1)
    assert found["sentences"] == 10 and all(found[name] > 0 for name in PROGRAMS)
    assert found["differ"] == found["differ, ours likelier"]


def test_it_stops_where_pytorch_is_in_the_process_of_ctranslate2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "torch" in sys.modules  # as in every test
    (tmp_path / "shared_vocabulary.json").write_text("[]")
    program = SimpleNamespace(Translator=lambda *_, **__: None)
    pieces = SimpleNamespace(SentencePieceProcessor=lambda **_: None)
    monkeypatch.setattr(decoding_ctranslate2, "ctranslate2", program)
    monkeypatch.setattr(decoding_ctranslate2, "sentencepiece", pieces)
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path), "float32", "1"])
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"beam": 1, "batches": []}\n'))
    with pytest.raises(AssertionError, match="PyTorch slows"):
        decoding_ctranslate2.main()


def answers(*seconds: float, imported: str = "torch") -> list[Answer]:
    return [{"seconds": each, "imported": [imported]} for each in seconds]


def test_a_lead_is_taken_round_by_round_and_in_eight_bits_over_the_better() -> None:
    given = {
        "aiayn": answers(1.0, 2.0, 4.0),
        "aiayn int8": answers(1.0, 1.0, 1.0),
        "ctranslate2": answers(3.0, 4.0, 2.0, imported="ctranslate2"),
        "ctranslate2 int8": answers(5.0, 3.0, 4.0, imported="ctranslate2"),
    }
    found = decoding.rates(given, 60)
    assert found["aiayn"] == 30 and found["ctranslate2"] == 20
    assert found["lead of aiayn"] == [0.5, 2.0, 3.0]
    assert found["lead of aiayn int8"] == [2.0, 3.0, 3.0]


@pytest.mark.parametrize("name", ["aiayn", "ctranslate2"])
def test_a_process_with_both_libraries_gives_no_figures(name: str) -> None:
    given: dict[str, Any] = {name: answers(1.0)}
    given[name][0]["imported"] = ["torch", "ctranslate2"]
    with pytest.raises(SystemExit, match=f"{name}: its process imported"):
        decoding.rates(given, 60)


def test_a_program_that_ends_is_named() -> None:
    program = decoding.Program("decoding_torch.py", "nothing", "nowhere.json", 1)
    with pytest.raises(
        SystemExit, match=r"decoding_torch.py nothing.*ended with code 1"
    ):
        program.ask({})
