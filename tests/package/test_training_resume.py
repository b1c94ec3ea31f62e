"""A run that is interrupted goes on as if nothing had happened: killed, stopped, out of
disk, or damaged.
"""

import json
import math
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from safetensors import SafetensorError
from small_runs import (
    NUMBERS,
    QUICK,
    Train,
    complaint,
    finish,
    kept,
    lines,
    same_end,
    small_train,
    start,
    tensors,
    timeless,
    wait_for,
)

import aiayn.training.checkpoint
import aiayn.training.run_folder
import aiayn.training.step
from aiayn.base_config import changed
from aiayn.data import train_vocabulary
from aiayn.training import TrainingConfig, load_checkpoint, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.checkpoint_metadata import read_description
from aiayn.training.initialization import InitialModel
from aiayn.training.resume import newest_checkpoint
from aiayn.training.run_folder import stop_signals
from aiayn.training.step import training_step
from aiayn.translation.api import initial

# Thirty steps, twelve or so an epoch, a checkpoint and a line of metrics every five.
WHOLE = changed(QUICK, checkpoints={"steps": 5, "keep": 3}, steps=30)


@pytest.fixture(scope="module", autouse=True)
def surroundings(own_cache: None) -> Iterator[None]:
    """A line of metrics every five steps, and one thread: only sums that are shared out
    alike have the same last bits.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aiayn.training.trainer.LOG_STEPS", 5)
        patch.setattr("aiayn.training.trainer.hardware_peak", lambda *_: 1e9)
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nobody interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    train_model(WHOLE, str(corpus), "en-de", out)
    return out


@pytest.fixture
def goes_on(train: Train, whole: Path) -> Callable[[Path], None]:
    """Resume a run, which then ends as if it had never been interrupted."""

    def goes_on(out: Path) -> None:
        train(WHOLE, out, resume=True)
        assert same_end(out, whole) and timeless(out) == timeless(whole)

    return goes_on


@pytest.fixture
def copy(whole: Path, out: Path) -> Path:
    """A copy of that run, which may be changed."""
    return shutil.copytree(whole, out)


def losses(out: Path) -> list[dict[str, float]]:
    return [line for line in timeless(out) if "loss" in line]


def validations(out: Path) -> dict[float, float]:
    key = "validation_perplexity"
    return {line["step"]: line[key] for line in lines(out) if key in line}


def best(out: Path) -> int:
    """The step with the lowest perplexity, as far as it was known when the last one was
    saved.
    """
    found = validations(out)
    return int(min(list(found)[:-1], key=found.__getitem__))


def checkpoint(out: Path, step: int) -> Path:
    return out / "checkpoints" / f"step-{step:07d}"


# Ended and resumed


@pytest.mark.parametrize("first", [5, 15, 29])
def test_a_resumed_run_is_the_uninterrupted_one(
    train: Train, first: int, whole: Path, out: Path
) -> None:
    """Also if other parts of the program draw random numbers."""
    train(replace(WHOLE, steps=first), out)
    torch.manual_seed(first)
    train(WHOLE, out, resume=True)
    assert same_end(out, whole)
    if first != 29:  # where the first of the two runs wrote a line of its own
        assert timeless(out) == timeless(whole)
        assert set(os.listdir(out)) == set(os.listdir(whole))
    assert validations(whole).items() <= validations(out).items()


def test_a_resumed_run_that_is_over_stays_as_it_is(
    goes_on: Callable[[Path], None], whole: Path, copy: Path
) -> None:
    goes_on(copy)
    assert kept(copy) == kept(whole)


def test_minutes_are_those_of_all_sessions(train: Train, copy: Path) -> None:
    """As the number of steps is: the same command twice trains no longer than once."""
    path = list_checkpoints(copy)[-1] / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"minutes": 1000.0}))
    for minutes, step in ((1000.0, 30), (1005.0, 35)):
        limited = replace(WHOLE, steps=35, minutes=minutes)
        assert train(limited, copy, resume=True).ended
        assert lines(copy)[-1]["step"] == step
    assert 1000 <= lines(copy)[-1]["minutes"] < 1005


# Killed


def newest(out: Path) -> int:
    return max(
        (int(path.name[5:]) for path in out.glob("checkpoints/step-*")), default=0
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_again_and_again_ends_as_the_uninterrupted_one(
    train: Train, seed: int, corpus: Path, whole: Path, out: Path
) -> None:
    """With kill -9 at random moments, at first before any checkpoint; then there is one
    at every step.
    """
    often, draw = changed(WHOLE, checkpoints={"steps": 1}), random.Random(seed)
    how = {"log": Path(f"{out}.log"), "options": {"resume": True}}
    for death in range(5):
        before = newest(out)
        process = start(small_train, often, corpus, out, **how)
        if death > 0:
            wait_for(lambda before=before: newest(out) > before, process)
        time.sleep(draw.uniform(0, 0.1))
        process.kill()
        assert finish(process) == -signal.SIGKILL
    train(often, out, resume=True)
    assert kept(out)[-1] == 30 and same_end(out, whole)
    assert not list(out.glob("checkpoints/.*"))
    # The others are means since the resume or the last line.
    of_the_step = ("step", "rate", "gradient_norm")
    one, other = (
        [[line[key] for key in of_the_step] for line in losses(run)]
        for run in (out, whole)
    )
    assert one == other
    # The validation that a kill fell upon is not made up for.
    assert len(validations(whole).keys() - validations(out).keys()) <= 5


def dies_while_saving(step: int, *arguments: Any, **options: Any) -> None:
    """A run that the system kills when half of the optimizer's file at some step is
    written.
    """
    save_file = aiayn.training.checkpoint.save_file

    def save_half(content: Any, path: Path) -> None:
        save_file(content, path)
        if path.match(f".step-{step:07d}.part/optimizer.safetensors"):
            os.truncate(path, path.stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    aiayn.training.checkpoint.save_file = save_half
    small_train(*arguments, **options)


@pytest.mark.parametrize("step", [5, 20])
def test_a_run_that_is_killed_during_a_save_goes_on(
    goes_on: Callable[[Path], None], step: int, corpus: Path, out: Path
) -> None:
    process = start(dies_while_saving, step, WHOLE, corpus, out, log=Path(f"{out}.log"))
    assert finish(process) == -signal.SIGKILL
    half = out / "checkpoints" / f".step-{step:07d}.part"
    assert half.is_dir() and newest(out) == step - 5
    goes_on(out)
    assert not half.exists()


def dies_between(step: int, *arguments: Any, **options: Any) -> None:
    """A run that is killed when a checkpoint is written, and the old ones are not yet
    cleared away.
    """
    prune_checkpoints = aiayn.training.run_folder.prune_checkpoints

    def clear(folder: Path, *rest: Any) -> None:
        if newest(folder) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        prune_checkpoints(folder, *rest)

    aiayn.training.run_folder.prune_checkpoints = clear
    small_train(*arguments, **options)


def test_a_run_killed_before_it_clears_away(
    train: Train, corpus: Path, whole: Path, out: Path
) -> None:
    process = start(dies_between, 25, WHOLE, corpus, out, log=Path(f"{out}.log"))
    assert finish(process) == -signal.SIGKILL
    train(WHOLE, out, resume=True)
    assert same_end(out, whole) and set(kept(out)) <= {20, 25, 30, best(out)}


@pytest.mark.parametrize("left", ["no folder", "nothing", "metrics", "vocabulary"])
def test_a_run_killed_before_its_first_checkpoint_begins_anew(
    goes_on: Callable[[Path], None], left: str, whole: Path, out: Path
) -> None:
    if left != "no folder":
        out.mkdir()
    if left in ("metrics", "vocabulary"):
        shutil.copy(whole / "vocabulary.model", out)
    if left == "metrics":
        (out / "metrics.jsonl").write_text('{"step": 3, "loss": 1.0}\n{"step": 4, "lo')
    goes_on(out)


def test_metrics_of_steps_that_are_taken_again_are_forgotten(
    goes_on: Callable[[Path], None], train: Train, out: Path
) -> None:
    """Killed at some step after a checkpoint, in the middle of a line."""
    train(replace(WHOLE, steps=15), out)
    with (out / "metrics.jsonl").open("a") as file:
        file.write('{"step": 17, "loss": 9.0}\n')
        file.write('{"step": 18, "validation_perplexity": 1.0}\n{"step": 19, "l')
    goes_on(out)


# Stopped by a signal


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_saves_and_resumes(
    train: Train, number: signal.Signals, corpus: Path, tmp_path: Path, out: Path
) -> None:
    long, log = replace(WHOLE, steps=100_000), tmp_path / "log"
    process = start(small_train, long, corpus, out, log=log)
    wait_for(lambda: newest(out), process)
    time.sleep(random.uniform(0, 0.1))
    os.kill(process.pid or 0, number)
    assert finish(process) == 0 and "Traceback" not in log.read_text()
    step = kept(out)[-1]
    assert lines(out)[-1]["step"] == step and "loss" in lines(out)[-1]
    more = replace(WHOLE, steps=step + 7)
    train(more, out, resume=True)
    train(more, tmp_path / "whole")
    assert same_end(out, tmp_path / "whole")


def saves_for_ever(*arguments: Any) -> None:
    """A run whose disk hangs, and which says when it has heard a signal."""

    def handlers() -> list[Any]:
        return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]

    def save_file(content: Any, path: Path) -> None:
        before = handlers()
        (path.parent.parent / "hangs").touch()
        # In short pieces: a signal just before a long sleep would be heard after it.
        while True:
            time.sleep(0.01)
            if handlers() != before:
                (path.parent.parent / "heard").touch()

    aiayn.training.checkpoint.save_file = save_file
    small_train(*arguments)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_a_run_at_once(
    number: signal.Signals, corpus: Path, tmp_path: Path, out: Path
) -> None:
    process = start(saves_for_ever, WHOLE, corpus, out, log=tmp_path / "log")
    checkpoints = out / "checkpoints"
    wait_for((checkpoints / "hangs").exists, process)
    os.kill(process.pid or 0, number)
    wait_for((checkpoints / "heard").exists, process)
    assert process.is_alive()
    os.kill(process.pid or 0, number)
    assert finish(process) == (-number if number == signal.SIGTERM else 1)


def test_signals_are_only_caught_within() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with stop_signals() as caught:
        assert not caught
        signal.raise_signal(signal.SIGINT)
        assert caught == [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert [
        signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)
    ] == before


# Resumed with something else


def other(config: TrainingConfig, **changes: Any) -> TrainingConfig:
    return replace(config, model=replace(config.model, **changes))


SETTINGS = [
    (
        changed(WHOLE, optimizer={"warmup": 9}),
        "trained with optimizer.warmup=4, not 9; use that, or another folder (out)",
    ),
    (replace(WHOLE, seed=2), "trained with seed=1, not 2"),
    (
        changed(WHOLE, batches={"tokens": 61}, optimizer={"rate_factor": 2.0}),
        "batches.tokens=60, not 61; optimizer.rate_factor=1.0, not 2.0",
    ),
    (other(WHOLE, N=2, norm="pre"), "model.N=1, not 2; model.norm=post, not pre"),
    (changed(WHOLE, batches={"max_length": 99}), "batches.max_length=256, not 99"),
    (other(WHOLE, vocabulary_size=61), "model.vocabulary_size=60, not 61"),
]


@pytest.mark.parametrize(("now", "said"), SETTINGS)
def test_resume_with_another_setting_is_refused(
    train: Train, now: TrainingConfig, said: str, whole: Path
) -> None:
    before = (whole / "metrics.jsonl").read_bytes()
    message = complaint(train, now, whole, resume=True)
    assert said in message and str(whole) in message
    assert (whole / "metrics.jsonl").read_bytes() == before


def test_resume_with_other_data_is_refused(
    corpus: Path, whole: Path, tmp_path: Path, out: Path
) -> None:
    folder = shutil.copytree(corpus, tmp_path / "corpus")
    train_model(replace(WHOLE, steps=5), str(folder), "en-de", out)
    longer = replace(WHOLE, steps=10)

    def said(pair: str = "en-de", **changes: Any) -> str:
        config = changed(longer, **changes)
        return complaint(train_model, config, str(folder), pair, out, resume=True)

    assert "pair=en-de, not de-en" in said("de-en")
    assert "batches.skip_long=False, not True" in said(batches={"skip_long": True})
    for name, key in (("train.de", "corpus"), ("val.en", "valid")):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace("zwei", "drei").replace("two", "six"))
        assert f"trained with {key}=" in said() and "to go on with other text" in said()
        (folder / name).write_text(text)
    train_vocabulary([" ".join(NUMBERS)] * 2, 60).save(out / "vocabulary.model")
    # The checkpoint has the right one.
    train_model(longer, str(folder), "en-de", out, resume=True)
    mine, right = (path / "vocabulary.model" for path in (out, whole))
    assert mine.read_bytes() == right.read_bytes()


@pytest.mark.parametrize("how", ["moved", "relative", "dotted", "linked", "copied run"])
def test_the_same_text_by_another_name_is_the_same(
    how: str, corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text is known by its checksum: a scratch folder is another in each job."""
    out, folder = tmp_path / "run", shutil.copytree(corpus, tmp_path / "corpus")
    train_model(replace(WHOLE, steps=5), str(folder), "en-de", out)
    monkeypatch.chdir(tmp_path)
    data = {"relative": "corpus", "dotted": "./corpus"}.get(how, str(folder))
    if how == "moved":
        data = str(folder.rename(tmp_path / "elsewhere"))
    elif how == "linked":
        (tmp_path / "link").symlink_to(folder)
        data = "link"
    elif how == "copied run":
        out = shutil.copytree(out, tmp_path / "copy")
    train_model(WHOLE, data, "en-de", out, resume=True)
    assert same_end(out, whole)
    assert read_description(checkpoint(out, 30)).data == data


