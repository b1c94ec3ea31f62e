"""Fast decoding: the same translations as the model itself, whatever the configuration,
and nothing moved.
"""

import warnings
from dataclasses import replace
from typing import Any, cast, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import (
    CONVOLUTIONAL,
    RECURRENT,
    TRANSFORMER,
    TRANSFORMERS,
    close,
    moved,
    sentences,
)
from test_translation_translator import SOURCES, assert_same, tiny
from torch import Tensor, nn

import aiayn.decoding.fast_decoder
import aiayn.decoding.quantization
from aiayn.data.batching import pad
from aiayn.data.vocabulary import EOS_ID, PAD_ID, train_vocabulary
from aiayn.decoding import SearchConfig, beam_search
from aiayn.decoding.beam_search import Hypothesis
from aiayn.decoding.decoder_state import (
    gather_positions,
    stack_beams,
    unstack_beams,
)
from aiayn.decoding.fast_decoder import (
    MIN_SOURCE_LENGTH,
    FastDecoder,
    fast_decoder_for,
    pad_to_minimum,
)
from aiayn.decoding.quantization import (
    Compute,
    Int8Linear,
    PackedLinear,
    has_packed_linear,
    has_vnni,
)
from aiayn.model import MultiHeadAttention, Transformer, TransformerConfig
from aiayn.model.attention import attend
from aiayn.model.configuration import PRESETS
from aiayn.model.kv_cache import KVCache
from aiayn.model.recording import recorded_attention
from aiayn.training.optimizer import make_optimizer, set_rate
from aiayn.translation import Translator

pytestmark = pytest.mark.usefixtures("one_thread")
few = settings(deadline=None, max_examples=40)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


@pytest.fixture(params=TRANSFORMERS.values(), ids=TRANSFORMERS.keys())
def model(request: pytest.FixtureRequest) -> Transformer:
    model = moved(replace(TRANSFORMER, **request.param))
    assert isinstance(model, Transformer)
    return model


# The same as the model itself


