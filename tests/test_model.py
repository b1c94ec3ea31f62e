"""The whole model: torch.nn.Transformer's equal, blind to the future and padding, the same with a cache."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.model import PRESETS, Transformer, TransformerConfig, config, start, step

V = 40
ALTERNATIVES: dict[str, dict[str, Any]] = {
    "paper": {},
    "learned": {"positions": "learned"},
    "relative": {"positions": "relative"},
    "no-positions": {"positions": "none"},
    "unscaled": {"score": "unscaled"},
    "general": {"score": "general"},
    "additive": {"score": "additive"},
    "pre": {"norm": "pre"},
    "narrow-keys": {"d_k": 4, "d_v": 12},
    "wide-keys": {"d_k": 16, "d_v": 5},
    "odd-heads": {"h": 3, "d_k": 7, "d_v": 9},
    "bias": {"attention_bias": True},
    "two-embeddings": {"share_embeddings": False},
    "all-at-once": {"positions": "relative", "score": "additive", "norm": "pre", "d_k": 6, "d_v": 10},
}
# What PyTorch calls a part, and what the book calls it. Shapes and order are the same.
RENAMED = {
    "self_attn": "self_attention",
    "multihead_attn": "memory_attention",
    "in_proj_": "projections.",
    "out_proj": "W_O",
    "linear1": "feed_forward.W_1",
    "linear2": "feed_forward.W_2",
    "norm1": "residuals.0.norm",
    "norm2": "residuals.1.norm",
    "norm3": "residuals.2.norm",
}


def in_our_names(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights of torch.nn.Transformer, under the names that they have in `Transformer`."""
    for theirs, ours in RENAMED.items():
        weights = {name.replace(theirs, ours): weight for name, weight in weights.items()}
    return weights


def small(**changes: Any) -> Transformer:
    """A model without dropout, all its parameters moved: gains must not be 1, biases not 0."""
    shape = {"vocabulary_size": V, "N": 2, "d_model": 32, "d_ff": 48, "h": 4, "dropout": 0.0, **changes}
    model = Transformer(TransformerConfig(**shape)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter += 0.1 * torch.randn(parameter.shape)
    return model


@pytest.fixture(autouse=True)
def one_thread(fresh_state: None) -> None:
    """For models this small a second thread costs more than it brings: 54 s where one takes 8."""
    torch.set_num_threads(1)


@pytest.fixture(params=ALTERNATIVES.values(), ids=ALTERNATIVES.keys())
def model(request: pytest.FixtureRequest) -> Transformer:
    return small(**request.param)


def sentences(*lengths: int, width: int | None = None) -> Tensor:
    """Random tokens, a row for each length, filled up with padding, which is 0."""
    rows = [F.pad(torch.randint(1, V, (n,)), (0, (width or max(lengths)) - n)) for n in lengths]
    return torch.stack(rows)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def padded(tokens: Tensor, places: int) -> Tensor:
    return F.pad(tokens, (0, places))


# The same as torch.nn.Transformer


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_torch_nn_transformer(bias: bool, norm: str) -> None:
    ours = small(attention_bias=bias, norm=norm).train().requires_grad_()
    theirs = nn.Transformer(32, 4, 2, 2, 48, dropout=0.0, batch_first=True, norm_first=norm == "pre")
    if norm == "post":  # torch normalises what is normalised already once more
        theirs.encoder.norm = theirs.decoder.norm = None
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter += 0.1 * torch.randn(parameter.shape)
            if not bias and name.endswith(("in_proj_bias", "out_proj.bias")):
                parameter.zero_()
    counterparts = in_our_names(dict(theirs.named_parameters()))
    if not bias:
        zero = ("projections.bias", "W_O.bias")
        counterparts = {name: p for name, p in counterparts.items() if not name.endswith(zero)}
    found = ours.load_state_dict(counterparts, strict=False)
    assert found.unexpected_keys == [] and {name.split(".")[0] for name in found.missing_keys} == {
        "source_embeddings",
        "target_embeddings",
    }

    source, target, answers = sentences(7, 4, 5), sentences(6, 6, 3), sentences(6, 6, 3)
    matrix = ours.target_embeddings.weight.detach().clone().requires_grad_()
    positions, hidden = ours.positions, source == 0
    decoded = theirs(
        positions(matrix[source] * 32**0.5),
        positions(matrix[target] * 32**0.5),
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),
        src_key_padding_mask=hidden,
        memory_key_padding_mask=hidden,
    )
    expected, logits = decoded @ matrix.T, ours(source, target)
    close(logits, expected)

    for scores in (logits, expected):
        F.cross_entropy(scores.flatten(0, 1), answers.flatten(), ignore_index=0).backward()
    for name, parameter in ours.named_parameters():
        close(parameter.grad, matrix.grad if "embeddings" in name else counterparts[name].grad)


