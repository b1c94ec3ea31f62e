"""Marian models as Hugging Face has them: read, searched and written as it does."""

from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import (
    KINDS,
    SENTENCES,
    generated,
    random_sources,
    to_ours,
    transformers,
    write_folder,
)

from aiayn.analysis.attention_maps import attention_of
from aiayn.analysis.pruning import all_heads
from aiayn.data.vocabulary import BOS_ID, EOS_ID
from aiayn.decoding import SearchConfig
from aiayn.decoding.fast_decoder import FastDecoder, fast_decoder_for
from aiayn.decoding.huggingface_search import (
    HuggingFaceSearch,
    huggingface_search,
    never_padding,
)
from aiayn.translation import Translator
from aiayn.translation.huggingface import read_huggingface


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Any:
    path = tmp_path_factory.mktemp("marian") / "model"
    theirs = write_folder(path, KINDS[request.param])
    return theirs, *read_huggingface(path), path


def test_logits_are_equal(kind: Any) -> None:
    theirs, ours, vocabulary, _ = kind
    pad = theirs.config.pad_token_id
    rows = random_sources(11, len(vocabulary) - 1, pad)
    start = torch.full((11, 1), pad)
    targets = torch.cat(
        [start, torch.randint(1, len(vocabulary.target) - 3, (11, 9))], dim=1
    )
    targets[:, 1:][targets[:, 1:] == pad] = 1
    with torch.no_grad():
        wanted = theirs(
            input_ids=rows, attention_mask=rows != pad, decoder_input_ids=targets
        ).logits
        read = to_ours(vocabulary.target, targets)
        read[:, 0] = BOS_ID
        found = ours(to_ours(vocabulary, rows), read)
    ids = vocabulary.target.ids
    twice = [token for token in range(len(ids)) if token != BOS_ID]
    wanted = wanted[..., [ids[token] for token in twice]]
    torch.testing.assert_close(found[..., twice], wanted, rtol=0, atol=1e-5)
    assert (found[..., BOS_ID] < -1e8).all()


@pytest.mark.parametrize("end", [0.0, 3.0])
@pytest.mark.parametrize(
    "how",
    [
        {"num_beams": 1},
        {"num_beams": 4},
        {"num_beams": 4, "early_stopping": True},
        {"num_beams": 4, "early_stopping": "never", "length_penalty": 0.6},
        {"num_beams": 3, "length_penalty": 0.0},
    ],
    ids=str,
)
def test_the_search_finds_what_generate_finds(
    kind: Any, how: dict[str, Any], end: float
) -> None:
    theirs, ours, vocabulary, _ = kind
    pad = theirs.config.pad_token_id
    rows = random_sources(24, len(vocabulary) - 1, pad)
    search = HuggingFaceSearch(
        how["num_beams"],
        how.get("length_penalty", 1.0),
        early_stopping=how.get("early_stopping", False),
        limit=19,
    )
    with torch.no_grad():
        theirs.final_logits_bias[0, 0] += end
        ours.output.bias[EOS_ID] += end
        wanted = generated(theirs, rows, pad, **how)
        found = huggingface_search(
            fast_decoder_for(ours),
            to_ours(vocabulary, rows),
            search,
            never_padding(ours.config),
        )
        theirs.final_logits_bias[0, 0] -= end
        ours.output.bias[EOS_ID] -= end
    ids = vocabulary.target.ids
    assert [[ids[token] for token in best.tokens] for (best,) in found] == wanted
    if end:
        assert sum(len(row) < 19 for row in wanted) > 12


def test_without_a_forced_end_the_limit_cuts(tmp_path: Path) -> None:
    theirs = write_folder(tmp_path / "model", {}, end=-20.0)
    ours, vocabulary = read_huggingface(tmp_path / "model")
    rows = random_sources(8, len(vocabulary) - 1, theirs.config.pad_token_id)
    theirs.generation_config.forced_eos_token_id = None
    wanted = generated(theirs, rows, theirs.config.pad_token_id, max_length=7)
    found = huggingface_search(
        ours,
        to_ours(vocabulary, rows),
        HuggingFaceSearch(limit=6, forced_end=False),
        never_padding(ours.config),
    )
    ids = vocabulary.target.ids
    assert [[ids[token] for token in best.tokens] for (best,) in found] == wanted


