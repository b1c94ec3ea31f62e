"""Dropout and label smoothing of section 5.4, beyond what the chapter checks."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.batching import make_batch
from aiayn.model import Transformer, config
from aiayn.regularization import label_smoothed_loss
from aiayn.training import batch_loss


def logits_and_labels(tokens: int, V: int) -> tuple[Tensor, Tensor]:
    logits = 3 * torch.randn(tokens, V, dtype=torch.float64)
    return logits.requires_grad_(), torch.randint(V, (tokens,))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("tokens", "V"), [(1, 2), (7, 5), (40, 300)])
def test_loss_and_gradient_are_those_of_torch(tokens: int, V: int, epsilon: float):
    logits, labels = logits_and_labels(tokens, V)
    loss, nll = label_smoothed_loss(logits, labels, epsilon)
    theirs = F.cross_entropy(logits, labels, label_smoothing=epsilon, reduction="sum")
    torch.testing.assert_close(loss, theirs, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(nll, F.cross_entropy(logits, labels, reduction="sum"), rtol=1e-12, atol=1e-12)
    gradients = (torch.autograd.grad(value, logits, retain_graph=True)[0] for value in (loss, theirs))
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


def test_gradient_is_that_of_finite_differences():
    logits, labels = logits_and_labels(4, 6)
    assert torch.autograd.gradcheck(lambda logits: label_smoothed_loss(logits, labels)[0], (logits,))


def test_plain_loss_carries_no_gradient():
    logits, labels = logits_and_labels(4, 6)
    loss, nll = label_smoothed_loss(logits, labels)
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


def test_a_sum_over_tokens_is_the_sum_of_its_parts():
    logits, labels = logits_and_labels(10, 12)
    whole = label_smoothed_loss(logits, labels)
    parts = [label_smoothed_loss(logits[i : i + 1], labels[i : i + 1]) for i in range(10)]
    for which in (0, 1):
        torch.testing.assert_close(whole[which], sum(part[which] for part in parts))


def test_padded_positions_have_no_part_in_loss_or_gradient():
    model = Transformer(config("laboratory", vocabulary_size=40)).double().eval()
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
    model = Transformer(config("laboratory", vocabulary_size=20, dropout=1.0, norm=norm))
    one, other = (model(torch.randint(4, 20, (2, 6)), torch.randint(4, 20, (2, 5))) for _ in range(2))
    assert torch.equal(one, other)
    assert torch.equal(one, torch.zeros_like(one))  # a fresh norm makes nothing out of nothing


def test_dropout_acts_in_training_alone_and_only_where_the_paper_has_it():
    model = Transformer(config("base", vocabulary_size=20, N=2))
    source, target = torch.randint(4, 20, (2, 6)), torch.randint(4, 20, (2, 5))
    assert not torch.equal(model(source, target), model(source, target))
    model.eval()
    assert torch.equal(model(source, target), model(source, target))
    dropouts = {name for name, module in model.named_modules() if isinstance(module, nn.Dropout)}
    residuals = {f"encoder.layers.{i}.residuals.{j}.dropout" for i in range(2) for j in range(2)}
    residuals |= {f"decoder.layers.{i}.residuals.{j}.dropout" for i in range(2) for j in range(3)}
    assert dropouts == residuals | {"dropout"}
    for name in dropouts:  # and no dropout is hidden in a function: without these there is none
        model.get_submodule(name).p = 0.0
    model.train()
    assert torch.equal(model(source, target), model(source, target))