# Begun with another model


def from_run(
    folder: Path, config: TrainingConfig = WHOLE
) -> Callable[[], InitialModel]:
    return lambda: initial(folder, config)[0]


def never() -> InitialModel:
    raise AssertionError("a run that goes on needs nothing of its init")


def test_a_run_that_began_with_a_model_goes_on_without_it(
    train: Train, whole: Path, tmp_path: Path, out: Path
) -> None:
    """It may be gone, have another name, or have been trained on since."""
    train(replace(WHOLE, steps=7), out, init=from_run(whole))
    train(replace(WHOLE, steps=12), tmp_path / "undisturbed", init=from_run(whole))
    for steps, init in ((9, never), (12, None)):
        train(replace(WHOLE, steps=steps), out, resume=True, init=init)
    assert same_end(out, tmp_path / "undisturbed")
    found = read_description(checkpoint(out, 12))
    assert found.init == str(whole) and found.training
    assert found.training.optimizer.steps_before == 30
    assert found.training.optimizer.rate_factor == pytest.approx(0.1)
    faster = changed(WHOLE, optimizer={"rate_factor": 2.0})
    said = complaint(train, faster, out, resume=True)
    assert "optimizer.rate_factor=0.1, not 0.2" in said


def test_a_run_that_began_anew_has_no_use_for_a_model(
    train: Train, whole: Path
) -> None:
    said = complaint(train, WHOLE, whole, resume=True, init=never)
    assert "the run began with a new model, not with the one that is named now" in said