@pytest.mark.parametrize("how", [{"num_beams": 1}, {"num_beams": 4}], ids=str)
def test_padding_has_no_share_of_the_softmax(
    how: dict[str, Any], tmp_path: Path
) -> None:
    """As in OPUS-MT's folders, where padding would often be the likeliest token."""
    theirs = write_folder(tmp_path / "model", {})
    pad = theirs.config.pad_token_id
    theirs.final_logits_bias[0, pad] = 6.0
    theirs.generation_config.renormalize_logits = True
    theirs.save_pretrained(tmp_path / "model")
    ours, vocabulary = read_huggingface(tmp_path / "model")
    rows = random_sources(16, len(vocabulary) - 1, pad)
    wanted = generated(theirs, rows, pad, **how)
    search = HuggingFaceSearch(how["num_beams"], limit=19)
    found = huggingface_search(ours, to_ours(vocabulary, rows), search)
    ids = vocabulary.target.ids
    assert [[ids[token] for token in best.tokens] for (best,) in found] == wanted


@pytest.mark.filterwarnings("ignore:sentence")  # that not all letters are known
def test_text_is_cut_and_written_as_there(kind: Any) -> None:
    theirs, ours, vocabulary, path = kind
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    lines = [*SENTENCES[::7], ">>deu<< the cat", "the xylophone", ">>xyz<< a mat"]
    for side, key in ((vocabulary, "text"), (vocabulary.target, "text_target")):
        wanted = tokenizer(**{key: lines})["input_ids"]
        assert [[side.ids[t] for t in row] for row in side.encode(lines)] == wanted
    translator = Translator(ours, vocabulary)
    assert isinstance(translator.search, HuggingFaceSearch)
    batch = tokenizer(SENTENCES[::9], return_tensors="pt", padding=True)
    written = theirs.generate(**batch)
    wanted = tokenizer.batch_decode(
        written, skip_special_tokens=True, use_source_tokenizer=False
    )
    assert translator(SENTENCES[::9]) == wanted


@pytest.mark.filterwarnings("ignore:sentence")
def test_a_translator_scores_what_it_writes_and_shows_where_it_looks(kind: Any) -> None:
    _, ours, vocabulary, path = kind
    translator = Translator.load(path, device="cpu")
    assert isinstance(translator.decoder, FastDecoder)
    lines = SENTENCES[2:40:9]
    for search in (HuggingFaceSearch(limit=6), SearchConfig(extra_length=0)):
        translator.search = search
        written = [best for (best,) in translator.n_best(lines, 1)]
        scored = translator.score(lines, [each.text for each in written])
        for one, other in zip(scored, written, strict=True):
            # Text that is cut anew may have other pieces; a forced end is for nothing.
            if one.tokens == other.tokens and len(one.tokens) < 6:
                assert one.score == pytest.approx(other.score, abs=1e-4)
    view = attention_of(translator, "die small mat", "der kleine hund")
    config = ours.config
    shapes = {kind: tuple(each.shape[:2]) for kind, each in view.weights.items()}
    assert shapes == {
        "encoder": (config.encoder_layers, config.encoder_heads),
        "decoder": (config.decoder_layers, config.decoder_heads),
        "cross": (config.decoder_layers, config.decoder_heads),
    }
    assert view.source.pieces == (*vocabulary.cut("die small mat"), "‹end›")
    assert view.writes.pieces == (*vocabulary.target.cut("der kleine hund"), "‹end›")
    assert len(all_heads(ours)) == sum(layers * h for layers, h in shapes.values())


def test_padding_is_never_written_by_either_rule(tmp_path: Path) -> None:
    write_folder(tmp_path / "model", {})
    translator = Translator.load(tmp_path / "model", device="cpu")
    with torch.no_grad():
        translator.model.output.bias[0] = 50.0
    for search in (translator.search, SearchConfig(extra_length=5)):
        translator.search = search
        for (best,) in translator.n_best(["the dog", "a mat and"], 1):
            assert 0 not in best.tokens and BOS_ID not in best.tokens
