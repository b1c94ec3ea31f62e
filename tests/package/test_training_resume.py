"""A run that is interrupted goes on as if nothing had happened: killed, stopped, out of
disk, or damaged.
"""

import json
import os
import random
import shutil
import signal
import subprocess
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
    write_corpus,
)

import aiayn.training.checkpoint
import aiayn.training.run_folder
import aiayn.training.step
from aiayn.base_config import changed
from aiayn.data import train_vocabulary
from aiayn.training import TrainingConfig, load_checkpoint, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.checkpoint_metadata import read_description
from aiayn.training.resume import newest_checkpoint
from aiayn.training.run_folder import stop_signals
from aiayn.training.step import training_step
from aiayn.training.trainer import InitialModel
from aiayn.translation.api import initial

# Thirty steps, twelve or so an epoch, a checkpoint and a line of metrics every five.
WHOLE = changed(QUICK, checkpoints={"steps": 5, "keep": 3}, steps=30)


@pytest.fixture(scope="module", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of our own, and one thread: only sums that are shared out alike have the
    same last bits.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIAYN_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr("aiayn.training.trainer.LOG_STEPS", 5)
        patch.setattr("aiayn.training.trainer.hardware_peak", lambda *_: 1e9)
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nobody interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    train_model(WHOLE, str(corpus), "en-de", out)
    return out


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
    first: int, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    """Also if other parts of the program draw random numbers."""
    out = tmp_path / "run"
    train_model(replace(WHOLE, steps=first), str(corpus), "en-de", out)
    torch.manual_seed(first)
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole)
    if first != 29:  # where the first of the two runs wrote a line of its own
        assert timeless(out) == timeless(whole)
        assert {path.name for path in out.iterdir()} == {
            path.name for path in whole.iterdir()
        }
    assert validations(whole).items() <= validations(out).items()


def test_a_run_resumed_step_by_step_is_the_uninterrupted_one(
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    """Each session takes one step: so Adam's state, the order of batches and dropout
    all come back.
    """
    out = tmp_path / "run"
    for step in range(1, 16):
        one_more = replace(WHOLE, steps=step)
        train_model(one_more, str(corpus), "en-de", out, resume=True)
    assert kept(out)[-1] == 15
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole)


