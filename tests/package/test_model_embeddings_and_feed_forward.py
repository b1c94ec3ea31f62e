"""What chapters 3.3 and 3.4 leave out: agreement with PyTorch's own parts, gradients,
odd shapes, faults.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from jaxtyping import TypeCheckError
from torch import Tensor, nn

from aiayn.model.embeddings import Embeddings
from aiayn.model.feed_forward import FeedForward


def leaf(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def test_feed_forward_agrees_with_pytorch_in_values_and_gradients() -> None:
    ours = FeedForward(16, 64).double()
    theirs = nn.Sequential(ours.W_1, nn.ReLU(), ours.W_2)
    x = leaf(3, 5, 16)
    for parameter in ours.parameters():
        nn.init.normal_(parameter)
    inputs = [x, *ours.parameters()]
    results = [network(x) for network in (ours, theirs)]
    torch.testing.assert_close(*results, rtol=0, atol=1e-12)
    gradients = [
        torch.autograd.grad(result.square().sum(), inputs) for result in results
    ]
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_feed_forward_survives_gradcheck() -> None:
    assert torch.autograd.gradcheck(FeedForward(3, 5).double(), leaf(4, 3))


def test_feed_forward_leaves_its_input_alone() -> None:
    """It works in place, but only on what it made itself."""
    network = FeedForward(8, 32)
    # The closest that W_1 can come to handing its input on.
    nn.init.eye_(network.W_1.weight)
    x = torch.randn(2, 3, 8)
    before = x.clone()
    network(x)
    assert torch.equal(x, before)


def test_a_second_backward_pass_finds_what_it_needs() -> None:
    network, x = FeedForward(4, 8), leaf(2, 4, dtype=torch.float32)
    (gradient,) = torch.autograd.grad(network(x).sum(), x, create_graph=True)
    assert torch.autograd.grad(gradient.square().sum(), network.W_1.weight)[0].any()


@pytest.mark.parametrize("shape", [(8,), (0, 8), (2, 0, 8), (1, 1, 8), (2, 3, 4, 8)])
def test_feed_forward_takes_any_leading_shape(shape: tuple[int, ...]) -> None:
    assert FeedForward(8, 32)(torch.randn(shape)).shape == shape


def test_feed_forward_starts_from_glorot_and_zero() -> None:
    network = FeedForward(64, 256)
    bound = math.sqrt(6 / (64 + 256))
    for linear in (network.W_1, network.W_2):
        assert 0.95 * bound < linear.weight.abs().max() <= bound
        assert not linear.bias.any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_both_keep_the_precision_that_they_are_given(dtype: torch.dtype) -> None:
    embeddings, network = Embeddings(10, 8).to(dtype), FeedForward(8, 16).to(dtype)
    assert embeddings.logits(network(embeddings(torch.arange(4)[None]))).dtype == dtype


def test_embeddings_agree_with_pytorch() -> None:
    ours = Embeddings(50, 16).double()
    table = nn.Embedding.from_pretrained(ours.weight.detach(), freeze=False)
    linear = nn.Linear(16, 50, bias=False).double()
    linear.weight = table.weight  # tied, as in PyTorch's own examples
    tokens = torch.randint(50, (3, 7))
    losses = [
        F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        for logits in (
            ours.logits(ours(tokens).tanh()),
            linear((4 * table(tokens)).tanh()),
        )
    ]
    torch.testing.assert_close(*losses, rtol=0, atol=1e-12)
    gradients = [
        torch.autograd.grad(a, b)[0]
        for a, b in zip(losses, (ours.weight, table.weight), strict=True)
    ]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)


@pytest.mark.parametrize("d_model", [16, 64, 512])
def test_embeddings_have_unit_rows_and_unit_logits(d_model: int) -> None:
    embeddings = Embeddings(2000, d_model)
    assert embeddings.weight.square().sum(dim=1).mean().item() == pytest.approx(
        1, abs=0.03
    )
    logits = embeddings.logits(F.layer_norm(torch.randn(200, d_model), [d_model]))
    assert logits.square().mean().item() == pytest.approx(1, abs=0.03)


def test_logits_of_some_positions_are_those_of_all() -> None:
    embeddings, x = (
        Embeddings(50, 16).double(),
        torch.randn(3, 7, 16, dtype=torch.float64),
    )
    chosen = torch.rand(3, 7) < 0.5
    torch.testing.assert_close(
        embeddings.logits(x[chosen]), embeddings.logits(x)[chosen], rtol=0, atol=1e-12
    )
    assert embeddings.logits(x[0, 0]).shape == (50,)
    assert embeddings.logits(x[:, :0]).shape == (3, 0, 50)


@pytest.mark.parametrize(
    "tokens",
    [torch.zeros(2, 3), torch.zeros(3, dtype=torch.long)],
    ids=["floats", "no batch"],
)
def test_embeddings_refuse_what_is_not_a_batch_of_tokens(tokens: Tensor) -> None:
    with pytest.raises(TypeCheckError):
        Embeddings(7, 3)(tokens)


def test_the_same_seed_gives_the_same_weights() -> None:
    def weights() -> list[Tensor]:
        torch.manual_seed(3)
        return [*Embeddings(20, 8).parameters(), *FeedForward(8, 16).parameters()]

    assert all(torch.equal(a, b) for a, b in zip(weights(), weights(), strict=True))