# Blind to the future and to padding


def test_a_later_target_token_changes_nothing_before_it(model: Transformer) -> None:
    source, target = sentences(6, 4), sentences(8, 8)
    logits = model(source, target)
    for j in range(8):
        other = target.clone()
        other[:, j] = other[:, j] % (V - 1) + 1
        changed = model(source, other)
        assert torch.equal(changed[:, :j], logits[:, :j])
        assert not torch.equal(changed[:, j], logits[:, j])


def test_what_padding_holds_changes_nothing(model: Transformer) -> None:
    source, target = sentences(7, 3, 5), sentences(6, 2, 4)
    words = target != 0
    memory, logits = model.encode(source), model(source, target)
    decoded = model.decode(target, memory, source)
    for embeddings in {model.source_embeddings, model.target_embeddings}:
        embeddings.weight[0] = 100 * torch.randn(32)
    assert torch.equal(model.encode(source)[source != 0], memory[source != 0])
    assert torch.equal(model.decode(target, model.encode(source), source)[words], decoded[words])
    # the score of padding itself comes from its embedding
    assert torch.equal(model(source, target)[words][:, 1:], logits[words][:, 1:])


def test_how_much_padding_there_is_changes_nothing(model: Transformer) -> None:
    source, target = sentences(7, 3, 5), sentences(6, 2, 4)
    words = target != 0
    logits = model(source, target)
    close(model(padded(source, 3), padded(target, 5))[:, :6][words], logits[words])
    close(model.encode(padded(source, 9))[:, :7][source != 0], model.encode(source)[source != 0])


