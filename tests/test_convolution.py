"""Convolutions: the formula, blind to padding and the future, and a model that searches and stops."""

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from small_runs import QUICK, same_end, write_corpus
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from aiayn.architectures import build, describe, understand
from aiayn.attention import recorded_attention
from aiayn.checkpoint import list_checkpoints, load_checkpoint
from aiayn.convolution import Convolution, GatedConvolution, LastInputs, scaled_sum
from aiayn.convolutional_model import ConvolutionalConfig, ConvolutionalModel
from aiayn.model import Transformer, config
from aiayn.recipes import recipe
from aiayn.search import SearchConfig, beam_search
from aiayn.training import train
from aiayn.translation import Translator
from aiayn.vocabulary import BOS_ID, EOS_ID

V = 40
SHAPE = ConvolutionalConfig(vocabulary_size=V, d_model=16, N=3, dropout=0.0, max_length=80)
KINDS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "dilated": {"growth": 2},
    "separable": {"separable": True},
    "wide": {"kernel": 9, "growth": 3},
    "only-itself": {"kernel": 1},
}


@pytest.fixture(autouse=True)
def one_thread(fresh_state: None) -> None:
    """For models this small a second thread costs more than it brings."""
    torch.set_num_threads(1)


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def model(request: pytest.FixtureRequest) -> ConvolutionalModel:
    return small(**request.param)


def small(**changes: Any) -> ConvolutionalModel:
    """A model all of whose parameters are moved: no bias is zero."""
    model = ConvolutionalModel(replace(SHAPE, **changes)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter += 0.1 * torch.randn(parameter.shape)
    return model


def sentences(*lengths: int) -> Tensor:
    """Random tokens, a row for each length, filled up with padding."""
    rows = [F.pad(torch.randint(1, V, (n,)), (0, max(lengths) - n)) for n in lengths]
    return torch.stack(rows)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


# The layer


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize(
    ("kernel", "dilation", "causal"),
    [(2, 1, True), (4, 2, True), *product((1, 3, 15), (1, 4), (True, False))],
)
def test_a_convolution_sums_up_one_map_for_each_place(
    n: int, kernel: int, dilation: int, causal: bool
) -> None:
    """Also where the kernel is wider than the sequence, and where that has one position."""
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
    assert isinstance(split.maps, torch.nn.Sequential) and isinstance(full.maps, torch.nn.Conv1d)
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
        ({"kernel": 4}, "kernel=4: an even one has no middle; take 3 or 5, or causal=True"),
    ],
)
def test_a_kernel_that_makes_no_sense_is_refused(wrong: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Convolution(4, 4, **wrong)


@pytest.mark.parametrize("fill", [0.0, 1.0, math.nan, math.inf])
def test_what_stands_in_padding_changes_nothing(fill: float) -> None:
    layer, x = Convolution(4, 4, 5, dilation=2), torch.randn(1, 6, 4)
    padded = F.pad(x, (0, 0, 2, 3), value=fill)
    visible = torch.tensor([[False] * 2 + [True] * 6 + [False] * 3])
    close(layer(padded, visible)[:, 2:8], layer(x))


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (2, 3), (3, 1), (5, 2)])
def test_a_causal_convolution_piece_by_piece_is_the_whole(kernel: int, dilation: int) -> None:
    layer, x, past = Convolution(4, 4, kernel, dilation, causal=True), torch.randn(2, 9, 4), LastInputs()
    pieces = [layer(piece, past=past) for piece in x.split([1, 3, 0, 4, 1], dim=1) if piece.shape[1]]
    close(torch.cat(pieces, dim=1), layer(x))
    assert past.inputs is not None and past.inputs.shape == (2, (kernel - 1) * dilation, 4)


def test_a_centred_convolution_cannot_go_piece_by_piece() -> None:
    with pytest.raises(ValueError, match="reads what is still to come: take causal=True"):
        Convolution(4, 4, 3)(torch.randn(1, 5, 4), past=LastInputs())


