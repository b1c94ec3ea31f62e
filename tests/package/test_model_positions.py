"""Positions: the sinusoidal table and its growth, offsets while decoding, learned
tables, distances.
"""

import json
import math
from collections.abc import Callable
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from aiayn.model import MultiHeadAttention, Transformer, config
from aiayn.model.positions import (
    LearnedPositions,
    NoPositions,
    RelativeAttention,
    RelativePositions,
    SinusoidalPositions,
    sinusoidal_encoding,
)

CHAPTER = Path(__file__).parents[2] / "book" / "1-paper/3-5-positional-encoding.ipynb"
KINDS = [
    lambda: SinusoidalPositions(6, n=4),
    lambda: LearnedPositions(6, n=40),
    NoPositions,
]


def encoding(pos: int, column: int, d_model: int) -> float:
    """One number of the paper's table, by its formula."""
    angle = pos / 10000 ** (2 * (column // 2) / d_model)
    return math.cos(angle) if column % 2 else math.sin(angle)


@pytest.mark.parametrize("d_model", [1, 2, 7, 64, 512])
def test_the_table_is_the_formula_to_the_last_digit(d_model: int) -> None:
    table = sinusoidal_encoding(40, d_model)
    by_hand = [
        [encoding(pos, column, d_model) for column in range(d_model)]
        for pos in range(40)
    ]
    assert table.shape == (40, d_model) and table.dtype == torch.float32
    torch.testing.assert_close(
        table.double(), torch.tensor(by_hand, dtype=torch.float64), rtol=0, atol=6e-8
    )


def test_late_positions_are_as_precise_as_early_ones() -> None:
    late = sinusoidal_encoding(100_001, 8)[100_000].double()
    by_hand = torch.tensor(
        [encoding(100_000, column, 8) for column in range(8)], dtype=torch.float64
    )
    torch.testing.assert_close(late, by_hand, rtol=0, atol=6e-8)


class SingleDevice(TorchFunctionMode):
    """Refuses float64 on the device `meta`, as Apple's GPUs refuse it."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor) and made.is_meta and made.dtype == torch.float64:
            raise TypeError("float64 is not supported on this device")
        return made


@pytest.mark.parametrize("where", ["made there", "moved there"])
@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "relative", "none"])
def test_a_device_without_float64(kind: str, where: str) -> None:
    shape = config("synthetic", positions=kind)
    tokens = torch.ones(2, 300, dtype=torch.long, device="meta")  # the table grows
    there = torch.device("meta")
    with SingleDevice(), there if where == "made there" else nullcontext():
        model = Transformer(shape).to("meta")
        logits = model(tokens, tokens)
        model.step(tokens[:, :1], model.start(tokens))
    assert logits.is_meta and logits.dtype == torch.float32
    assert all(buffer.is_meta for buffer in model.buffers())


@pytest.mark.parametrize("d_model", [5, 8])
def test_the_table_grows_and_stays_the_same(d_model: int) -> None:
    positions = SinusoidalPositions(d_model, n=3)
    x = torch.randn(2, 50, d_model)
    torch.testing.assert_close(
        positions(x), x + sinusoidal_encoding(50, d_model), rtol=0, atol=0
    )
    grown = positions.table
    positions(torch.randn(1, 50, d_model))
    assert positions.table is grown, "made again though it was long enough"


def test_a_grown_table_keeps_the_type_and_is_not_saved() -> None:
    positions = SinusoidalPositions(8, n=2).to(torch.bfloat16)
    assert positions(torch.zeros(1, 9, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert positions.table.dtype == torch.bfloat16
    assert not positions.state_dict() and not list(positions.parameters())
    SinusoidalPositions(8, n=100).load_state_dict(positions.state_dict())


def test_a_table_grown_without_gradients_serves_training() -> None:
    positions = SinusoidalPositions(8, n=2)
    with torch.inference_mode():
        positions(torch.zeros(1, 9, 8))
    x = torch.randn(1, 9, 8, requires_grad=True)
    positions(x).square().sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("sizes", [[1] * 20, [7, 1, 1, 11], [20]])
def test_piece_by_piece_equals_whole(
    make: Callable[[], nn.Module], sizes: list[int]
) -> None:
    x, positions, start, pieces = torch.randn(2, sum(sizes), 6), make(), 0, []
    for piece in x.split(sizes, dim=1):
        pieces.append(positions(piece, start))
        start += piece.shape[1]
    assert torch.equal(torch.cat(pieces, dim=1), positions(x))


@pytest.mark.parametrize(("n", "start"), [(11, 0), (1, 10), (6, 5)])
def test_learned_positions_end_where_their_table_ends(n: int, start: int) -> None:
    positions = LearnedPositions(4, n=10)
    with pytest.raises(
        ValueError, match="a sequence of 11 tokens, but only 10 positions were learned"
    ):
        positions(torch.zeros(1, n, 4), start)
    assert positions(torch.zeros(1, n - 1, 4), start).shape == (1, n - 1, 4)


def test_learned_positions_are_learned_where_they_are_used() -> None:
    positions = LearnedPositions(4, n=10)
    positions(torch.zeros(3, 2, 4), start=5).sum().backward()
    assert positions.table.grad is not None
    assert positions.table.grad.abs().sum(1).nonzero().flatten().tolist() == [5, 6]


def relative_attention(
    Q: Tensor, K: Tensor, V: Tensor, relative: RelativePositions
) -> Tensor:
    """Shaw et al.'s formula for one head, over all pairs; the queries are the last of
    the keys.
    """
    n, m, max_distance = len(Q), len(K), relative.max_distance
    heads = torch.zeros(n, V.shape[1], dtype=Q.dtype)
    for i in range(n):
        rows = [
            min(max(j - (i + m - n), -max_distance), max_distance) + max_distance
            for j in range(m)
        ]
        scores = [
            Q[i] @ (K[j] + relative.keys[rows[j]]) / math.sqrt(Q.shape[1])
            for j in range(m)
        ]
        for j, weight in enumerate(torch.stack(scores).softmax(0)):
            heads[i] += weight * (V[j] + relative.vectors[rows[j]])
    return heads


@pytest.mark.parametrize(
    ("n", "more", "max_distance", "d_k", "d_v"),
    [
        (1, 0, 0, 1, 1),
        (6, 0, 2, 4, 4),
        (6, 0, 16, 4, 3),
        (5, 0, 0, 3, 2),
        (1, 6, 3, 4, 4),
        (3, 4, 2, 2, 5),
    ],
)
def test_relative_positions_are_the_loop_over_pairs(
    n: int, more: int, max_distance: int, d_k: int, d_v: int
) -> None:
    relative = RelativePositions(d_k, d_v, max_distance).double()
    Q = torch.randn(2, 3, n, d_k, dtype=torch.float64)
    K = torch.randn(2, 3, n + more, d_k, dtype=torch.float64)
    V = torch.randn(2, 3, n + more, d_v, dtype=torch.float64)
    heads = RelativeAttention(relative)(Q, K, V)
    for row in range(2):
        for head in range(3):
            loop = relative_attention(
                Q[row, head], K[row, head], V[row, head], relative
            )
            torch.testing.assert_close(heads[row, head], loop, rtol=0, atol=1e-10)


def test_relative_gradients_are_those_of_the_loop() -> None:
    relative = RelativePositions(3, 2, max_distance=2).double()
    Q, K = torch.randn(2, 1, 1, 6, 3, dtype=torch.float64)
    V = torch.randn(1, 1, 6, 2, dtype=torch.float64)
    tables = (relative.keys, relative.vectors)
    fast = torch.autograd.grad(
        RelativeAttention(relative)(Q, K, V).square().sum(), tables
    )
    loop = torch.autograd.grad(
        relative_attention(Q[0, 0], K[0, 0], V[0, 0], relative).square().sum(), tables
    )
    torch.testing.assert_close(fast, loop, rtol=0, atol=1e-10)


def relative_layer() -> MultiHeadAttention:
    return MultiHeadAttention(
        12, h=3, attention=RelativeAttention(RelativePositions(4, 4, max_distance=3))
    ).double()


def test_relative_attention_does_not_see_where_a_sentence_stands() -> None:
    layer = relative_layer()
    sentence = torch.randn(2, 5, 12, dtype=torch.float64)
    padded = torch.cat([torch.randn(2, 4, 12, dtype=torch.float64), sentence], dim=1)
    mask = (torch.arange(9) >= 4)[None, None, None, :].expand(2, 1, 1, 9)
    torch.testing.assert_close(
        layer(padded, mask=mask)[:, 4:], layer(sentence), rtol=0, atol=1e-12
    )


def test_without_positions_shuffled_words_give_shuffled_vectors() -> None:
    layer = MultiHeadAttention(12, h=3).double()
    x, order = torch.randn(1, 9, 12, dtype=torch.float64), torch.randperm(9)
    for positions, blind in [
        (NoPositions(), True),
        (SinusoidalPositions(12).double(), False),
    ]:
        shuffled, encoded = layer(positions(x[:, order])), layer(positions(x))[:, order]
        assert torch.allclose(shuffled, encoded, rtol=0, atol=1e-12) == blind


# What the chapter says of longer sequences, and of offsets


def extrapolation(
    toy: float, text: float, learned: float = 0.0, able: float = 0.9
) -> Any:
    """A record in which sinusoids keep such a share of their skill, as do others."""
    runs = []
    for (task, kept), length in product((("two-back", toy), ("text", text)), (16, 32)):
        shares = {"none": 0.0, "learned": learned, "sinusoidal": kept, "relative": able}
        for kind, share in shares.items():
            part = {"within": float(kind != "none"), "1.25": share, "1.5": share}
            part |= {"2": share}
            run = {"task": task, "length": length, "positions": kind}
            run["right"] = {
                r: [0.1 + 0.8 * each + seed / 1000 for seed in range(5)]
                for r, each in part.items()
            }
            run["loss"] = {
                r: [2 - each + seed / 1000 for seed in range(5)]
                for r, each in part.items()
            }
            runs.append(run)
    return {"runs": runs}


def offsets(**changes: dict[str, Any]) -> Any:
    """A record of offsets that are learned most easily with sinusoids."""
    kinds: dict[str, dict[str, Any]] = {
        "sinusoidal": {"asked": 20, "held": 0.9, "reached": 40},
        "unpaired": {"asked": 100, "held": 0.4, "reached": None},
        "random": {"asked": 80, "held": 0.0, "reached": None},
        "learned": {"asked": 28, "held": 0.0, "reached": None},
        "relative": {"asked": 10, "held": 1.0, "reached": 10},
    }
    runs = []
    for (form, n), kind in product((("head", 64), ("layer", 128)), kinds):
        of = kinds[kind] | changes.get(kind, {})
        steps = {"asked": [of["asked"]] * 5, "held": [of["reached"]] * 5}
        ends = {"asked": [1.0] * 5, "held": [of["held"] + s / 1000 for s in range(5)]}
        run = {"form": form, "n": n, "offset": 2, "positions": kind}
        runs.append(run | {"steps": steps, "end": ends})
    return {"grid": {"steps": {"head": 400, "layer": 1500}}, "runs": runs}


@pytest.mark.parametrize(
    ("record", "verdict"),
    [
        (extrapolation(toy=0.9, text=0.8), True),
        (extrapolation(toy=0.2, text=-0.5), False),
        (extrapolation(toy=0.2, text=0.8), None),  # the tasks disagree
        (extrapolation(toy=0.9, text=0.8, learned=0.95), None),
        # nothing keeps half of its skill: the test is too hard to tell
        (extrapolation(toy=0.2, text=-0.5, able=0.3), None),
        (None, None),
    ],
)
def test_verdicts_on_longer_sequences(
    record: Any, verdict: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ["longer-record", "longer-judge", "claim-longer"]
    assert judged(cells, "extrapolation", record, tmp_path, monkeypatch) is verdict


NOWHERE = {"held": 0.0, "reached": None}


@pytest.mark.parametrize(
    ("record", "verdict"),
    [
        (offsets(), True),
        (offsets(random={"asked": 10}), True),  # slower, but only they carry over
        (offsets(sinusoidal=NOWHERE, random={"asked": 10}), False),
        (offsets(sinusoidal=NOWHERE), None),  # quicker, but not by the matrix
        (offsets(random={"held": 0.9}, learned={"asked": 18}), None),
        (offsets(unpaired={"held": 0.9}), None),
        (offsets(relative={"reached": None}), None),
        (None, None),
    ],
)
def test_verdicts_on_offsets(
    record: Any, verdict: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ["longer-record", "offset-record", "offset-judge", "claim-relative"]
    assert judged(cells, "offset-heads", record, tmp_path, monkeypatch) is verdict


def judged(
    cells: list[str],
    name: str,
    record: Any,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> bool | None:
    """What cells of the chapter say of a claim, beside this record alone."""
    monkeypatch.setattr("aiayn.book.claims.record_path", folder.joinpath)
    if record:
        (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    found: list[bool | None] = []
    names: dict[str, Any] = {"product": product, "math": math}
    names["claim"] = lambda _, holds, **__: found.append(holds)
    sources = {c.id: c.source for c in nbformat.read(CHAPTER, as_version=4).cells}
    for cell in cells:
        exec(sources[cell], names)
    return found[-1]
