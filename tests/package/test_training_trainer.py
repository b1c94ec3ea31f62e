"""Training: it learns, twice the same, in one piece or in eight, and says what was
wrong with its input.
"""

import importlib.util
import json
import math
import os
import random
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_runs import (
    QUICK,
    TINY,
    Train,
    complaint,
    finish,
    kept,
    lines,
    same,
    small_train,
    start,
    tensors,
)
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from aiayn.base_config import changed
from aiayn.data import Batch, Batches, load_vocabulary, make_batch
from aiayn.data.batching import Example, GlobalBatch, lengths_of
from aiayn.data.vocabulary import EOS_ID, PAD_ID
from aiayn.decoding import SearchConfig
from aiayn.device import training_dtype
from aiayn.model import Transformer, TransformerConfig
from aiayn.model.baselines.conv_seq2seq import ConvolutionalConfig
from aiayn.model.encoder_decoder import ModelConfig
from aiayn.model.registry import ARCHITECTURES, register
from aiayn.training import TrainingConfig, load_checkpoint, recipe, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.checkpoint_metadata import read_description
from aiayn.training.distributed import Workers
from aiayn.training.optimizer import learning_rate, make_optimizer
from aiayn.training.recipes import BatchConfig, OptimizerConfig
from aiayn.training.step import (
    NotFinite,
    Objective,
    batch_loss,
    gradient_scaler,
    training_step,
    validation_loss,
)
from aiayn.translation import Translator

GOLDEN = Path(__file__).parents[1] / "golden" / "loss-curve.json"


# One thread: such small products only lose by being shared out.
pytestmark = pytest.mark.usefixtures("own_cache", "one_thread")


def random_examples(number: int, seed: int = 0) -> list[Example]:
    draw = random.Random(seed)
    sides = [
        [draw.randrange(4, 60) for _ in range(draw.randint(1, 9))] + [EOS_ID]
        for _ in range(2 * number)
    ]
    return list(zip(sides[:number], sides[number:], strict=True))


def random_batch(seed: int = 0, size: int = 5) -> Batch:
    return make_batch(random_examples(size, seed))


def whole(examples: list[Example], pieces: int = 1) -> GlobalBatch:
    """All examples at once."""
    return Batches(
        examples, lengths_of(examples), 10_000, seed=1, micro_batches=pieces
    )[1]


# Learning


def copies(number: int, seed: int) -> list[Example]:
    """Random sequences that are to be repeated."""
    draw = random.Random(seed)
    rows = [
        [draw.randrange(4, 14) for _ in range(draw.randint(2, 6))] + [EOS_ID]
        for _ in range(number)
    ]
    return [(row, row) for row in rows]


def test_it_learns_to_copy_what_it_has_never_seen() -> None:
    """Only through attention: which token comes next cannot be told from the target's
    beginning.
    """
    shape = TransformerConfig(
        vocabulary_size=14, N=1, d_model=32, d_ff=64, h=4, dropout=0.0
    )
    how = TrainingConfig(
        shape,
        batches=BatchConfig(tokens=500),
        optimizer=OptimizerConfig(warmup=100, rate_factor=0.3),
        label_smoothing=0.0,
    )
    model = Transformer(shape)
    objective, optimizer = Objective(model, how.label_smoothing), make_optimizer(model)
    examples = copies(2000, seed=1)
    batches = Batches(examples, lengths_of(examples), how.batches.tokens, how.seed)
    for step in range(1, 401):
        training_step(objective, optimizer, batches[step], step, how)
    assert math.exp(validation_loss(model, [make_batch(copies(200, seed=2))])) < 1.05


def test_it_learns_a_few_pairs_by_heart(
    corpus: Path, tmp_path: Path, out: Path
) -> None:
    text = {}
    for language in ("en", "de"):
        text[language] = (corpus / f"train.{language}").read_text().splitlines()[:8]
        for split in ("train", "val"):
            path = tmp_path / f"{split}.{language}"
            path.write_text("\n".join(text[language]))
    how = changed(
        QUICK,
        batches={"tokens": 400},
        optimizer={"warmup": 30, "rate_factor": 0.4},
        model=replace(TINY, d_model=32, dropout=0.0, vocabulary_size=50),
        steps=150,
        label_smoothing=0.0,
    )
    train_model(how, str(tmp_path), "en-de", out)
    assert lines(out)[-1]["validation_perplexity"] < 1.05
    translator = Translator.load(out, search=SearchConfig(beam=1))
    assert translator(text["en"]) == text["de"]


