"""The search writes what Hugging Face's `generate` writes, over many real sentences."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import KINDS, generated, to_ours, transformers, write_folder

import aiayn
from aiayn import synthetic
from aiayn.data.vocabulary import BOS_ID, EOS_ID
from aiayn.decoding.fast_decoder import fast_decoder_for
from aiayn.decoding.huggingface_search import (
    HuggingFaceSearch,
    huggingface_search,
    never_padding,
)
from aiayn.model.marian import Marian
from aiayn.translation.huggingface import read_huggingface
from aiayn.translation.huggingface_export import write_huggingface

LIMIT = 63  # tokens without the start; `max_length` counts it


def sources(count: int) -> list[str]:
    """Sentences from all over Tatoeba's test set; synthetic ones without the data."""
    if os.environ.get("AIAYN_DATA"):
        lines = list(aiayn.load_pairs("tatoeba", "en-de", "test").source)
    else:
        lines = [pair.source for pair in synthetic.sample(count, split="test")]
    return lines[:: len(lines) // count][:count]


def folder_of(kind: str, path: Path) -> Path:
    """A random model whose ends are likely enough, or the translator that ships."""
    if kind == "shipped":
        write_huggingface(*aiayn.pretrained("en-de"), path)
    else:
        write_folder(path, KINDS[kind] | {"max_position_embeddings": 512}, end=4.0)
    return path


@torch.no_grad()
def apart(
    model: Marian,
    source: torch.Tensor,
    search: HuggingFaceSearch,
    *written: list[int],
) -> float:
    """By how much the scores of two translations differ.

    Greedy search takes the best token only, so there that is where they part.
    """
    if search.beam == 1:
        pairs = zip(*written, strict=False)
        first = next(k for k, (one, other) in enumerate(pairs) if one != other)
        written = tuple(tokens[: first + 1] for tokens in written)
    scores = []
    for tokens in written:
        target = torch.tensor([[BOS_ID, *tokens[:-1]]])
        log_p = model(source[None], target)[0].log_softmax(dim=-1)
        each = log_p[range(len(tokens)), tokens]
        each[LIMIT - 1 :] = 0.0  # the end is forced there
        scores.append(search.score(float(each.sum()), len(tokens)))
    return abs(scores[0] - scores[1])


@pytest.mark.parametrize(
    "kind, count",
    [
        *((kind, 300) for kind in ("shared", "separate", "relu", "unequal")),
        ("shipped", 24),
        pytest.param("shipped", 300, marks=pytest.mark.nightly),
    ],
)
def test_generate_writes_the_same_lines(kind: str, count: int, tmp_path: Path) -> None:
    path = folder_of(kind, tmp_path / "model")
    theirs: Any = transformers.MarianMTModel.from_pretrained(path).eval()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(path)
    ours, vocabulary = read_huggingface(path)
    decoder, ids = fast_decoder_for(ours), vocabulary.target.ids
    numbers = {number: token for token, number in reversed(list(enumerate(ids)))}
    pad = theirs.config.pad_token_id
    different, ended = list[float](), 0
    lines = sources(count)
    for beam in (1, 4):
        search = HuggingFaceSearch(beam, limit=LIMIT)
        how = {"num_beams": beam, "length_penalty": search.alpha, "max_length": 64}
        for start in range(0, count, 50):
            batch = tokenizer(lines[start : start + 50], padding=True)
            rows = torch.tensor(batch["input_ids"])
            wanted = generated(theirs, rows, pad, **how)
            read = to_ours(vocabulary, rows)
            found = huggingface_search(
                decoder, read, search, never_padding(ours.config)
            )
            for (best,), their, source in zip(found, wanted, read, strict=True):
                their = [numbers[token] for token in their]
                if EOS_ID in their:  # where padding is 0, `generate` fills up with ends
                    their = their[: their.index(EOS_ID) + 1]
                ended += len(their) < LIMIT and their[-1] == EOS_ID
                if best.tokens != their:
                    source = source[source != 0]
                    different.append(apart(ours, source, search, best.tokens, their))
    assert len(different) <= 3 and all(each < 1e-4 for each in different), different
    assert ended > count  # of both searches' lines, most end before the limit
