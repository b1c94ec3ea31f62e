"""Table 1: layers counted, traced and searched; sliding windows against masks; sizes
that make no sense.
"""

import math
from functools import partial
from itertools import cycle, repeat
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
    Convolution,
    SelfAttention,
    Sizes,
    fit_power_law,
    links,
    multiply_adds,
    path_lengths,
    sequential_operations,
    table_layers,
)
from aiayn.errors import InputError
from aiayn.model import MultiHeadAttention
from aiayn.model.attention import attend

SIZES = st.builds(Sizes, *[st.integers(1, 12)] * 4)
KINDS = list(table_layers(Sizes(1, 1)))


def layer_of(kind: str, sizes: Sizes) -> nn.Module:
    return table_layers(sizes)[kind]


# Layers


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (partial(sliding_window_attention, *[torch.zeros(1, 1, 4, 2)] * 3, -3), "r=-3"),
        (
            partial(multiply_adds, nn.ReLU(), torch.zeros(1, 2, 3)),
            "no product was seen",
        ),
        (
            partial(fit_power_law, {Sizes(n, n, n, n): n for n in range(1, 7)}),
            "independently",
        ),
    ],
)
def test_sizes_that_make_no_sense_are_refused(action: Any, says: str):
    with pytest.raises(InputError, match=says):
        action()


@settings(deadline=None, max_examples=40)
@given(sizes=SIZES, kind=st.sampled_from(KINDS))
def test_every_layer_keeps_the_shape_also_where_kernels_are_wider_than_the_sequence(
    sizes: Sizes, kind: str
):
    y = layer_of(kind, sizes)(torch.randn(2, sizes.n, sizes.d))
    y = y[0] if isinstance(y, tuple) else y
    assert y.shape == (2, sizes.n, sizes.d) and y.isfinite().all()