@pytest.mark.parametrize("kind", ["byte_fallback", "lowercase"])
def test_the_record_says_which_vocabulary_was_kept(
    train: Train, kind: str, tmp_path: Path, out: Path
) -> None:
    size = 330 if kind == "byte_fallback" else 60
    small = other(WHOLE, vocabulary_size=size)
    train(changed(small, steps=1, vocabulary={kind: True}), tmp_path / "first")
    begin = from_run(tmp_path / "first", small)
    for step, init in ((1, begin), (2, never)):
        train(replace(small, steps=step), out, resume=step == 2, init=init)
        found = read_description(checkpoint(out, step))
        assert found.training and getattr(found.training.vocabulary, kind) is True
        assert found.model.vocabulary_size == size


def test_resume_with_other_plans_is_allowed(
    train: Train, copy: Path, tmp_path: Path
) -> None:
    """How long, how often saved and how much kept has no part in what is learned."""
    how = {"keep": 2, "average": 1, "steps": None, "minutes": 0.5}
    plans = changed(WHOLE, checkpoints=how, steps=33, patience=4, minutes=100.0)
    train(plans, copy, resume=True)
    train(replace(WHOLE, steps=33), tmp_path / "whole")
    assert same_end(copy, tmp_path / "whole")
    assert set(kept(copy)) <= {30, 33, best(copy)}