@pytest.mark.parametrize(("growth", "far"), [(1, 2 * 4), (2, 2 * 15), (3, 2 * 40)])
def test_a_stack_sees_as_far_as_its_reaches_add_up_and_no_further(growth: int, far: int) -> None:
    x = torch.randn(1, 100, 4, dtype=torch.float64, requires_grad=True)
    y = x
    for k in range(4):
        y = scaled_sum(y, GatedConvolution(4, 3, growth**k, True, False, 0.0).double()(y))
    y[0, 90].sum().backward()
    assert x.grad is not None
    seen = x.grad[0].abs().sum(dim=-1).nonzero().flatten().tolist()
    assert seen == list(range(90 - far, 91))


# The model's shape


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kernel": 4}, "kernel=4: an even one has no middle"),
        ({"kernel": 0}, "kernel=0: must be at least 1"),
        ({"growth": 0}, "growth=0: must be at least 1"),
        ({"N": 0}, "N=0: must be at least 1"),
        ({"max_length": 0}, "max_length=0: must be at least 1"),
        ({"growth": 2, "N": 40}, "growth=2, N=40: .* take fewer layers"),
        ({"dropout": 2.0}, "dropout=2.0"),
    ],
)
def test_a_shape_that_cannot_be_built_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(SHAPE, **wrong)


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 5), (30, 41)])
def test_the_work_is_what_torch_counts(changes: dict[str, Any], n: int, m: int) -> None:
    shape = replace(SHAPE, **changes)
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        ConvolutionalModel(shape)(torch.ones(3, n, dtype=torch.long), torch.ones(3, m, dtype=torch.long))
    assert counter.get_total_flops() == 3 * shape.forward_flops(n, m)


def test_the_recipe_has_about_the_parameters_of_the_laboratory_transformer() -> None:
    with torch.device("meta"):
        ours, theirs = build(recipe("conv").model), Transformer(config("laboratory"))
    count, other = (sum(p.numel() for p in model.parameters()) for model in (ours, theirs))
    assert isinstance(ours, ConvolutionalModel) and abs(count / other - 1) < 0.05


def test_a_configuration_survives_being_written_down() -> None:
    shape = replace(SHAPE, growth=2, separable=True)
    assert understand(describe(shape)) == shape


# Blind to padding and to the future


def test_padding_changes_nothing(model: ConvolutionalModel) -> None:
    source, target = sentences(6, 1, 4), sentences(5, 3, 1)
    together = model(source, target)
    for row, (n, m) in enumerate([(6, 5), (1, 3), (4, 1)]):
        close(model(source[row : row + 1, :n], target[row : row + 1, :m])[0], together[row, :m])


def test_a_later_target_token_changes_nothing_before_it(model: ConvolutionalModel) -> None:
    source, target = sentences(6), sentences(8)
    logits = model(source, target)
    for j in range(8):
        other = target.clone()
        other[:, j] = other[:, j] % (V - 1) + 1
        changed = model(source, other)
        close(changed[:, :j], logits[:, :j])
        assert not torch.allclose(changed[:, j], logits[:, j], atol=1e-3)


def test_every_source_word_can_reach_every_target_position() -> None:
    model = small()
    source = torch.randn(1, 9, 16)
    source.requires_grad_()
    visible = torch.ones(1, 1, 1, 9, dtype=torch.bool)
    keys_and_values = torch.cat([source, source], dim=-1)
    found = model.decoder[0].source(torch.randn(1, 4, 16), torch.randn(1, 4, 16), keys_and_values, visible)
    for j in range(4):
        (gradient,) = torch.autograd.grad(found[0, j].sum(), source, retain_graph=True)
        assert (gradient[0].abs().sum(dim=-1) > 0).all()


def test_what_it_attends_to_can_be_seen() -> None:
    model, source = small(), sentences(6, 4)
    with recorded_attention(model) as weights:
        model(source, sentences(5, 5))
    assert list(weights) == [f"decoder.{k}.source" for k in range(3)]
    for seen in weights.values():
        assert seen.shape == (2, 1, 5, 6) and (seen[1, :, :, 4:] == 0).all()
        close(seen.sum(dim=-1), torch.ones(2, 1, 5))