@pytest.mark.parametrize("k", range(1, 9))
def test_a_convolution_sees_as_far_as_its_kernel_reaches(k: int):
    """A kernel of even width reaches farther to the right."""
    # Of inputs (columns) from outputs (rows).
    offsets = torch.arange(12) - torch.arange(12)[:, None]
    around = links(Convolution(4, k), 12)
    assert torch.equal(around, (offsets >= -((k - 1) // 2)) & (offsets <= k // 2))
    causal = links(Convolution(4, k, dilation=2, causal=True), 12)
    assert torch.equal(
        causal, (offsets <= 0) & (offsets >= -2 * (k - 1)) & (offsets % 2 == 0)
    )


def test_a_convolution_equals_torchs_own_with_the_same_padding():
    layer, x = Convolution(6, 5), torch.randn(2, 9, 6)
    theirs = nn.Conv1d(6, 6, 5, padding="same", bias=False)
    theirs.load_state_dict(layer.convolution.state_dict())
    torch.testing.assert_close(layer(x), theirs(x.mT).mT)


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


@settings(deadline=None, max_examples=30)
@given(sizes=SIZES)
def test_counts_are_those_by_hand(sizes: Sizes):
    n, d, k, r = sizes.n, sizes.d, sizes.k, min(sizes.r, sizes.n)
    by_hand = {
        "self-attention": 2 * n * n * d,
        "recurrent": 2 * n * d * d,
        "convolutional": k * n * d * d,
        "separable convolution": k * n * d + n * d * d,
        "restricted self-attention": 2 * math.ceil(n / r) * r * min(n, 2 * r) * d,
    }
    x = torch.zeros(1, n, d)
    assert {
        kind: multiply_adds(layer, x) for kind, layer in table_layers(sizes).items()
    } == by_hand


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


# Fitting


def grid() -> list[Sizes]:
    return [
        Sizes(n, d, k, r)
        for n in (2, 4)
        for d in (3, 5)
        for k in (1, 7)
        for r in (2, 3)
    ]


def test_a_power_law_is_found_again():
    law = fit_power_law({s: 3 * s.n**2 * s.d * s.r for s in grid()})
    assert law.error < 1e-9 and str(law) == "3 r n² d"
    assert law.constant == pytest.approx(3)
    assert law.exponents == pytest.approx({"n": 2, "d": 1, "k": 0, "r": 1}, abs=1e-9)


def test_a_power_law_says_by_how_much_it_misses():
    law = fit_power_law({s: s.n * s.d + s.k * s.n for s in grid()})
    assert law.error > 0.05


# Steps in a row


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_only_recurrence_waits_for_every_position(n: int):
    x, sizes = torch.zeros(1, n, 4), Sizes(n, 4, 3, 2)
    chains = {
        kind: sequential_operations(layer, x)
        for kind, layer in table_layers(sizes).items()
    }
    assert chains == {
        "self-attention": 2,
        "recurrent": n,
        "convolutional": 1,
        "separable convolution": 2,
        "restricted self-attention": 2,
    }


def test_chains_add_up_through_a_stack_and_not_beside_each_other():
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    x = torch.zeros(1, 3, 4)
    assert sequential_operations(nn.Sequential(first, nn.ReLU(), second), x) == 2
    assert sequential_operations(lambda x: first(x) + second(x), x) == 1
    assert sequential_operations(lambda x: x.tanh(), x) == 0


def test_whole_attention_is_four_products_as_chapter_1_counts_them():
    assert sequential_operations(MultiHeadAttention(8, 2), torch.zeros(1, 9, 8)) == 4


def test_an_lstm_is_as_long_as_its_sequence_and_its_depth():
    assert (
        sequential_operations(nn.LSTM(4, 4, batch_first=True), torch.zeros(1, 9, 4))
        == 9
    )
    assert (
        sequential_operations(
            nn.LSTM(4, 4, num_layers=2, batch_first=True), torch.zeros(1, 9, 4)
        )
        >= 10
    )


# Paths


def test_links_are_those_of_the_mask():
    assert links(SelfAttention(4), 7).all()
    ahead = torch.arange(7) - window_starts(7, 3)[:, None]
    assert torch.equal(links(SelfAttention(4, 3), 7), (ahead >= 0) & (ahead < 3))
    assert torch.equal(links(nn.Linear(4, 4), 5), torch.eye(5, dtype=torch.bool))


def queue_search(linked: list[list[bool]], start: int) -> list[int]:
    """Breadth-first search as in a textbook, one node after another; the start is
    reached by its own link.
    """
    lengths, queue = [0] * len(linked), [(start, 0)]
    for node, length in queue:
        for output, row in enumerate(linked):
            if row[node] and not lengths[output]:
                lengths[output] = length + 1
                queue.append((output, length + 1))
    return lengths


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 9), seed=st.integers(0, 1000), share=st.floats(0.05, 0.6))
def test_paths_are_those_of_a_search_with_a_queue(n: int, seed: int, share: float):
    linked = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)) < share
    ours = path_lengths(n, repeat(linked))
    assert ours.T.tolist() == [
        queue_search(linked.tolist(), start) for start in range(n)
    ]


def test_paths_follow_steps_that_differ():
    # Each output sees its left neighbour, the first the last.
    right = torch.eye(4).roll(1, 0) > 0
    assert path_lengths(4, [right, right])[0].tolist() == [0, 0, 2, 1]
    assert path_lengths(4, [])[0].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("k", "apart"), [(1, 56), (2, 28), (3, 0), (4, 0), (99, 0)])
def test_kernels_that_do_not_reach_to_one_side_never_connect_it(k: int, apart: int):
    lengths = path_lengths(8, repeat(links(Convolution(4, k), 8)))
    assert int((lengths == 0).sum()) == apart


def test_dilated_kernels_around_their_position_need_more_than_one_round():
    steps = [links(Convolution(4, 3, dilation), 14) for dilation in (1, 3, 9)]
    assert not path_lengths(14, steps).all() and path_lengths(14, cycle(steps)).all()
