"""Pairs in memory become a translator, which goes on with others, is saved, loaded, and
says how it fares.
"""

import doctest
import io
import itertools
import json
import logging
import math
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import small_models
import torch
from small_runs import write_corpus
from torch import Tensor, nn

import aiayn
import aiayn.training.trainer
from aiayn import InputError, Pairs, Translator, recipe, register, train
from aiayn.base_config import changed
from aiayn.data.columns import pairs_of
from aiayn.model import (
    Attention,
    Encoder,
    Transformer,
    TransformerConfig,
    build,
    causal_mask,
    encoder_layer,
)
from aiayn.model.registry import ARCHITECTURES, check_roundtrip
from aiayn.model.scores import unscaled_dot_product
from aiayn.synthetic import sample
from aiayn.training import TrainingConfig
from aiayn.training.metrics_log import Metrics
from aiayn.training.progress import Progress
from aiayn.training.recipes import BatchConfig, CheckpointConfig, OptimizerConfig
from aiayn.training.step import accumulate_gradients
from aiayn.training.trained_run import TrainedRun
from aiayn.translation.api import example, hold_out
from aiayn.translation.translator import CutOff

Rows = list[tuple[str, str]]
SHAPE = TransformerConfig(
    vocabulary_size=120, N=1, d_model=16, d_ff=32, h=2, dropout=0.0
)
SHORT = TrainingConfig(
    SHAPE,
    optimizer=OptimizerConfig(warmup=6),
    batches=BatchConfig(tokens=300),
    checkpoints=CheckpointConfig(steps=4, keep=2, average=2),
    steps=12,
)


# A tenth of eighty sentences has letters that the others lack.
pytestmark = pytest.mark.filterwarnings("ignore:.*unknown to the vocabulary")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(aiayn.training.trainer, "hardware_peak", lambda *_: 1e9)
    # The command line sets them.
    monkeypatch.setattr(logging.getLogger("aiayn"), "handlers", [])
    kept = dict(ARCHITECTURES)
    yield
    ARCHITECTURES.clear()
    ARCHITECTURES.update(kept)


@pytest.fixture(scope="module")
def pairs() -> Rows:
    return [(pair.source, pair.target) for pair in sample(80, 1)]


def learn(config: TrainingConfig | str, text: Any, **options: Any) -> Translator:
    return train(config, text, progress=False, **options)


