"""Multiply-adds of layers, and sliding windows against masks."""

from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from aiayn.complexity.restricted_attention import (
    sliding_window_attention,
    window_starts,
)
from aiayn.complexity.table1 import (
    multiply_adds,
)
from aiayn.errors import InputError
from aiayn.model import MultiHeadAttention
from aiayn.model.attention import FusedAttention, attend


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (partial(sliding_window_attention, *[torch.zeros(1, 1, 4, 2)] * 3, -3), "r=-3"),
        (
            partial(multiply_adds, nn.ReLU(), torch.zeros(1, 2, 3)),
            "no product was seen",
        ),
    ],
)
def test_sizes_that_make_no_sense_are_refused(action: Any, says: str):
    with pytest.raises(InputError, match=says):
        action()


# Sliding windows


@settings(deadline=None, max_examples=100)
@given(
    n=st.integers(1, 40),
    r=st.integers(1, 50),
    h=st.integers(1, 3),
    seed=st.integers(0, 9),
)
def test_windows_equal_the_mask_of_the_same_neighbourhoods(
    n: int, r: int, h: int, seed: int
):
    generator = torch.Generator().manual_seed(seed)
    Q, K = (
        torch.randn(2, h, n, 4, generator=generator, dtype=torch.float64)
        for _ in range(2)
    )
    V = torch.randn(2, h, n, 6, generator=generator, dtype=torch.float64)
    ahead = torch.arange(n) - window_starts(n, r)[:, None]
    expected, weights = attend(Q, K, V, (ahead >= 0) & (ahead < r))
    assert ((weights > 0).sum(dim=-1) == min(n, r)).all()
    torch.testing.assert_close(sliding_window_attention(Q, K, V, r), expected)
    if r >= n:
        torch.testing.assert_close(
            sliding_window_attention(Q, K, V, r), attend(Q, K, V)[0]
        )


def test_windows_have_the_gradients_of_the_mask():
    n, r = 11, 4
    ahead = torch.arange(n) - window_starts(n, r)[:, None]
    Q, K, V = (
        torch.randn(1, 2, n, 4, dtype=torch.float64, requires_grad=True)
        for _ in range(3)
    )
    found = torch.autograd.grad(
        sliding_window_attention(Q, K, V, r).square().sum(), (Q, K, V)
    )
    expected = torch.autograd.grad(
        attend(Q, K, V, (ahead >= 0) & (ahead < r))[0].square().sum(), (Q, K, V)
    )
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("n", "r", "first"),
    [(5, 3, [0, 0, 1, 2, 2]), (4, 2, [0, 1, 2, 2]), (3, 9, [0, 0, 0])],
)
def test_windows_hold_the_nearest_positions(n: int, r: int, first: list[int]):
    assert window_starts(n, r).tolist() == first


# Counting


@pytest.mark.parametrize(
    ("layer", "by_hand"),
    [
        (nn.Linear(4, 6), 5 * 4 * 6),
        (nn.RNN(4, 4, bias=False, batch_first=True), 2 * 5 * 4 * 4),
        (lambda x: nn.Conv1d(4, 4, 3, padding="same")(x.mT), 3 * 5 * 4 * 4),
        (lambda x: FusedAttention()(x, x, x), 2 * 5 * 5 * 4),
        (lambda x: sliding_window_attention(*[x[None]] * 3, 2), 2 * 6 * 4 * 4),
    ],
)
def test_counts_are_those_by_hand(layer: Any, by_hand: int):
    assert multiply_adds(layer, torch.zeros(1, 5, 4)) == by_hand


@pytest.mark.parametrize(("cell", "matrices"), [(nn.RNN, 2), (nn.GRU, 6), (nn.LSTM, 8)])
def test_fused_recurrent_layers_are_counted_and_counting_leaves_torch_as_it_was(
    cell: type, matrices: int
):
    fused = torch.backends.mkldnn.enabled
    assert (
        multiply_adds(cell(8, 8, batch_first=True), torch.zeros(3, 5, 8))
        == matrices * 3 * 5 * 64
    )
    assert torch.backends.mkldnn.enabled == fused and torch.is_grad_enabled()


def test_counting_leaves_torch_as_it_was_where_a_layer_fails():
    fused = torch.backends.mkldnn.enabled
    with pytest.raises(RuntimeError):
        multiply_adds(nn.Linear(3, 3), torch.zeros(2, 4))
    assert torch.backends.mkldnn.enabled == fused and torch.is_grad_enabled()


def test_a_whole_attention_layer_costs_its_projections_too():
    assert (
        multiply_adds(MultiHeadAttention(32, 4), torch.zeros(1, 10, 32))
        == 4 * 10 * 32**2 + 2 * 100 * 32
    )