def curve() -> list[float]:
    """The loss of a word over twenty steps: weights, batches, micro-batches, loss,
    schedule and Adam all play in.
    """
    torch.manual_seed(1)
    shape = replace(TINY, dropout=0.0)
    how = changed(QUICK, optimizer={"warmup": 10}, model=shape)
    model, examples, losses = Transformer(shape), random_examples(40, seed=3), []
    objective, optimizer = Objective(model, how.label_smoothing), make_optimizer(model)
    batches = Batches(examples, lengths_of(examples), 60, seed=1, micro_batches=2)
    for step in range(1, 21):
        work = batches[step]
        losses.append(
            training_step(objective, optimizer, work, step, how)["loss"]
            / work.target_tokens
        )
    return [round(loss, 3) for loss in losses]


def test_the_loss_curve_is_the_golden_one() -> None:
    """Who changes the numbers of training on purpose writes the new `curve()` to the
    file.
    """
    assert curve() == pytest.approx(json.loads(GOLDEN.read_text()), abs=1.1e-3)


# Steps


def steps(
    pieces: int, dropout: float, count: int = 3, size: int = 11
) -> tuple[list[Any], dict[str, Any]]:
    """What some steps in so many pieces found, and the weights afterwards; with 64 bits
    a number.
    """
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    model = Transformer(replace(TINY, dropout=dropout))
    objective, optimizer = Objective(model, 0.1), make_optimizer(model)
    work = whole(random_examples(size), pieces)
    found = [
        training_step(objective, optimizer, work, step, QUICK)
        for step in range(1, count + 1)
    ]
    return found, dict(model.named_parameters())


@pytest.mark.parametrize("pieces", [2, 3, 8, 11, 16])
def test_a_step_in_micro_batches_is_the_step_at_once(pieces: int) -> None:
    """Also if they have more and fewer words, and (16) if some have no pair at all."""
    found, weights = steps(pieces, dropout=0.0)
    wanted, others = steps(1, dropout=0.0)
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, rel=1e-12)
    torch.testing.assert_close(weights, others, rtol=1e-9, atol=1e-9)


def test_micro_batches_without_a_pair_have_no_part_in_dropout_either() -> None:
    found = {pieces: steps(pieces, dropout=0.3)[0] for pieces in (8, 11, 16)}
    assert found[11] == found[16] != found[8]


def test_the_gradient_is_that_of_the_mean_over_all_words() -> None:
    """Not the mean of the means of the micro-batches: they have 2, 2 and 19 words."""
    torch.set_default_dtype(torch.float64)
    examples = [
        ([5, EOS_ID], [6, EOS_ID]),
        ([7, EOS_ID], [8, EOS_ID]),
        ([9, EOS_ID], [*range(10, 28), EOS_ID]),
    ]
    work, model = whole(examples, 3), Transformer(replace(TINY, dropout=0.0))
    words = [int((piece.labels != PAD_ID).sum()) for piece in work.micro_batches]
    assert sorted(words) == [2, 2, 19]
    batch = make_batch(examples)
    said = batch.labels != PAD_ID
    logits = model(batch.source, batch.target)[said]
    mean = cross_entropy(logits, batch.labels[said], label_smoothing=0.1)
    wanted = torch.autograd.grad(mean, list(model.parameters()))
    optimizer = make_optimizer(model)
    found = training_step(Objective(model, 0.1), optimizer, work, 1, QUICK)
    assert found["loss"] == pytest.approx(23 * mean.item())
    norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in wanted))
    assert found["gradient_norm"] == pytest.approx(norm)
    # Adam's first mean, from 0.
    for parameter, gradient in zip(model.parameters(), wanted, strict=True):
        first = optimizer.state[parameter]["exp_avg"]
        torch.testing.assert_close(first, 0.1 * gradient)