def test_the_number_of_steps_is_settled_once_the_rate_falls_towards_the_last(
    train: Train, tmp_path: Path, out: Path
) -> None:
    # It falls in steps 12 to 14.
    short = changed(WHOLE, optimizer={"cooldown": 4}, steps=14)
    long = replace(short, steps=24)
    train(short, out)
    said = complaint(train, long, out, resume=True)
    assert "trained with steps=14, not 24" in said
    shutil.rmtree(checkpoint(out, 14))
    shorter = replace(short, steps=12)  # would have fallen in step 10 already
    said = complaint(train, shorter, out, resume=True)
    assert "trained with steps=14, not 12" in said
    train(long, out, resume=True)
    train(long, tmp_path / "whole")
    assert same_end(out, tmp_path / "whole")


def test_resume_with_other_pieces_is_the_same_but_for_rounding(
    train: Train, tmp_path: Path, out: Path
) -> None:
    torch.set_default_dtype(torch.float64)  # so that rounding is not what one sees
    plain = other(WHOLE, dropout=0.0)
    train(replace(plain, steps=10), out)
    train(changed(plain, batches={"micro_batches": 3}, steps=15), out, resume=True)
    train(replace(plain, steps=15), tmp_path / "whole")
    one, all_at_once = tensors(out), tensors(tmp_path / "whole")
    torch.testing.assert_close(one, all_at_once, rtol=1e-9, atol=1e-9)