def weights(model: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def test_pairs_in_a_list_become_a_translator(pairs: Rows, tmp_path: Path) -> None:
    translator = learn(SHORT, pairs, out=tmp_path / "run")
    assert isinstance(translator(pairs[0][0]), str) and translator.steps == 12
    assert torch.equal(
        weights(translator.model), weights(Translator.load(str(tmp_path / "run")).model)
    )
    elsewhere = learn(SHORT, iter(pairs))
    # The folder has no part in it.
    assert torch.equal(weights(translator.model), weights(elsewhere.model))


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_pair_is_named(pairs: Rows) -> None:
    wrong: list[Any] = ["xy", ("a", "b", "c"), ("a", 3), b"xy", None, 7]
    # Of these Python would give keys, or any order.
    wrong += [
        {"en": "a", "de": "b"},
        {"a", "b"},
        frozenset("ab"),
        {"a": 1, "b": 2}.keys(),
    ]
    whole: list[Any] = [{("a", "b"): 1, ("c", "d"): 2}, {("a", "b"), ("c", "d")}, "xy"]
    no_pair = r"is .*: give \(sentence, translation\)"
    cases: list[tuple[Any, str]] = [
        *(([pairs[0], row], f"pair 2 {no_pair}") for row in wrong),
        *((rows, f"pair 1 {no_pair}") for rows in whole),
        ([pairs[0], ("bad \ud83d", "x")], "source, line 2: half of a character"),
        ([pairs[0], ("x", "bad\0")], "target, line 2: a NUL byte"),
        ([pairs[0], ("x", "\u200b")], "target, line 2: nothing that can be seen"),
        ([("a", "b"), ("c", "d\ne")], "target, line 2: a line break within"),
    ]
    for rows, says in cases:
        with pytest.raises(InputError, match=says):
            pairs_of(rows)
    assert pairs_of([["\ufeffa ", "u\u0308"]]).target == ["ü"]
    ended = pairs_of((f"{source}\n", f" {target} \r\n") for source, target in pairs)
    assert list(zip(ended.source, ended.target, strict=True)) == pairs
    with pytest.raises(InputError, match="too few sentences to hold one out"):
        learn(SHORT, [("a", "b")] * 3)


def test_no_sentence_is_trained_on_and_held_out() -> None:
    lines = Pairs([f"s{k % 50}" for k in range(150)], [f"t{k}" for k in range(150)])
    kept, held = hold_out(lines, seed=1)
    assert not {*kept.source} & {*held.source} and len({*held.source}) == 2
    assert sorted([*kept.target, *held.target]) == sorted(lines.target)
    assert (
        hold_out(lines, seed=1)[1].source
        == held.source
        != hold_out(lines, seed=2)[1].source
    )


def test_what_is_held_out_can_be_given(pairs: Rows, tmp_path: Path) -> None:
    learn(SHORT, pairs[:70], valid=pairs[70:], out=tmp_path / "run")
    said = json.loads(
        next(tmp_path.glob("run/checkpoints/*12/config.json")).read_text()
    )
    assert "data" not in said and "pair" not in said


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (lambda pairs: (pairs[:70], pairs[70:]), []),
        (lambda pairs: (pairs, pairs[:3]), ["3 of 3 sentences are in the training"]),
        (lambda pairs: (pairs, [*pairs[:2], ("New", "Neu")]), ["2 of 3 sentences"]),
        (
            lambda pairs: ([(a, a) for a, _ in pairs[:60]] + pairs[60:70], pairs[70:]),
            ["60 of 70 lines"],
        ),
    ],
)
def test_texts_in_memory_that_have_too_much_in_common_are_named(
    pairs: Rows, caplog: pytest.LogCaptureFixture, texts: Any, said: list[str]
) -> None:
    own = list({source: (source, target) for source, target in pairs}.values())
    train_on, valid = texts(own)
    learn(replace(SHORT, steps=1), train_on, valid=valid)
    warned = [
        each.getMessage() for each in caplog.records if each.levelname == "WARNING"
    ]
    assert len(warned) == len(said)
    for message, part in zip(warned, said, strict=True):
        assert message.startswith("aiayn: ") and part in message


def test_a_corpus_by_its_name(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path / "corpus")
    by_name = learn(SHORT, folder, out=tmp_path / "run")
    assert TrainedRun.read(tmp_path / "run").trained_on() == (str(folder), "en-de")
    valid = aiayn.load_pairs(str(folder), "en-de", "val")
    assert torch.equal(
        weights(by_name.model), weights(learn(SHORT, str(folder), valid=valid).model)
    )


def test_going_on_with_a_translator(pairs: Rows, tmp_path: Path) -> None:
    first = learn(SHORT, pairs[:40], out=tmp_path / "first")
    before = weights(first.model).clone()
    more = replace(SHORT, model=replace(SHAPE, dropout=0.1), steps=4)
    second = learn(more, pairs[40:], init=first, out=tmp_path / "second")
    lines = Metrics(tmp_path / "second").lines()
    assert torch.equal(weights(first.model), before)  # it was copied
    assert second.vocabulary.model == first.vocabulary.model and second.steps == 16
    assert second.model.config == replace(SHAPE, dropout=0.1)
    expected = 0.1 * 16**-0.5 * 16**-0.5 * SHORT.optimizer.rate_factor
    rates = [line["rate"] for line in lines if "rate" in line]
    assert rates == [pytest.approx(expected)]
    assert lines[-1].keys() == {"step", "minutes", "validation_perplexity"}
    third = learn(more, pairs[40:], init=tmp_path / "first")
    assert torch.equal(weights(third.model), weights(second.model))
    with pytest.raises(InputError, match="no such folder or model that ships"):
        learn(more, pairs, init=tmp_path / "nothing")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"model": {"d_model": 96}}, r"model\.d_model=96: .* \(init\) has 16, which"),
        ({"vocabulary": {"lowercase": True}}, r"lowercase=True: .* has False, which"),
        ({"model": {"N": 1, "h": 2}}, ""),  # as it is
        ({"model": {"dropout": 0.3}, "optimizer": {"warmup": 9}}, ""),
    ],
)
def test_a_recipe_for_another_model_than_init_is_refused(
    pairs: Rows, chosen: dict[str, Any], said: str
) -> None:
    first = learn(replace(SHORT, steps=1), pairs)
    for name in ("small", "base"):
        more = recipe(name, steps=1, **chosen)
        if said:
            with pytest.raises(InputError, match=said):
                learn(more, pairs, init=first)
        else:
            kept = learn(more, pairs, init=first).model.config
            assert replace(kept, dropout=SHAPE.dropout) == SHAPE


