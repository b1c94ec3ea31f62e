"""Dropout and label smoothing of section 5.4, beyond what the chapter checks."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from aiayn.data import make_batch
from aiayn.model import Transformer, config
from aiayn.model.dropout import Dropout
from aiayn.training import loss as regularization
from aiayn.training.loss import label_smoothed_loss, projected_loss
from aiayn.training.step import batch_loss


def logits_and_labels(tokens: int, V: int) -> tuple[Tensor, Tensor]:
    logits = 3 * torch.randn(tokens, V, dtype=torch.float64)
    return logits.requires_grad_(), torch.randint(V, (tokens,))


EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("tokens", "V"), [(1, 2), (7, 5), (40, 300)])
def test_loss_and_gradient_are_those_of_torch(tokens: int, V: int, epsilon: float):
    logits, labels = logits_and_labels(tokens, V)
    found = label_smoothed_loss(logits, labels, epsilon)
    theirs = tuple(
        F.cross_entropy(logits, labels, label_smoothing=each, reduction="sum")
        for each in (epsilon, 0.0)
    )
    torch.testing.assert_close(found, theirs, **EXACT)
    gradients = (torch.autograd.grad(each[0], logits) for each in (found, theirs))
    torch.testing.assert_close(*gradients, **EXACT)


def test_plain_loss_carries_no_gradient():
    loss, nll = label_smoothed_loss(*logits_and_labels(4, 6))
    assert loss.requires_grad and not nll.requires_grad


def test_loss_is_lowest_at_the_smoothed_labels_and_there_it_is_their_entropy():
    V, epsilon = 50, 0.1
    q = torch.full((1, V), epsilon / V, dtype=torch.float64)
    q[0, 7] += 1 - epsilon
    logits = q.log().requires_grad_()
    loss, _ = label_smoothed_loss(logits, torch.tensor([7]), epsilon)
    assert math.isclose(loss.item(), torch.special.entr(q).sum().item())
    assert torch.autograd.grad(loss, logits)[0].abs().max() < 1e-12


@pytest.mark.parametrize("size", [1e4, -1e4])
def test_extreme_logits_give_finite_losses(size: float):
    logits = torch.zeros(2, 9)
    logits[:, 3] = size
    loss, nll = label_smoothed_loss(logits, torch.tensor([3, 4]))
    assert loss.isfinite() and nll.isfinite()


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_logit_of_minus_infinity_is_what_it_is_to_torch(epsilon: float):
    """A word that may not be said: only with smoothing is the loss infinite."""
    logits, labels = logits_and_labels(4, 6)
    ruled_out = logits.detach().clone()
    ruled_out[torch.arange(4), (labels + 1) % 6] = -math.inf
    ruled_out.requires_grad_()
    loss, nll = label_smoothed_loss(ruled_out, labels, epsilon)
    how = {"label_smoothing": epsilon, "reduction": "sum"}
    theirs = F.cross_entropy(ruled_out, labels, **how)
    torch.testing.assert_close(loss, theirs)
    assert nll.isfinite()
    if not epsilon:
        gradients = (torch.autograd.grad(each, ruled_out) for each in (loss, theirs))
        torch.testing.assert_close(*gradients)


def test_a_sum_over_tokens_is_the_sum_of_its_parts():
    logits, labels = logits_and_labels(10, 12)
    parts = [label_smoothed_loss(logits[[i]], labels[[i]]) for i in range(10)]
    sums = tuple(map(sum, zip(*parts, strict=True)))
    torch.testing.assert_close(label_smoothed_loss(logits, labels), sums)


def test_padded_positions_have_no_part_in_loss_or_gradient():
    model = Transformer(config("synthetic", vocabulary_size=40)).double().eval()
    examples = [([5, 6, 3], [7, 3]), ([8, 3], [9, 10, 11, 12, 13, 3])]
    batch_loss(model, make_batch(examples), 0.1)[0].backward()
    together = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    for example in examples:
        batch_loss(model, make_batch([example]), 0.1)[0].backward()
    for a, parameter in zip(together, model.parameters(), strict=True):
        torch.testing.assert_close(a, parameter.grad, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_with_everything_dropped_nothing_of_the_sentence_is_left(norm: str):
    model = Transformer(config("synthetic", vocabulary_size=20, dropout=1.0, norm=norm))
    found = model(torch.randint(4, 20, (2, 6)), torch.randint(4, 20, (2, 5)))
    # A fresh norm makes nothing out of nothing.
    assert torch.equal(found, torch.zeros_like(found))


def test_dropout_acts_in_training_alone_and_only_where_the_paper_has_it():
    model = Transformer(config("base", vocabulary_size=20, N=2))
    source, target = torch.randint(4, 20, (2, 6)), torch.randint(4, 20, (2, 5))
    assert not torch.equal(model(source, target), model(source, target))
    model.eval()
    assert torch.equal(model(source, target), model(source, target))
    modules = model.named_modules()
    dropouts = {name for name, module in modules if isinstance(module, nn.Dropout)}
    assert dropouts == {"dropout"} | {
        f"{side}.layers.{i}.residuals.{j}.dropout"
        for side, count in (("encoder", 2), ("decoder", 3))
        for i in range(2)
        for j in range(count)
    }
    # No dropout is hidden in a function: without these there is none.
    for name in dropouts:
        model.get_submodule(name).p = 0.0
    model.train()
    assert torch.equal(model(source, target), model(source, target))


# The loss without the logits


def projection(
    tokens: int, V: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    x, weight = torch.randn(tokens, 6, dtype=dtype), torch.randn(V, 6, dtype=dtype)
    return x.requires_grad_(), weight.requires_grad_(), torch.randint(V, (tokens,))


def whole(
    x: Tensor, weight: Tensor, labels: Tensor, epsilon: float = 0.1
) -> tuple[Tensor, Tensor]:
    """What `projected_loss` has to give: all logits at once."""
    return label_smoothed_loss(x @ weight.T, labels, epsilon)


@pytest.mark.parametrize("chunk", [1, 22, 23, 47, 23 * 5, 10**9])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("tokens", [1, 2, 11])
def test_projected_loss_is_the_loss_of_the_projection(
    tokens: int, epsilon: float, chunk: int, monkeypatch: pytest.MonkeyPatch
):
    """Whether one row fits into a chunk or all of them, and if the last chunk is a
    remainder.
    """
    monkeypatch.setitem(regularization.CHUNK, "cpu", chunk)
    x, weight, labels = projection(tokens, V=23)
    values = [each(x, weight, labels, epsilon) for each in (projected_loss, whole)]
    torch.testing.assert_close(*values, **EXACT)
    gradients = (torch.autograd.grad(7 * loss, (x, weight)) for loss, _ in values)
    torch.testing.assert_close(*gradients, rtol=1e-11, atol=1e-11)


def test_projected_loss_gives_its_gradient_once():
    """It scales what it keeps in place: a second time the factor would be squared."""
    x, weight, labels = projection(4, V=9)
    loss = 3 * projected_loss(x, weight, labels)[0]
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="once"):
        loss.backward()


def test_projected_loss_of_no_words_is_nothing_and_has_a_gradient_of_nothing():
    """A worker whose piece of the batch is empty still takes part in the sum."""
    x, weight, labels = projection(0, V=23)
    loss, nll = projected_loss(x, weight, labels)
    assert loss.item() == nll.item() == 0
    found = torch.autograd.grad(loss, (x, weight))
    assert found[0].shape == (0, 6) and torch.equal(found[1], torch.zeros_like(weight))


@pytest.mark.parametrize("wanted", [0, 1])
def test_projected_loss_where_only_one_side_learns(wanted: int):
    *sides, labels = projection(4, V=23)
    sides[1 - wanted].requires_grad_(False)
    gradients = (
        torch.autograd.grad(loss(*sides, labels)[0], sides[wanted])
        for loss in (projected_loss, whole)
    )
    torch.testing.assert_close(*gradients, **EXACT)


def test_projected_loss_without_a_gradient():
    x, weight, labels = projection(4, V=23)
    wanted = whole(x, weight, labels)
    for found in (
        torch.no_grad()(projected_loss)(x, weight, labels),
        projected_loss(x.detach(), weight.detach(), labels),
    ):
        torch.testing.assert_close(found, tuple(value.detach() for value in wanted))
        assert not found[0].requires_grad and not found[1].requires_grad
    assert not projected_loss(x, weight, labels)[1].requires_grad


def test_projected_loss_without_a_gradient_costs_one_product():
    x, weight, labels = projection(40, V=23)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        projected_loss(x, weight, labels)
    assert counter.get_total_flops() == 2 * 40 * 23 * 6


@pytest.mark.parametrize("size", [1e4, -1e4])
def test_projected_loss_of_extreme_logits_is_finite(size: float):
    x, weight = torch.ones(2, 1, requires_grad=True), torch.zeros(9, 1)
    weight[3] = size
    loss, nll = projected_loss(x, weight.requires_grad_(), torch.tensor([3, 4]))
    loss.backward()
    assert all(each.isfinite().all() for each in (loss, nll, x.grad, weight.grad))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("tokens", [0, 1, 11, 200])
def test_projected_loss_in_mixed_precision_is_near_and_sums_in_float32(
    tokens: int, dtype: torch.dtype
):
    x, weight, labels = projection(tokens, V=300, dtype=torch.float32)
    exact = whole(x, weight, labels)[0]
    with torch.autocast("cpu", dtype):
        loss, nll = projected_loss(x, weight, labels)
    assert loss.dtype == nll.dtype == torch.float32
    torch.testing.assert_close(loss, exact, rtol=1e-2, atol=0)
    gradients = (torch.autograd.grad(value, (x, weight)) for value in (loss, exact))
    for one, other in zip(*gradients, strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() <= 0.02 * other.norm()


def test_projected_loss_where_the_model_itself_is_bfloat16():
    x, weight, labels = projection(200, V=300, dtype=torch.float32)
    exact = torch.autograd.grad(whole(x, weight, labels)[0], (x, weight))
    half = [value.detach().bfloat16().requires_grad_() for value in (x, weight)]
    rough = torch.autograd.grad(projected_loss(*half, labels)[0], half)
    for one, other in zip(rough, exact, strict=True):
        assert (
            one.dtype == torch.bfloat16 and (one - other).norm() < 0.02 * other.norm()
        )


@pytest.mark.parametrize(("factor", "kept"), [(1.0, False), (2.0**12, True)])
@pytest.mark.parametrize("chunk", [1, 3000 * 7, 10**9])
def test_projected_loss_in_float16_keeps_small_gradients_by_the_factor_of_the_loss(
    factor: float, kept: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
):
    """Wrong words have probabilities of 1e-10 here, which float16 takes for zero."""
    monkeypatch.setitem(regularization.CHUNK, "cpu", chunk)
    torch.manual_seed(0)
    x, weight, labels = projection(20, V=3000, dtype=torch.float32)
    with torch.no_grad():  # the model is sure of the labels
        weight.mul_(0.3)[labels] = 4 * x.sign()
        x.copy_(0.9 * x.sign())

    def gradient(factor: float) -> Tensor:
        loss, nll = projected_loss(x, weight, labels, 0.0)
        assert loss.dtype == nll.dtype == torch.float32 and not nll.requires_grad
        return torch.autograd.grad(factor * loss, weight)[0] / factor

    exact = gradient(1.0)
    with torch.autocast("cpu", torch.float16):
        found = gradient(factor)
    error = (found - exact).norm(dim=1) / exact.norm(dim=1)
    assert 0 < exact.abs().median() < 1e-8 and (error.median() < 0.02) == kept


# Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_dropout_drops_its_share_and_scales_the_rest(p: float):
    kept = Dropout(p)(torch.ones(1000, 1000))
    assert set(kept.unique().tolist()) == {0.0, torch.tensor(1 / (1 - p)).item()}
    share = (kept == 0).double().mean().item()
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / 1e6) + 2**-17
    assert (
        abs(kept.double().mean().item() - 1) < 5 * math.sqrt(p / (1 - p) / 1e6) + 2**-16
    )


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropouts_gradient_passes_where_the_number_did(p: float):
    x = torch.randn(40, 25, dtype=torch.float64, requires_grad=True)
    y = Dropout(p)(x)
    upstream = torch.randn_like(y)
    (gradient,) = torch.autograd.grad(y, x, upstream)
    for found, given in ((gradient, upstream), (y, x)):
        wanted = torch.where(y == 0, 0, given / (1 - p))
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=0)


def test_dropout_of_nothing_of_all_and_in_use():
    x = torch.randn(100)
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(Dropout(1.0)(x), torch.zeros(100))
    assert Dropout(0.5).eval()(x) is x
    before = torch.get_rng_state()
    Dropout(0.0)(x), Dropout(0.5).eval()(x)
    assert torch.equal(torch.get_rng_state(), before)