def test_a_step_leaves_no_gradient_behind_and_takes_the_papers_rate() -> None:
    model, work = Transformer(TINY), whole(random_examples(5))
    optimizer = make_optimizer(model)
    found = training_step(Objective(model, 0.1), optimizer, work, 3, QUICK)
    rate = learning_rate(3, TINY.d_model, QUICK.optimizer.warmup)
    assert found["rate"] == rate == optimizer.param_groups[0]["lr"]
    assert all(parameter.grad is None for parameter in model.parameters())


def test_dropout_depends_on_seed_step_and_piece_alone() -> None:
    def loss(noise: int, step: int = 3, seed: int = 1, pieces: int = 1) -> float:
        torch.manual_seed(0)
        model = Transformer(TINY)
        torch.rand(10 * noise)
        how, work = replace(QUICK, seed=seed), whole(random_examples(5), pieces)
        return training_step(
            Objective(model, 0.1), make_optimizer(model), work, step, how
        )["loss"]

    assert loss(noise=0) == loss(noise=1)
    assert len({loss(0), loss(0, step=4), loss(0, seed=2), loss(0, pieces=2)}) == 4


def test_every_micro_batch_draws_its_own_dropout() -> None:
    """Twice the same pair, in two micro-batches: with one mask for both, their losses
    would be equal.
    """
    examples, found = [([5, 6, 7, EOS_ID], [8, 9, 10, EOS_ID])] * 2, []

    class Spy(Objective):
        def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
            found.append(super().forward(batch))
            return found[-1]

    model = Transformer(replace(TINY, dropout=0.5))
    training_step(Spy(model, 0.1), make_optimizer(model), whole(examples, 2), 1, QUICK)
    assert len(found) == 2 and found[0][0].item() != found[1][0].item()


def test_the_loss_is_that_of_the_words_alone() -> None:
    model, batch = Transformer(TINY).eval(), random_batch()
    loss, nll = batch_loss(model, batch, 0.0)
    logits = model(batch.source, batch.target).flatten(0, 1)
    how = {"ignore_index": PAD_ID, "reduction": "sum"}
    wanted = cross_entropy(logits, batch.labels.flatten(), **how)
    torch.testing.assert_close((loss, nll), (wanted, wanted.detach()))
    smoothed, plain = batch_loss(model, batch, 0.1)
    assert torch.equal(plain, nll) and smoothed > 0 and not plain.requires_grad


def test_validation_does_not_depend_on_the_batches_and_restores_the_mode() -> None:
    model, examples = Transformer(TINY), random_examples(8)
    together, alone = [make_batch(examples)], [make_batch([each]) for each in examples]
    found = validation_loss(model, together)
    assert found == pytest.approx(validation_loss(model, alone), rel=1e-5)
    assert found == validation_loss(model, together)  # there is no dropout
    assert model.training and all(each.grad is None for each in model.parameters())


@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_loss_or_gradient_that_is_no_number_ends_the_run(where: str) -> None:
    """It names step and pairs, and the weights stay as they were."""

    class Broken(Objective):
        def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
            loss, nll = super().forward(batch)
            if where == "loss":
                return loss * math.nan, nll
            loss.register_hook(lambda gradient: gradient * math.inf)
            return loss, nll

    model, examples = Transformer(TINY), random_examples(20)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    optimizer = make_optimizer(model)
    with pytest.raises(NotFinite) as caught:
        training_step(Broken(model, 0.1), optimizer, whole(examples), 7, QUICK)
    message, numbers = str(caught.value), whole(examples).indices[:8] + 1
    assert message.startswith("step 7: the loss is ")
    assert message.endswith(f"on the pairs {' '.join(map(str, numbers))} …")
    assert ("loss is nan" in message) == (where == "loss")
    assert same(dict(model.named_parameters()), before) and not optimizer.state


# Configurations