def test_going_on_with_a_model(pairs: Rows) -> None:
    torch.manual_seed(7)
    model = Transformer(SHAPE)
    translator = learn(
        changed(SHORT, optimizer={"warmup": 1000, "rate_factor": 1e-9}, steps=1),
        pairs,
        init=model,
    )
    torch.testing.assert_close(
        weights(translator.model), weights(model), atol=1e-6, rtol=0
    )
    again = learn(replace(SHORT, steps=1), pairs, init=(model, translator.vocabulary))
    assert again.vocabulary.model == translator.vocabulary.model and again.steps == 1


def test_the_schedule_is_said(
    pairs: Rows, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = train(SHORT, pairs, out=tmp_path / "first")
    which, *said = filter(None, capsys.readouterr().err.splitlines())
    assert which == "source: {!r}; target: {!r}".format(*pairs[0])
    assert said[0] == "4 pairs are held out, 76 are trained on; valid=… changes that"
    assert said[1].startswith("step 1: loss ") and " tok/s" in said[1]
    steps = [line.partition(",")[0] for line in said[2:]]
    assert steps == ["step 4", "step 8", "step 12"]
    assert " → " in said[-1] and "validation perplexity" in said[-1]
    train(SHORT, pairs, init=tmp_path / "first")
    words = "trained for 12 steps: the learning rate falls on from "
    assert f"begins with {tmp_path / 'first'}, {words}" in capsys.readouterr().err
    train(changed(SHORT, optimizer={"warmup": 100}), pairs, init=first)
    assert (
        "a Translator, trained for 12 steps: the learning rate rises from"
        in capsys.readouterr().err
    )
    train(SHORT, pairs, init=(first.model, first.vocabulary))
    unknown = "a model in memory, whose steps are not known (optimizer.steps_before"
    assert unknown in capsys.readouterr().err
    learn(SHORT, pairs, init=first)
    assert capsys.readouterr().err == ""


def test_other_text_is_no_resumption(pairs: Rows, tmp_path: Path) -> None:
    out = tmp_path / "run"
    learn(SHORT, pairs[:40], out=out)
    more = replace(SHORT, steps=16)
    with pytest.raises(
        InputError,
        match=rf"corpus=.*; use that, or another folder .*, with {out} as init, to go",
    ):
        learn(more, pairs[40:], out=out, resume=True)
    assert learn(more, pairs[:40], out=out, resume=True).steps == 16
    saved = next(out.glob("checkpoints/*16"))
    with pytest.raises(
        InputError, match=rf"{saved}: a saved model, not a run; .* {saved} as init"
    ):
        learn(more, pairs[40:], out=saved, resume=True)
    with pytest.raises(
        InputError, match="out: name the folder of the run that is to go on"
    ):
        learn(more, pairs, resume=True)


def test_a_translator_is_saved_and_loaded_elsewhere(
    pairs: Rows, tmp_path: Path
) -> None:
    translator = learn(SHORT, pairs)
    translator.save(str(tmp_path / "mine"))
    program = (
        "import sys, aiayn; print(aiayn.Translator.load(sys.argv[1])(sys.argv[2]))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "mine", pairs[0][0]],
        capture_output=True,
        text=True,
    )
    assert said.stdout == translator(pairs[0][0]) + "\n", said.stderr
    again = Translator.load(tmp_path / "mine")
    assert again.steps == 12 and learn(SHORT, pairs, init=tmp_path / "mine").steps == 24
    with pytest.raises(InputError, match="name a new folder, or overwrite=True"):
        translator.save(tmp_path / "mine")


def test_any_model_is_saved_and_loaded(tmp_path: Path) -> None:
    for name in ("rnn-additive", "conv", "synthetic"):
        model = build(recipe(name).model)
        aiayn.save(model, tmp_path / name)
        assert torch.equal(weights(aiayn.load(str(tmp_path / name))), weights(model))
        with pytest.raises(InputError, match=r"vocabulary\.model: no vocabulary"):
            Translator.load(tmp_path / name)


@dataclass(frozen=True)
class PlainConfig(TransformerConfig):
    """Attention without the root, in the encoder."""

    plain_layers: int = 1


class PlainTransformer(Transformer):
    """Its configuration says how many layers do without."""

    def __init__(self, config: PlainConfig) -> None:
        super().__init__(config)
        for layer in self.encoder.layers[: config.plain_layers]:
            layer.self_attention.attention = Attention(unscaled_dot_product)


PLAIN = PlainConfig(vocabulary_size=120, N=2, d_model=16, d_ff=32, h=2, dropout=0.0)


def test_a_registered_model_is_trained_saved_and_loaded(
    pairs: Rows, tmp_path: Path
) -> None:
    with pytest.raises(
        InputError,
        match=r"PlainConfig: no model is known .* aiayn\.register\('a name', Pla",
    ):
        build(PLAIN)
    register("plain", PlainConfig, PlainTransformer)
    translator = learn(replace(SHORT, model=PLAIN), pairs)
    translator.save(tmp_path / "mine")
    again = Translator.load(tmp_path / "mine")
    tokens = torch.tensor([[5, 6, 7, 3]])
    assert torch.equal(again.model(tokens, tokens), translator.model(tokens, tokens))
    assert type(again.model) is PlainTransformer
    assert again(pairs[0][0]) == translator(pairs[0][0])
    del ARCHITECTURES["plain"]
    with pytest.raises(
        InputError, match=r"architecture='plain': is not known; .*; register your own"
    ):
        Translator.load(tmp_path / "mine")
    with pytest.raises(InputError, match="PlainConfig: no model is known"):
        translator.save(tmp_path / "other")


def test_what_is_ours_is_not_registered_anew() -> None:
    for name, shape in (("transformer", PlainConfig), ("mine", TransformerConfig)):
        with pytest.raises(InputError, match="of this package; derive a configuration"):
            register(name, shape, PlainTransformer)
    register("plain", PlainConfig, Transformer)
    register("plain", PlainConfig, PlainTransformer)  # a cell that is run again
    assert type(build(PLAIN)) is PlainTransformer


LAYER = r"encoder\.layers\.0\."


@pytest.mark.parametrize(
    ("place", "part", "said"),
    [
        (
            "encoder.layers.0.self_attention.attention",
            Attention(),
            rf"{LAYER}self_attention\.attention is .*Attention, but .*FusedAtt",
        ),
        (
            "encoder.layers.0.self_attention.attention.score",
            unscaled_dot_product,
            rf"{LAYER}self_attention\.attention\.score is unscaled_dot_product, but",
        ),
        (
            "encoder.layers.0.feed_forward.extra",
            nn.Linear(2, 2),
            rf"{LAYER}feed_forward\.extra.* is .*, but .* builds nothing",
        ),
        ("dropout.p", 0.7, r"dropout\.p is 0\.7, but TransformerConfig builds 0\.0"),
        (
            "encoder.layers.0.feed_forward.W_1",
            nn.Linear(16, 33),
            rf"{LAYER}feed_forward\.W_1.* is .*33.*, but",
        ),
        ("seen", nn.Buffer(torch.zeros(3)), "seen: a buffer, which a checkpoint does"),
    ],
)
def test_a_model_that_would_come_back_as_another_is_not_saved(
    place: str, part: Any, said: str, tmp_path: Path
) -> None:
    model = Transformer(SHAPE)
    check_roundtrip(model)
    owner, _, name = place.rpartition(".")
    setattr(model.get_submodule(owner), name, part)
    with pytest.raises(InputError, match=said):
        aiayn.save(model, tmp_path / "model")
    with pytest.raises(InputError, match=said):
        learn(SHORT, [("a", "b"), ("c", "d")], init=model)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("score", ["scaled", "unscaled", "general", "additive"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "relative", "none"])
def test_every_model_of_ours_may_be_saved(positions: str, score: str) -> None:
    state = torch.get_rng_state()
    config = replace(SHAPE, positions=positions, score=score)
    with torch.random.fork_rng():
        model = build(config)
    check_roundtrip(model.train())
    check_roundtrip(model.eval().double())
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.usefixtures("unchecked")
def test_recipes_reach_the_model() -> None:
    how: Any = recipe("small", model={"N": 2, "d_ff": 64}, minutes=3, steps=7)
    assert (how.model.N, how.model.d_ff, how.minutes, how.steps) == (2, 64, 3, 7)
    with pytest.raises(
        InputError, match=r"stepps=3: no such setting; did you mean 'steps'\?"
    ):
        recipe("small", stepps=3)
    # The first of several that it does not have, in each process the same.
    for make in (recipe, aiayn.config):
        for names in (["lr", "activation"], ["activation", "lr"]):
            changes: Any = dict.fromkeys(names, 1)
            with pytest.raises(InputError, match=f"^{names[0]}=1: no such setting; "):
                make("small", **changes)
    own = ", ".join(field.name for field in fields(TrainingConfig))
    with pytest.raises(InputError, match=f"q=1: no such setting; there are {own}$"):
        recipe("small", q=1)
    with pytest.raises(InputError, match="model='big': should be"):
        recipe("small", model="big")
    with pytest.raises(InputError, match="N='two': should be"):
        recipe("small", model={"N": "two"})


@pytest.mark.usefixtures("unchecked")
def test_names_and_devices_do_what_one_expects(tmp_path: Path) -> None:
    assert Transformer("synthetic").config == aiayn.config("synthetic")
    with pytest.raises(
        InputError, match="unknown configuration 'bass': did you mean 'base'"
    ):
        Transformer("bass")
    with pytest.raises(ValueError, match="2 sources, 6 targets"):
        Transformer(SHAPE)(
            torch.ones(2, 3, dtype=torch.long), torch.ones(6, 3, dtype=torch.long)
        )
    for name in ("cuda:99", "nonsense"):
        with pytest.raises(
            InputError, match=f"device '{name}' is not to be had here .*; try cpu"
        ):
            learn(SHORT, [("a", "b"), ("c", "d")], device=name)
    assert not any(tmp_path.glob("run*"))


def test_what_it_says_of_itself(pairs: Rows) -> None:
    translator = learn(SHORT, pairs)
    count = sum(weight.numel() for weight in translator.model.parameters())
    assert repr(translator) == (
        f"Translator(Transformer of {count:,} parameters,"
        " Vocabulary(120 pieces), beam 4)"
    )
    assert repr(pairs_of(pairs)) == "Pairs(80: source, target)"
    shown = repr(Transformer(replace(SHAPE, positions="learned", max_length=50)))
    assert "Embeddings(120, 16)" in shown and "h=2, d_k=8, d_v=8" in shown
    assert "LearnedPositions(50, 16)" in shown
    about = str(aiayn.__doc__)
    assert about.startswith('The Transformer of "Attention Is All You Need"')
    assert "train(" in about
    assert aiayn.__version__ in (
        Path(__file__).parents[2] / "aiayn" / "__init__.py"
    ).read_text("utf-8")


def test_an_encoder_and_a_decoder_alone() -> None:
    """A decoder layer that has no memory is an encoder layer with a mask."""
    layers = Encoder(encoder_layer(SHAPE) for _ in range(2)).eval()
    x = torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(1))
    seen = layers(x, mask=causal_mask(5))
    torch.testing.assert_close(seen[:, :3], layers(x[:, :3], mask=causal_mask(3)))
    assert not torch.allclose(layers(x)[:, :3], seen[:, :3])


