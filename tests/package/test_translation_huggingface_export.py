"""Our models in Hugging Face's library: the same translations, and what it lacks."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from marian_folders import SENTENCES, spm_models, transformers

import aiayn
from aiayn.__main__ import main as command
from aiayn.decoding.huggingface_search import HuggingFaceSearch
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig
from aiayn.translation import Translator
from aiayn.translation.huggingface import named_weights
from aiayn.translation.huggingface_export import in_marian_order, write_huggingface

ROOT = Path(__file__).parents[2]
LINES = """\
The dog sleeps.
I don't know what to do.
Tom has lost his keys again.
Where is the nearest station?
She asked me to open the window.
We have been waiting for an hour.
My brother plays the guitar very well.
What time does the train leave?
It is raining, so we are staying at home.
Do you want to come with us?
The children are playing in the garden.
This book was written by a friend of mine.
""".splitlines()


def main(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["aiayn", *arguments])
    command()


def random_model(**changes: Any) -> Transformer:
    shape = {"N": 2, "d_model": 24, "d_ff": 40, "h": 4, "vocabulary_size": 70}
    model = Transformer(TransformerConfig(**(shape | changes))).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.3)
    return model


def generated(folder: Path, lines: list[str], **how: Any) -> list[str]:
    """What `generate` makes of text, by the tokenizer in the folder."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    written = model.generate(
        **tokenizer(lines, return_tensors="pt", padding=True), **how
    )
    texts: list[str] = tokenizer.batch_decode(written, skip_special_tokens=True)
    return texts


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"share_embeddings": False},
        {"attention_bias": True},
        {"norm": "pre"},
        {"norm": "pre", "attention_bias": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("beam", [1, 4])
def test_generate_writes_what_we_write(
    changes: dict[str, Any], beam: int, tmp_path: Path
) -> None:
    model, vocabulary = random_model(**changes), spm_models()[1]
    write_huggingface(model, vocabulary, tmp_path / "model")
    limit = 12
    ours = Translator(model, vocabulary, HuggingFaceSearch(beam, 0.6, limit=limit))
    wanted = ours(SENTENCES[::7])
    how = {"num_beams": beam, "max_length": limit + 1, "bad_words_ids": None}
    assert generated(tmp_path / "model", SENTENCES[::7], **how) == wanted


def test_the_shipped_translator_is_the_same_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "en-de"
    main(["convert", "en-de", str(folder), "--to", "huggingface"], monkeypatch)
    ours = Translator.load("en-de", search=aiayn.SearchConfig(beam=1), device="cpu")
    read = Translator.load(folder, device="cpu")
    greedy, best = (generated(folder, LINES, num_beams=beam) for beam in (1, 4))
    assert greedy == ours(LINES) == read(LINES, beam=1)
    assert best == read(LINES) == generated(folder, LINES) != greedy
    before, after = (
        named_weights(in_marian_order(ours.model)),
        named_weights(read.model),
    )
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    card = (folder / "README.md").read_text()
    assert 'language: ["en", "de"]' in card and "tatoeba" in card
    assert "45.3 BLEU, on tatoeba val, 200 pairs" in card


def test_special_tokens_and_search_are_written(tmp_path: Path) -> None:
    write_huggingface(random_model(), spm_models()[1], tmp_path / "model")
    settings = json.loads((tmp_path / "model" / "generation_config.json").read_text())
    assert settings == {
        "num_beams": 4,
        "length_penalty": 0.6,
        "early_stopping": False,
        "max_length": 512,
        "bad_words_ids": [[0]],
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": 3,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "learned"},
        {"positions": "relative"},
        {"positions": "none"},
        {"score": "additive"},
        {"d_k": 8, "d_v": 8},
        {"norm": "pre", "share_embeddings": False},
    ],
    ids=str,
)
def test_what_cannot_be_expressed_is_refused(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no conversion to Hugging Face for"):
        write_huggingface(random_model(**changes), spm_models()[1], tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is there already"):
        write_huggingface(random_model(), spm_models()[1], tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_huggingface(random_model(), spm_models()[1], tmp_path / "file" / "model")


@pytest.mark.nightly  # by day the page runs with the others
def test_the_how_to_from_tsv_to_the_hub_runs_as_it_is_printed(tmp_path: Path) -> None:
    """Trained on a TSV file, scored, converted, and equal in both programs."""
    page = nbformat.read(ROOT / "book/how-to/8-tsv-to-hub.ipynb", as_version=4)
    code = [cell.source for cell in page.cells if cell.cell_type == "code"]
    program = [sys.executable, "-c", "\n\n".join(code)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "--optimizer.warmup" in ran.stdout
    assert ran.stdout.splitlines()[-1].startswith("50 lines, each the same")