# Word by word


def test_steps_are_teacher_forcing(model: ConvolutionalModel) -> None:
    source, target = sentences(6, 1, 4), sentences(12, 12, 12)
    forced, state = model(source, target), model.start(source)
    for t in range(12):
        close(model.step(target[:, t : t + 1], state), forced[:, t])


def test_a_prefix_at_once_is_the_same_as_word_by_word(model: ConvolutionalModel) -> None:
    source, target = sentences(6, 4), sentences(12, 12)
    forced, state = model(source, target), model.start(source)
    close(model.step(target[:, :7], state), forced[:, 6])
    close(model.step(target[:, 7:], state), forced[:, 11])


def test_beams_come_and_go_and_sentences_leave(model: ConvolutionalModel) -> None:
    source, target = sentences(6, 4, 5), sentences(*[9] * 6)  # two beams each
    state = model.start(source)
    model.step(target[:3, :4], state)
    rows = torch.tensor([1, 1, 2, 2])  # the first sentence leaves; each of the others has two beams now
    state.select(rows, torch.tensor([1, 2]))
    written = torch.cat([target[:3, :4][rows], target[:4, 4:6]], dim=1)
    close(model.step(written[:, 4:], state), model(source[[1, 1, 2, 2]], written)[:, -1])
    swapped = torch.tensor([1, 0, 3, 3])
    state.select(swapped)
    written = torch.cat([written[swapped], target[:4, 6:7]], dim=1)
    close(model.step(written[:, 6:], state), model(source[[1, 1, 2, 2]], written)[:, -1])


@pytest.mark.parametrize("beam", [1, 4])
def test_a_search_finds_what_teacher_forcing_scores(model: ConvolutionalModel, beam: int) -> None:
    """Alone or in a batch the same hypotheses, with the log probabilities of teacher forcing."""
    source = F.pad(sentences(6, 1, 4), (0, 1))
    for row, n in enumerate((6, 1, 4)):
        source[row, n] = EOS_ID
    search = SearchConfig(beam=beam, extra_length=8, n_best=beam)
    for row, (n, found) in enumerate(zip((6, 1, 4), beam_search(model, source, search), strict=True)):
        (alone,) = beam_search(model, source[row : row + 1, : n + 1], search)
        assert [each.tokens for each in alone] == [each.tokens for each in found]
        for hypothesis in found:
            tokens = torch.tensor([[BOS_ID, *hypothesis.tokens]])
            scores = model(source[row : row + 1], tokens[:, :-1]).log_softmax(dim=-1)
            total = float(scores.gather(-1, tokens[:, 1:, None]).sum())
            assert total == pytest.approx(hypothesis.log_probability, abs=1e-3)


def test_a_target_longer_than_the_positions_is_refused() -> None:
    model = small()
    with pytest.raises(ValueError, match="a sequence of 81 tokens, but only 80 positions"):
        model(sentences(5), sentences(81))


# Training


def test_it_trains_is_saved_and_goes_on_as_if_never_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the same loop as the Transformer; its checkpoint says what kind of model it holds."""
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("aiayn.training.peak_of", lambda workers: 1e9)
    corpus = str(write_corpus(tmp_path / "corpus"))
    shape = replace(SHAPE, vocabulary_size=60, growth=2, dropout=0.1)
    run = replace(QUICK, model=shape, steps=8, checkpoint_steps=4)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(run, corpus, "en-de", whole)
    train(replace(run, steps=4), corpus, "en-de", parts)
    train(run, corpus, "en-de", parts, resume=True)
    assert same_end(whole, parts)
    model, vocabulary = load_checkpoint(list_checkpoints(whole)[-1:])
    assert isinstance(model, ConvolutionalModel) and model.config == shape
    translator = Translator(model.eval(), vocabulary, SearchConfig(beam=2, extra_length=5))
    assert len(translator(["one two three", "four"])) == 2
