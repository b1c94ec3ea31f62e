"""The recurrent models: the same step by step, alone or in a batch; trained, saved, searched like others."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
import torch.nn.functional as F
from small_runs import QUICK, same, same_end, tensors, write_corpus
from test_translation import assert_same, literal_search
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from aiayn.attention import recorded_attention
from aiayn.batching import pad
from aiayn.checkpoint import load_checkpoint, save_checkpoint
from aiayn.model import config
from aiayn.recipes import recipe
from aiayn.recurrent import RECURRENT, Looks, RecurrentConfig, RecurrentModel, RecurrentState, recurrent_layer
from aiayn.search import SearchConfig, beam_search
from aiayn.training import train
from aiayn.translation import Translator
from aiayn.variations import parameters
from aiayn.vocabulary import EOS_ID, train_vocabulary

V = 40
KINDS = get_args(Looks)


@pytest.fixture(autouse=True)
def one_thread(fresh_state: None) -> None:
    torch.set_num_threads(1)


def small(attention: str = "additive", **changes: Any) -> RecurrentModel:
    """A model all of whose parameters have moved, so that no bias is zero."""
    shape = RecurrentConfig(**{"vocabulary_size": V, "d_model": 16, "dropout": 0.0, "d_state": 24} | changes)
    model = RecurrentModel(replace(shape, attention=attention)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter += 0.1 * torch.randn(parameter.shape)
    return model


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> RecurrentModel:
    return small(request.param)


def sentences(*lengths: int) -> Tensor:
    """Random tokens, a row for each length, filled up with padding, which is 0."""
    return torch.stack([F.pad(torch.randint(1, V, (n,)), (0, max(lengths) - n)) for n in lengths])


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


# Against a plain reference, word by word


def cell(layer: nn.GRU, word: Tensor, state: Tensor, suffix: str = "") -> Tensor:
    """The formula of the GRU, with PyTorch's names for its parameters."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    W, U, b, c = (getattr(layer, f"{name}_l0{suffix}") for name in names)
    word_r, word_z, word_n = (W @ word + b).chunk(3)
    state_r, state_z, state_n = (U @ state + c).chunk(3)
    r, z = (word_r + state_r).sigmoid(), (word_z + state_z).sigmoid()
    return (1 - z) * (word_n + r * state_n).tanh() + z * state


def score(model: RecurrentModel, s: Tensor, h: Tensor) -> Tensor:
    """How well two states fit, as chapter 1 writes it down."""
    if model.config.attention == "dot":
        return s @ h
    learned = model.attention.score
    if model.config.attention == "general":
        return s @ learned.W[0] @ h
    return learned.v.flatten() @ torch.tanh(s @ learned.W_q[0] + h @ learned.W_k[0])


def reference(model: RecurrentModel, source: list[int], target: list[int]) -> Tensor:
    """Scores of the next word after each of the target, for one sentence, with no batch and no kernel."""
    half = model.config.d_state // 2
    forwards, backwards, E = [torch.zeros(half)], [torch.zeros(half)], model.target_embeddings.weight
    for token in source:
        forwards.append(cell(model.encoder, 4 * E[token], forwards[-1]))  # sqrt(d_model) is 4
    for token in reversed(source):
        backwards.append(cell(model.encoder, 4 * E[token], backwards[-1], "_reverse"))
    memory = [torch.cat(both) for both in zip(forwards[1:], backwards[:0:-1], strict=True)]
    last = torch.cat([forwards[-1], backwards[-1]])
    state, found = model.bridge(last).tanh(), []
    for token in target:
        state = cell(model.decoder, 4 * E[token], state)
        context = last
        if model.config.attention != "none":
            weights = torch.stack([score(model, state, h) for h in memory]).softmax(dim=0)
            context = sum(w * h for w, h in zip(weights, memory, strict=True))
        found.append(E @ model.combine(torch.cat([state, context])))
    return torch.stack(found)


def test_it_is_what_the_formulas_say(model: RecurrentModel) -> None:
    source, target = [7, 3, 9, 9, 30, 2], [1, 5, 8, 13]
    expected = reference(model, source, target)
    close(model(torch.tensor([source]), torch.tensor([target]))[0], expected)


# Padding, batches, steps


