"""What all models have in common: blind to padding and the future, the same word by
word, searched alike.
"""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from small_models import (
    CONVOLUTIONAL,
    RECURRENT,
    SHAPES,
    TRANSFORMER,
    TRANSFORMERS,
    V,
    close,
    moved,
    sentences,
)
from small_runs import QUICK, same, same_end, tensors, write_corpus
from test_translation_translator import assert_same, literal_search
from torch.utils.flop_counter import FlopCounterMode

from aiayn.ablations.rows import parameters
from aiayn.data import train_vocabulary
from aiayn.data.batching import pad
from aiayn.data.vocabulary import BOS_ID, EOS_ID
from aiayn.decoding import SearchConfig, beam_search
from aiayn.errors import InputError
from aiayn.model import TransformerConfig, build, config
from aiayn.model.baselines.conv_seq2seq import ConvolutionalConfig
from aiayn.model.baselines.recurrent import RecurrentConfig
from aiayn.model.encoder_decoder import EncoderDecoder, ModelConfig
from aiayn.model.recording import recorded_attention
from aiayn.training import load_checkpoint, recipe, train_model
from aiayn.training.checkpoint import save_checkpoint
from aiayn.translation import Translator

pytestmark = pytest.mark.usefixtures("one_thread")
KINDS = {
    "transformer": TRANSFORMER,
    "convolutional": CONVOLUTIONAL,
    "recurrent": RECURRENT,
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def model(request: pytest.FixtureRequest) -> EncoderDecoder:
    return moved(request.param)


# Blind to the future and to padding


def test_a_later_target_token_changes_nothing_before_it(model: EncoderDecoder) -> None:
    source, target = sentences(6, 4), sentences(8, 8)
    logits = model(source, target)
    for j in range(8):
        other = target.clone()
        other[:, j] = other[:, j] % (V - 1) + 1
        changed = model(source, other)
        assert torch.equal(changed[:, :j], logits[:, :j])
        assert not torch.equal(changed[:, j], logits[:, j])


def test_a_sentence_alone_or_among_longer_ones_is_the_same(
    model: EncoderDecoder,
) -> None:
    source, target = sentences(7, 1, 4), sentences(6, 3, 1)
    together = model(F.pad(source, (0, 5)), F.pad(target, (0, 2)))
    for row, (n, m) in enumerate([(7, 6), (1, 3), (4, 1)]):
        close(
            together[row, :m],
            model(source[row : row + 1, :n], target[row : row + 1, :m])[0],
        )


def test_padding_changes_no_gradient(model: EncoderDecoder) -> None:
    model.requires_grad_()
    source, target = sentences(5, 2), sentences(4, 4)
    gradients = []
    for places in (0, 3):
        model.zero_grad()
        model(F.pad(source, (0, places)), target).sum().backward()
        gradients.append([weight.grad for weight in model.parameters()])
    for without, padded in zip(*gradients, strict=True):
        close(padded, without, 1e-4)


# The same word by word


@pytest.mark.parametrize(
    "chunks", [[1] * 8, [3, 1, 1, 1, 1, 1], [8], [2, 4, 2]], ids=str
)
def test_steps_are_teacher_forcing(model: EncoderDecoder, chunks: list[int]) -> None:
    source, target = sentences(7, 1, 4), sentences(8, 8, 8)
    expected, state, end = model(source, target), model.start(source), 0
    for n in chunks:
        close(model.step(target[:, end : end + n], state), expected[:, end + n - 1])
        end += n


def test_beams_branch_are_reordered_and_their_sentences_leave(
    model: EncoderDecoder,
) -> None:
    source, beams = sentences(7, 4, 5), sentences(3, 3, 3)
    state = model.start(source)
    close(model.step(beams, state), model(source, beams)[:, -1])

    rows = torch.tensor([0, 0, 1, 1, 2, 2])  # two for each sentence
    beams = torch.cat([beams[rows], sentences(*[1] * 6)], dim=1)
    state.select(rows)
    close(
        model.step(beams[:, -1:], state),
        model(source.repeat_interleave(2, 0), beams)[:, -1],
    )

    # The first sentence drops a beam and doubles the other.
    rows = torch.tensor([1, 1, 2, 3, 5, 4])
    beams = torch.cat([beams[rows], sentences(*[1] * 6)], dim=1)
    state.select(rows)
    close(
        model.step(beams[:, -1:], state),
        model(source.repeat_interleave(2, 0), beams)[:, -1],
    )

    stay, rows = torch.tensor([0, 2]), torch.tensor([0, 1, 4, 5])
    beams = torch.cat([beams[rows], sentences(*[1] * 4)], dim=1)
    state.select(rows)
    close(
        model.step(beams[:, -1:], state),
        model(source[stay].repeat_interleave(2, 0), beams)[:, -1],
    )


@pytest.mark.parametrize("beam", [1, 4])
def test_a_search_finds_what_teacher_forcing_scores(
    model: EncoderDecoder, beam: int
) -> None:
    """Alone or in a batch the same hypotheses, with the log probabilities of teacher
    forcing.
    """
    model, lengths = model.double(), (6, 1, 17, 4)
    source = F.pad(sentences(*lengths), (0, 1))
    for row, n in enumerate(lengths):
        source[row, n] = EOS_ID
    search = SearchConfig(beam=beam, extra_length=8, n_best=beam)
    for row, (n, found) in enumerate(
        zip(lengths, beam_search(model, source, search), strict=True)
    ):
        (alone,) = beam_search(model, source[row : row + 1, : n + 1], search)
        assert [each.tokens for each in alone] == [each.tokens for each in found]
        for hypothesis in found:
            tokens = torch.tensor([[BOS_ID, *hypothesis.tokens]])
            scores = model(source[row : row + 1], tokens[:, :-1]).log_softmax(dim=-1)
            total = float(scores.gather(-1, tokens[:, 1:, None]).sum())
            assert math.isclose(total, hypothesis.log_probability, abs_tol=1e-9)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_beam_search_finds_what_the_literal_search_finds(
    shape: ModelConfig, beam: int
) -> None:
    model = moved(replace(shape, vocabulary_size=7)).double()
    model.target_embeddings.weight *= 2  # more decided
    sources = [
        [4, EOS_ID],
        [5, 4, 5, 5, 4, 4, 5, EOS_ID],
        [5, 4, EOS_ID],
        [4, 4, 4, 5, EOS_ID],
    ]
    search = SearchConfig(beam, extra_length=3, n_best=1)
    found = beam_search(model, pad(sources), search)
    for source, hypotheses in zip(sources, found, strict=True):
        if beam == 1:  # greedy search ends where the end is the likeliest
            assert_same(
                hypotheses, beam_search(model, torch.tensor([source]), search)[0]
            )
        else:
            assert_same(hypotheses, literal_search(model, source, search))


# Configurations, counts, checkpoints


SHOULD = {
    "N": [0, 2.0, True, "2", -1, 1001],
    "vocabulary_size": [-1],
    "d_model": [10**6],
    "d_k": [0, 8.0],
    "dropout": [1.5, math.nan, math.inf, "0", False],
    "attention_dropout": [1.5, -0.1],
    "share_embeddings": [1],
    "positions": [None, "sinusoid"],
    "score": ["cosine", ["scaled"]],
    "norm": ["none"],
    "max_length": [3 * 10**7],
}
OTHERS_SHOULD: list[tuple[type[ModelConfig], dict[str, list[Any]]]] = [
    (TransformerConfig, SHOULD),
    (ConvolutionalConfig, {"kernel": [0, 3.0], "growth": [0], "separable": ["no"]}),
    (ConvolutionalConfig, {"N": [0], "max_length": [0], "dropout": [2.0]}),
    (RecurrentConfig, {"d_state": [0], "attention": ["luong"], "d_model": [0]}),
    (RecurrentConfig, {"dropout": [2.0]}),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("shape", "wrong", "says"),
    [
        *(
            (shape, {name: value}, f"{name}={value!r}: should be")
            for shape, fields in OTHERS_SHOULD
            for name, values in fields.items()
            for value in values
        ),
        (
            TransformerConfig,
            {"d_model": 100},
            "d_model=100 does not divide into h=8 he",
        ),
        (TransformerConfig, {"d_model": 100, "d_k": 16}, "give d_k and d_v"),
        (
            TransformerConfig,
            {"pad_id": 37_000},
            "pad_id=37000: the vocabulary has 37000",
        ),
        (
            ConvolutionalConfig,
            {"kernel": 4},
            "kernel=4: the encoder's layers are centr",
        ),
        (ConvolutionalConfig, {"growth": 10**5}, "the last layer would skip over"),
        (ConvolutionalConfig, {"growth": 2, "N": 40}, "take fewer layers"),
        (RecurrentConfig, {"d_state": 7}, "d_state=7: must be even"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_what_cannot_be_built_is_refused(
    shape: Any, wrong: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        shape(**wrong)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_configuration_survives_being_written_down(shape: ModelConfig) -> None:
    assert ModelConfig.from_dict(shape.to_dict()) == shape


@pytest.mark.parametrize(
    "name", ["conv", "rnn", "rnn-additive", "rnn-dot", "rnn-general"]
)
def test_a_recipe_has_about_the_parameters_of_the_synthetic_recipe(name: str) -> None:
    model = recipe(name).model
    assert type(model) in (ConvolutionalConfig, RecurrentConfig)
    assert math.isclose(
        parameters(model), parameters(config("synthetic")), rel_tol=0.05
    )


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in TRANSFORMERS])
def test_the_work_is_what_torch_counts(name: str) -> None:
    """For Transformers see test_complexity_flops.py."""
    model = moved(SHAPES[name])
    # Where n = m, a GRU gets a kernel of which nothing is counted.
    for n, m in [(7, 5), (1, 2), (3, 12)]:
        with (
            torch.no_grad(),
            FlopCounterMode(display=False) as counter,
            recorded_attention(model),
        ):
            # Written out, as the fused kernel is not counted.
            model(sentences(n, n), sentences(m, m))
        assert counter.get_total_flops() == 2 * model.config.forward_flops(n, m)


def test_dropout_is_for_training_only(model: EncoderDecoder) -> None:
    model = build(replace(model.config, dropout=0.5)).eval()
    source, target = sentences(5), sentences(4)
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    assert not torch.equal(model(source, target), model(source, target))


# Checkpoints and training


def test_a_checkpoint_holds_all_of_it(model: EncoderDecoder, tmp_path: Path) -> None:
    vocabulary = train_vocabulary(
        ["the cat sat on a small old mat and the dog saw it"], V
    )
    save_checkpoint(tmp_path / "model", model, vocabulary)
    loaded, _ = load_checkpoint([tmp_path / "model"])
    assert loaded.config == model.config and type(loaded) is type(model)
    assert same(dict(loaded.named_parameters()), dict(model.named_parameters()))
    lines, search = ["the cat sat", "a dog", ""], SearchConfig(extra_length=5)
    expected = Translator(model, vocabulary, search)(lines)
    assert Translator.load(tmp_path / "model", search=search)(lines) == expected


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("shape", KINDS.values(), ids=KINDS.keys())
def test_a_run_that_was_interrupted_ends_as_one_that_was_not(
    shape: ModelConfig, corpus: Path, tmp_path: Path
) -> None:
    whole = replace(QUICK, model=replace(shape, vocabulary_size=60, dropout=0.1))
    train_model(whole, str(corpus), "en-de", tmp_path / "whole")
    train_model(replace(whole, steps=3), str(corpus), "en-de", tmp_path / "parts")
    train_model(whole, str(corpus), "en-de", tmp_path / "parts", resume=True)
    assert same_end(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_every_parameter_learns(
    shape: ModelConfig, corpus: Path, tmp_path: Path
) -> None:
    settings = replace(QUICK, model=replace(shape, vocabulary_size=60), steps=2)
    train_model(settings, str(corpus), "en-de", tmp_path / "run")
    torch.manual_seed(settings.seed)
    fresh = dict(build(settings.model).named_parameters())
    found = tensors(tmp_path / "run")
    assert found.keys() == fresh.keys()
    assert not any(torch.equal(found[name], fresh[name]) for name in found)
