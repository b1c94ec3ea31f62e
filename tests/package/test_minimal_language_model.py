"""The model of today: a Llama with these weights, with and without its cache, and
faster with a draft, but never different.
"""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from aiayn.minimal.language_model import (
    Cache,
    LanguageModel,
    concatenate_pairs,
    generate,
    rotate,
)
from aiayn.minimal.transformer import BOS, EOS, PAD

SIZE = 30
SHAPE = {"N": 3, "d_model": 32, "d_ff": 48, "h": 4, "groups": 2}


def model(seed: int = 1, **changes: int) -> LanguageModel:
    torch.manual_seed(seed)
    made = LanguageModel(SIZE, **(SHAPE | changes)).eval()
    with torch.no_grad():
        for weight in made.parameters():  # norms are not ones, and texts go on
            weight.add_(0.3 * torch.randn_like(weight))
    return made


def texts(*shape: int) -> Tensor:
    return torch.randint(4, SIZE, shape, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_it_is_a_llama(groups: int) -> None:
    transformers = pytest.importorskip("transformers")
    ours = model(groups=groups)
    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=SIZE,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=groups,
            rms_norm_eps=1e-6,
            tie_word_embeddings=True,
        )
    )
    under = theirs.model
    pairs = [(under.embed_tokens, ours.embeddings), (under.norm, ours.norm)]
    for there, here in zip(under.layers, ours.layers, strict=True):
        attention, network = here.attention, here.feed_forward
        pairs += [
            (there.self_attn.q_proj, attention.W_Q),
            (there.self_attn.k_proj, attention.W_K),
            (there.self_attn.v_proj, attention.W_V),
            (there.self_attn.o_proj, attention.W_O),
            (there.mlp.gate_proj, network.W_1),
            (there.mlp.down_proj, network.W_2),
            (there.mlp.up_proj, network.W_3),
            (there.input_layernorm, here.residuals[0].norm),
            (there.post_attention_layernorm, here.residuals[1].norm),
        ]
    for there, here in pairs:
        there.weight = here.weight
    theirs.tie_weights()
    carried = sum(here.weight.numel() for _, here in pairs)
    assert carried == sum(weight.numel() for weight in ours.parameters())
    tokens = texts(2, 11)
    with torch.no_grad():
        assert_close(ours(tokens), theirs.eval()(tokens).logits, rtol=1e-4, atol=1e-4)


def test_the_cache_changes_nothing() -> None:
    whole, tokens = model(), texts(2, 11)
    caches = [Cache() for _ in whole.layers]
    with torch.no_grad():
        parts = [whole(part, caches) for part in tokens.split([5, 1, 5], dim=1)]
        expected = whole(tokens)
    assert_close(torch.cat(parts, dim=1), expected, rtol=1e-4, atol=1e-4)
    assert [cache.length for cache in caches] == [11, 11, 11]
    assert caches[0].K is not None and caches[0].K.shape == (2, 2, 11, 8)


def test_a_cropped_cache_goes_on_from_there() -> None:
    whole, tokens = model(), texts(1, 9)
    caches = [Cache() for _ in whole.layers]
    with torch.no_grad():
        whole(torch.cat([tokens[:, :5], texts(1, 3)], dim=1), caches)
        for cache in caches:
            cache.crop(5)
        found, expected = whole(tokens[:, 5:], caches), whole(tokens)[:, 5:]
    assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_scores_depend_on_distance() -> None:
    Q, K = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(3)).double()
    here = rotate(Q) @ rotate(K).T
    there = rotate(Q, start=70) @ rotate(K, start=70).T
    assert_close(here, there, rtol=1e-4, atol=1e-4)
    assert_close(rotate(Q, start=2)[0], rotate(torch.stack([Q[0]] * 3))[2])
    assert_close(rotate(Q).norm(dim=-1), Q.norm(dim=-1), rtol=1e-6, atol=1e-6)


def test_only_the_target_is_predicted() -> None:
    tokens, labels = concatenate_pairs([([7, 8], [5, 6, EOS]), ([9], [4, EOS])])
    assert tokens.tolist() == [[7, 8, BOS, 5, 6], [9, BOS, 4, PAD, PAD]]
    assert labels.tolist() == [[PAD, PAD, 5, 6, EOS], [PAD, 4, EOS, PAD, PAD]]


def test_texts_end_where_they_end() -> None:
    large, prompts = model(), texts(8, 4)
    found = generate(large, prompts, longest=40)
    for row, prompt in zip(found, prompts, strict=True):
        alone = generate(large, prompt[None], longest=40)[0]
        assert row[: len(alone)].tolist() == alone.tolist()
        assert EOS not in alone[4:-1]