def test_recipes_are_the_papers() -> None:
    base, big = recipe("base"), recipe("big")
    assert (base.steps, base.batches.tokens, base.label_smoothing) == (
        100_000,
        25_000,
        0.1,
    )
    assert (base.optimizer.warmup, base.optimizer.rate_factor) == (4000, 1.0)
    assert (base.checkpoints.average, base.checkpoints.minutes) == (5, 10)
    assert big.steps == 300_000
    assert (big.checkpoints.average, big.checkpoints.minutes) == (20, 10)


POSITIVE = """
steps batches.tokens batches.micro_batches optimizer.warmup batches.max_length
checkpoints.steps checkpoints.keep checkpoints.average patience
"""


@pytest.mark.parametrize("name", POSITIVE.split())
def test_configurations_that_cannot_be_trained(name: str) -> None:
    assert f"{name}=0: should be" in complaint(recipe, "small", **{name: 0})


# Runs


def test_what_a_run_leaves_behind(
    train: Train, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, how = tmp_path / "new" / "run", replace(QUICK, steps=60)
    train(how, out)
    assert set(os.listdir(out)) == {"checkpoints", "metrics.jsonl", "vocabulary.model"}
    assert kept(out) == [60]
    *logged, last = lines(out)
    assert [line["step"] for line in (*logged, last)] == [50, 60, 60]
    for line in logged:
        smoothed = line["smoothed_perplexity"]
        assert smoothed == pytest.approx(math.exp(line["loss"]), rel=1e-4)
        assert 1 < line["perplexity"] < smoothed and line["tokens_per_second"] > 0
        assert 0 < line["utilisation"] < 1 and 0 <= line["padding"] < 0.5
        rate = learning_rate(int(line["step"]), TINY.d_model, 4)
        assert line["rate"] == pytest.approx(rate, rel=1e-5)
        assert line["gradient_norm"] > 0
    assert last.keys() == {"step", "minutes", "validation_perplexity"}
    known = read_description(list_checkpoints(out)[-1])
    assert (known.step, known.data, known.pair) == (60, str(corpus), "en-de")
    assert known.training == how and known.minutes
    assert known.versions and known.versions["torch"] == torch.__version__
    assert known.corpus and len(known.corpus) == 40
    assert capsys.readouterr().out == ""


class OnApple(TorchFunctionMode):
    """Lets the processor take the place of an Apple GPU, which has no float64."""

    def __torch_function__(
        self, function: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        asked = [*arguments, *(named or {}).values()]

        def of_apple(each: Any) -> bool:
            named_so = isinstance(each, str | torch.device)
            return named_so and str(each).startswith("mps")

        here = any(map(of_apple, asked)) and function is not torch.device

        def moved(each: Any) -> Any:
            return torch.device("cpu") if of_apple(each) else each

        if not here:
            return function(*arguments, **(named or {}))
        options = {key: moved(each) for key, each in (named or {}).items()}
        found = function(*map(moved, arguments), **options)
        if isinstance(found, Tensor) and found.dtype == torch.float64:
            raise TypeError("the MPS framework doesn't support float64")
        return found


@pytest.mark.parametrize("name", ["adam", "muon"])
def test_a_device_without_float64(
    train: Train, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    # Batches are moved by another thread, of which `OnApple` does not hear.
    monkeypatch.setattr(Batch, "to", lambda batch, device: batch)
    config = changed(
        QUICK, optimizer={"muon": name == "muon"}, checkpoints={"steps": 3}
    )
    how = {"device": "mps", "resume": True}
    with OnApple():
        with pytest.raises(TypeError, match="float64"):
            torch.zeros(1, dtype=torch.float64).to(torch.device("mps"))
        for steps in (3, 6):
            some = replace(config, steps=steps)
            train(some, out, **how)
    train(config, tmp_path / "here")
    torch.testing.assert_close(tensors(out), tensors(tmp_path / "here"))


def test_what_could_not_be_saved_is_refused_before_the_first_step(
    train: Train, out: Path
) -> None:
    """A buffer is not in a checkpoint; neither a folder nor a vocabulary is made."""

    class Buffered(Transformer):
        def __init__(self, config: TransformerConfig) -> None:
            super().__init__(config)
            self.register_buffer("slopes", torch.ones(2))

    @dataclass(frozen=True)
    class BufferedConfig(TransformerConfig):
        """A shape of its own."""

    register("buffered for a test", BufferedConfig, Buffered)
    try:
        shape = BufferedConfig(**asdict(TINY))
        said = complaint(train, replace(QUICK, model=shape), out)
    finally:
        del ARCHITECTURES["buffered for a test"]
    assert said.startswith("slopes: a buffer, which a checkpoint does not hold")
    assert not out.exists()


def test_a_rate_that_may_never_fall_is_warned_of(train: Train, out: Path) -> None:
    config = changed(QUICK, optimizer={"cooldown": 3}, minutes=5.0)
    with pytest.warns(UserWarning, match="not if 5 minutes end the training before"):
        train(config, out)


@pytest.mark.parametrize("name", ["run", "deep/new/run"])
def test_a_training_that_cannot_begin_leaves_no_folder(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "mine").mkdir()
    out = tmp_path / "mine" / name
    assert "nowhere" in complaint(train_model, QUICK, "nowhere", "en-de", out)
    assert os.listdir(tmp_path / "mine") == []
    out.mkdir(parents=True)  # who made it may want it
    assert "nowhere" in complaint(train_model, QUICK, "nowhere", "en-de", out)
    assert out.exists() and not list(out.iterdir())


def test_it_ends_when_the_minutes_are_over(train: Train, out: Path) -> None:
    train(replace(QUICK, steps=10_000, minutes=1e-9), out)
    assert kept(out) == [1]
    assert [line["step"] for line in lines(out)] == [1, 1]


def test_the_last_checkpoints_are_kept_and_averaged(train: Train, out: Path) -> None:
    train(changed(QUICK, checkpoints={"minutes": 0.0, "keep": 3}), out)
    key = "validation_perplexity"
    found = {line["step"]: line[key] for line in lines(out) if key in line}
    assert list(found) == [1, 2, 3, 4, 5, 6]
    found.pop(6)  # which came after the last clearing away
    assert kept(out)[-3:] == [4, 5, 6]
    assert set(kept(out)) == {min(found, key=found.__getitem__), 4, 5, 6}
    used = dict(Translator.load(out).model.named_parameters())
    mean, _ = load_checkpoint(list_checkpoints(out)[-2:])  # average=2
    assert same(used, dict(mean.named_parameters()))


def test_checkpoints_every_so_many_steps(train: Train, out: Path) -> None:
    """Whatever the clock says."""
    train(changed(QUICK, checkpoints={"minutes": 0.0, "steps": 4}), out)
    assert kept(out) == [4, 6]


def test_speed_is_that_of_training_alone(
    train: Train, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step takes a second here, and writing a checkpoint a minute: none of that
    minute is counted.
    """
    clock, tokens = SimpleNamespace(now=0.0), []
    clock.monotonic = lambda: clock.now

    def step(*arguments: Any) -> dict[str, float]:
        _, _, work, *_, stop_flags, _ = arguments
        clock.now += 1
        tokens.append(work.tokens)
        found = {"loss": 1.0, "nll": 1.0, "rate": 0.1, "gradient_norm": 1.0}
        return found | stop_flags()

    def save(*_: Any, **__: Any) -> None:
        clock.now += 60

    monkeypatch.setattr("aiayn.training.metrics_log.time", clock)
    monkeypatch.setattr("aiayn.training.trainer.training_step", step)
    monkeypatch.setattr("aiayn.training.trainer.Run.save", save)
    train(changed(QUICK, checkpoints={"minutes": 0.51}, steps=220), out)
    logged = [line for line in lines(out) if "loss" in line]
    written = [line["step"] for line in lines(out) if "loss" not in line]
    assert written == [31, 62, 93, 124, 155, 186, 217, 220]
    assert [line["step"] for line in logged] == [50, 100, 150, 200, 220]
    parts = [tokens[k : k + 50] for k in range(0, 220, 50)]
    wanted = [sum(part) / len(part) for part in parts]
    speeds = [line["tokens_per_second"] for line in logged]
    assert speeds == pytest.approx(wanted, rel=1e-5)


@pytest.mark.skipif(
    not importlib.util.find_spec("tensorboard"), reason="TensorBoard is not installed"
)
def test_a_run_writes_for_tensorboard(train: Train, out: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(QUICK, out, tensorboard=True)
    events = EventAccumulator(str(out / "tensorboard")).Reload()
    for name in ("perplexity", "validation_perplexity"):
        assert [event.step for event in events.Scalars(name)] == [6]


@pytest.mark.nightly
@pytest.mark.skipif(
    not shutil.which("g++"), reason="torch compiles with g++, which is not here"
)
def test_compiled_layers_learn_the_same(corpus: Path, tmp_path: Path) -> None:
    """With batches of other lengths at every step, in a process without run-time
    checks.
    """
    cache, log = tmp_path / "inductor", tmp_path / "log"
    where = {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": 1}
    for name in ("compiled", "plain"):
        how = {"log": log, "options": {"compile": name == "compiled"}, **where}
        run = start(small_train, QUICK, corpus, tmp_path / name, **how)
        assert finish(run, 600) == 0, log.read_text()
    assert any(cache.rglob("*.cpp"))
    weights = (tensors(tmp_path / name) for name in ("compiled", "plain"))
    torch.testing.assert_close(*weights, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("below", ["", "run", "run/within"])
def test_a_folder_that_cannot_be_written_to(
    train: Train, tmp_path: Path, below: str
) -> None:
    (tmp_path / "file").write_text("not a folder")
    out = tmp_path / "file" / below
    assert f"{out}: cannot be written to (" in complaint(train, QUICK, out)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "shape",
    [
        replace(TINY, positions="learned", max_length=8),
        ConvolutionalConfig(60, d_model=16, N=1, max_length=8),
    ],
)
def test_a_pair_longer_than_the_model_has_positions_is_named_before_the_training(
    train: Train, shape: ModelConfig, out: Path
) -> None:
    message = complaint(train, replace(QUICK, model=shape), out)
    assert ", line " in message and "max_length=8" in message
    assert not (out / "metrics.jsonl").exists()


def test_a_vocabulary_that_an_earlier_attempt_left_is_not_used(
    train: Train, out: Path
) -> None:
    """That attempt got no further; the text may have been mended since."""
    complaint(train, changed(QUICK, batches={"max_length": 3}), out)
    other = replace(QUICK, model=replace(TINY, vocabulary_size=50))
    train(other, out)
    assert len(load_vocabulary(out / "vocabulary.model")) == 50
    message = complaint(train, QUICK, out, resume=True)
    assert "vocabulary_size=50, not 60" in message


def test_pairs_that_are_too_long_can_be_left_out(train: Train, out: Path) -> None:
    how = changed(QUICK, batches={"max_length": 12})
    message = complaint(train, how, out)
    assert (
        ", line " in message and "max_length=12" in message and "(skip_long)" in message
    )
    how = changed(how, batches={"skip_long": True})
    train(how, out)
    assert list_checkpoints(out)


# Sixteen bits


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that stands for a GPU whose tensor cores know float16 alone."""
    monkeypatch.setattr(
        "aiayn.training.trainer.training_dtype", lambda *_: torch.float16
    )


def half_steps(
    count: int, scale: float, dtype: torch.dtype = torch.float16
) -> tuple[list[dict[str, float]], torch.amp.GradScaler, Transformer]:
    """Some steps with a scaler that begins with that factor."""
    torch.manual_seed(0)
    model = Transformer(replace(TINY, dropout=0.0))
    state = {"scale": scale, "growth_factor": 2.0, "backoff_factor": 0.5}
    state |= {"growth_interval": 3, "_growth_tracker": 0}
    scaler = gradient_scaler(torch.device("cpu"), dtype, state)
    parts = Objective(model, 0.1), make_optimizer(model), whole(random_examples(8), 2)
    how = changed(QUICK, optimizer={"warmup": 400})
    found = [
        training_step(*parts, step, how, Workers(), scaler, dtype=dtype)
        for step in range(1, count + 1)
    ]
    return found, scaler, model


def test_bfloat16_on_a_processor_learns_what_float32_learns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    dtype = training_dtype(torch.device("cpu"), True)
    half, _, model = half_steps(6, 1.0, dtype)
    assert dtype == torch.bfloat16
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    whole, *_ = half_steps(6, 1.0, training_dtype(torch.device("cpu"), False))
    for one, other in zip(half, whole, strict=True):
        assert one["loss"] != other["loss"]
        assert one["loss"] == pytest.approx(other["loss"], rel=0.005)
        assert one["gradient_norm"] == pytest.approx(other["gradient_norm"], rel=0.02)


def test_float16_with_a_scaled_loss_learns_what_float32_learns(half: None) -> None:
    found, scaler, _ = half_steps(6, scale=1024.0)
    assert scaler.get_scale() == 4096.0  # six good steps, and it doubles after three
    exact, *_ = half_steps(6, scale=1.0, dtype=torch.float32)
    norms = [steps[0]["gradient_norm"] for steps in (found, exact)]
    assert norms[0] == pytest.approx(norms[1], rel=0.02)
    for one, other in zip(found, exact, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=0.01)


def test_float16_leaves_out_a_step_whose_gradient_overflows(half: None) -> None:
    (first,), scaler, model = half_steps(1, scale=2.0**40)
    assert not math.isfinite(first["gradient_norm"]) and math.isfinite(first["loss"])
    torch.manual_seed(0)
    untouched = Transformer(replace(TINY, dropout=0.0))
    assert same(dict(model.named_parameters()), dict(untouched.named_parameters()))
    assert scaler.get_scale() == 2.0**39
    (first, *_, last), *_ = half_steps(40, scale=2.0**40)
    assert math.isfinite(last["gradient_norm"]) and last["loss"] < first["loss"]


def test_float16_that_no_factor_helps_ends_the_run(
    half: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "torch.nn.utils.get_total_norm", lambda _: torch.tensor(math.inf)
    )
    with pytest.raises(NotFinite, match="step 4: "):
        half_steps(30, scale=8.0)


def test_validation_multiplies_as_the_training_does(
    train: Train, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    torch.manual_seed(0)
    model, batches = Transformer(TINY), [make_batch(random_examples(8))]
    whole, half = (
        validation_loss(model, batches, Workers(), dtype)
        for dtype in (torch.float32, torch.bfloat16)
    )
    assert half != whole and half == pytest.approx(whole, rel=0.01)
    asked: list[torch.dtype] = []

    def noted(*arguments: Any) -> float:
        asked.append(arguments[3])
        return validation_loss(*arguments)

    monkeypatch.setattr("aiayn.training.trainer.validation_loss", noted)
    monkeypatch.setattr(
        "aiayn.training.trainer.training_dtype", lambda *_: torch.bfloat16
    )
    train(QUICK, out)
    assert asked == [torch.bfloat16]


def test_a_step_asks_for_numbers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time it does, a GPU has to be waited for."""
    asked: list[str] = []

    class Asked(TorchDispatchMode):
        def __torch_dispatch__(
            self, function: Any, types: Any, arguments: Any = (), named: Any = None
        ) -> Any:
            if "_local_scalar_dense" in str(function):
                asked.append(str(function))
            return function(*arguments, **(named or {}))

    lists, real = [], Tensor.tolist
    monkeypatch.setattr(
        Tensor, "tolist", lambda tensor: (lists.append(len(tensor)), real(tensor))[1]
    )
    model, flags = Transformer(TINY), {"stopped": 0.0, "due": 1.0}
    parts = Objective(model, 0.1), make_optimizer(model), whole(random_examples(8), 4)
    training_step(*parts, 1, QUICK)
    lists.clear()
    with Asked():
        training_step(*parts, 2, QUICK, stop_flags=lambda: flags)
    assert lists == [5] and not asked
