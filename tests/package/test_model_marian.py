"""Marian models as Hugging Face has them: read, searched and written as it does."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from aiayn import pretrained
from aiayn.analysis.attention_maps import attention_of
from aiayn.data.marian_vocabulary import MarianVocabulary
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID, train_vocabulary
from aiayn.decoding import SearchConfig
from aiayn.decoding.fast_decoder import FastDecoder, fast_decoder_for
from aiayn.decoding.huggingface_search import (
    HuggingFaceSearch,
    huggingface_search,
    never_padding,
    usual_search,
)
from aiayn.errors import InputError
from aiayn.model.marian import Marian
from aiayn.translation import Translator
from aiayn.translation.huggingface import read_huggingface

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed"
)

TEXT = """
the cat sat on a small old mat and the dog saw it while two big horses ran home
die katze saß auf einer kleinen alten matte und der hund sah sie
""".split()
SENTENCES = [" ".join(TEXT[i : i + n]) for i in range(len(TEXT)) for n in (1, 3, 5, 9)]
SMALL: dict[str, Any] = {
    "d_model": 24,
    "encoder_layers": 2,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_layers": 2,
    "decoder_attention_heads": 4,
    "decoder_ffn_dim": 40,
    "activation_function": "swish",
    "scale_embedding": True,
    "max_position_embeddings": 64,
    "max_length": 20,
    "num_beams": 4,
}
KINDS: dict[str, dict[str, Any]] = {
    "shared": {},
    "separate": {"share_encoder_decoder_embeddings": False},
    "relu": {"activation_function": "relu", "scale_embedding": False},
    "gelu": {"activation_function": "gelu", "encoder_ffn_dim": 28},
    "unequal": {"encoder_layers": 3, "decoder_layers": 1, "decoder_attention_heads": 2},
    "untied": {"tie_word_embeddings": False},
    "separate and untied": {
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
    },
}


def sides() -> tuple[list[str], list[str]]:
    """Numbers of pieces as OPUS-MT has them: the end first, padding last."""
    return [
        ["</s>", "<unk>", *own, ">>deu<<", "<pad>"] for own in spm_pieces()
    ]  # type: ignore[return-value]


def spm_pieces() -> list[list[str]]:
    return [
        [piece for piece in model.pieces(list(range(4, len(model)))) if piece != "▁cat"]
        for model in spm_models()
    ]


def spm_models() -> list[Any]:
    return [train_vocabulary(SENTENCES[:48], 60), train_vocabulary(SENTENCES, 70)]


def write_folder(path: Path, changes: dict[str, Any], end: float = 1.0) -> Any:
    """A random model of `transformers`, written as it writes them; `end` is its bias."""
    source, target = sides()
    shared = changes.get("share_encoder_decoder_embeddings", True)
    if shared:
        source = target = list(dict.fromkeys([*source[:-1], *target]))
    numbers = [{piece: k for k, piece in enumerate(names)} for names in (source, target)]
    pad, target_pad = len(source) - 1, len(target) - 1
    if not shared:  # one number of padding for both
        numbers[1]["<pad>"], numbers[1][target[pad]] = pad, target_pad
    limits = {"max_length": SMALL["max_length"], "num_beams": SMALL["num_beams"]}
    shape = {k: v for k, v in SMALL.items() if k not in limits} | changes
    config = transformers.MarianConfig(
        vocab_size=len(source),
        decoder_vocab_size=len(target),
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=0,
        **shape,
    )
    torch.manual_seed(1)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:  # the table of positions does not
                weight.normal_(0, 0.3)
        if shared:
            model.model.shared.weight[pad] = 0
        stacks = model.model.encoder, model.model.decoder
        for embedding in [stack.embed_tokens for stack in stacks]:
            if shared:  # also where the output is not tied
                embedding.weight.copy_(model.model.shared.weight)
            embedding.weight[pad] = 0
        model.final_logits_bias.normal_(0, 0.3)
        model.final_logits_bias[0, 0] += end
    model.generation_config = transformers.GenerationConfig(
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=0,
        bad_words_ids=[[pad]],
        length_penalty=1.0,
        early_stopping=False,
        **limits,
    )
    model.save_pretrained(path)
    for name, spm in zip(("source.spm", "target.spm"), spm_models(), strict=True):
        (path / name).write_bytes(spm.model)
    (path / "vocab.json").write_text(json.dumps(numbers[0]))
    tokenizer = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": not shared}
    if not shared:
        (path / "target_vocab.json").write_text(json.dumps(numbers[1]))
    (path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return model


def random_sources(count: int, size: int, pad: int) -> torch.Tensor:
    """Random tokens of theirs, of several lengths, with ends and padding."""
    rows = torch.full((count, 12), pad)
    for k in range(count):
        n = 1 + k % 11
        rows[k, :n] = torch.randint(2, size - 1, (n,))
        rows[k, :n][rows[k, :n] == pad] = 2
        rows[k, n] = 0
    return rows


def to_ours(vocabulary: MarianVocabulary, rows: torch.Tensor) -> torch.Tensor:
    """Their numbers as ours."""
    table = torch.zeros(max(vocabulary.ids) + 1, dtype=torch.long)
    for token, number in reversed(list(enumerate(vocabulary.ids))):
        table[number] = token
    return table[rows]


def generated(model: Any, rows: torch.Tensor, pad: int, **how: Any) -> list[list[int]]:
    """What `generate` writes, without the start and the padding."""
    written = model.generate(input_ids=rows, attention_mask=rows != pad, **how)
    return [
        [token for token in row if token != pad] for row in written[:, 1:].tolist()
    ]


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