def test_resume_keeps_the_pieces_of_the_run_unless_others_are_named(
    train: Train, tmp_path: Path, out: Path
) -> None:
    """As `aiayn train` resumes what `aiayn launch` began; another number of
    micro-batches would mean another dropout.
    """
    launched = changed(WHOLE, batches={"micro_batches": 3})
    train(replace(launched, steps=10), out)
    train(replace(WHOLE, steps=15), out, resume=True)
    train(replace(launched, steps=15), tmp_path / "whole")
    assert same_end(out, tmp_path / "whole")


# Damaged


def cut(name: str) -> Callable[[Path], None]:
    return lambda folder: os.truncate(
        folder / name, (folder / name).stat().st_size // 2
    )


def without_exp_avg(folder: Path) -> None:
    path = folder / "optimizer.safetensors"
    found = safetensors.torch.load_file(path)
    left = {key: value for key, value in found.items() if "exp_avg_sq" not in key}
    safetensors.torch.save_file(left, path)


def without_training(folder: Path) -> None:
    only = json.dumps({"model": WHOLE.model.to_dict()})
    (folder / "config.json").write_text(only)


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "weights": (cut("model.safetensors"), "model.safetensors: damaged or not there ("),
    "optimizer": (
        cut("optimizer.safetensors"),
        "optimizer.safetensors: damaged or not there (",
    ),
    "another": (
        without_exp_avg,
        "exp_avg_sq is missing, but the configuration wants (",
    ),
    "configuration": (cut("config.json"), "config.json: not a configuration ("),
    "no training": (
        without_training,
        "config.json: not the configuration of an aiayn model (",
    ),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_resume_from_a_damaged_checkpoint_is_refused_and_the_one_before_offered(
    goes_on: Callable[[Path], None], train: Train, damage: str, whole: Path, copy: Path
) -> None:
    (spoil, said), last = DAMAGES[damage], checkpoint(copy, 30)
    spoil(last)
    message = complaint(train, WHOLE, copy, resume=True)
    assert said in message and str(last) in message
    assert message.endswith(f"Or remove {last}, to go on from step-0000025")
    assert timeless(copy) == timeless(whole)  # nothing was touched
    shutil.rmtree(last)
    goes_on(copy)


def test_resume_from_the_only_checkpoint_damaged(
    goes_on: Callable[[Path], None], train: Train, out: Path
) -> None:
    train(replace(WHOLE, steps=5), out)
    cut("model.safetensors")(checkpoint(out, 5))
    message = complaint(train, WHOLE, out, resume=True)
    assert message.endswith(f"Or remove {checkpoint(out, 5)}, to begin anew")
    shutil.rmtree(checkpoint(out, 5))
    goes_on(out)


def test_resume_needs_no_state_of_adam_in_older_checkpoints(whole: Path) -> None:
    """It is twice as large as the weights, and only the last two keep it."""
    states = [
        (path / "optimizer.safetensors").exists() for path in list_checkpoints(whole)
    ]
    assert states[-2:] == [True, True] and not any(states[:-2])
    assert newest_checkpoint(whole) == checkpoint(whole, 30)


# What stays, and when