def test_a_resumed_run_that_is_over_stays_as_it_is(
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(whole, tmp_path / "run")
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert timeless(out) == timeless(whole) and kept(out) == kept(whole)


def test_minutes_are_those_of_all_sessions(
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    """As the number of steps is: the same command twice trains no longer than once."""
    out = shutil.copytree(whole, tmp_path / "run")
    path = list_checkpoints(out)[-1] / "config.json"
    description = json.loads(path.read_text())
    description["minutes"] = 1000.0
    path.write_text(json.dumps(description))
    for minutes, step in ((1000.0, 30), (1005.0, 35)):
        limited = replace(WHOLE, steps=35, minutes=minutes)
        assert train_model(limited, str(corpus), "en-de", out, resume=True).ended
        assert lines(out)[-1]["step"] == step
    assert 1000 <= lines(out)[-1]["minutes"] < 1005


def test_resume_with_nothing_to_resume_begins_anew(
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    train_model(WHOLE, str(corpus), "en-de", tmp_path / "run", resume=True)
    assert same_end(tmp_path / "run", whole) and timeless(tmp_path / "run") == timeless(
        whole
    )


def test_without_resume_a_run_is_left_alone(corpus: Path, whole: Path) -> None:
    before = (whole / "metrics.jsonl").read_bytes()
    message = complaint(train_model, WHOLE, str(corpus), "en-de", whole)
    assert message == (
        f"{whole}: holds a run already;"
        " resume it, choose another folder (out), or remove it"
    )
    assert (whole / "metrics.jsonl").read_bytes() == before


# Started again by torchrun


def test_a_run_that_torchrun_starts_again_resumes_by_itself(
    corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job 7")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    train_model(replace(WHOLE, steps=10), str(corpus), "en-de", out)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    train_model(WHOLE, str(corpus), "en-de", out)
    assert same_end(out, whole) and timeless(out) == timeless(whole)


@pytest.mark.parametrize(
    ("job", "count"), [("job 8", "0"), ("job 8", "1"), ("job 7", "0")]
)
def test_another_job_of_torchrun_does_not_resume_a_run_by_itself(
    job: str, count: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job 7")
    train_model(replace(WHOLE, steps=5), str(corpus), "en-de", out)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", job)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", count)
    assert "holds a run already" in complaint(
        train_model, WHOLE, str(corpus), "en-de", out
    )


# Killed


def newest(out: Path) -> int:
    return max(
        (int(path.name[5:]) for path in out.glob("checkpoints/step-*")), default=0
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_again_and_again_ends_as_the_uninterrupted_one(
    seed: int, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    """With kill -9 at random moments, at first before any checkpoint; then there is one
    at every step.
    """
    out, often, draw = (
        tmp_path / "run",
        changed(WHOLE, checkpoints={"steps": 1}),
        random.Random(seed),
    )
    for death in range(5):
        before = newest(out)
        process = start(
            small_train,
            often,
            corpus,
            out,
            log=tmp_path / "log",
            options={"resume": True},
        )
        if death > 0:
            wait_for(lambda before=before: newest(out) > before, process)
        time.sleep(draw.uniform(0, 0.1))
        process.kill()
        assert finish(process) == -signal.SIGKILL
    train_model(often, str(corpus), "en-de", out, resume=True)
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
        if (
            path.parent.name == f".step-{step:07d}.part"
            and path.name == "optimizer.safetensors"
        ):
            os.truncate(path, path.stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    aiayn.training.checkpoint.save_file = save_half
    small_train(*arguments, **options)


@pytest.mark.parametrize("step", [5, 20])
def test_a_run_that_is_killed_during_a_save_goes_on(
    step: int, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert (
        finish(start(dies_while_saving, step, WHOLE, corpus, out, log=tmp_path / "log"))
        == -9
    )
    half = out / "checkpoints" / f".step-{step:07d}.part"
    assert half.is_dir() and newest(out) == step - 5
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole) and timeless(out) == timeless(whole)
    assert not half.exists()


def test_what_a_killed_save_left_goes_even_if_that_step_is_not_saved_again(
    corpus: Path, tmp_path: Path
) -> None:
    """As with checkpoints by the clock; the big model has 2.5 GB to write each time."""
    out = tmp_path / "run"
    train_model(replace(WHOLE, steps=5), str(corpus), "en-de", out)
    half = out / "checkpoints" / ".step-0000007.part"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    train_model(replace(WHOLE, steps=10), str(corpus), "en-de", out, resume=True)
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
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert (
        finish(start(dies_between, 25, WHOLE, corpus, out, log=tmp_path / "log")) == -9
    )
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole) and set(kept(out)) <= {20, 25, 30, best(out)}


@pytest.mark.parametrize("left", ["nothing", "metrics", "vocabulary"])
def test_a_run_killed_before_its_first_checkpoint_begins_anew(
    left: str, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    if left != "nothing":
        shutil.copy(whole / "vocabulary.model", out)
    if left == "metrics":
        (out / "metrics.jsonl").write_text('{"step": 3, "loss": 1.0}\n{"step": 4, "lo')
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole) and timeless(out) == timeless(whole)


def test_metrics_of_steps_that_are_taken_again_are_forgotten(
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    """Killed at some step after a checkpoint, in the middle of a line."""
    out = tmp_path / "run"
    train_model(replace(WHOLE, steps=15), str(corpus), "en-de", out)
    with (out / "metrics.jsonl").open("a") as file:
        file.write(
            '{"step": 17, "loss": 9.0}\n'
            '{"step": 18, "validation_perplexity": 1.0}\n'
            '{"step": 19, "l'
        )
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert timeless(out) == timeless(whole)


# Stopped by a signal


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_saves_and_resumes(
    number: signal.Signals, corpus: Path, tmp_path: Path
) -> None:
    out, long = tmp_path / "run", replace(WHOLE, steps=100_000)
    process = start(small_train, long, corpus, out, log=tmp_path / "log")
    wait_for(lambda: newest(out), process)
    time.sleep(random.uniform(0, 0.1))
    os.kill(process.pid or 0, number)
    assert finish(process) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
    step = kept(out)[-1]
    assert lines(out)[-1]["step"] == step and "loss" in lines(out)[-1]
    more = replace(WHOLE, steps=step + 7)
    train_model(more, str(corpus), "en-de", out, resume=True)
    train_model(more, str(corpus), "en-de", tmp_path / "whole")
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
    number: signal.Signals, corpus: Path, tmp_path: Path
) -> None:
    process = start(
        saves_for_ever, WHOLE, corpus, tmp_path / "run", log=tmp_path / "log"
    )
    checkpoints = tmp_path / "run" / "checkpoints"
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


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (
            changed(WHOLE, optimizer={"warmup": 9}),
            "trained with optimizer.warmup=4, not 9; use that, or another folder (out)",
        ),
        (replace(WHOLE, seed=2), "trained with seed=1, not 2"),
        (replace(WHOLE, label_smoothing=0.2), "label_smoothing=0.1, not 0.2"),
        (
            changed(WHOLE, batches={"tokens": 61}, optimizer={"rate_factor": 2.0}),
            "batches.tokens=60, not 61; optimizer.rate_factor=1.0, not 2.0",
        ),
        (other(WHOLE, d_model=32), "trained with model.d_model=16, not 32"),
        (other(WHOLE, dropout=0.2), "trained with model.dropout=0.1, not 0.2"),
        (
            other(WHOLE, N=2, norm="pre"),
            "trained with model.N=1, not 2; model.norm=post, not pre",
        ),
        (changed(WHOLE, batches={"max_length": 99}), "batches.max_length=256, not 99"),
        (other(WHOLE, vocabulary_size=61), "model.vocabulary_size=60, not 61"),
    ],
)
def test_resume_with_another_setting_is_refused(
    now: TrainingConfig, said: str, corpus: Path, whole: Path
) -> None:
    before = (whole / "metrics.jsonl").read_bytes()
    message = complaint(train_model, now, str(corpus), "en-de", whole, resume=True)
    assert said in message and str(whole) in message
    assert (whole / "metrics.jsonl").read_bytes() == before


def test_resume_with_other_data_is_refused(
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
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
    assert (out / "vocabulary.model").read_bytes() == (
        whole / "vocabulary.model"
    ).read_bytes()


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
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    """It may be gone, have another name, or have been trained on since."""
    short = replace(WHOLE, steps=7)
    for name, config in (("run", short), ("undisturbed", replace(WHOLE, steps=12))):
        begin = from_run(whole)
        train_model(config, str(corpus), "en-de", tmp_path / name, init=begin)
    for config, init in (
        (replace(WHOLE, steps=9), never),
        (replace(WHOLE, steps=12), None),
    ):
        train_model(
            config, str(corpus), "en-de", tmp_path / "run", resume=True, init=init
        )
    assert same_end(tmp_path / "run", tmp_path / "undisturbed")
    found = read_description(checkpoint(tmp_path / "run", 12))
    assert found.init == str(whole) and found.training
    assert found.training.optimizer.steps_before == 30
    assert found.training.optimizer.rate_factor == pytest.approx(0.1)
    other_rate = changed(WHOLE, optimizer={"rate_factor": 2.0})
    assert "optimizer.rate_factor=0.1, not 0.2" in complaint(
        train_model, other_rate, str(corpus), "en-de", tmp_path / "run", resume=True
    )


def test_a_run_that_began_anew_has_no_use_for_a_model(
    corpus: Path, whole: Path
) -> None:
    said = complaint(
        train_model, WHOLE, str(corpus), "en-de", whole, resume=True, init=never
    )
    assert "the run began with a new model, not with the one that is named now" in said


@pytest.mark.parametrize("kind", ["byte_fallback", "lowercase"])
@pytest.mark.parametrize("wanted", [False, True])
def test_the_record_says_which_vocabulary_was_kept(
    kind: str, wanted: bool, corpus: Path, tmp_path: Path
) -> None:
    size = 330 if kind == "byte_fallback" and wanted else 60
    small = other(WHOLE, vocabulary_size=size)
    first = changed(small, steps=1, vocabulary={kind: wanted})
    train_model(first, str(corpus), "en-de", tmp_path / "first")
    second = changed(WHOLE, steps=1, vocabulary={kind: not wanted})
    begin = from_run(tmp_path / "first")
    train_model(second, str(corpus), "en-de", tmp_path / "second", init=begin)
    found = read_description(checkpoint(tmp_path / "second", 1))
    assert getattr(found.training.vocabulary, kind) is wanted  # type: ignore[union-attr]
    assert found.model.vocabulary_size == size
    again = replace(second, steps=2)
    out = tmp_path / "second"
    train_model(again, str(corpus), "en-de", out, resume=True, init=never)
    known = read_description(checkpoint(out, 2)).training
    assert known and getattr(known.vocabulary, kind) is wanted


def test_resume_with_other_plans_is_allowed(
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    """How long, how often saved and how much kept has no part in what is learned."""
    out = shutil.copytree(whole, tmp_path / "run")
    plans = changed(
        WHOLE,
        checkpoints={"keep": 2, "average": 1, "steps": None, "minutes": 0.5},
        steps=33,
        patience=4,
    )
    train_model(replace(plans, minutes=100.0), str(corpus), "en-de", out, resume=True)
    train_model(replace(WHOLE, steps=33), str(corpus), "en-de", tmp_path / "whole")
    assert same_end(out, tmp_path / "whole")
    assert set(kept(out)) <= {30, 33, best(out)}


def test_the_number_of_steps_is_settled_once_the_rate_falls_towards_the_last(
    corpus: Path, tmp_path: Path
) -> None:
    short = changed(
        WHOLE, optimizer={"cooldown": 4}, steps=14
    )  # falls in steps 12 to 14
    long, out = replace(short, steps=24), tmp_path / "run"
    train_model(short, str(corpus), "en-de", out)
    said = complaint(train_model, long, str(corpus), "en-de", out, resume=True)
    assert "trained with steps=14, not 24" in said
    shutil.rmtree(checkpoint(out, 14))
    shorter = replace(short, steps=12)  # would have fallen in step 10 already
    said = complaint(train_model, shorter, str(corpus), "en-de", out, resume=True)
    assert "trained with steps=14, not 12" in said
    train_model(long, str(corpus), "en-de", out, resume=True)
    train_model(long, str(corpus), "en-de", tmp_path / "whole")
    assert same_end(out, tmp_path / "whole")


def test_resume_with_other_pieces_is_the_same_but_for_rounding(
    corpus: Path, tmp_path: Path
) -> None:
    torch.set_default_dtype(torch.float64)  # so that rounding is not what one sees
    plain = other(WHOLE, dropout=0.0)
    train_model(replace(plain, steps=10), str(corpus), "en-de", tmp_path / "run")
    train_model(
        changed(plain, batches={"micro_batches": 3}, steps=15),
        str(corpus),
        "en-de",
        tmp_path / "run",
        resume=True,
    )
    train_model(replace(plain, steps=15), str(corpus), "en-de", tmp_path / "whole")
    one, all_at_once = tensors(tmp_path / "run"), tensors(tmp_path / "whole")
    torch.testing.assert_close(one, all_at_once, rtol=1e-9, atol=1e-9)


def test_resume_keeps_the_pieces_of_the_run_unless_others_are_named(
    corpus: Path, tmp_path: Path
) -> None:
    """As `aiayn train` resumes what `aiayn launch` began; another number of
    micro-batches would mean another dropout.
    """
    launched = changed(WHOLE, batches={"micro_batches": 3})
    train_model(replace(launched, steps=10), str(corpus), "en-de", tmp_path / "run")
    out = tmp_path / "run"
    train_model(replace(WHOLE, steps=15), str(corpus), "en-de", out, resume=True)
    train_model(replace(launched, steps=15), str(corpus), "en-de", tmp_path / "whole")
    assert same_end(out, tmp_path / "whole")


# Damaged


def cut(name: str) -> Callable[[Path], None]:
    return lambda folder: os.truncate(
        folder / name, (folder / name).stat().st_size // 2
    )


def without_exp_avg(folder: Path) -> None:
    path = folder / "optimizer.safetensors"
    found = safetensors.torch.load_file(path)
    safetensors.torch.save_file(
        {key: v for key, v in found.items() if "exp_avg_sq" not in key}, path
    )


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut weights": (
        cut("model.safetensors"),
        "model.safetensors: damaged or not there (",
    ),
    "cut optimizer": (
        cut("optimizer.safetensors"),
        "optimizer.safetensors: damaged or not there (",
    ),
    "empty optimizer": (
        lambda folder: os.truncate(folder / "optimizer.safetensors", 0),
        "optimizer.safetensors: damaged or not there (",
    ),
    "another optimizer": (
        without_exp_avg,
        "exp_avg_sq is missing, but the configuration wants (",
    ),
    "a pickle": (
        lambda folder: torch.save({"state": {}}, folder / "optimizer.safetensors"),
        "optimizer.safetensors: damaged or not there (",
    ),
    "cut configuration": (cut("config.json"), "config.json: not a configuration ("),
    "no weights": (
        lambda folder: (folder / "model.safetensors").unlink(),
        "damaged or not there (",
    ),
    "no training": (
        lambda folder: (folder / "config.json").write_text(
            json.dumps({"model": WHOLE.model.to_dict()})
        ),
        "config.json: not the configuration of an aiayn model (",
    ),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_resume_from_a_damaged_checkpoint_is_refused_and_the_one_before_offered(
    damage: str, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(whole, tmp_path / "run")
    spoil, said = DAMAGES[damage]
    spoil(checkpoint(out, 30))
    message = complaint(train_model, WHOLE, str(corpus), "en-de", out, resume=True)
    assert said in message and str(checkpoint(out, 30)) in message
    assert message.endswith(
        f"Or remove {checkpoint(out, 30)}, to go on from step-0000025"
    )
    assert timeless(out) == timeless(whole)  # nothing was touched
    shutil.rmtree(checkpoint(out, 30))
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole) and timeless(out) == timeless(whole)


def test_resume_from_the_only_checkpoint_damaged(
    corpus: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    train_model(replace(WHOLE, steps=5), str(corpus), "en-de", out)
    cut("model.safetensors")(checkpoint(out, 5))
    message = complaint(train_model, WHOLE, str(corpus), "en-de", out, resume=True)
    assert message.endswith(f"Or remove {checkpoint(out, 5)}, to begin anew")
    shutil.rmtree(checkpoint(out, 5))
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole) and timeless(out) == timeless(whole)


def test_resume_needs_no_state_of_adam_in_older_checkpoints(
    corpus: Path, whole: Path
) -> None:
    """It is twice as large as the weights, and only the last two keep it."""
    with_state = [
        (path / "optimizer.safetensors").exists() for path in list_checkpoints(whole)
    ]
    assert with_state[-2:] == [True, True] and not any(with_state[:-2])
    assert newest_checkpoint(whole) == checkpoint(whole, 30)


# What stays, and when


def scores(monkeypatch: pytest.MonkeyPatch, *perplexities: float) -> None:
    """Let the validations of a run have these results, one after the other."""
    import math

    found = iter(perplexities)
    monkeypatch.setattr(
        "aiayn.training.trainer.validation_loss", lambda *_: math.log(next(found))
    )


def test_the_best_checkpoint_stays_beside_the_last(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores(monkeypatch, 9, 3, 4, 5, 2, 6, 7, 8)
    out, config = (
        tmp_path / "run",
        changed(WHOLE, checkpoints={"keep": 2, "average": 1}),
    )
    for steps, stay in (
        (20, [10, 15, 20]),
        (25, [10, 20, 25]),
        (30, [25, 30]),
        (40, [25, 35, 40]),
    ):
        train_model(
            replace(config, steps=steps), str(corpus), "en-de", out, resume=True
        )
        assert kept(out) == stay


def test_patience_ends_a_run(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three validations in a row that are no better than the best before them."""
    scores(monkeypatch, 9, 5, 6, 4, 4, 5, 4.5, 1)
    train_model(
        replace(WHOLE, steps=100, patience=3), str(corpus), "en-de", tmp_path / "run"
    )
    assert list(validations(tmp_path / "run")) == [5, 10, 15, 20, 25, 30, 35]
    assert 20 in kept(tmp_path / "run") and kept(tmp_path / "run")[-1] == 35
    train_model(
        replace(WHOLE, steps=100, patience=3),
        str(corpus),
        "en-de",
        tmp_path / "run",
        resume=True,
    )
    assert kept(tmp_path / "run")[-1] == 35


def test_a_run_is_saved_before_it_is_evaluated(
    corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Validation may run out of memory."""

    def validation_loss(*_: Any) -> float:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("aiayn.training.trainer.validation_loss", validation_loss)
        with pytest.raises(MemoryError):
            train_model(WHOLE, str(corpus), "en-de", tmp_path / "run")
    assert kept(tmp_path / "run") == [5]
    train_model(WHOLE, str(corpus), "en-de", tmp_path / "run", resume=True)
    assert same_end(tmp_path / "run", whole)


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), SafetensorError("No space left")]
)
def test_a_disk_that_is_full_costs_no_checkpoint_and_the_run_resumes(
    error: Exception,
    corpus: Path,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, save_file = tmp_path / "run", aiayn.training.checkpoint.save_file

    def full(content: Any, path: Path) -> None:
        if "step-0000020" in path.parent.name and path.name == "optimizer.safetensors":
            raise error
        save_file(content, path)

    with monkeypatch.context() as patch:
        patch.setattr(aiayn.training.checkpoint, "save_file", full)
        message = complaint(train_model, WHOLE, str(corpus), "en-de", out)
    assert (
        f"{checkpoint(out, 20)}: cannot be written (" in message
        and "No space left" in message
    )
    assert kept(out)[-1] == 15 and not list(out.glob("checkpoints/.*"))
    load_checkpoint(list_checkpoints(out))
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole) and timeless(out) == timeless(whole)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of less than a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small file system can be mounted only by root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_really_is_full(
    corpus: Path, small_disk: Path, tmp_path: Path
) -> None:
    out, many = (
        small_disk / "run",
        changed(WHOLE, checkpoints={"keep": 1000, "steps": 1}, steps=100),
    )
    message = complaint(train_model, many, str(corpus), "en-de", out)
    assert "cannot be written (" in message and "No space left" in message
    assert len(kept(out)) > 1 and not list(out.glob("checkpoints/.*"))
    for folder in list_checkpoints(out):
        load_checkpoint([folder])
    last = kept(out)[-1]
    more = changed(many, checkpoints={"keep": 2}, steps=last + 5)
    assert "No space left" in complaint(
        train_model, more, str(corpus), "en-de", out, resume=True
    )
    for folder in list_checkpoints(out)[:9]:
        shutil.rmtree(folder)
    train_model(more, str(corpus), "en-de", out, resume=True)
    train_model(more, str(corpus), "en-de", tmp_path / "whole")
    assert same_end(out, tmp_path / "whole")


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
    corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        diverges(patch, 13)
        message = complaint(train_model, WHOLE, str(corpus), "en-de", out)
    assert message.startswith(
        "step 13: the loss is nan, the gradient nan, on the pairs "
    )
    numbers = message.partition("on the pairs ")[2].partition(" …")[0].split()
    assert all(1 <= int(number) <= 60 for number in numbers) and len(numbers) > 1
    assert "step 12 is saved" in message and kept(out)[-1] == 12
    assert all(
        tensor.isfinite().all()
        for n in ("model", "optimizer")
        for tensor in tensors(out, n).values()
    )
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole)


def test_a_first_loss_that_is_no_number(
    corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then there is nothing but the weights as they were drawn, and the run can begin
    again with them.
    """
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        diverges(patch, 1)
        message = complaint(train_model, WHOLE, str(corpus), "en-de", out)
    assert message.startswith("step 1: the loss is nan")
    assert "look into the model" in message and "lower rate" not in message
    train_model(WHOLE, str(corpus), "en-de", out, resume=True)
    assert same_end(out, whole)


def test_a_loss_that_is_no_number_just_after_a_checkpoint(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverges(monkeypatch, 6)
    assert "step 5 is saved" in complaint(
        train_model, WHOLE, str(corpus), "en-de", tmp_path / "run"
    )
    assert kept(tmp_path / "run") == [5]