def test_padding_changes_nothing(model: RecurrentModel) -> None:
    source, target = sentences(7, 1, 4), sentences(6, 3, 1)
    together = model(F.pad(source, (0, 5)), F.pad(target, (0, 2)))
    for row, (n, m) in enumerate([(7, 6), (1, 3), (4, 1)]):
        close(together[row, :m], model(source[row : row + 1, :n], target[row : row + 1, :m])[0])


def test_padding_changes_no_gradient(model: RecurrentModel) -> None:
    model.requires_grad_()
    source, target = sentences(5, 2), sentences(4, 4)
    gradients = []
    for places in (0, 3):
        model.zero_grad()
        model(F.pad(source, (0, places)), target).sum().backward()
        gradients.append([weight.grad.clone() for weight in model.parameters()])
    for without, padded in zip(*gradients, strict=True):
        torch.testing.assert_close(padded, without, rtol=1e-4, atol=1e-4)


def test_a_word_does_not_know_those_after_it(model: RecurrentModel) -> None:
    source, target = sentences(5), sentences(6)
    other = target.clone()
    other[0, 3:] = 1 + other[0, 3:] % (V - 1)
    assert torch.equal(model(source, target)[0, :3], model(source, other)[0, :3])
    assert not torch.equal(model(source, target)[0, 3], model(source, other)[0, 3])


def test_step_by_step_is_teacher_forcing(model: RecurrentModel) -> None:
    source, target = sentences(7, 1, 4), sentences(6, 6, 6)
    expected, state = model(source, target), model.start(source)
    for t in range(6):
        close(model.step(target[:, t : t + 1], state), expected[:, t])


def test_a_prefix_may_be_fed_at_once(model: RecurrentModel) -> None:
    source, target = sentences(7, 4), sentences(6, 6)
    state = model.start(source)
    close(model.step(target[:, :4], state), model(source, target[:, :4])[:, -1])
    close(model.step(target[:, 4:5], state), model(source, target[:, :5])[:, -1])


def test_beams_share_the_memory_of_their_sentence(model: RecurrentModel) -> None:
    source, state = sentences(5, 3), model.start(sentences(5, 3))
    state = model.start(source)
    first = torch.tensor([[2], [2]])
    model.step(first, state)
    state.select(torch.tensor([0, 0, 0, 1, 1, 1]))  # three beams of each
    second = torch.tensor([[4], [5], [6], [7], [8], [9]])
    found = model.step(second, state)
    close(
        found,
        model(source.repeat_interleave(3, 0), torch.cat([first.repeat_interleave(3, 0), second], 1))[:, -1],
    )
    assert len(state.memory) == 2

    state.select(torch.tensor([5, 3]), torch.tensor([1]))  # two of the second sentence; the first is done
    assert isinstance(state, RecurrentState) and len(state.memory) == 1
    third = torch.tensor([[10], [11]])
    prefixes = torch.tensor([[2, 9, 10], [2, 7, 11]])
    close(model.step(third, state), model(source[1:].expand(2, -1), prefixes)[:, -1])


# Search


SOURCES = [[4, EOS_ID], [5, 4, 5, 5, 4, 4, 5, EOS_ID], [5, 4, EOS_ID], [4, 4, 4, 5, EOS_ID]]


@pytest.mark.parametrize("beam", [1, 3])
def test_beam_search_finds_what_the_literal_search_finds(model: RecurrentModel, beam: int) -> None:
    model = small(model.config.attention, vocabulary_size=7).double()
    model.target_embeddings.weight *= 2  # more decided
    search = SearchConfig(beam, extra_length=3, n_best=1)
    found = beam_search(model, pad(SOURCES), search)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        if beam == 1:  # greedy search ends where the end is the likeliest
            assert_same(hypotheses, beam_search(model, torch.tensor([source]), search)[0])
        else:
            assert_same(hypotheses, literal_search(model, source, search))


def test_what_else_is_in_the_batch_changes_nothing(model: RecurrentModel) -> None:
    model = model.double()
    generator = torch.Generator().manual_seed(1)
    sources = [
        [*torch.randint(4, V, (length,), generator=generator).tolist(), EOS_ID]
        for length in (1, 9, 2, 17, 4, 30)
    ]
    search = SearchConfig(4, extra_length=6, n_best=4)
    for source, hypotheses in zip(sources, beam_search(model, pad(sources), search), strict=True):
        assert_same(hypotheses, beam_search(model, torch.tensor([source]), search)[0])