def greedy(model: Transformer, source: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """What the model writes, and its scores at each step."""
    state, tokens, scores = start(model, source), [torch.ones(len(source), 1, dtype=torch.long)], []
    for _ in range(steps):
        scores.append(step(model, tokens[-1], state))
        tokens.append(scores[-1].argmax(-1, keepdim=True))
    return torch.cat(tokens, dim=1), torch.stack(scores, dim=1)


def test_decoding_does_not_depend_on_the_rest_of_the_batch(model: Transformer) -> None:
    lengths = (3, 9, 5, 1)
    batch = sentences(*lengths)
    tokens, scores = greedy(model, batch, 8)
    for row, n in enumerate(lengths):
        alone, its_scores = greedy(model, batch[row : row + 1, :n], 8)
        assert torch.equal(alone[0], tokens[row])
        close(its_scores[0], scores[row])


# The same with a cache


@pytest.mark.parametrize("chunks", [[1] * 8, [3, 1, 1, 1, 1, 1], [8], [2, 4, 2]], ids=str)
def test_cached_is_uncached(model: Transformer, chunks: list[int]) -> None:
    source, target = sentences(7, 4, 5), sentences(8, 8, 8)
    expected = model(source, target)
    state, end = start(model, source), 0
    for n in chunks:
        close(step(model, target[:, end : end + n], state), expected[:, end + n - 1])
        end += n
        assert state.length == end
        # the memory's keys and values were kept: it is not looked at again
        state.memory = torch.full_like(state.memory, torch.nan)


def test_beams_are_reordered_and_sentences_leave(model: Transformer) -> None:
    source = sentences(7, 4, 5)
    beams = sentences(*[3] * 6)  # two for each sentence
    state = start(model, source)
    found = step(model, beams, state)
    close(found, model(source.repeat_interleave(2, 0), beams)[:, -1])

    rows = torch.tensor([1, 1, 2, 3, 5, 4])  # the first sentence drops a beam and doubles the other
    beams = torch.cat([beams[rows], sentences(*[1] * 6)], dim=1)
    state.select(rows)
    close(step(model, beams[:, -1:], state), model(source.repeat_interleave(2, 0), beams)[:, -1])

    stay, rows = torch.tensor([0, 2]), torch.tensor([0, 1, 4, 5])
    beams = torch.cat([beams[rows], sentences(*[1] * 4)], dim=1)
    state.select(rows, stay)
    close(step(model, beams[:, -1:], state), model(source[stay].repeat_interleave(2, 0), beams)[:, -1])


def test_beams_that_die_and_branch_are_as_if_each_were_alone(model: Transformer) -> None:
    source, beams = sentences(6, 4), torch.ones(6, 1, dtype=torch.long)
    chance = torch.Generator().manual_seed(1)
    state, kept = start(model, source), []
    for length in range(1, 61):
        found = step(model, beams[:, -1:], state)
        kept.append(state.caches[0].target.length)
        if length % 15 == 0:
            close(found, model(source.repeat_interleave(len(beams) // len(source), 0), beams)[:, -1])
        rows = torch.cat(
            [torch.randint(3 * k, 3 * k + 3, (3,), generator=chance) for k in range(len(source))]
        )
        leaves = length == 40  # the first sentence is done
        rows = rows[3:] if leaves else rows
        newest = torch.randint(4, 40, (len(rows), 1), generator=chance)
        beams = torch.cat([beams[rows], newest], dim=1)
        state.select(rows, torch.tensor([1]) if leaves else None)
        source = source[1:] if leaves else source
    assert state.length == 60
    assert max(kept) < 140  # 3 new ones a step: what nobody descends from was dropped


# Shapes, configurations, weights on disk


def test_heads_may_have_any_width() -> None:
    model = small(h=3, d_k=7, d_v=9)
    attention = model.encoder.layers[0].self_attention
    assert attention.projections.weight.shape == (3 * (7 + 7 + 9), 32)
    assert attention.W_O.weight.shape == (32, 3 * 9)


def test_weights_survive_being_saved(model: Transformer, tmp_path: Path) -> None:
    source, target = sentences(7, 4), sentences(300, 300)  # the first table of positions is shorter
    logits = model(source, target)
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    again = Transformer(model.config).eval()
    again.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert torch.equal(again(source, target), logits)
    assert (again.source_embeddings is again.target_embeddings) == model.config.share_embeddings


def test_weights_of_another_shape_are_refused() -> None:
    with pytest.raises(RuntimeError, match="size mismatch"):
        small(d_ff=64).load_state_dict(small().state_dict())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"N": 0}, "N=0: must be at least 1"),
        ({"vocabulary_size": -1}, "vocabulary_size=-1"),
        ({"d_k": 0}, "d_k=0"),
        ({"dropout": 1.5}, "dropout=1.5: must lie between 0 and 1"),
        ({"d_model": 100}, "d_model=100 does not divide into h=8 heads: give d_k and d_v"),
        ({"d_model": 100, "d_k": 16}, "give d_k and d_v"),
        ({"pad_id": 37000}, "pad_id=37000"),
        ({"positions": "sinusoid"}, "positions='sinusoid': must be one of sinusoidal, learned"),
        ({"score": "cosine"}, "score='cosine'"),
        ({"norm": "none"}, "norm='none'"),
    ],
    ids=str,
)
def test_what_cannot_be_built_is_refused(changes: dict[str, Any], message: str) -> None:
    shape = TransformerConfig()
    for name, value in changes.items():  # past the run-time type check, which is first
        object.__setattr__(shape, name, value)
    with pytest.raises(ValueError, match=message):
        shape.__post_init__()


def test_a_name_that_is_no_configuration() -> None:
    with pytest.raises(ValueError, match="unknown configuration 'bass': did you mean 'base'"):
        config("bass")
    with pytest.raises(ValueError, match="there are base, big, small, multi30k, laboratory"):
        config("?")
    assert config("base", N=2).N == 2 and PRESETS["base"].N == 6


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        (config("base"), 63_045_632),
        (config("big"), 214_171_648),
        (config("base", vocabulary_size=40960), 65_073_152),  # the authors' code: Table 3 says 65
        (config("base", share_embeddings=False), 63_045_632 + 37000 * 512),
    ],
    ids=["base", "big", "base-40960", "two-embeddings"],
)
def test_parameters(shape: TransformerConfig, count: int) -> None:
    with torch.device("meta"):
        assert sum(parameter.numel() for parameter in Transformer(shape).parameters()) == count
