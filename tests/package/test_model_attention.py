"""Attention: as torch computes it, blind to what is hidden, the same with a cache, or
watched.
"""

import math
from contextlib import nullcontext
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from aiayn.model import MultiHeadAttention
from aiayn.model.attention import (
    Attention,
    FusedAttention,
    attend,
    attention_weights,
    causal_mask,
    padding_mask,
    scaled_dot_product,
)
from aiayn.model.kv_cache import KVCache
from aiayn.model.positions import RelativeAttention, RelativePositions
from aiayn.model.projections import HeadProjections
from aiayn.model.recording import WrappedAttention, recorded_attention
from aiayn.model.scores import (
    AdditiveScore,
    GeneralScore,
    make_attention,
    unscaled_dot_product,
)

SCORES = ["scaled", "unscaled", "general", "additive"]
few = settings(deadline=None, max_examples=40)


def agree(a: Tensor, b: Tensor, tolerance: float = 1e-6) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=tolerance)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def heads(
    n: int = 5, m: int = 7, d_k: int = 6, d_v: int = 9, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of two sentences and three heads."""
    Q, K, V = (2, 3, n, d_k), (2, 3, m, d_k), (2, 3, m, d_v)
    return normal(*Q, seed=seed), normal(*K, seed=seed + 1), normal(*V, seed=seed + 2)


def layer(*args: Any, **kwargs: Any) -> MultiHeadAttention:
    return MultiHeadAttention(*args, **kwargs).double()


# Masks and weights


def test_a_causal_mask_shows_each_position_itself_and_what_came_before() -> None:
    assert causal_mask(3).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert causal_mask(2, 4).tolist() == [
        [True, True, True, False],
        [True, True, True, True],
    ]
    assert causal_mask(1, 4).all()


@few
@given(n=st.integers(1, 8), earlier=st.integers(0, 8))
def test_the_last_queries_of_a_causal_mask_are_its_last_rows(
    n: int, earlier: int
) -> None:
    assert torch.equal(causal_mask(n, n + earlier), causal_mask(n + earlier)[earlier:])


def test_a_padding_mask_shows_words_to_every_head_and_query() -> None:
    mask = padding_mask(torch.tensor([[4, 2, 9], [7, 9, 9]]), pad_id=9)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]


@few
@given(st.data())
def test_weights_sum_to_one_and_hidden_ones_are_zero(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    size = data.draw(st.sampled_from([1e-3, 1.0, 30.0, 1e4]))
    scores = size * normal(2, n, m, seed=data.draw(st.integers(0, 999)))
    seen = data.draw(st.lists(st.booleans(), min_size=2 * n * m, max_size=2 * n * m))
    mask = torch.tensor(seen).view(2, n, m)
    mask[:, torch.arange(n), torch.arange(n) % m] = True
    weights = attention_weights(scores, mask)
    assert agree(weights.sum(-1), torch.ones(2, n, dtype=torch.float64), 1e-12)
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    assert agree(attention_weights(scores + 5, mask), weights, 1e-6)


@few
@given(seed=st.integers(0, 999), m=st.integers(1, 6))
def test_an_output_lies_within_the_values(seed: int, m: int) -> None:
    Q, K, V = heads(m=m, seed=seed)
    outputs, _ = attend(5 * Q, K, V)
    assert (outputs <= V.amax(2, keepdim=True) + 1e-12).all()
    assert (outputs >= V.amin(2, keepdim=True) - 1e-12).all()


FUNCTIONS = ["written out", "fused", "unscaled", "general", "additive", "relative"]


def attention_function(
    name: str, dropout: float = 0.0, d_k: int = 6, d_v: int = 9
) -> Attention:
    """Every attention function, for three heads."""
    if name == "written out":
        return Attention(dropout=dropout).double()
    if name == "relative":
        relative = RelativePositions(d_k, d_v, max_distance=2)
        return RelativeAttention(relative, dropout=dropout).double()
    score: Any = "scaled" if name == "fused" else name
    return make_attention(score, 3, d_k, dropout).double()


def hidden(why: str, n: int, m: int) -> tuple[Tensor | None, bool]:
    """A mask, and whether it is causal, with which the first query sees nothing."""
    if why == "more queries than keys":
        return None, True
    mask = torch.ones(n, m, dtype=torch.bool)
    if why == "padding before it":  # in a sentence that is filled up on the left
        mask[:, 0] = False
        return mask[0], True
    mask[0] = False
    return mask, False


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    ("why", "n", "m"),
    [("hidden", 5, 7), ("padding before it", 5, 5), ("more queries than keys", 5, 4)],
)
def test_a_query_that_sees_nothing_gets_zeros(
    name: str, recorded: bool, why: str, n: int, m: int
) -> None:
    if name == "relative" and n > m:
        return  # a distance is one of positions that are there
    model = nn.ModuleDict({"attention": attention_function(name)})
    Q, K, V = (x.requires_grad_() for x in heads(n, m))
    with recorded_attention(model) if recorded else nullcontext({}) as weights:
        output = model["attention"](Q, K, V, *hidden(why, n, m))
    assert (output[:, :, 0] == 0).all() and output[:, :, 1:].all()
    for each in weights.values():
        sums = torch.ones(2, 3, n, dtype=torch.float64)
        sums[..., 0] = 0
        assert agree(each.sum(-1), sums)
    with torch.autograd.set_detect_anomaly(True):
        output.square().sum().backward()
    assert Q.grad is not None and (Q.grad[:, :, 0] == 0).all()
    gradients = [Q.grad, K.grad, V.grad, *(p.grad for p in model.parameters())]
    assert all(g is not None and g.isfinite().all() for g in gradients)


def test_a_window_of_minus_infinity_that_holds_padding_alone_gives_zeros() -> None:
    """The last places of a short sentence see neighbours alone: all of them padding."""

    class Window(AdditiveScore):
        def forward(self, Q: Tensor, K: Tensor) -> Tensor:
            far = (torch.arange(6)[:, None] - torch.arange(6)).abs() > 1
            return super().forward(Q, K).masked_fill(far, -math.inf)

    attention = MultiHeadAttention(8, 2, attention=Attention(Window(2, 4)))
    x = torch.randn(2, 6, 8, requires_grad=True)
    mask = padding_mask(torch.tensor([[1] * 6, [1, 1, 1, 0, 0, 0]]), pad_id=0)
    output = attention(x, mask=mask)
    assert output.isfinite().all() and not output[1, 4:].any() and output[1, :4].all()
    with torch.autograd.set_detect_anomaly(True):
        output.square().sum().backward()
    gradients = [x.grad, *(each.grad for each in attention.parameters())]
    assert all(g is not None and g.isfinite().all() for g in gradients)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("causal", [False, True])
def test_one_mask_for_all_queries(name: str, causal: bool) -> None:
    attention, (Q, K, V) = attention_function(name), heads(5, 5)
    mask = torch.tensor([True, False, True, True, False])
    one = attention(Q, K, V, mask, causal)
    assert agree(one, attention(Q, K, V, mask.expand(2, 3, 5, 5), causal))
    assert not agree(one, attention(Q, K, V, None, causal), 1e-2)


# Dropout of weights


@pytest.mark.parametrize("name", FUNCTIONS)
def test_dropped_weights_are_zero_and_the_rest_grow(name: str) -> None:
    attention, (Q, K, _) = attention_function(name, 0.25, d_v=200), heads(200, 200)
    if isinstance(attention, RelativeAttention):
        nn.init.zeros_(attention.relative.vectors)
    V = torch.eye(200, dtype=torch.float64).expand(2, 3, 200, 200)
    mask = causal_mask(200)
    attention.eval()
    weights = attention(Q, K, V, mask)  # times one, each
    assert agree(attention.attend(Q, K, V, mask)[1], weights)
    attention.train()
    dropped = attention(Q, K, V, mask)
    kept = dropped != 0
    assert agree(dropped[kept], weights[kept] / 0.75)
    share = kept.sum().item() / (6 * mask.sum().item())
    assert share == pytest.approx(0.75, abs=0.01)
    assert not torch.equal(attention(Q, K, V, mask), dropped)
    assert agree(attention.attend(Q, K, V, mask)[1], weights)  # none is dropped here


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_dropout_of_zero_draws_nothing_and_changes_no_bit(
    name: str, mode: str
) -> None:
    attention, (Q, K, V) = attention_function(name, 0.3 * (mode == "eval")), heads(9, 9)
    before = torch.get_rng_state()
    output = getattr(attention, mode)()(Q, K, V, causal=True)
    assert torch.equal(torch.get_rng_state(), before)
    if name == "fused":
        plain = F.scaled_dot_product_attention(Q, K, V, is_causal=True)
    else:
        scores = attention.score(Q, K)
        if isinstance(attention, RelativeAttention):
            scores = scores + attention.relative.scores(Q, 9) / math.sqrt(6)
        weights = scores.masked_fill(~causal_mask(9), -math.inf).softmax(-1)
        plain = weights @ V
        if isinstance(attention, RelativeAttention):
            plain = plain + attention.relative.values(weights)
    assert torch.equal(output, plain)


def test_without_dropout_the_fast_kernel_is_taken() -> None:
    Q, K, V = heads(d_v=6)
    attention = FusedAttention().double().train()
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # an error if torch takes another
        attention(Q, K, V, causal=True)
        attention(Q, K, V, causal_mask(5, 7))


# Scaled dot product


def masks(n: int, m: int) -> dict[str, Tensor | None]:
    some = torch.rand(2, 1, n, m, generator=torch.Generator().manual_seed(5)) < 0.6
    some[..., 0] = True
    return {
        "none": None,
        "causal": causal_mask(n, m),
        "padding": some[:, :, :1],
        "any": some,
    }


@pytest.mark.parametrize("mask_name", ["none", "causal", "padding", "any"])
@pytest.mark.parametrize("scale", [None, 1.0])
def test_attend_is_the_paper_s_formula_and_torch_s_kernel(
    mask_name: str, scale: float | None
) -> None:
    Q, K, V = heads()
    mask = masks(5, 7)[mask_name]
    ours, weights = attend(
        Q, K, V, mask, unscaled_dot_product if scale else scaled_dot_product
    )
    assert agree(
        ours, F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, scale=scale)
    )
    for b in range(2):
        for head in range(3):
            scores = (
                Q[b, head]
                @ K[b, head].T
                * (1 / math.sqrt(6) if scale is None else scale)
            )
            if mask is not None:
                hidden = ~mask.expand(2, 3, 5, 7)[b, head]
                scores[hidden] = -math.inf
            row = scores.exp() / scores.exp().sum(1, keepdim=True)
            assert agree(weights[b, head], row)
            assert agree(ours[b, head], row @ V[b, head])


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask_name", ["none", "padding", "any"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "m"), [(5, 5), (3, 7), (1, 7), (1, 1)])
def test_watching_changes_nothing(
    score: Any, mask_name: str, causal: bool, n: int, m: int
) -> None:
    Q, K, V = heads(n, m)
    mask = masks(n, m)[mask_name]
    model = nn.ModuleDict({"attention": make_attention(score, 3, 6).double()})
    unwatched = model["attention"](Q, K, V, mask, causal)
    with recorded_attention(model) as weights:
        watched = model["attention"](Q, K, V, mask, causal)
    assert agree(unwatched, watched)
    (seen,) = weights.values()
    assert agree(seen @ V, unwatched)
    allowed = torch.ones(n, m, dtype=torch.bool) if mask is None else mask
    allowed = allowed & causal_mask(n, m) if causal else allowed
    assert (seen[~allowed.expand_as(seen)] == 0).all()


def test_half_precision_masks_do_not_overflow() -> None:
    scores = torch.full((2, 4, 4), -6e4, dtype=torch.float16)
    weights = attention_weights(scores, causal_mask(4))
    assert weights.isfinite().all() and (weights[:, ~causal_mask(4)] == 0).all()


# Compatibility functions


def test_additive_score_is_bahdanau_s_network() -> None:
    score = AdditiveScore(h=3, d_k=6).double()
    Q, K, _ = heads()
    ours = score(Q, K)
    assert ours.shape == (2, 3, 5, 7)
    for head in range(3):
        for i in range(5):
            for j in range(7):
                hidden = (
                    score.W_q[head].T @ Q[1, head, i]
                    + score.W_k[head].T @ K[1, head, j]
                )
                assert agree(
                    ours[1, head, i, j], score.v[head].flatten() @ hidden.tanh(), 1e-12
                )


def test_general_score_is_luong_s() -> None:
    score = GeneralScore(h=3, d_k=6).double()
    Q, K, _ = heads()
    assert agree(score(Q, K), torch.einsum("bhik,hkl,bhjl->bhij", Q, score.W, K), 1e-12)
    score.W.data[:] = torch.eye(6) / math.sqrt(6)
    _, V = Q, heads()[2]
    assert agree(attend(Q, K, V, score=score)[0], attend(Q, K, V)[0])


@pytest.mark.parametrize("score", SCORES)
def test_gradients_of_every_score_are_right(score: Any) -> None:
    module = make_attention(score, 2, 3).double()
    Q, K, V = (normal(1, 2, n, 3, seed=n).requires_grad_() for n in (2, 4, 4))
    mask = torch.tensor([[True, True, False, True], [False, True, True, False]])
    assert torch.autograd.gradcheck(lambda Q, K, V: module(Q, K, V, mask), (Q, K, V))
    module(Q, K, V).sum().backward()
    assert all(
        parameter.grad is not None and parameter.grad.any()
        for parameter in module.parameters()
    )


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("h", [1, 16])
def test_scores_start_at_about_one_unless_unscaled(score: Any, h: int) -> None:
    Q, K = torch.randn(2, 8, h, 32, 64)
    scores = make_attention(score, h, 64).score(Q, K)
    spread = {"scaled": 1, "unscaled": 8, "general": 1, "additive": 0.65}[score]
    assert scores.std().item() == pytest.approx(spread, rel=0.2)


class Distances(RelativePositions):
    """The simplest terms that distance may add: a number for each distance, and a
    vector for it.
    """

    def __init__(self) -> None:
        super().__init__(1, 1)

    def scores(self, Q: Tensor, m: int) -> Tensor:
        return self.distances(Q.shape[-2], m) + 0 * Q[..., :1]

    def values(self, weights: Tensor) -> Tensor:
        return (weights * self.distances(*weights.shape[-2:])).sum(-1, keepdim=True)

    def distances(self, n: int, m: int) -> Tensor:
        return (torch.arange(m) - torch.arange(m - n, m)[:, None]).double()


def test_relative_terms_enter_before_the_scale_and_after_the_weights() -> None:
    Q, K, V = heads(n=4, m=4)
    relative = Distances()
    ours, weights = RelativeAttention(relative).attend(Q, K, V, causal_mask(4))
    distances = relative.distances(4, 4)
    scores = ((Q @ K.transpose(-2, -1) + distances) / math.sqrt(6)).masked_fill(
        ~causal_mask(4), -math.inf
    )
    assert agree(weights, scores.softmax(-1))
    assert agree(ours, weights @ V + (weights * distances).sum(-1, keepdim=True))
    assert agree(RelativeAttention(relative)(Q, K, V, causal=True), ours)
    assert not agree(FusedAttention()(Q, K, V, causal=True), ours)


# Multi-head attention


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("h", [1, 2, 8])
@pytest.mark.parametrize(
    "use", ["self", "self, causal", "self, padding", "cross", "cross, padding"]
)
def test_multi_head_attention_is_torch_s(use: str, h: int, bias: bool) -> None:
    ours = layer(32, h, bias=bias)
    theirs = nn.MultiheadAttention(32, h, bias=bias, batch_first=True).double()
    state = {
        "in_proj_weight": ours.projections.weight,
        "out_proj.weight": ours.W_O.weight,
    }
    if bias:
        nn.init.normal_(ours.projections.bias)
        nn.init.normal_(ours.W_O.bias)
        state |= {"in_proj_bias": ours.projections.bias, "out_proj.bias": ours.W_O.bias}
    theirs.load_state_dict(state)

    x, memory = (
        normal(3, 5, 32).requires_grad_(),
        normal(3, 9, 32, seed=1).requires_grad_(),
    )
    keys = memory if "cross" in use else x
    causal, mask, padding = "causal" in use, None, None
    if "padding" in use:
        lengths = torch.tensor([keys.shape[1], 3, 1])
        padding = torch.arange(keys.shape[1]) >= lengths[:, None]
        mask = ~padding[:, None, None, :]
    a = ours(x, memory if "cross" in use else None, mask, causal)
    b, _ = theirs(
        x,
        keys,
        keys,
        key_padding_mask=padding,
        attn_mask=~causal_mask(5) if causal else None,
    )
    assert agree(a, b)

    direction = normal(*a.shape, seed=3)
    wanted = [x, *([memory] if "cross" in use else [])]
    for mine, other in zip(
        torch.autograd.grad(
            a, [*wanted, ours.projections.weight, ours.W_O.weight], direction
        ),
        torch.autograd.grad(
            b, [*wanted, theirs.in_proj_weight, theirs.out_proj.weight], direction
        ),
        strict=True,
    ):
        assert agree(mine, other)


@few
@given(
    h=st.integers(1, 4),
    d_k=st.integers(1, 5),
    d_v=st.integers(1, 5),
    cross=st.booleans(),
)
def test_it_is_a_loop_over_heads_of_any_width(
    h: int, d_k: int, d_v: int, cross: bool
) -> None:
    attention = layer(7, h, d_k, d_v)
    x, memory = normal(2, 4, 7), normal(2, 6, 7, seed=1)
    keys = memory if cross else x
    W_Q, W_K, W_V = (
        part.unflatten(0, (h, -1))
        for part in attention.projections.weight.split([h * d_k, h * d_k, h * d_v])
    )
    loop = [
        F.scaled_dot_product_attention(
            x @ W_Q[i].T, keys @ W_K[i].T, keys @ W_V[i].T, scale=d_k**-0.5
        )
        for i in range(h)
    ]
    assert agree(
        attention(x, memory if cross else None),
        torch.cat(loop, -1) @ attention.W_O.weight.T,
    )


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_hidden_changes_no_bit(score: Any, dtype: torch.dtype) -> None:
    attention = MultiHeadAttention(16, 4, attention=make_attention(score, 4, 4)).to(
        dtype
    )
    x, other = normal(2, 6, 16).to(dtype), normal(2, 6, 16, seed=9).to(dtype)
    later = torch.cat([x[:, :4], other[:, 4:]], dim=1)
    assert torch.equal(
        attention(x, causal=True)[:, :4], attention(later, causal=True)[:, :4]
    )
    mask = (torch.arange(6) < 4)[None, None, None].expand(2, 1, 1, 6)
    query = normal(2, 3, 16, seed=8).to(dtype)
    assert torch.equal(attention(query, x, mask), attention(query, later, mask))


@pytest.mark.parametrize(
    ("action", "says"),
    [
        # added to the scores, as torch would do, ones and zeros would hide nothing
        (
            lambda: FusedAttention()(*heads(), normal(5, 7)),
            r"mask is torch\.float64: give a bool",
        ),
        (
            lambda: make_attention("aditive", 2, 8),  # type: ignore[arg-type]
            "score='aditive': must be one of scaled, unscaled, general, additive",
        ),
        (
            lambda: MultiHeadAttention(10, 4),
            "d_model=10 does not divide into h=4 heads: give d_k and d_v",
        ),
        (lambda: MultiHeadAttention(10, 4, d_k=3), "d_model=10"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_attention_refuses(action: Any, says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        action()


def test_projections_start_as_one_matrix() -> None:
    projections = HeadProjections(d_model=64, h=4, d_k=8, d_v=32, bias=True)
    bound = math.sqrt(6 / (64 + 32 + 32 + 128))
    for weight in projections.weight.split([32, 32, 128]):
        assert 0.98 * bound < weight.abs().max() <= bound
    assert not projections.bias.any()
    assert not MultiHeadAttention(64, 4, bias=True).W_O.bias.any()


# The cache


def test_an_empty_cache_has_no_rows_to_select() -> None:
    cache = KVCache()
    cache.select(torch.tensor([0]))
    assert cache.length == 0 and not cache.buffers


# Looking inside


class Two(nn.Module):
    """Two attentions, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = MultiHeadAttention(8, 2), MultiHeadAttention(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x, causal=True))


def watched(model: Two) -> list[bool]:
    return [
        isinstance(layer.attention, WrappedAttention)
        for layer in (model.first, model.second)
    ]


def test_recorded_weights_have_names_and_are_those_of_the_last_call() -> None:
    model = Two()
    with recorded_attention(model) as weights:
        model(torch.randn(3, 6, 8))
        model(torch.randn(1, 5, 8))
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    assert shapes == {"first": (1, 2, 5, 5), "second": (1, 4, 5, 5)}
    assert (weights["first"].triu(1) == 0).all() and not weights["second"].requires_grad
    assert watched(model) == [False, False]


def test_recording_ends_even_after_an_error() -> None:
    model = Two()
    with pytest.raises(RuntimeError), recorded_attention(model) as weights:
        assert watched(model) == [True, True]
        model(torch.randn(1, 5, 9))
    assert watched(model) == [False, False] and not weights
