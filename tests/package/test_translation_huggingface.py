"""Folders of Hugging Face: what is refused and said, and where models come from."""

import json
import logging
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import write_folder
from safetensors.torch import load_file, save_file

import aiayn
from aiayn.errors import InputError, NotFetched
from aiayn.translation import Translator
from aiayn.translation.huggingface import from_hub, read_huggingface

SHAPE, GENERATION = "config.json", "generation_config.json"
TOKENIZER = "tokenizer_config.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: Any) -> Path:
    path = tmp_path_factory.mktemp("whole") / "model"
    write_folder(path, {})
    return path


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "file, changes, message",
    [
        (SHAPE, {"model_type": "bart"}, "config.json: model_type='bart'"),
        (SHAPE, {"normalize_before": True}, "normalize_before=True"),
        (SHAPE, {"activation_function": "gelu_new"}, "activation='gelu_new'"),
        (SHAPE, {"encoder_attention_heads": 5}, "does not divide into 5 heads"),
        (
            "config.json",
            {"d_model": 48},
            r"24,?\), or not finite, for .*48,?\)",
        ),
        (SHAPE, {"encoder_layers": 3}, "layers.2.*is missing, one of"),
        (SHAPE, {"encoder_layers": 1}, "layers.1.*no weight of such a model"),
        (SHAPE, {"vocab_size": 20}, "vocab.json: numbers up to"),
        (GENERATION, {"pad_token_id": 3}, "padding and end are"),
        (GENERATION, {"do_sample": True}, "its search: do_sample=True"),
        (
            "generation_config.json",
            {"no_repeat_ngram_size": 2},
            "no_repeat_ngram_size=2",
        ),
        (GENERATION, {"bad_words_ids": [[5]]}, "bad_words_ids="),
        (GENERATION, {"forced_eos_token_id": 7}, "forced_eos_token_id=7"),
        (GENERATION, {"eos_token_id": [0, 1]}, "wanted is one number"),
        (GENERATION, {"length_penalty": -1.0}, "length_penalty=-1.0"),
        (
            "tokenizer_config.json",
            {"unk_token": "[UNK]"},
            r"vocab.json: has no \[UNK\]",
        ),
        (TOKENIZER, {"sp_model_kwargs": {"alpha": 1}}, "sp_model_kwargs"),
        ("vocab.json", {"</s>": "zero"}, "not a number for each piece"),
    ],
)
def test_what_is_not_known_is_refused_by_name(
    folder: Path, file: str, changes: dict[str, Any], message: str
) -> None:
    change(folder / file, **changes)
    with pytest.raises(InputError, match=message):
        read_huggingface(folder)


@pytest.mark.parametrize(
    "file", ["vocab.json", "source.spm", "target.spm", "model.safetensors"]
)
def test_a_file_that_is_missing_or_damaged_is_named(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"{")
    with pytest.raises(InputError, match=file):
        read_huggingface(folder)
    (folder / file).unlink()
    with pytest.raises(InputError, match=file):
        read_huggingface(folder)


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("lm_head.weight", lambda x: x + 1, "is not what it has to be equal to"),
        ("model.encoder.embed_positions.weight", lambda x: x, "has to be equal to"),
        ("model.encoder.layernorm_embedding.weight", lambda x: x, "no weight of such"),
        ("final_logits_bias", lambda x: x[:, 0] / 0, "or not finite"),
    ],
)
def test_no_tensor_is_lost(folder: Path, name: str, change: Any, message: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    of_tokens = tensors["model.shared.weight"]
    tensors[name] = change(of_tokens[:64] if "positions" in name else of_tokens).clone()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=message):
        read_huggingface(folder)


def test_a_pickle_is_read_without_running_it(
    folder: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    wanted, _ = read_huggingface(folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with caplog.at_level(logging.WARNING):
        found, _ = read_huggingface(folder)
    assert "weights_only=True" in caplog.text
    weights = found.state_dict(), wanted.state_dict()
    assert all(map(torch.equal, *(each.values() for each in weights)))

    class Program:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "ran",)

    torch.save({"weight": Program()}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"pytorch_model.bin: no weights alone"):
        read_huggingface(folder)
    assert not (tmp_path / "ran").exists()


def test_an_older_folder_has_all_in_one_file(folder: Path) -> None:
    generation = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").unlink()
    change(folder / "config.json", **generation)
    model, _ = read_huggingface(folder)
    assert (model.config.num_beams, model.config.max_length) == (4, 20)
    assert model.config.forced_end and model.config.bans_padding


def test_pretrained_tries_a_folder_then_a_name_then_the_hub(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator(*aiayn.pretrained(str(whole)))
    again = Translator.load(whole, device="cpu")
    assert translator("the dog") == again("the dog")
    with pytest.raises(InputError, match=r"choose one of en-de.*OWNER/MODEL"):
        aiayn.pretrained("fr-it")
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is missing")
    asked = []

    def fetched(name: str, revision: str, allow_patterns: Any) -> str:
        asked.append((name, revision))
        return str(whole)

    monkeypatch.setattr(hub, "snapshot_download", fetched)
    aiayn.pretrained("owner/model@0123abc")
    assert asked == [("owner/model", "0123abc")]

    def offline(*_: Any, **__: Any) -> str:
        raise ConnectionError("no network\nat all")

    monkeypatch.setattr(hub, "snapshot_download", offline)
    with pytest.raises(
        NotFetched, match=r"cannot be fetched from the hub \(no network\)$"
    ):
        from_hub("owner/model@1")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match="pip install huggingface_hub"):
        from_hub("owner/model@1")


def test_what_it_cannot_save_is_said(whole: Path, tmp_path: Path) -> None:
    translator = Translator.load(whole, device="cpu")
    with pytest.raises(InputError, match="keep the folder"):
        translator.save(tmp_path / "mine")
    aiayn.save(translator.model, tmp_path / "alone")  # the model alone
    again = aiayn.load(tmp_path / "alone", "cpu").state_dict()
    assert all(map(torch.equal, again.values(), translator.model.state_dict().values()))
