"""The Transformer on one page: plain, short, and the same model as PyTorch's and the
book's.
"""

import ast
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import aiayn
from aiayn.decoding.beam_search import SearchConfig, beam_search
from aiayn.minimal import transformer as minimal
from aiayn.training.loss import label_smoothed_loss
from aiayn.training.optimizer import learning_rate

SHAPE = {"N": 2, "d_model": 16, "d_ff": 32, "h": 4}
SOURCE = torch.tensor([[5, 6, 7, 8, 3], [9, 4, 3, 0, 0]])
TARGET = torch.tensor([[2, 4, 5, 6], [2, 7, 3, 0]])


@pytest.fixture
def plain() -> minimal.Transformer:
    torch.manual_seed(3)
    return minimal.Transformer(30, dropout=0.0, **SHAPE).eval()


def in_the_book(plain: minimal.Transformer) -> aiayn.Transformer:
    """The book's model with these weights."""
    state = plain.state_dict()
    found = {
        name: state["embeddings.weight"]
        for name in ("source_embeddings.weight", "target_embeddings.weight")
    }
    for name, weight in state.items():
        half, _, rest = name.partition(".")
        if rest.endswith("W_Q.weight"):
            weight = torch.cat(
                [state[name.replace("W_Q", part)] for part in ("W_Q", "W_K", "W_V")]
            )
            rest = rest.replace("W_Q", "projections")
        if half != "embeddings" and not rest.endswith(("W_K.weight", "W_V.weight")):
            found[f"{half}.layers.{rest}"] = weight
    model = aiayn.Transformer(
        aiayn.config("base", vocabulary_size=30, dropout=0.0, **SHAPE)
    ).eval()
    model.load_state_dict(found)
    return model


def same(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, atol=1e-5)


def test_it_is_short_and_needs_only_torch() -> None:
    path = Path(minimal.__file__)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }
    modules |= {
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert modules == {"math", "collections.abc", "torch", "torch.nn.functional"}
    # Lines of docstrings.
    beside = set[int]()
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef
        ) and ast.get_docstring(node):
            beside |= set(
                range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
            )
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    code = [text.strip() for line, text in lines if line not in beside]
    code = [text for text in code if text and not text.startswith("#")]
    assert len(code) <= 140


def test_it_is_the_book_s_model(plain: minimal.Transformer) -> None:
    book = in_the_book(plain)
    assert same(plain.encode(SOURCE)[1, :3], book.encode(SOURCE)[1, :3])
    assert same(plain(SOURCE, TARGET)[0], book(SOURCE, TARGET)[0])


def test_greedy_translations_are_those_of_a_beam_of_one(
    plain: minimal.Transformer,
) -> None:
    found = minimal.translate(plain, SOURCE, longest=12)
    beams = beam_search(
        in_the_book(plain), SOURCE, SearchConfig(beam=1, extra_length=20)
    )
    for row, (best,) in zip(found, beams, strict=True):
        tokens = row[1:].tolist()
        tokens = (
            tokens[: tokens.index(minimal.EOS)] if minimal.EOS in tokens else tokens
        )
        assert tokens == list(best.tokens[: len(tokens)])


def test_gradients_are_those_of_the_paper_s_loss(plain: minimal.Transformer) -> None:
    book = in_the_book(plain)
    labels, words = TARGET[:, 1:], TARGET[:, 1:] != minimal.PAD
    loss, _ = label_smoothed_loss(
        book(SOURCE, TARGET[:, :-1])[words], labels[words], 0.1
    )
    (loss / words.sum()).backward()
    logits = plain(SOURCE, TARGET[:, :-1]).flatten(0, 1)
    F.cross_entropy(
        logits, labels.flatten(), ignore_index=minimal.PAD, label_smoothing=0.1
    ).backward()
    assert plain.embeddings.weight.grad is not None
    assert book.target_embeddings.weight.grad is not None
    assert same(plain.embeddings.weight.grad, book.target_embeddings.weight.grad)


def test_padding_and_the_future_are_invisible(plain: minimal.Transformer) -> None:
    alone = plain(SOURCE[1:, :3], TARGET[1:])
    assert same(plain(SOURCE, TARGET)[1:], alone)
    changed = TARGET.clone()
    changed[:, 3] = 11
    assert same(plain(SOURCE, changed)[:, :3], plain(SOURCE, TARGET)[:, :3])


def test_the_learning_rate_is_the_paper_s() -> None:
    for step in (1, 3999, 4000, 4001, 100_000):
        assert math.isclose(
            minimal.learning_rate(step, 512, 4000), learning_rate(step, 512)
        )


def test_it_learns_to_copy() -> None:
    torch.manual_seed(0)
    model = minimal.Transformer(12, N=1, d_model=32, d_ff=64, h=2, dropout=0.0)
    words = torch.randint(4, 12, (64, 4))
    ends = torch.full((64, 1), minimal.EOS)
    batch = (
        torch.cat([words, ends], 1),
        torch.cat([torch.full((64, 1), minimal.BOS), words, ends], 1),
    )
    losses = list(minimal.train(model, [batch] * 300, warmup=60))
    assert losses[-1] < losses[0] / 2
    found = minimal.translate(model.eval(), batch[0], longest=8)
    assert (found[:, 1:5] == words).float().mean() > 0.95