class Terminal(io.StringIO):
    """Standard error, if it were a terminal."""

    def isatty(self) -> bool:
        return True


LINE = {"loss": 2.0, "perplexity": 7.4, "tokens_per_second": 1234.0}


def bars(
    progress: Progress, steps: int, minutes: float, each: float, taken: int
) -> str:
    """What is on the terminal at the end of `taken` of the `steps`, when a step takes
    `each` minutes.
    """
    terminal = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        progress.live = True
        with progress.bar(0, steps):
            for step in range(1, taken + 1):
                progress.step(step, LINE, minutes - each * step)
    return terminal.getvalue().replace("\r", "\n").strip().splitlines()[-1]


def test_the_bar_ends_with_steps_or_minutes() -> None:
    assert "step 10: 100%|" in bars(Progress(), 10, math.inf, 1.0, 10)
    assert "step 5: 100%|" in bars(Progress(), 100_000, 1.0, 0.2, 5)
    half = bars(Progress(), 100, 60.0, 1.0, 50)
    assert "%|" in half and "loss 2.00 ppl 7.4 1,234 tok/s" in half


def test_without_a_terminal_it_says_a_line_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = itertools.count(100.0, 7.0)
    monkeypatch.setattr("aiayn.training.progress.time.monotonic", lambda: next(clock))
    progress = Progress()
    assert not progress.live
    with progress.bar(0, 100):
        for step in range(1, 31):
            progress.step(step, LINE, math.inf)
    said = capsys.readouterr().err.splitlines()
    assert 3 <= len(said) <= 6
    assert said[0] == "step 1: loss 2.00 ppl 7.4 1,234 tok/s, about 23 min to go"