def scores(monkeypatch: pytest.MonkeyPatch, *perplexities: float) -> None:
    """Let the validations of a run have these results, one after the other."""
    found = map(math.log, perplexities)
    monkeypatch.setattr(
        "aiayn.training.trainer.validation_loss", lambda *_: next(found)
    )


def test_the_best_checkpoint_stays_beside_the_last(
    train: Train, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores(monkeypatch, 9, 3, 4, 5, 2, 6, 7, 8)
    config = changed(WHOLE, checkpoints={"keep": 2, "average": 1})
    stay = {20: [10, 15, 20], 25: [10, 20, 25], 30: [25, 30], 40: [25, 35, 40]}
    for steps in stay:
        train(replace(config, steps=steps), out, resume=True)
        assert kept(out) == stay[steps]


def test_patience_ends_a_run(
    train: Train, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    """Three validations in a row that are no better than the best before them."""
    scores(monkeypatch, 9, 5, 6, 4, 4, 5, 4.5, 1)
    for resume in (False, True):
        train(replace(WHOLE, steps=100, patience=3), out, resume=resume)
        assert list(validations(out)) == [5, 10, 15, 20, 25, 30, 35]
        assert 20 in kept(out) and kept(out)[-1] == 35


def test_a_run_is_saved_before_it_is_evaluated(
    train: Train, whole: Path, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    """Validation may run out of memory."""

    def validation_loss(*_: Any) -> float:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("aiayn.training.trainer.validation_loss", validation_loss)
        with pytest.raises(MemoryError):
            train(WHOLE, out)
    assert kept(out) == [5]
    train(WHOLE, out, resume=True)
    assert same_end(out, whole)


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), SafetensorError("No space left")]
)
def test_a_disk_that_is_full_costs_no_checkpoint_and_the_run_resumes(
    goes_on: Callable[[Path], None],
    train: Train,
    error: Exception,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save_file = aiayn.training.checkpoint.save_file

    def full(content: Any, path: Path) -> None:
        save_file(content, path)
        if path.match("*step-0000020*/optimizer.safetensors"):
            os.truncate(path, path.stat().st_size // 2)
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(aiayn.training.checkpoint, "save_file", full)
        message = complaint(train, WHOLE, out)
    assert f"{checkpoint(out, 20)}: cannot be written (" in message
    assert "No space left" in message
    assert kept(out)[-1] == 15 and not list(out.glob("checkpoints/.*"))
    load_checkpoint(list_checkpoints(out))
    goes_on(out)


# A loss that is no number


def diverges(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let the loss of a step be no number."""

    def loss(
        model: Any, batch: Any, epsilon: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        found = batch_loss(model, batch, epsilon)
        broken = current["step"] == step and model.training
        return (found[0] * float("nan"), found[1]) if broken else found

    def note(
        objective: Any, optimizer: Any, work: Any, step: int, *rest: Any
    ) -> dict[str, float]:
        current["step"] = step
        return training_step(objective, optimizer, work, step, *rest)

    current, batch_loss = {"step": 0}, aiayn.training.step.batch_loss
    monkeypatch.setattr("aiayn.training.step.batch_loss", loss)
    monkeypatch.setattr("aiayn.training.trainer.training_step", note)


def test_a_loss_that_is_no_number_leaves_the_step_before_to_resume_from(
    train: Train, whole: Path, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    with monkeypatch.context() as patch:
        diverges(patch, 13)
        message = complaint(train, WHOLE, out)
    first, _, rest = message.partition(" on the pairs ")
    assert first == "step 13: the loss is nan, the gradient nan,"
    numbers = rest.partition(" …")[0].split()
    assert all(1 <= int(number) <= 60 for number in numbers) and len(numbers) > 1
    assert "step 12 is saved" in message and kept(out)[-1] == 12
    for name in ("model", "optimizer"):
        assert all(tensor.isfinite().all() for tensor in tensors(out, name).values())
    train(WHOLE, out, resume=True)
    assert same_end(out, whole)


def test_a_first_loss_that_is_no_number(
    train: Train, whole: Path, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    """Then there is nothing but the weights as they were drawn, and the run can begin
    again with them.
    """
    with monkeypatch.context() as patch:
        diverges(patch, 1)
        message = complaint(train, WHOLE, out)
    assert message.startswith("step 1: the loss is nan")
    assert "look into the model" in message and "lower rate" not in message
    train(WHOLE, out, resume=True)
    assert same_end(out, whole)