def assert_alike(
    found: list[list[Hypothesis]], expected: list[list[Hypothesis]], apart: float = 1e-4
) -> None:
    """The same tokens, and scores that differ by less than `apart`."""
    for ours, theirs in zip(found, expected, strict=True):
        assert [each.tokens for each in ours] == [each.tokens for each in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert abs(one.score - other.score) < apart


@pytest.mark.parametrize("beam", [1, 4])
def test_it_finds_what_the_model_finds(model: Transformer, beam: int) -> None:
    search = SearchConfig(beam, extra_length=12, n_best=beam)
    source = torch.cat([sentences(9, 1, 4, 20, 4), torch.full((5, 1), PAD_ID)], dim=1)
    source[torch.arange(5), (source != PAD_ID).sum(1)] = EOS_ID
    assert_alike(
        beam_search(model, source, search),
        beam_search(FastDecoder(model), source, search),
    )


@pytest.mark.parametrize(
    "chunks", [[1] * 8, [3, 1, 1, 1, 1, 1], [8], [2, 4, 2]], ids=str
)
def test_steps_are_teacher_forcing(model: Transformer, chunks: list[int]) -> None:
    source, target, decoder = sentences(7, 1, 4), sentences(8, 8, 8), FastDecoder(model)
    expected, state, end = model(source, target), decoder.start(source), 0
    for n in chunks:
        close(decoder.step(target[:, end : end + n], state), expected[:, end + n - 1])
        end += n
        assert state.length == end


def test_beams_that_die_and_branch_are_as_if_each_were_alone(
    model: Transformer,
) -> None:
    source, beams, decoder = (
        sentences(6, 4),
        torch.ones(6, 1, dtype=torch.long),
        FastDecoder(model),
    )
    chance = torch.Generator().manual_seed(1)
    state, kept = decoder.start(source), []
    for length in range(1, 61):
        found = decoder.step(beams[:, -1:], state)
        kept.append(state.target[0].length)
        if length % 15 == 0:
            close(
                found,
                model(source.repeat_interleave(len(beams) // len(source), 0), beams)[
                    :, -1
                ],
            )
        each = range(len(source))
        rows = torch.cat(
            [torch.randint(3 * k, 3 * k + 3, (3,), generator=chance) for k in each]
        )
        leaves = length == 40  # the first sentence is done
        rows = rows[3:] if leaves else rows
        newest = torch.randint(4, 40, (len(rows), 1), generator=chance)
        beams = torch.cat([beams[rows], newest], dim=1)
        state.select(rows)
        source = source[1:] if leaves else source
    assert state.length == 60
    assert max(kept) < 140  # 3 new ones a step: what nobody descends from was dropped


@pytest.mark.parametrize("stay", [[0, 2], [1], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("beams", [1, 3])
def test_sentences_leave_before_and_after_they_have_branched(
    model: Transformer, stay: list[int], beams: int
) -> None:
    source, decoder, target = sentences(7, 4, 5), FastDecoder(model), sentences(2, 2, 2)
    state = decoder.start(source)
    decoder.step(target[:, :1], state)
    rows = torch.tensor(stay).repeat_interleave(beams)
    state.select(rows)
    close(
        decoder.step(target[rows, 1:], state), model(source[rows], target[rows])[:, -1]
    )
    if len(stay) > 1:  # now several beams a sentence: the first leaves
        rows, gone = rows[beams:], beams
        state.select(torch.arange(gone, gone + len(rows)))
        newest = sentences(*[1] * len(rows))
        whole = torch.cat([target[rows], newest], dim=1)
        close(decoder.step(newest, state), model(source[rows], whole)[:, -1])
    assert (
        len(state.mask)
        == len(state.target[0].kept[0])
        == max(1, len(stay) - (len(stay) > 1))
    )


def test_what_somebody_else_computes_is_left_to_the_model() -> None:
    plain = Transformer(TRANSFORMER)
    assert isinstance(fast_decoder_for(plain), FastDecoder)
    for shape in (CONVOLUTIONAL, RECURRENT):
        assert fast_decoder_for(other := moved(shape)) is other
    with recorded_attention(plain):
        assert fast_decoder_for(plain) is plain

    class Mine(MultiHeadAttention):
        pass

    class Other(Transformer):
        pass

    other = Other(TRANSFORMER)
    assert fast_decoder_for(other) is other
    width, heads = TRANSFORMER.d_model, TRANSFORMER.h
    for place in ("self_attention", "cross_attention"):
        changed = Transformer(TRANSFORMER)
        setattr(changed.decoder.layers[-1], place, Mine(width, heads))
        assert fast_decoder_for(changed) is changed
    changed = Transformer(TRANSFORMER)
    changed.decoder.layers[0] = nn.Identity()
    assert fast_decoder_for(changed) is changed


@pytest.mark.parametrize("name", PRESETS)
def test_it_takes_every_preset(name: str) -> None:
    with torch.device("meta"):
        assert isinstance(fast_decoder_for(Transformer(PRESETS[name])), FastDecoder)


def test_it_decodes_with_the_weights_as_they_are_now() -> None:
    model = tiny(1)
    decoder = fast_decoder_for(model)
    with torch.no_grad():
        model.target_embeddings.weight.mul_(0.5)
    for ours, theirs in zip(
        beam_search(decoder, pad(SOURCES)),
        beam_search(model, pad(SOURCES)),
        strict=True,
    ):
        assert_same(ours, theirs)


# Beams in one row


@few
@given(batch=st.integers(1, 3), beams=st.integers(1, 4), n=st.integers(1, 3))
def test_stacking_beams_can_be_undone(batch: int, beams: int, n: int) -> None:
    Q = normal(batch * beams, 2, n, 5)
    stacked = stack_beams(Q, batch)
    assert stacked.shape == (batch, 2, beams * n, 5)
    assert torch.equal(stacked[-1, :, -1], Q[-1, :, -1])
    assert torch.equal(unstack_beams(stacked, batch * beams), Q)


@few
@given(beams=st.integers(1, 4), n=st.integers(1, 3))
def test_beams_share_a_memory_as_if_each_had_its_own(beams: int, n: int) -> None:
    Q, K, V = (
        normal(2 * beams, 2, n, 4),
        normal(2, 2, 5, 4, seed=1),
        normal(2, 2, 5, 3, seed=2),
    )
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool()[:, None, None]
    copies = (each.repeat_interleave(beams, 0) for each in (K, V, mask))
    shared = unstack_beams(attend(stack_beams(Q, 2), K, V, mask)[0], len(Q))
    torch.testing.assert_close(shared, attend(Q, *copies)[0], rtol=0, atol=1e-12)


# The cache


@few
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=8), data=st.data())
def test_a_cache_holds_what_was_appended_selected_and_picked(
    sizes: list[int], data: st.DataObject
) -> None:
    cache, kept = KVCache(), [torch.empty(2, 3, 0, 4), torch.empty(2, 3, 0, 5)]
    for size in sizes:
        more = [torch.randn(len(each), 3, size, each.shape[3]) for each in kept]
        kept = [torch.cat(pair, dim=2) for pair in zip(kept, more, strict=True)]
        assert all(map(torch.equal, cache.append(*more), kept))
        rows = torch.tensor(
            data.draw(
                st.lists(st.integers(0, len(kept[0]) - 1), min_size=1, max_size=4)
            )
        )
        cache.select(rows)
        kept = [each[rows] for each in kept]
        length = kept[0].shape[2]
        if data.draw(st.booleans()):
            places = st.lists(st.integers(0, length - 1), min_size=1, max_size=length)
            picked = torch.tensor(data.draw(places)).expand(len(rows), -1)
            cache = gather_positions(cache, picked)
            kept = [each[:, :, picked[0]] for each in kept]
        assert all(map(torch.equal, cache.kept, kept))
        assert cache.length == kept[0].shape[2]


# Short sources


@pytest.mark.parametrize(
    "n", [1, MIN_SOURCE_LENGTH - 1, MIN_SOURCE_LENGTH, MIN_SOURCE_LENGTH + 3]
)
@pytest.mark.parametrize("longest", [None, 9, 100])
def test_a_narrow_batch_is_filled_up_with_padding_as_far_as_there_are_positions(
    n: int, longest: int | None
) -> None:
    positions: Any = "sinusoidal" if longest is None else "learned"
    source = torch.full((2, n), 4)
    wider = pad_to_minimum(
        source, TransformerConfig(positions=positions, max_length=longest or 1)
    )
    assert wider.shape == (
        2,
        max(n, min(MIN_SOURCE_LENGTH, longest or MIN_SOURCE_LENGTH)),
    )
    assert torch.equal(wider[:, :n], source) and bool((wider[:, n:] == PAD_ID).all())


@pytest.mark.parametrize(
    "change", [{}, {"positions": "learned", "max_length": 9}, {"positions": "relative"}]
)
def test_the_padding_of_a_narrow_batch_changes_nothing(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder = FastDecoder(tiny(3, **change))
    found = beam_search(decoder, pad(SOURCES))
    monkeypatch.setattr(aiayn.decoding.fast_decoder, "MIN_SOURCE_LENGTH", 1)
    for padded, plain in zip(found, beam_search(decoder, pad(SOURCES)), strict=True):
        assert_same(padded, plain)


# Products made ready


WIDE = TransformerConfig(
    vocabulary_size=300, N=2, d_model=128, d_ff=256, h=4, dropout=0.0
)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm": "pre"},
    {"attention_bias": True},
    {"share_embeddings": False},
    {"positions": "relative"},
    {"d_k": 24, "d_v": 40},
    {"score": "general"},
]


def wide(**changes: Any) -> Transformer:
    model = Transformer(replace(WIDE, **changes)).float().eval()
    with torch.no_grad():
        for number, weight in enumerate(model.parameters()):
            noise = torch.Generator().manual_seed(number)
            weight += 0.1 * torch.randn(weight.shape, generator=noise)
    return model


@pytest.mark.skipif(not has_packed_linear(), reason="no packed products here")
@pytest.mark.parametrize("change", VARIANTS, ids=str)
@pytest.mark.parametrize("beam", [1, 4])
def test_weights_in_order_find_the_same(change: dict[str, Any], beam: int) -> None:
    model = wide(**change)
    search = SearchConfig(beam, extra_length=12, n_best=beam)
    decoder = fast_decoder_for(model)
    assert isinstance(decoder, FastDecoder)
    assert any(isinstance(part, PackedLinear) for part in decoder.model.modules())
    assert_close_searches(decoder, model, search)


def assert_close_searches(
    decoder: Any, model: Transformer, search: SearchConfig
) -> None:
    source = pad(SOURCES)
    assert_alike(
        beam_search(decoder, source, search), beam_search(model, source, search)
    )


@pytest.mark.skipif(not has_packed_linear(), reason="no packed products here")
def test_a_product_of_any_rows_and_strides() -> None:
    linear = nn.Linear(64, 96)
    packed = PackedLinear(linear.weight, linear.bias)
    whole = torch.randn(3, 70, 128)
    with torch.inference_mode():
        for x in (
            whole[..., :64],
            whole[:, -1, :64],
            whole[:0, 0, 64:],
            whole[0, 0, 64:],
        ):
            torch.testing.assert_close(packed(x), linear(x), rtol=0, atol=1e-5)


@pytest.mark.skipif(not has_vnni(), reason="no VNNI here")
@pytest.mark.parametrize("bias", [True, False])
@torch.inference_mode()
def test_eight_bits_are_off_by_what_rounding_explains(bias: bool) -> None:
    """Each rounding is off by half a step at most, a step being a 127th of the largest
    number of the row.
    """
    torch.manual_seed(3)
    linear, x = nn.Linear(256, 512, bias), torch.randn(40, 256)
    x *= torch.logspace(-3, 3, 40)[:, None]
    product = Int8Linear(linear.weight, linear.bias)
    step, steps = (
        each.abs().amax(dim=1, keepdim=True) / 127 for each in (x, linear.weight)
    )
    bound = linear.weight.abs().sum(dim=1) * step / 2
    bound += x.abs().sum(dim=1, keepdim=True) * steps.T / 2 + 256 * step * steps.T / 4
    apart = (product(x) - linear(x)).abs()
    assert bool((apart <= 1.01 * bound).all())
    assert bool((apart.mean(dim=1) < 0.01 * x.abs().amax(dim=1)).all())


@pytest.mark.skipif(not has_vnni(), reason="no VNNI here")
@torch.inference_mode()
def test_in_eight_bits_no_row_changes_another() -> None:
    torch.manual_seed(3)
    product, x = Int8Linear(*nn.Linear(64, 96).parameters()), torch.randn(3, 5, 64)
    x[0, 1] *= 1000
    x[1, 2], x[2, 3] = 0.0, torch.nan
    found = product(x)
    assert found[2, 3].isnan().all() and found.isnan().sum() == 96
    for row, y in zip(x.flatten(0, 1), found.flatten(0, 1), strict=True):
        assert torch.equal(product(row[None])[0].nan_to_num(7), y.nan_to_num(7))


@pytest.mark.skipif(not has_vnni(), reason="no VNNI here")
@torch.inference_mode()
def test_a_decoder_in_eight_bits_scores_nearly_as_the_model() -> None:
    model = wide()
    decoder = fast_decoder_for(model, "int8")
    assert isinstance(decoder, FastDecoder)
    kinds = {type(part) for part in decoder.model.modules()}
    assert Int8Linear in kinds and not kinds & {PackedLinear, nn.Linear}
    source, target = sentences(7, 1, 4), sentences(8, 8, 8)
    state = decoder.start(source)
    found = decoder.step(target, state).log_softmax(-1)
    wanted = model(source, target)[:, -1].log_softmax(-1)
    assert 1e-5 < float((found - wanted).abs().mean()) < 0.1


def test_without_vnni_it_says_so_and_stays_in_float32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aiayn.decoding.quantization, "has_vnni", lambda: False)
    model = wide()
    with pytest.warns(UserWarning, match="VNNI.*as usual"):
        decoder = fast_decoder_for(model, "int8")
    assert not any(
        isinstance(p, Int8Linear) for p in cast(FastDecoder, decoder).model.modules()
    )
    assert_close_searches(decoder, model, SearchConfig(4, extra_length=8))


def test_other_models_have_no_eight_bits() -> None:
    other = moved(RECURRENT)
    with pytest.warns(UserWarning, match="int8 needs a Transformer"):
        assert fast_decoder_for(other, "int8") is other


def test_narrow_and_double_models_are_left_as_they_are() -> None:
    for model in (wide(d_model=64, d_ff=64), wide().double()):
        assert cast(FastDecoder, fast_decoder_for(model)).model is model


def test_a_translator_keeps_its_decoder_until_a_weight_or_a_part_changes() -> None:
    vocabulary = train_vocabulary(["the cat sleeps", "die Katze schläft"] * 20, 60)
    model = wide(vocabulary_size=len(vocabulary))
    translator = Translator(model, vocabulary)
    first = translator.decoder
    translator("the cat")
    assert isinstance(first, FastDecoder) and translator.decoder is first
    optimizer = make_optimizer(model)
    model(sentences(3), sentences(3)).sum().backward()
    set_rate(optimizer, 1e-3)
    optimizer.step()
    second = translator.decoder
    assert second is not first and translator.decoder is second
    assert_close_searches(second, model, SearchConfig(1, extra_length=8))
    model.load_state_dict(wide(vocabulary_size=len(vocabulary)).state_dict())
    third = translator.decoder
    assert third is not second
    with recorded_attention(model):
        assert translator.decoder is model
    translator.compute = "int8"
    with warnings.catch_warnings(action="ignore"):  # there may be no VNNI here
        assert translator.decoder is not third


@pytest.mark.skipif(not has_vnni(), reason="no VNNI here")
def test_a_translator_in_eight_bits_uses_them() -> None:
    vocabulary = train_vocabulary(["the cat sleeps", "die Katze schläft"] * 20, 60)
    model = wide(vocabulary_size=len(vocabulary))
    usual, rounded = (
        Translator(model, vocabulary, compute=kind).n_best(["the cat"], 1)[0][0].score
        for kind in get_args(Compute)
    )
    assert 1e-6 < abs(usual - rounded) < 0.5