def test_the_example_is_short(pairs: Rows) -> None:
    translator = learn(SHORT, pairs)
    model, vocabulary = translator.model, translator.vocabulary
    shown = example(
        model, vocabulary, torch.tensor(vocabulary.encode("The dog sleeps. " * 20))
    )
    source, target = shown.split(" → ")
    assert source.startswith("The dog sleeps.")
    assert source.endswith(" …")
    assert len(source) <= 72 >= len(target)


@pytest.mark.parametrize(
    ("every", "until", "called"),
    [(3, 12, [3, 6, 9, 12]), (5, 12, [5, 10]), (13, 12, []), (3, 6, [3, 6])],
)
def test_a_callback_sees_the_model_and_may_end_the_training(
    pairs: Rows, tmp_path: Path, every: int, until: int, called: list[int]
) -> None:
    calls, out = dict[int, dict[str, float]](), tmp_path / "run"

    def callback(step: int, metrics: dict[str, float], model: Transformer) -> bool:
        assert not model.training and torch.rand(1) < 1  # which no dropout minds
        calls[step] = metrics
        return step == until < 12

    seen = learn(SHORT, pairs, out=out, callback=callback, every=every)
    assert [*calls] == called and seen.steps == until
    for step, metrics in calls.items():
        assert metrics["rate"] == SHORT.rate(step) and metrics["perplexity"] > 1
        assert ("validation_perplexity" in metrics) == (step > 4)
    assert until in Metrics(out).validations()  # it is saved as at its end
    whole = learn(SHORT, pairs, out=out, resume=True)
    assert torch.equal(weights(whole.model), weights(learn(SHORT, pairs).model))