# Configuration, weights, counts


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"d_state": 7}, "d_state=7: must be even"),
        ({"d_state": 0}, "d_state=0: must be even"),
        ({"attention": "luong"}, "attention='luong': must be one of none, additive, dot, general"),
        ({"d_model": 0}, "d_model=0: must be at least 1"),
        ({"dropout": 2.0}, "dropout=2.0"),
    ],
)
def test_what_cannot_be_built_is_refused(wrong: dict[str, Any], message: str) -> None:
    shape = RecurrentConfig()
    for name, value in wrong.items():  # past the run-time type check, which is first
        object.__setattr__(shape, name, value)
    with pytest.raises(ValueError, match=message):
        shape.__post_init__()


def test_a_fresh_layer_neither_shrinks_nor_grows_a_state() -> None:
    layer = recurrent_layer(10, 8)
    for gate in layer.weight_hh_l0.detach().chunk(3):
        close(gate @ gate.T, torch.eye(8))
    assert not any(bias.any() for name, bias in layer.named_parameters() if name.startswith("bias"))


def test_source_target_and_scores_share_one_matrix() -> None:
    model = small()
    assert model.source_embeddings is model.target_embeddings
    assert sum(weight.shape == (V, 16) for weight in model.parameters()) == 1


def test_flops_are_those_that_pytorch_counts(model: RecurrentModel) -> None:
    for n, m in [(7, 5), (1, 2), (3, 12)]:  # of the kernel that n = m gets, nothing is counted
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            model(sentences(n), sentences(m))
        assert counter.get_total_flops() == model.config.forward_flops(n, m)


def test_the_recipes_are_as_large_as_the_laboratorys_transformer() -> None:
    wanted = parameters(config("laboratory"))
    for name, shape in RECURRENT.items():
        assert recipe(name).model == shape
        assert math.isclose(parameters(shape), wanted, rel_tol=0.01)


def test_dropout_is_for_training_only() -> None:
    model = small(dropout=0.5)
    source, target = sentences(5), sentences(4)
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    assert not torch.equal(model(source, target), model(source, target))


@pytest.mark.parametrize("attention", ["additive", "dot", "general"])
def test_the_weights_of_attention_can_be_recorded(attention: str) -> None:
    model = small(attention)
    with recorded_attention(model) as weights:
        model(sentences(6, 4), sentences(3, 3))
    assert weights["attention"].shape == (2, 1, 3, 6)
    close(weights["attention"].sum(-1), torch.ones(2, 1, 3))
    assert not weights["attention"][1, :, :, 4:].any()


# Trained, saved, resumed


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("attention", KINDS)
def test_a_checkpoint_holds_all_of_it(attention: str, tmp_path: Path) -> None:
    vocabulary = train_vocabulary(["the cat sat on a small old mat and the dog saw it"], V)
    model = small(attention)
    save_checkpoint(tmp_path / "model", model, vocabulary, {"average": 1})
    loaded, _ = load_checkpoint([tmp_path / "model"])
    assert loaded.config == model.config and same(
        dict(loaded.named_parameters()), dict(model.named_parameters())
    )
    lines = ["the cat sat", "a dog", ""]
    search = SearchConfig(extra_length=5)
    assert Translator.load(tmp_path / "model", search=search)(lines) == Translator(model, vocabulary, search)(
        lines
    )


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(corpus: Path, tmp_path: Path) -> None:
    shape = RecurrentConfig(60, 16, 0.1, d_state=24)
    whole = replace(QUICK, model=shape)
    train(whole, str(corpus), "en-de", tmp_path / "whole")
    train(replace(whole, steps=3), str(corpus), "en-de", tmp_path / "parts")
    train(whole, str(corpus), "en-de", tmp_path / "parts", resume=True)
    assert same_end(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("attention", KINDS)
def test_every_parameter_learns(attention: str, corpus: Path, tmp_path: Path) -> None:
    settings = replace(QUICK, model=RecurrentConfig(60, 16, 0.0, d_state=24, attention=attention), steps=2)
    train(settings, str(corpus), "en-de", tmp_path / "run")
    torch.manual_seed(settings.seed)
    fresh = dict(RecurrentModel(settings.model).named_parameters())
    found = tensors(tmp_path / "run")
    assert found.keys() == fresh.keys()
    assert not any(torch.equal(found[name], fresh[name]) for name in found)
