"""The optimizer and the schedule of section 5.3, beyond what the chapter checks."""

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from aiayn.training.optimizer import learning_rate, make_optimizer, set_rate
from aiayn.training.recipes import RECIPES


@pytest.mark.parametrize("d_model", [1, 64, 512, 1024])
@pytest.mark.parametrize("warmup", [1, 7, 4000])
def test_rate_climbs_to_its_peak_at_the_end_of_the_warm_up_and_falls_ever_after(
    d_model: int, warmup: int
):
    rates = [learning_rate(step, d_model, warmup) for step in range(1, 3 * warmup + 2)]
    assert all(a < b for a, b in pairwise(rates[:warmup]))
    assert all(a > b for a, b in pairwise(rates[warmup - 1 :]))
    assert math.isclose(max(rates), (d_model * warmup) ** -0.5)


def test_factor_multiplies_the_whole_curve():
    for step in (1, 100, 4000, 90_000):
        plain, scaled = (learning_rate(step, 512, factor=f) for f in (1.0, 2.5))
        assert math.isclose(scaled, 2.5 * plain)


def test_small_recipe_reaches_four_thousandths():
    small = RECIPES["small"]
    assert math.isclose(small.rate(small.optimizer.warmup), 4e-3)


@pytest.mark.parametrize(("step", "warmup"), [(0, 4000), (-3, 4000), (1, 0)])
def test_a_step_or_warm_up_before_the_first_is_refused(step: int, warmup: int):
    with pytest.raises(
        ValueError, match=f"step={step}, warmup={warmup}: steps are counted from 1"
    ):
        learning_rate(step, 512, warmup)


def test_optimizer_does_not_move_before_a_rate_is_set():
    model = nn.Linear(3, 3)
    before = model.weight.detach().clone()
    optimizer = make_optimizer(model)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    assert torch.equal(model.weight, before)


def test_set_rate_reaches_every_group():
    optimizer = make_optimizer(nn.Linear(3, 3))
    optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(2))]})
    set_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]


def test_three_hundred_steps_are_those_of_the_formulas_with_a_rate_that_changes():
    generator = torch.Generator().manual_seed(0)
    model = nn.Linear(20, 30)
    optimizer = make_optimizer(model)
    weights = [weight.detach().clone() for weight in model.parameters()]
    m, v = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    for t in range(1, 301):
        rate = learning_rate(t, 20, warmup=100, factor=0.1)
        for k, weight in enumerate(model.parameters()):
            drawn = torch.randn(weight.shape, generator=generator)
            g = weight.grad = 10.0 ** -(k + t % 3) * drawn
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.98 * v[k] + 0.02 * g * g
            root = (v[k] / (1 - 0.98**t)).sqrt() + 1e-9
            weights[k] -= rate * (m[k] / (1 - 0.9**t)) / root
        set_rate(optimizer, rate)
        optimizer.step()
    for ours, formula in zip(model.parameters(), weights, strict=True):
        torch.testing.assert_close(ours.detach(), formula, rtol=0, atol=1e-6)


def test_a_first_step_has_the_length_of_the_rate_whatever_the_gradient():
    model = nn.Linear(4, 1, bias=False).double()
    before = model.weight.detach().clone()
    optimizer = make_optimizer(model)
    set_rate(optimizer, 0.01)
    model.weight.grad = torch.tensor([[1e4, 1.0, -1e-4, 0.0]], dtype=torch.float64)
    optimizer.step()
    moved = (model.weight - before).detach()
    expected = torch.tensor([[-0.01, -0.01, 0.01, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(moved, expected, rtol=1e-4, atol=0)


def test_weights_without_a_gradient_stay_and_cost_no_memory():
    model = nn.Linear(3, 3)
    optimizer = make_optimizer(model)
    set_rate(optimizer, 0.1)
    before = model.weight.detach().clone()
    model.bias.grad = torch.ones(3)
    optimizer.step()
    assert torch.equal(model.weight, before)
    assert list(optimizer.state) == [model.bias]