def test_minutes_too_few_for_the_warm_up_are_said(
    pairs: Rows, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(aiayn.training.trainer, "LOG_STEPS", 3)
    optimizer = {"warmup": 10**6}
    long = changed(SHORT, minutes=1.0, steps=10**6, optimizer=optimizer)
    train(long, pairs, valid=pairs[:4], callback=lambda step, *_: step == 3, every=3)
    said = capsys.readouterr().err
    assert "rises for 1,000,000 steps, but after about" in said
    assert "step 3: the callback ends the training" in said


def test_a_callback_is_called_every_step_or_more(pairs: Rows) -> None:
    with pytest.raises(InputError, match=r"^every=0: "):
        learn(SHORT, pairs, callback=print, every=0)


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_saved_is_not_registered() -> None:
    @dataclass(frozen=True)
    class Wide(TransformerConfig):
        widths: tuple[int, ...] = (1, 2)

    class Bare(TransformerConfig):
        pass

    assert Wide().widths == (1, 2)
    with pytest.raises(
        InputError,
        match=r"Wide\.widths: tuple.*; a field is a number, text, true or false",
    ):
        register("wide", Wide, Transformer)
    with pytest.raises(
        InputError, match=r"Bare: decorate it with @dataclass\(frozen=True\)"
    ):
        register("bare", Bare, Transformer)
    wrong: Any = PlainTransformer
    with pytest.raises(InputError, match=r"register\(name, configuration, model\)"):
        register("plain", wrong, PlainTransformer)


def test_a_cell_that_defines_a_model_may_run_again(tmp_path: Path) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(small_models.MINE, space)
    model = space["MyModel"](
        space["MyConfig"](vocabulary_size=50, N=1, d_model=8, d_ff=8, h=2)
    )
    exec(small_models.MINE, space)
    aiayn.save(model, tmp_path / "model")
    assert type(aiayn.load(tmp_path / "model")) is space["MyModel"]


def test_a_vocabulary_of_another_model_is_not_saved(
    pairs: Rows, tmp_path: Path
) -> None:
    translator = learn(SHORT, pairs)
    with pytest.raises(
        InputError,
        match="the model has 2000 tokens, the vocabulary 120; save each with its",
    ):
        aiayn.save(Transformer("synthetic"), tmp_path / "model", translator.vocabulary)


@pytest.mark.usefixtures("unchecked")
def test_slips_have_an_answer(pairs: Rows) -> None:
    name = "recipe: give a name, or what aiayn.recipe makes, not a TransformerConfig"
    slips: list[tuple[Any, Any, dict[str, Any], str]] = [
        (SHAPE, pairs, {}, name),
        (SHORT, sample(5), {}, "pair 1 is Pair"),
        (SHORT, pairs, {"valid": []}, "no pairs: give a list"),
        (SHORT, pairs, {"valid": "folder"}, "folder: cannot be read"),
        (SHORT, pairs, {"out": ""}, "out: name the folder of the run"),
        *(
            (SHORT, pairs, {"init": init}, "init: give a run's folder")
            for init in ("", [1, 2], (Transformer(SHAPE), "path"))
        ),
    ]
    for how, text, options, said in slips:
        with pytest.raises(InputError, match=re.escape(said)):
            learn(how, text, **options)


def test_an_interrupted_training_gives_what_it_has(
    pairs: Rows, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return accumulate_gradients(*arguments)

    monkeypatch.setattr("aiayn.training.step.accumulate_gradients", stopped)
    translator = train(SHORT, pairs)
    assert translator.steps == 1
    assert capsys.readouterr().err.endswith(
        "interrupted after step 1; with resume=True, a run that has a folder goes on\n"
    )
    with pytest.warns(UserWarning, match="interrupted after step 1; with resume"):
        train(SHORT, pairs, progress=False)


def test_the_first_translations_of_the_readme() -> None:
    """They print what the README says."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = "\n".join(re.findall(r"```pycon\n(.*?)```", readme, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(example, {}, "README.md", None, None)
    assert len(test.examples) == 6
    assert not doctest.DocTestRunner().run(test).failed


def test_the_example_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second time it is refused, in one line and at once."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    for long, short in (("sample(5000)", "sample(300)"), ("steps=400)", "steps=2)")):
        assert example.count(long) == 1
        example = example.replace(long, short)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users do
    with warnings.catch_warnings(action="ignore", category=CutOff):
        exec(example, names := dict[str, Any]())
    assert capsys.readouterr().out and Translator.load("mine").steps == 2
    monkeypatch.setattr("aiayn.training.step.accumulate_gradients", None)
    with pytest.raises(InputError, match=r"^mine: holds a run already; [^\n]*$"):
        exec(example[example.index("pairs = ") :], names)
