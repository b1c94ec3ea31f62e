"""Muon for the matrices of the layers, Adam for all else."""

import copy

import pytest
import torch
from small_runs import TINY
from torch import Tensor, nn

from aiayn.model import Transformer
from aiayn.model.baselines.recurrent import RecurrentConfig, RecurrentModel
from aiayn.training.muon import Muon, orthogonal
from aiayn.training.optimizer import make_optimizer, set_rate


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def stepped(model: nn.Module, optimizer: torch.optim.Optimizer, seed: int = 1) -> None:
    """Give every weight a random gradient, and take a step of a hundredth."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    set_rate(optimizer, 0.01)
    optimizer.step()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 8, 32), (1, 32, 8), (3, 8, 32), (3, 32, 8)])
def test_singular_values_become_one_and_vectors_stay(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    matrices = drawn(*shape)
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    inner = u.mT @ orthogonal(matrices, dtype) @ v.mT  # would be the identity
    apart = inner - torch.diag_embed(inner.diagonal(dim1=-2, dim2=-1))
    assert apart.abs().max() < 0.05
    found = inner.diagonal(dim1=-2, dim2=-1)
    assert found.min() > 0.6 and found.max() < 1.3


def test_a_matrix_of_zeros_stays_one() -> None:
    torch.testing.assert_close(orthogonal(torch.zeros(1, 4, 6)), torch.zeros(1, 4, 6))


def test_what_is_no_matrix_of_a_layer_is_moved_as_by_adam() -> None:
    ours = Transformer(TINY)
    theirs = copy.deepcopy(ours)
    before = {name: weight.clone() for name, weight in ours.named_parameters()}
    for model, optimizer in ((ours, Muon(ours)), (theirs, make_optimizer(theirs))):
        for step in (1, 2, 3):
            stepped(model, optimizer, step)
            optimizer.zero_grad()
    modules = ours.named_modules()
    layers = {f"{n}.weight" for n, layer in modules if isinstance(layer, nn.Linear)}
    assert len(layers) == 10  # of one layer on each side
    for name, weight in theirs.named_parameters():
        mine = ours.get_parameter(name)
        assert mine.grad is None and not torch.equal(mine, before[name])
        assert torch.equal(mine, weight) == (name not in layers), name


def test_queries_keys_and_values_are_three_matrices() -> None:
    model = Transformer(TINY)
    layer = model.encoder.layers[0].self_attention.projections
    before = layer.weight.detach().clone()
    stepped(model, Muon(model))
    moved = (before - layer.weight.detach()) / 0.01
    parts = (whole.split(layer.widths) for whole in (moved, layer.weight.grad))
    for part, g in zip(*parts, strict=True):
        wanted = 0.2 * max(g.shape) ** 0.5 * orthogonal(g[None])[0]
        torch.testing.assert_close(part, wanted, rtol=0.02, atol=0.02)


def test_a_step_is_as_long_as_one_of_adam() -> None:
    model = nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 64))
    before = [each.weight.clone() for each in model]
    stepped(model, Muon(model))
    for layer, weight in zip(model, before, strict=True):
        length = (layer.weight - weight).square().mean().sqrt().item()
        assert 0.0015 < length < 0.0025


def test_weight_decay_takes_a_share_of_the_matrices_and_of_nothing_else() -> None:
    plain = Transformer(TINY)
    decayed, before = copy.deepcopy(plain), copy.deepcopy(plain.state_dict())
    stepped(plain, Muon(plain))
    stepped(decayed, Muon(decayed, weight_decay=2.0))
    for name, layer in plain.named_modules():
        for part, weight in layer.named_parameters(name, recurse=False):
            shrinks = isinstance(layer, nn.Linear) and part.endswith("weight")
            less = 0.01 * 2.0 * before[part] if shrinks else 0.0
            torch.testing.assert_close(decayed.get_parameter(part), weight - less)


def test_a_parameter_without_a_gradient_stays() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    before = copy.deepcopy(model.state_dict())
    stepped(model[1], Muon(model))
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name]) == name.startswith("0.")


def test_the_recurrent_model_has_matrices_too() -> None:
    model = RecurrentModel(RecurrentConfig(20, 8, 0.0, d_state=8))
    optimizer = Muon(model)
    stepped(model, optimizer)
    assert optimizer.parts and all(w.isfinite().all() for w in model.parameters())
