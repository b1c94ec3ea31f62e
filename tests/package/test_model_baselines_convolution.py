"""Convolutions: the formula, piece by piece, how far they reach; and the model that is
made of them.
"""

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from small_models import CONVOLUTIONAL, close, moved, sentences

from aiayn.model.baselines.conv_seq2seq import ConvolutionalModel
from aiayn.model.baselines.convolution import (
    Convolution,
    GatedConvolution,
    LastInputs,
    scaled_sum,
)
from aiayn.model.recording import recorded_attention

pytestmark = pytest.mark.usefixtures("one_thread")


# The layer


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize(
    ("kernel", "dilation", "causal"),
    [(2, 1, True), (4, 2, True), *product((1, 3, 15), (1, 4), (True, False))],
)
def test_a_convolution_sums_up_one_map_for_each_place(
    n: int, kernel: int, dilation: int, causal: bool
) -> None:
    """Also where the kernel is wider than the sequence, and where that has one
    position.
    """
    layer, x = Convolution(4, 6, kernel, dilation, causal), torch.randn(2, n, 4)
    assert isinstance(layer.maps, torch.nn.Conv1d) and layer.maps.bias is not None
    expected = layer.maps.bias.expand(2, n, 6).clone()
    for j, i in product(range(n), range(kernel)):
        source = j + (i - (kernel - 1 if causal else kernel // 2)) * dilation
        if 0 <= source < n:
            expected[:, j] += x[:, source] @ layer.maps.weight[:, :, i].T
    close(layer(x), expected)


def test_a_separable_convolution_is_one_whose_maps_share_a_matrix() -> None:
    split, full = Convolution(4, 6, 3, separable=True), Convolution(4, 6, 3)
    assert isinstance(split.maps, torch.nn.Sequential)
    assert isinstance(full.maps, torch.nn.Conv1d)
    depthwise, pointwise = (each.weight for each in split.maps)
    with torch.no_grad():
        full.maps.weight.copy_(pointwise * depthwise[:, 0])
        full.maps.bias.copy_(split.maps[1].bias)
    x = torch.randn(2, 7, 4)
    close(split(x), full(x))
    assert sum(p.numel() for p in split.parameters()) == 3 * 4 + 4 * 6 + 6


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kernel": 0}, "kernel=0: must be at least 1"),
        ({"kernel": 3, "dilation": 0}, "dilation=0: must be at least 1"),
        ({"kernel": 3, "dilation": -2}, "dilation=-2: must be at least 1"),
        (
            {"kernel": 4},
            "kernel=4: an even one has no middle; take 3 or 5, or causal=True",
        ),
    ],
)
def test_a_kernel_that_makes_no_sense_is_refused(
    wrong: dict[str, int], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Convolution(4, 4, **wrong)


@pytest.mark.parametrize("fill", [0.0, 1.0, math.nan, math.inf])
def test_what_stands_in_padding_changes_nothing(fill: float) -> None:
    layer, x = Convolution(4, 4, 5, dilation=2), torch.randn(1, 6, 4)
    padded = F.pad(x, (0, 0, 2, 3), value=fill)
    mask = torch.tensor([[False] * 2 + [True] * 6 + [False] * 3])
    close(layer(padded, mask)[:, 2:8], layer(x))


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (2, 3), (3, 1), (5, 2)])
def test_a_causal_convolution_piece_by_piece_is_the_whole(
    kernel: int, dilation: int
) -> None:
    layer, x, past = (
        Convolution(4, 4, kernel, dilation, causal=True),
        torch.randn(2, 9, 4),
        LastInputs(),
    )
    pieces = [
        layer(piece, past=past)
        for piece in x.split([1, 3, 0, 4, 1], dim=1)
        if piece.shape[1]
    ]
    close(torch.cat(pieces, dim=1), layer(x))
    assert past.inputs is not None
    assert past.inputs.shape == (2, (kernel - 1) * dilation, 4)


def test_a_centred_convolution_cannot_go_piece_by_piece() -> None:
    with pytest.raises(
        ValueError, match="reads what is still to come: take causal=True"
    ):
        Convolution(4, 4, 3)(torch.randn(1, 5, 4), past=LastInputs())


@pytest.mark.parametrize(("growth", "far"), [(1, 2 * 4), (2, 2 * 15), (3, 2 * 40)])
def test_a_stack_sees_as_far_as_its_reaches_add_up_and_no_further(
    growth: int, far: int
) -> None:
    x = torch.randn(1, 100, 4, dtype=torch.float64, requires_grad=True)
    y = x
    for k in range(4):
        y = scaled_sum(
            y, GatedConvolution(4, 3, growth**k, True, False, 0.0).double()(y)
        )
    y[0, 90].sum().backward()
    assert x.grad is not None
    seen = x.grad[0].abs().sum(dim=-1).nonzero().flatten().tolist()
    assert seen == list(range(90 - far, 91))


# The model


def test_every_source_word_can_reach_every_target_position() -> None:
    model = moved(CONVOLUTIONAL)
    assert isinstance(model, ConvolutionalModel)
    source = torch.randn(1, 9, 16)
    source.requires_grad_()
    mask = torch.ones(1, 1, 1, 9, dtype=torch.bool)
    keys_and_values = torch.cat([source, source], dim=-1)
    found = model.decoder[0].source(
        torch.randn(1, 4, 16), torch.randn(1, 4, 16), keys_and_values, mask
    )
    for j in range(4):
        (gradient,) = torch.autograd.grad(found[0, j].sum(), source, retain_graph=True)
        assert (gradient[0].abs().sum(dim=-1) > 0).all()


def test_what_it_attends_to_can_be_seen() -> None:
    model, source = moved(CONVOLUTIONAL), sentences(6, 4)
    with recorded_attention(model) as weights:
        model(source, sentences(5, 5))
    assert list(weights) == [f"decoder.{k}.source" for k in range(3)]
    for seen in weights.values():
        assert seen.shape == (2, 1, 5, 6) and (seen[1, :, :, 4:] == 0).all()
        close(seen.sum(dim=-1), torch.ones(2, 1, 5))


def test_a_target_longer_than_the_positions_is_refused() -> None:
    model = moved(CONVOLUTIONAL)
    with pytest.raises(
        ValueError, match="a sequence of 81 tokens, but only 80 positions"
    ):
        model(sentences(5), sentences(81))
