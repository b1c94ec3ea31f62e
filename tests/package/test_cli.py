"""The command `aiayn`: what it does with good input, and the one line it says about bad
input.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import small_models
import torch
import tyro

from aiayn import __main__ as program
from aiayn import synthetic
from aiayn.cli import launch as launch_module
from aiayn.cli import train as train_module
from aiayn.cli.evaluation import score
from aiayn.cli.options import TrainOptions
from aiayn.cli.parser import flags_of, in_flags, read_command, split_imports
from aiayn.cli.torchrun import paper_run
from aiayn.complexity import estimate_table
from aiayn.decoding.beam_search import SearchConfig
from aiayn.errors import InputError
from aiayn.model.registry import ARCHITECTURES
from aiayn.training import recipe, train_model
from aiayn.training.recipes import RECIPES
from aiayn.training.step import accumulate_gradients
from aiayn.training.trained_run import TrainedRun
from aiayn.training.trainer import TrainingResult
from aiayn.translation.translator import Translator

Command = Callable[..., tuple[int, str, str]]


def job(sentences: Path, out: Path, *more: Any) -> list[Any]:
    """The flags of a small training."""
    recipe = ["--recipe", "synthetic", "--model.vocabulary-size", 60]
    return ["--data", sentences, "--out", out, *recipe, *more]


def train_arguments(sentences: Path, out: Path, *more: Any) -> list[Any]:
    """A training of three steps."""
    return ["train", *job(sentences, out, "--steps", 3, *more)]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the training is kept of which each test has a copy."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def run(aiayn: Command, sentences: Path, shelf: Path, tmp_path: Path) -> Path:
    """The folder of a training that has come to its end."""
    if not (shelf / "run").exists():
        code, _, errors = aiayn(*train_arguments(sentences, shelf / "run"))
        assert code == 0, errors
    return shutil.copytree(shelf / "run", tmp_path / "run")


def test_train_translate_evaluate(aiayn: Command, run: Path) -> None:
    assert (run / "metrics.jsonl").read_text().count("\n") >= 2
    code, output, _ = aiayn("evaluate", run, "--split", "test")
    assert code == 0
    lines = output.splitlines()
    scores = [re.sub(r"[\d.]+", "#", line.partition("  ")[0]) for line in lines]
    assert scores == ["BLEU # [#, #]", "chrF # [#, #]"]
    assert all("bs:1000|seed:12345" in line and "version:" in line for line in lines)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal")
def test_on_a_terminal_a_bar_ends_with_the_time(sentences: Path, out: Path) -> None:
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    words = job(sentences, out, "--minutes", 0.03, "--checkpoints.steps", 20)
    program = subprocess.Popen(
        [sys.executable, "-m", "aiayn", "train", *map(str, words)], stderr=theirs
    )
    os.close(theirs)
    shown = b""
    # This is how the terminal of a program that has ended says so.
    with suppress(OSError):
        while part := os.read(ours, 1 << 16):
            shown += part
    os.close(ours)
    assert program.wait() == 0, shown.decode()
    lines = list(filter(str.strip, re.split("[\r\n]", shown.decode())))
    bars = [re.search(r"^step (\d+): +(\d+)%\|.*\| 00:\d\d<", line) for line in lines]
    *_, last = filter(None, bars)
    assert last[2] == "100" and int(last[1]) < 4400, lines[-5:]  # the recipe's steps
    saved = r"^step 20, .* min, validation perplexity .*: .+ → "
    assert any(re.search(saved, line) for line in lines)
    *_, figures, following = lines
    found = rf"{last[1]} steps in 0\.\d minutes, validation perplexity [\d.]+"
    assert re.fullmatch(f"{out}: {found}", figures)
    assert following == f"next: aiayn translate {out} < in.en"


def test_going_on_with_other_text(
    aiayn: Command, sentences: Path, run: Path, tmp_path: Path
) -> None:
    more = ["--init", run, "--device", "cpu"]
    arguments = train_arguments(sentences, tmp_path / "more", *more)
    code, _, errors = aiayn(*arguments)
    begins = f"begins with {run}, trained for 3 steps: the learning rate rises from"
    assert code == 0 and begins in errors
    said = described(tmp_path / "more")
    assert said["init"] == str(run) and said["training"]["model"]["d_model"] == 64
    assert said["training"]["optimizer"]["steps_before"] == 3
    code, _, errors = aiayn(*arguments, "--steps", 5, "--resume")
    assert code == 0 and "begins with" not in errors


def described(run: Path) -> dict[str, Any]:
    """How the newest checkpoint of a run says that it was trained."""
    newest = max((run / "checkpoints").iterdir())
    description: dict[str, Any] = json.loads(
        (newest / "config.json").read_text(encoding="utf-8")
    )
    return description


def test_flags_change_the_recipe(aiayn: Command, sentences: Path, out: Path) -> None:
    more = (
        "--batches.tokens 100 --batches.micro-batches 2 --checkpoints.steps 2"
        " --model.dropout 0.25 --seed 7"
    ).split()
    code, _, errors = aiayn(*train_arguments(sentences, out, *more))
    assert code == 0, errors
    wanted = recipe(
        "synthetic",
        model={"vocabulary_size": 60, "dropout": 0.25},
        batches={"tokens": 100, "micro_batches": 2},
        checkpoints={"steps": 2},
        steps=3,
        seed=7,
    )
    assert described(out)["training"] == wanted.to_dict()


@pytest.mark.parametrize("before", [False, True])
def test_resume_goes_on_or_begins(
    aiayn: Command, sentences: Path, run: Path, tmp_path: Path, before: bool
) -> None:
    out = run if before else tmp_path / "new"
    arguments = train_arguments(sentences, out, "--steps", 5, "--resume")
    code, _, errors = aiayn(*arguments)
    assert code == 0, errors
    assert os.listdir(out / "checkpoints") == ["step-0000005"]


def test_resume_alone_repeats_what_the_run_records(
    aiayn: Command, sentences: Path, tmp_path: Path
) -> None:
    files = ["--train", sentences / "train.en", sentences / "train.de"]
    files += ["--valid", sentences / "val.en", sentences / "val.de"]
    told = ["--recipe", "synthetic", "--model.vocabulary-size", 60, "--lr", 0.01]
    out = tmp_path / "new"
    assert aiayn("train", *files, *told, "--steps", 1, "--out", out)[0] == 0
    began = described(out)
    for steps in (2, 3):  # the second session hands on what the first recorded
        again = aiayn("train", "--resume", "--out", out, "--steps", steps)
        assert again[0] == 0, again
        assert described(out)["step"] == steps
    assert described(out)["command"] == began["command"]
    code, _, said = aiayn("train", "--resume", "--out", out)  # has three steps now
    assert code == 0 and "at its end, step 3; with more steps, minutes" in said
    said = complaint(aiayn("train", "--resume", "--out", tmp_path / "other"))
    assert "other holds no run" in said and "--recipe" in said


def test_resume_from_another_folder_says_where_the_text_is(
    aiayn: Command, sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sentences)
    told = ["--recipe", "synthetic", "--model.vocabulary-size", 60, "--steps", 1]
    files, out = ["--train", "train.en", "train.de"], tmp_path / "new"
    assert aiayn("train", *files, *told, "--out", out)[0] == 0
    monkeypatch.chdir(tmp_path)
    said = complaint(aiayn("train", "--resume", "--out", out))
    assert f"train.en: is not here: {out} was begun in another folder" in said


def test_resume_alone_goes_on_with_what_python_began(
    aiayn: Command, sentences: Path, out: Path
) -> None:
    settings = recipe("synthetic", steps=1, model={"vocabulary_size": 60})
    train_model(settings, str(sentences), "en-de", out)
    assert aiayn("train", "--resume", "--out", out, "--steps", 2)[0] == 0
    path = out / "checkpoints" / "step-0000002" / "config.json"
    values = json.loads(path.read_text())
    del values["data"]
    path.write_text(json.dumps(values | {"texts": "a.en; a.de"}))
    said = complaint(aiayn("train", "--resume", "--out", out, "--steps", 3))
    assert "(a.en; a.de); repeat --data, or --train" in said
    more = ["--data", sentences, "--steps", 3]
    assert aiayn("train", "--resume", "--out", out, *more)[0] == 0


def test_an_interrupted_training_says_so(
    aiayn: Command, sentences: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def stopped(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return accumulate_gradients(*arguments)

    monkeypatch.setattr("aiayn.training.step.accumulate_gradients", stopped)
    code, _, errors = aiayn(*train_arguments(sentences, out))
    said = "stopped after step 1 of 3, which is saved; --resume goes on"
    assert code == 130 and said in errors


@pytest.mark.parametrize("kept", ["", '{"step": 2, "validation_perplexity": 9.0}\n'])
def test_a_score_before_the_end_of_the_training_says_so(
    aiayn: Command, run: Path, kept: str
) -> None:
    """Of a run; a checkpoint alone does not say where its training ends."""
    line = f"aiayn: {run}: step 3, before the end of its training\n"
    assert line not in aiayn("evaluate", run)[2]
    metrics = run / "metrics.jsonl"
    metrics.write_text(kept)
    code, output, errors = aiayn("evaluate", run)
    assert (code, output[:5], errors.count(line)) == (0, "BLEU ", 1)
    metrics.write_text("damaged\n")  # which is for those to say who resume it
    code, output, errors = aiayn("evaluate", run)
    assert (code, output[:5], line in errors) == (0, "BLEU ", False)
    metrics.unlink()
    assert line not in aiayn("evaluate", run)[2]


def test_tensorboard_and_compile_are_passed_on(
    aiayn: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []

    def note(*plain: Any, **named: Any) -> TrainingResult:
        called.append((plain, named))
        return TrainingResult(True, 9, 1.0, 2.0)

    monkeypatch.setattr(train_module, "train_model", note)
    told = ["--data", "multi30k", "--recipe", "multi30k", "--out", out, "--minutes", 5]
    assert aiayn("train", *told, "--lr", 0.001, "--tensorboard", "--compile")[0] == 0
    ((plain, named),) = called
    asked = recipe("multi30k", learning_rate=0.001, minutes=5)
    assert plain == (asked, "multi30k", "en-de", out)
    wanted = {"resume": False, "tensorboard": True, "compile": True, "init": None}
    assert wanted.items() <= named.items()


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ["--model.vocabulary-size", 61],
            "--model.vocabulary-size 61: the model to begin with (--init) has 60",
        ),
        (
            ["--vocabulary.byte-fallback"],
            "--vocabulary.byte-fallback: the model to begin with (--init) has False",
        ),
    ],
)
def test_flags_that_would_do_nothing_beside_init_are_refused(
    aiayn: Command,
    sentences: Path,
    run: Path,
    tmp_path: Path,
    flags: list[Any],
    said: str,
    resumed: bool,
) -> None:
    told = ["train", "--data", sentences, "--recipe", "synthetic", "--steps", 2]
    told += ["--out", tmp_path / "more"]
    if resumed:
        assert aiayn(*told, "--init", run, "--steps", 1)[0] == 0
        flags = [*flags, "--resume"]
    else:
        flags = [*flags, "--init", run]
    assert said in complaint(aiayn(*told, *flags))
    assert resumed or not (tmp_path / "more").exists()


def test_a_resumed_run_has_the_model_that_it_began_with(
    aiayn: Command, sentences: Path, run: Path, tmp_path: Path
) -> None:
    told = ["train", "--data", sentences, "--recipe", "synthetic", "--resume"]
    told += ["--out", tmp_path / "more", "--steps"]
    assert aiayn(*told, 1, "--init", run)[0] == 0
    assert aiayn(*told, 2, "--init", run)[0] == 0
    said = complaint(aiayn(*told, 3, "--init", tmp_path / "other"))
    assert f"more began with {run}; leave it out" in said


def test_a_vocabulary_that_is_kept_is_described(
    aiayn: Command, sentences: Path, run: Path, tmp_path: Path
) -> None:
    out, told = tmp_path / "more", ["--data", sentences, "--steps", 1]
    told += ["--recipe", "multi30k", "--init", run, "--out", out]
    code, _, errors = aiayn("train", *told)
    assert code == 0
    assert f"the vocabulary of {run} is kept: capitals, too" in errors
    kept = {"byte_fallback": False, "lowercase": False}
    assert described(out)["training"]["vocabulary"] == kept


def test_windows_is_refused_in_one_line(
    aiayn: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aiayn.device.sys.platform", "win32")
    said = complaint(aiayn("estimate", "--gpus", 1))
    assert said.startswith("aiayn: Windows: use WSL")


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        ("aiayn.decoding.batched.beam_search", "translate RUN"),
        ("aiayn.decoding.batched.beam_search", "evaluate RUN"),
        ("aiayn.synthetic.sample", "generate-corpus"),
        (
            "aiayn.cli.options.find_recipe",
            "train --data synthetic --recipe base --out new",
        ),
        ("aiayn.__main__.run_sweep", "sweep --data synthetic --out table3.json"),
    ],
)
def test_a_fault_of_the_program_keeps_its_traceback(
    aiayn: Command, run: Path, monkeypatch: pytest.MonkeyPatch, fails: str, words: str
) -> None:
    def broken(*arguments: Any, **named: Any) -> Any:
        raise ValueError("shape '[2, 3]' is invalid for input of size 5")

    monkeypatch.setattr(fails, broken)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(ValueError, match="is invalid for input of size 5") as caught:
        aiayn(*words.replace("RUN", str(run)).split(), text="The dog.")
    assert caught.type is ValueError


def test_translate_keeps_the_number_of_lines(aiayn: Command, run: Path) -> None:
    text = b"\nThe dog is tired.\n   \nThe cake is sour.\n\n"
    code, output, _ = aiayn("translate", run, text=text)
    assert code == 0
    assert output.count("\n") == text.count(b"\n")
    assert output.startswith("\n")


def test_the_best_hypotheses_with_their_scores(aiayn: Command, run: Path) -> None:
    text = b"The dog is tired.\n\nThe cake is sour.\n"
    code, output, _ = aiayn("translate", run, "--n-best", 3, text=text)
    assert code == 0
    rows = [line.split("\t") for line in output.splitlines()]
    assert [number for number, *_ in rows] == ["1", "1", "1", "2", "3", "3", "3"]
    assert rows[3] == ["2", "", ""]
    scores = [float(value) for number, value, _ in rows if number == "1"]
    assert scores == sorted(scores, reverse=True) and max(scores) < 0
    best = [rows[k][2] for k in (0, 3, 4)]
    assert best == aiayn("translate", run, text=text)[1].splitlines()


def test_a_sentence_beyond_the_learned_positions(
    aiayn: Command, sentences: Path, tmp_path: Path, out: Path
) -> None:
    shape = {"vocabulary_size": 60, "positions": "learned", "max_length": 80}
    settings = recipe("synthetic", steps=1, model=shape)
    train_model(settings, str(sentences), "en-de", out)
    long = "The dog is old. " * 40
    code, output, errors = aiayn("translate", out, text=f"{long}\nThe dog is old.\n")
    # The second is translated.
    assert code == 1 and output.startswith("\n") and output.count("\n") == 2
    said = "sentence 1 has 321 tokens, more than 80"
    assert f"standard input: {said}: an empty text takes the place of each" in errors
    code, output, errors = aiayn("translate", out, text="\n" + f"{long}\n" * 1200)
    (line,) = errors.splitlines()
    assert "sentence 2 has" in line and "1,199 others (3, 4, 5, …): an empty" in line
    assert (code, output) == (1, "\n" * 1201)
    (tmp_path / "test.en").write_text(f"{long}\n")
    (tmp_path / "test.de").write_text("Der Hund ist alt.\n")
    answer = aiayn("evaluate", out, "--data", tmp_path)
    assert f"{tmp_path}/test.en: {said}" in complaint(answer)


def test_scores_in_every_form_and_in_a_file(
    aiayn: Command, run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "scores" / "bleu.json"
    words = ["evaluate", run, "--bleu-variants", "--beam", 2, "--average", 1]
    code, output, errors = aiayn(*words, "--json", file)
    assert code == 0, errors
    forms = ["sacrebleu", "sacrebleu-intl", "paper", "tokenised-lowercased"]
    lines = output.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["BLEU", "chrF", "BLEU"]
    assert lines[2].startswith("BLEU (paper) ")
    assert [line.split()[:2] for line in lines[3:]] == [
        ["test", form] for form in forms
    ]
    record = json.loads(file.read_text(encoding="utf-8"))
    typed = " ".join(map(str, ["aiayn", *words, "--json", file]))
    wanted = {
        "command": typed,
        "run": str(run),
        "beam": 2,
        "alpha": 0.6,
        "checkpoints": ["step-0000003"],
        "dtype": "float32",
    }
    assert record.items() >= wanted.items() and list(record["bleu"]["test"]) == forms


def test_a_score_says_in_which_type_it_was_computed(run: Path) -> None:
    greedy = SearchConfig(beam=1)
    with torch.autocast("cpu", torch.bfloat16):
        found = score(TrainedRun.read(run), greedy, bleu_variants=False, device="cpu")
    assert found["dtype"] == "bfloat16"


def test_two_systems_are_compared(
    aiayn: Command, run: Path, sentences: Path, tmp_path: Path
) -> None:
    right, file = sentences / "test.de", tmp_path / "scores.json"
    code, output, errors = aiayn("evaluate", run, "--baseline", right, "--json", file)
    assert code == 0, errors
    assert [line.split()[:4] for line in output.splitlines()[2:]] == [
        ["difference", "from", f"{right}:", name] for name in ("BLEU", "chrF")
    ]
    record = json.loads(file.read_text(encoding="utf-8"))
    # The references themselves are better than any model.
    for name, apart in record["difference"].items():
        assert apart["value"] == pytest.approx(record["measured"][name]["value"] - 100)
        assert apart["high"] < 0 and apart["p"] < 0.05
    assert record["baseline"] == str(right)
    alike = f"{run}: BLEU +0.00 [+0.00, +0.00], p = 1.000"
    assert alike in aiayn("evaluate", run, "--baseline", run)[1]
    short = tmp_path / "short.de"
    for text, beside in (("Ja.\n", right.with_suffix(".de")), ("", right)):
        short.write_text(text)
        said = complaint(aiayn("evaluate", run, "--baseline", short))
        assert f"--baseline {short}: {len(text) // 4} lines, {beside} has 8" in said


def test_scores_are_printed_before_they_are_written(
    aiayn: Command, run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    code, output, errors = aiayn("evaluate", run, "--json", file / "bleu.json")
    assert code == 2 and output.startswith("BLEU ") and str(file) in errors


def test_estimate(aiayn: Command) -> None:
    flags = ["--gpus", 8, "--gpu", "H100", "--utilisation", 0.4, "--watts", 500]
    wanted = estimate_table(8, "H100", 0.4, 500.0) + "\n"
    assert aiayn("estimate", *flags) == (0, wanted, "")
    gpu = "estimate", "--gpus", 1, "--gpu", "T4"
    assert aiayn(*gpu) == (0, estimate_table(1, "T4") + "\n", "")
    code, output, _ = aiayn(*gpu, "--recipe", "big", "wsj", "--steps", 70)
    rows = [line.split()[:2] for line in output.splitlines()[2::3]]
    assert code == 0 and rows == [["big", "70"], ["wsj", "70"]]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--gpu", "H1000"], "not listed"),
        (["--gpu", "T4", "--utilisation", 40], "a share of the peak"),
        (["--gpu", "T4", "--recipe", "smal"], "smal"),
        (["--gpu", "T4", "--steps", 5], "add --recipe"),
        (["--gpu", "T4", "--recipe", "small"], "2,000 tokens, does not fill a GPU"),
        ([], "(required); for full helptext, run: aiayn estimate --help"),
    ],
)
def test_an_estimate_that_cannot_be_made(
    aiayn: Command, flags: list[Any], said: str
) -> None:
    assert said in complaint(aiayn("estimate", "--gpus", 8, *flags))


def read_back(job: TrainOptions) -> TrainOptions:
    """What tyro makes of a job's own flags."""
    _, words = split_imports(job.flags(TrainOptions))
    found = tyro.cli(TrainOptions.with_recipe_defaults(words), args=words)
    return TrainOptions(**vars(found))


def test_flags_are_read_back() -> None:
    config = recipe(
        "multi30k",
        model={"dropout": 0.0},
        optimizer={"muon": False, "weight_decay": 0.0},
        checkpoints={"steps": None},
        minutes=2.5,
        seed=3,
    )
    job = TrainOptions(
        data="d e", recipe="multi30k", out=Path("-o"), config=config, resume=True
    )
    words = job.flags(TrainOptions)
    assert words == [
        *("--data", "d e", "--recipe", "multi30k", "--out=-o", "--resume"),
        *("--model.dropout", "0.0", "--optimizer.no-muon"),
        *("--optimizer.weight-decay", "0.0", "--checkpoints.steps", "None"),
        *("--minutes", "2.5", "--seed", "3"),
    ]
    assert read_back(job) == job


def test_a_learning_rate_and_modules_are_read_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = recipe("small", 0.002)
    job = TrainOptions(
        data="d",
        recipe="small",
        out=Path("o"),
        config=recipe("small"),
        learning_rate=0.002,
    )
    assert job.config == chosen and read_back(job) == job
    monkeypatch.setattr("sys.argv", ["aiayn", "launch", "--import", "json", "-x"])
    words = job.flags(TrainOptions)
    assert words[:2] == ["--import", "json"] and read_back(job) == job


def test_a_registered_model_works_from_the_shell(
    aiayn: Command, sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.setitem(ARCHITECTURES, "mine", None)  # is removed afterwards
    del ARCHITECTURES["mine"]
    Path("my_module.py").write_text(small_models.MINE)
    shape = {"architecture": "mine", "factor": 2.0}
    values = recipe("synthetic", model={"vocabulary_size": 60}, steps=3).to_dict()
    values["model"] |= shape
    Path("mine.json").write_text(json.dumps(values))
    words = ["train", "--data", sentences, "--recipe", "mine.json", "--out", "run"]
    code, _, errors = aiayn(*words)
    assert code == 2 and "mine" in errors and errors.count("\n") == 1
    code, _, errors = aiayn(*words, "--import", "none_such")
    assert (code, errors.count("\n")) == (2, 1)
    assert "--import none_such: cannot be imported (No module named" in errors
    code, _, errors = aiayn(*words, "--import", "my_module", "--model.factor", 3)
    assert code == 0 and "rises for 400 steps, but after about 3 the" in errors, errors
    assert errors.index("rises for") < errors.index("step 3")
    code, output, _ = aiayn("--import=my_module", "translate", "run", text="A dog.\n")
    assert (code, output.count("\n")) == (0, 1)
    assert "factor 3.0" in aiayn("info", "run", "--import", "my_module")[1]


def test_files_are_read_back() -> None:
    files: dict[str, Any] = {"train": ("a b.en", "c.de"), "valid": ("d.tsv",)}
    more: dict[str, Any] = {"columns": "en,de", "skip_bad_lines": True}
    job = TrainOptions(recipe="base", out=Path("o"), config=recipe("base"), **files)
    assert read_back(job) == job
    job = replace(job, **more)
    assert read_back(job) == job


def test_any_recipe_is_read_back() -> None:
    for name, config in RECIPES.items():
        # whose fields base has, too
        if isinstance(config.model, type(recipe("base").model)):
            job = TrainOptions(data="d", recipe="base", out=Path("o"), config=config)
            assert read_back(job) == job, name


@pytest.fixture
def started(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[list[str]]:
    """The commands that would start workers; instead the run appears, as `new`."""
    commands: list[list[str]] = []

    def run_torchrun(command: list[str]) -> None:
        commands.append(command)
        run.rename(tmp_path / "new")

    monkeypatch.setattr(launch_module, "run_torchrun", run_torchrun)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    return commands


def test_launch_trains_and_scores(
    aiayn: Command, sentences: Path, started: list[list[str]], tmp_path: Path
) -> None:
    out = tmp_path / "new"
    told = job(sentences, out, "--steps", 3, "--workers", 2)
    code, output, errors = aiayn("launch", *told)
    assert code == 0, errors
    train = (
        "torchrun --standalone --nproc-per-node 2 --max-restarts 3 -m aiayn train"
        f" --data {sentences} --recipe synthetic --out {out} --resume"
        " --model.vocabulary-size 60 --batches.micro-batches 8 --steps 3"
    )
    assert started == [train.split()]
    assert "tokenised-lowercased" in output
    record = json.loads((out / "bleu.json").read_text(encoding="utf-8"))
    assert "sacrebleu" in record["bleu"]["test"]


def test_on_several_machines_it_trains_and_may_go_on(
    aiayn: Command, sentences: Path, started: list[list[str]], tmp_path: Path
) -> None:
    machines = ["--workers", 8, "--machines", 2, "--address", "localhost:1"]
    told = job(sentences, tmp_path / "new", *machines)
    code, output, _ = aiayn("launch", *told)
    waiting = "waiting for 2 machines at localhost:1, ten minutes\n"
    assert (code, output) == (0, waiting)
    (command,) = started
    assert "--resume" in command and "localhost:1" in command
    assert command[command.index("--batches.micro-batches") + 1] == "16"
    assert "holds a run already; resume it (--resume)" in complaint(
        aiayn("launch", *told)
    )


def test_launch_prints_a_batch_file(aiayn: Command, out: Path) -> None:
    told = [*paper_run("big", "en-fr", out), "--workers", 2, "--machines", 4]
    code, output, _ = aiayn("launch", *told, "--slurm", "--hours", 12)
    assert code == 0 and output.startswith("#!/bin/bash\n#SBATCH ")
    for words in (
        "#SBATCH --nodes=4\n",
        "--recipe big",
        "--model.dropout 0.1 --batches.micro-batches 8 --batches.skip-long",
        "--compile",
        "--resume",
    ):
        assert words in output
    assert not out.exists()


def test_the_papers_commands_are_understood() -> None:
    read: list[TrainOptions] = []
    for cell in (("base", "en-de"), ("big", "en-fr")):
        words = paper_run(*cell, Path("out"))
        read.append(tyro.cli(TrainOptions.with_recipe_defaults(words), args=words))
    base, big = (job.config for job in read)
    assert base == recipe(
        "base",
        batches={"micro_batches": 8, "skip_long": True},
        checkpoints={"steps": 1500, "sparse": True},
    )
    kept = big.checkpoints
    assert (big.steps, kept.average, kept.keep) == (300_000, 20, 20)
    assert (big.model.d_model, big.model.vocabulary_size, big.model.dropout) == (
        1024,
        32_000,
        0.1,
    )
    assert big.batches.max_ratio == 1.5 and all(job.compile for job in read)


SYNTHETIC = ["--recipe", "synthetic"]


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (["--recipe", "smal"], "did you mean 'small'?"),
        ([*SYNTHETIC, "--steps", 0], "--steps 0"),
        ([*SYNTHETIC, "--data", "nowhere"], "a folder with train.en"),
        (SYNTHETIC, "a --model.vocabulary-size of 2000 cannot be learned"),
        ([*SYNTHETIC, "--device", "cuda:77"], "device 'cuda:77' is not to be had"),
        ([*SYNTHETIC, "--machines", 2], "give the address"),
        (
            [*SYNTHETIC, "--workers", 3, "--batches.micro-batches", 8],
            "3 workers cannot share 8",
        ),
        ([*SYNTHETIC, "--workers", -1], "--workers -1"),
        ([*SYNTHETIC, "--hours", 12], "--hours: is for the batch file of --slurm"),
        ([*SYNTHETIC, "--address", "node1"], "--address node1: one machine needs none"),
        (
            [*SYNTHETIC, "--slurm", "--machines", 2, "--address", "node1"],
            "SLURM tells it",
        ),
        (
            ["--recipe", "small", "--checkpoints.sparse"],
            "--checkpoints.sparse: leaves some of every `steps` out",
        ),
    ],
)
def test_what_launch_refuses_before_it_starts_anything(
    aiayn: Command,
    sentences: Path,
    started: list[list[str]],
    tmp_path: Path,
    told: list[Any],
    says: str,
) -> None:
    out = tmp_path / "new"
    answer = aiayn("launch", "--data", sentences, "--out", out, *told)
    assert says in complaint(answer) and not started and not out.exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ([], "holds a run already"),
        (["--resume", "--seed", 8], "trained with --seed 1, not 8"),
    ],
)
def test_launch_looks_at_a_run_before_it_starts_anything(
    aiayn: Command,
    sentences: Path,
    run: Path,
    started: list[list[str]],
    flags: list[Any],
    says: str,
) -> None:
    answer = aiayn("launch", *job(sentences, run, *flags))
    assert says in complaint(answer) and not started


def test_what_the_workers_say_is_one_line(
    aiayn: Command, sentences: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_torchrun(command: list[str]) -> None:
        raise InputError("no room on the disk")

    monkeypatch.setattr(launch_module, "run_torchrun", run_torchrun)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    answer = aiayn("launch", *job(sentences, out))
    assert complaint(answer) == "aiayn: no room on the disk"


def complaint(answer: tuple[int, str, str]) -> str:
    """What a command that refused its input said, in its one line."""
    code, output, errors = answer
    assert code == 2 and not output and "Traceback" not in errors
    line = errors.splitlines()[-1]  # above it there may be progress bars
    assert line.startswith("aiayn: ")
    return line


def test_unknown_corpus_and_split(aiayn: Command, run: Path, out: Path) -> None:
    answer = aiayn(*train_arguments(Path("multi3k"), out / "new"))
    assert "multi3k" in complaint(answer)
    assert "test_2017" in complaint(aiayn("evaluate", run, "--split", "test_2017"))


@pytest.mark.parametrize(
    ("english", "message"),
    [
        (b"One.\nTwo.\n", "train.en: 2 lines"),
        (b"One.\n\nThree.\n", "train.en, line 2: empty"),
        (b"One.\nTwo.\n\xe4\n", "train.en, line 3: not UTF-8"),
        (b"One.\n" + b"word " * 300 + b"\nThree.\n", "train.en, line 2: "),
    ],
    ids=["unequal", "empty line", "not utf-8", "too long"],
)
def test_faulty_files_leave_no_run_behind(
    aiayn: Command, tmp_path: Path, out: Path, english: bytes, message: str
) -> None:
    for split in ("train", "val"):
        (tmp_path / f"{split}.en").write_bytes(english)
        (tmp_path / f"{split}.de").write_bytes(b"Eins.\nZwei.\nDrei.\n")
    answer = aiayn(*train_arguments(tmp_path, out, "--model.vocabulary-size", 30))
    assert message in complaint(answer)
    assert not list(out.glob("checkpoints/*"))
    assert not (out / "metrics.jsonl").exists()


NEEDED = ["--data", "d", "--recipe", "small", "--out", "o"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["transalte"], "no verb 'transalte': did you mean 'translate'?"),
        (["--verison"], "did you mean '--version'?"),
        (["fly"], "no verb 'fly': there are prepare, train, "),
        (["train"], "(required) --out PATH"),
        (["translate", "--beam", "many"], "Missing from aiayn translate: RUN"),
        (
            ["translate", "run", "--beam", "many"],
            "--beam: no type matching {None}|INT could be instantiated",
        ),
        (["translate", "run", "--beam"], "Missing value for argument '--beam'"),
        (["generate-corpus", "--n", "9" * 5000], "5000 digits"),
        (["generate-corpus", "--split", "no"], "invalid choice 'no'"),
        *(
            ([verb, *NEEDED, "--warmup", "3"], "did you mean --optimizer.warmup?")
            for verb in ("train", "launch", "prepare")
        ),
        (
            ["train", *NEEDED, "--epochs", "3"],
            "aiayn: no flag --epochs; give --steps or --minutes",
        ),
        (["train", *NEEDED, "--batch-size", "3"], "give --batches.tokens"),
        (["train", *NEEDED, "--layers", "3"], "give --model.N"),
        (["train", *NEEDED, "--optimizer", "x"], "there are --optimizer.warmup, "),
        (["train", *NEEDED, "--lrr", "3"], "no flag --lrr; give --learning-rate"),
        (["train", *NEEDED, "--learning_ratt=3"], "did you mean --learning-rate?"),
        (["train", *NEEDED, "--foo", "bar"], "--foo; `aiayn train --help` lists all"),
        (["translate", "en-de", "--bema=3", "x"], "did you mean --beam?"),
        (["estimate", "--gpus", 1, "--gpu", "RTX4090"], "did you mean 'RTX 4090'?"),
        (["train", "--recipe", "smal"], "did you mean 'small'?"),
        (["train", "extra"], "Unrecognized options: extra"),
        (["translate", "  "], "an empty value (translate '  ')"),
        (["train", "--out", ""], "an empty value (--out '')"),
    ],
)
def test_wrong_flags(aiayn: Command, arguments: list[Any], says: str) -> None:
    assert says in complaint(aiayn(*arguments))


VERBS = (
    "prepare train launch translate evaluate convert parse info models sweep"
    " estimate generate-corpus"
).split()


@pytest.mark.parametrize("verb", VERBS)
def test_help_gives_examples(
    aiayn: Command, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, errors = aiayn(verb, "--help")
    assert (code, errors) == (0, "")
    _, _, shown = output.partition("\nexamples:\n")
    assert len(shown.splitlines()) == 2
    function = getattr(program, verb.replace("-", "_"))
    for line in shown.splitlines():
        words = shlex.split(re.split(" [<>] ", line.partition("| ")[2] or line)[0])
        assert words[:2] == ["aiayn", verb] and len(line) <= 90
        monkeypatch.setattr(sys, "argv", words)
        found = read_command((function,))
        assert isinstance(found, partial) and found.func is function


def test_help_shows_types_and_recipes(aiayn: Command) -> None:
    _, output, _ = aiayn("train", "--help")
    for flag in (
        "--steps INT ",
        "--out PATH ",
        "--model.dropout FLOAT ",
        "--pair {None}|STR ",
    ):
        assert flag in output
    assert "--attention {None}|PATH" in aiayn("translate", "--help")[1]
    for verb in ("prepare", "train", "launch"):
        told = set(re.findall(r"[\w-]+", aiayn(verb, "--help")[1]))
        assert told >= RECIPES.keys()


def test_the_verbs_have_a_line_each(
    aiayn: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert aiayn() == aiayn("--help") == aiayn("-h")
    for columns in ("20", "80", "1000"):
        monkeypatch.setenv("COLUMNS", columns)
        code, output, errors = aiayn("--help")
        assert (code, errors) == (0, "")
        assert re.findall(r"^  ([\w-]+) +\S", output, re.MULTILINE) == VERBS
    assert "of the last checkpoints." in output


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("t.tsv, line 2: bad; skip_bad_lines leaves such lines out", "; --skip-bad-l"),
        ("more than max_length=256; or skip such pairs (skip_long)", "(--batches.ski"),
        ("more than max_length=256; split it", "more than --batches.max-length 256; "),
        ("checkpoints.sparse=True, not False", "--checkpoints.sparse, not False"),
        ("bfloat16=False, not True", "--no-bfloat16, not True"),
        ("optimizer.warmup shortens that", "--optimizer.warmup shortens that"),
        (
            "another folder (out), with a/b as init",
            "another folder (--out), with a/b as",
        ),
        ("resume it (resume=True)", "resume it (--resume)"),
        ("steps=0: should be greater", "--steps 0: should be greater"),
        ("my/steps=3/skip_long.tsv: empty", "my/steps=3/skip_long.tsv: empty"),
        ("skip_long.tsv, line 3: empty", "skip_long.tsv, line 3: empty"),
        ("beam=0: no such flag here", "beam=0: no such flag here"),
        ("the row 'h=2 x': no such row", "the row 'h=2 x': no such row"),
        ("name them: columns='en,de'", "name them: --columns 'en,de'"),
    ],
)
def test_messages_name_flags(message: str, shown: str) -> None:
    assert shown in in_flags(message, flags_of(train_module.train))


def test_a_file_is_no_run_and_a_marian_model_is_not_trained_on(
    aiayn: Command, sentences: Path, tmp_path: Path
) -> None:
    (theirs := tmp_path / "mine.de").write_text("Ja.\n")
    said = complaint(aiayn("evaluate", theirs, "--split", "val"))
    assert "a file, not a run's folder" in said and "--baseline" in said
    (marian := tmp_path / "marian").mkdir()
    (marian / "config.json").write_text('{"architectures": ["MarianMTModel"]}')
    words = ["train", *job(sentences, tmp_path / "run"), "--init", marian]
    assert "only a run of aiayn is trained on" in complaint(aiayn(*words))


def test_who_resumes_with_a_recipe_is_told_to_leave_it_out(
    aiayn: Command, tmp_path: Path
) -> None:
    words = ["train", "--resume", "--out", tmp_path / "run", "--recipe", "synthetic"]
    said = complaint(aiayn(*words))
    assert "without --recipe, --resume takes what the run records" in said


def test_the_version(aiayn: Command) -> None:
    assert aiayn("--version") == (0, f"aiayn {version('aiayn')}\n", "")


def test_every_verb_with_a_model_can_be_told_where(
    aiayn: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_: TrainedRun, device: str | None = None) -> Any:
        raise InputError(f"there is no {device}")

    monkeypatch.setattr(TrainedRun, "load", load)
    for verb in ("translate", "evaluate", "parse"):
        kind = "parsing" if verb == "parse" else "translation"
        monkeypatch.setattr(TrainedRun, "kind", kind)
        answer = aiayn(verb, run, "--device", "cuda:7", text="The dog.\n")
        assert "there is no cuda:7" in complaint(answer)


@pytest.fixture
def without_test(sentences: Path, tmp_path: Path) -> Path:
    """A corpus that has no test set."""
    left_out = shutil.ignore_patterns("test.*")
    return shutil.copytree(sentences, tmp_path / "corpus", ignore=left_out)


def test_a_folder_without_a_test_is_scored_on_val(
    aiayn: Command, run: Path, sentences: Path, without_test: Path, tmp_path: Path
) -> None:
    corpus, file = without_test, tmp_path / "bleu.json"
    words = ["evaluate", run, "--data", corpus]
    code, output, errors = aiayn(*words, "--json", file)
    first, ends, known = errors.splitlines()
    assert (code, first) == (0, f"aiayn: {corpus} has no test.*; scored on its val")
    assert ends.startswith(f"aiayn: {corpus}/val.en: the translation of sentence 1 is")
    trained = f"{sentences}/train.en too, on which the model was trained"
    assert known == f"aiayn: {corpus}/val.en: 8 of 8 sentences are in {trained}"
    assert output.startswith("BLEU ")
    assert list(json.loads(file.read_text())["bleu"]) == ["val"]
    assert "test.en" in complaint(aiayn(*words, "--split", "test"))
    (corpus / "test.en").touch()  # a test set that is not whole is not replaced
    assert "test.de" in complaint(aiayn(*words))
    answer = aiayn("evaluate", run, "--data", tmp_path / "nowhere")
    assert "test.en" in complaint(answer)


SHIPPED = Path(synthetic.__file__).parents[1] / "weights" / "synthetic-en-de"
DOG, HUND = "The dog sleeps.", "Der Hund schläft."


@pytest.mark.parametrize(
    ("line", "translated", "said"),
    [
        ("\ufeffThe dog sleeps.", HUND, ""),
        ("The\u00a0dog\tsleeps\u200b.", HUND, ""),
        ("The d\xadog sleeps.\ufeff", HUND, ""),
        *((sign, "", "") for sign in "\u200b\ufeff\u2060\xad\u200e\u3164\u2800\xa0▁"),
        ("你好", None, "sentence 3 has a letter unknown to the model, '你' (U+4F60)"),
        ("12345", None, "the translation of sentence 3 is cut off at its limit of to"),
        ("dog " * 1001, "", "sentence 3 has 1,002 tokens, more than 1,000: an empty"),
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_what_a_model_cannot_read_is_said(
    aiayn: Command, line: str, translated: str | None, said: str
) -> None:
    code, output, errors = aiayn("translate", SHIPPED, text=f"{DOG}\n\n{line}\n{DOG}\n")
    lines = output.splitlines()
    assert len(lines) == 4 and lines[::3] == [HUND, HUND] and lines[1] == ""
    assert translated in (None, lines[2])
    if not said:
        assert (code, errors) == (0, "")
    else:
        assert errors.startswith(f"aiayn: standard input: {said}")
        assert (code, errors.count("\n")) == (int("empty" in said), 1)


def test_lines_are_translated_as_they_arrive_and_an_interrupt_loses_none() -> None:
    command = [sys.executable, "-m", "aiayn", "translate", str(SHIPPED)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **pipes) as found:
        assert found.stdin and found.stdout and found.stderr
        for line in (DOG, "你 sleeps.", DOG):
            print(line, file=found.stdin, flush=True)
            assert (found.stdout.readline() == f"{HUND}\n") == (line == DOG)
        print("The dog", end="", file=found.stdin, flush=True)
        found.send_signal(signal.SIGINT)
        said = "aiayn: standard input: sentence 2 has a letter unknown to the model"
        assert found.stderr.read() == f"{said}, '你' (U+4F60)\n"
        assert found.wait() == 130 and found.stdout.read() == ""


def test_numbers_of_lines_go_on_from_block_to_block(
    aiayn: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aiayn.cli.streams.LINES_AT_ONCE", 2)
    text = f"{DOG}\n{DOG}\n{DOG}\n你\n{DOG}\n你 {DOG}\n" + "dog " * 1001
    code, output, errors = aiayn("translate", SHIPPED, "--n-best", 1, text=text)
    assert [line.split("\t")[0] for line in output.splitlines()] == list("1234567")
    assert code == 1 and "sentence 7 has 1,002 tokens" in errors
    said = "sentence 4 has a letter unknown to the model, '你' (U+4F60); so have 1"
    assert said in errors
    for text, said in (
        (f"{DOG}\n" * 5 + "a\0\n", "line 6: a NUL"),
        (f"{DOG}\n" + "x" * (1 << 21), "line 2: longer than 1,048,576 bytes"),
    ):
        code, _, errors = aiayn("translate", SHIPPED, text=text)
        assert code == 2 and errors.count("\n") == 1
        assert f"standard input, {said}" in errors


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """A folder with a test set of synthetic sentences."""
    pairs = synthetic.sample(40, split="test")
    for side, field in (("en", "source"), ("de", "target")):
        text = "".join(getattr(pair, field) + "\n" for pair in pairs)
        (tmp_path / f"test.{side}").write_text(text, encoding="utf-8")
    return tmp_path


def test_what_is_odd_about_a_score_is_one_line_each(
    aiayn: Command, drawn: Path
) -> None:
    english, german = drawn / "test.en", drawn / "test.de"
    for path, line in ((english, "你好\n"), (german, "Guten Tag .\n")):
        with path.open("a", encoding="utf-8") as file:
            file.write(line * 120)
    flags: Any = ["--data", drawn, "--pair", "en-de", "--split", "test"]
    code, _, errors = aiayn("evaluate", SHIPPED, *flags, "--bleu-variants")
    assert code == 0 and errors.splitlines() == [
        f"aiayn: {english}: sentence 41 has a letter unknown to the model,"
        " '你' (U+4F60); so have 119 more",
        "aiayn: warning: the references look tokenised: lines end in ' .';"
        " BLEU is for plain text, detokenise them",
    ]
    english.write_text("dog " * 1001 + "\n")
    german.write_text("Hund\n")
    assert complaint(aiayn("evaluate", SHIPPED, *flags)) == (
        f"aiayn: {english}: sentence 1 has 1,002 tokens, more than 1,000:"
        " it cannot be scored; split it"
    )


def test_a_model_of_small_letters_is_scored_without_case_too(
    aiayn: Command, sentences: Path, tmp_path: Path, out: Path
) -> None:
    small = {"vocabulary": {"lowercase": True}, "model": {"vocabulary_size": 60}}
    train_model(recipe("synthetic", steps=2, **small), str(sentences), "en-de", out)
    file = tmp_path / "scores.json"
    code, output, errors = aiayn("evaluate", out, "--json", file)
    assert code == 0, errors
    *_, last = output.splitlines()
    said = r"nrefs:1\|case:lc\|.*  in lower case, in which this model writes"
    assert re.fullmatch(rf"BLEU [\d.]+  {said}", last)
    record = json.loads(file.read_text(encoding="utf-8"))
    assert "case:lc" in record["in_lower_case"]["signature"]
    assert record["in_training"] == 8


def test_a_warning_is_one_line(
    aiayn: Command, sentences: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(*_: Any, **__: Any) -> None:
        warnings.warn("of two\n lines", stacklevel=2)

    monkeypatch.setattr("aiayn.cli.models.write_ctranslate2", warn)
    said = "out: written; Python loads it by ctranslate2.Translator('out')\n"
    assert aiayn("convert", run, "out") == (0, said, "aiayn: warning: of two lines\n")
    monkeypatch.setattr(Translator, "n_best", lambda *_, **__: warn() or [[]])
    code, _, errors = aiayn("translate", run, text="x\n")
    assert code == 0 and errors.endswith("of two lines\n") and errors.count("\n") == 1
    monkeypatch.setenv("RANK", "1")
    assert aiayn("convert", run, "out") == (0, said, "")


def test_where_the_heads_looked(aiayn: Command, run: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    text = "The dog is <b>old</b>.\n\n" + "The dog is old. " * 60 + "\n"
    code, output, errors = aiayn("translate", run, "--attention", page, text=text)
    assert code == 0 and len(output.splitlines()) == 3
    assert "sentence 2" in errors and "sentence 3" in errors
    assert errors.count("not in ") == 2
    written = page.read_text(encoding="utf-8")
    assert "&lt;b&gt;" in written and "<b>" not in written
    words = ["translate", run, "--attention", tmp_path]
    code, output, errors = aiayn(*words, text="The dog.")
    said = errors.splitlines()[-1]
    assert code == 2 and output and said.startswith(f"aiayn: {tmp_path}: ")


def test_a_translator_is_no_parser(aiayn: Command, run: Path) -> None:
    said = complaint(aiayn("parse", run, text="The dog.\n"))
    assert said.endswith("no parser; use `aiayn translate`")
    said = complaint(aiayn("evaluate", run, "--no-constrained"))
    assert said.endswith("no parser; leave out --no-constrained")


def test_a_run_from_elsewhere_says_what_was_read(
    aiayn: Command, run: Path, sentences: Path
) -> None:
    said = f"aiayn: scored on {sentences}, as the run says\n"
    assert said in aiayn("evaluate", run)[2]
    assert "scored on" not in aiayn("evaluate", run, "--data", sentences)[2]


def test_a_run_that_does_not_say_how_it_was_trained(
    aiayn: Command, run: Path, sentences: Path
) -> None:
    path = max((run / "checkpoints").iterdir()) / "config.json"
    model = described(run)["training"]["model"]
    for known in ({}, {"step": 3}):
        path.write_text(json.dumps({"model": model, **known}), encoding="utf-8")
        assert aiayn("translate", run, text=b"The dog.\n")[0] == 0
        said = complaint(aiayn("evaluate", run))
        assert "no test set to score it on; give --source and --reference" in said
        assert aiayn("evaluate", run, "--data", sentences, "--pair", "en-de")[0] == 0
        files = ["--source", sentences / "val.en", "--reference", sentences / "val.de"]
        output = aiayn("evaluate", run, *files, "--json", "-")[1]
        assert json.loads(output)["pair"] is None


def test_generate_corpus_shows_the_synthetic_corpus(aiayn: Command) -> None:
    flags = ["--n", 3, "--seed", 7, "--with-tree", "--with-alignment"]
    code, out, _ = aiayn("generate-corpus", *flags)
    assert code == 0
    for line, pair in zip(out.splitlines(), synthetic.sample(3, seed=7), strict=True):
        links = " ".join(f"{i}-{j}" for i, j in pair.alignment)
        assert line.split("\t") == [pair.source, pair.target, pair.tree, links]


@pytest.mark.parametrize(
    "flags, says",
    [
        (["--n", -1], "cannot be negative"),
        (["--n", 10**12], "at most 1,000,000"),
        (["--span", 11], "choose 1 to 10"),
    ],
)
def test_generate_corpus_refuses_what_there_is_not(
    aiayn: Command, flags: list[Any], says: str
) -> None:
    code, out, errors = aiayn("generate-corpus", *flags)
    assert (code, out) == (2, "") and errors.startswith("aiayn: ") and says in errors


# Sweeping


@pytest.fixture
def sweeping(
    aiayn: Command, sentences: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Sweep over some sentences, in this process, four steps a run."""
    monkeypatch.setattr(
        "aiayn.ablations.sweep.ProcessPoolExecutor", lambda n, _: ThreadPoolExecutor(n)
    )
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    size = ["--scale", 1 / 32, "--depth", 1 / 6, "--model.vocabulary-size", 60]
    small = [*size, "--steps", 4, "--workers", 1, "--data", sentences]

    def run(rows: str, out: Path, *more: Any) -> tuple[int, str, str]:
        return aiayn("sweep", "--rows", rows, "--out", out, *small, *more)

    return run


def test_a_sweep_prints_its_table(sweeping: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "table3.json"
    code, printed, _ = sweeping("base,E", out, "--seeds", 1)
    assert code == 0
    table, gains = printed.split("\n\n")
    header, *rows = table.splitlines()
    assert "perplexity" in header and [row.split()[0] for row in rows] == ["base", "E"]
    assert gains.startswith("validity check: ")
    assert "less than two seeds in common undecided" in gains
    assert [run["row"] for run in json.loads(out.read_text())["runs"]] == ["base", "E"]


def test_a_sweep_of_five_seeds_with_rates_to_try(
    sweeping: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made_up(job: Any) -> dict[str, Any]:
        seed, rate = job.config.seed, job.config.optimizer.rate_factor
        worse = job.row != "base"
        level = [2.0 + 0.1 * worse + 0.01 * seed + rate / 100] * 12
        found = {"row": job.row, "seed": seed, "rate_factor": rate, "parameters": 9}
        found |= {"perplexity": level[-1], "validations": level}
        job.folder.mkdir()
        return found | {"bleu": 30.0 - worse * (2 + seed / 10)}

    monkeypatch.setattr("aiayn.ablations.sweep.run_apart", made_up)
    out = tmp_path / "table3.json"
    more = (
        "--seeds 5 --rates 0.5,1 --optimizer.rate-factor 2 --optimizer.warmup 9"
        " --batches.tokens 300 --model.dropout 0.2"
    )
    code, printed, _ = sweeping("base,h=1", out, *more.split())
    assert code == 0
    validity, family, *gains = printed.split("\n\n")[1].splitlines()
    assert validity == "validity check: base passes"
    assert "Holm over 2 comparisons" in family
    assert gains == [
        "A h=1           nats  -0.05 [-0.05, -0.05]       worse",
        "A h=1           BLEU  -2.30 [-2.50, -2.10]       worse",
    ]
    record = json.loads(out.read_text())
    settings = {"rates": [0.5, 1.0], "rate_factor": 2, "warmup": 9, "dropout": 0.2}
    assert record.items() >= (settings | {"batch_tokens": 300}).items()
    assert len(record["trials"]) == 4
    assert {run["rate_factor"] for run in record["runs"]} == {1.0}
    said = complaint(sweeping("base", out, "--rates", "0.5,high"))
    assert said == "aiayn: --rates 0.5,high: must be numbers, such as 0.5,1,2"
    for flag in (["--model.N", 6], ["--model.d_model=512"]):  # as base has them
        assert "the rows set it" in complaint(sweeping("base", out, *flag))
    assert "the sweep sets it" in complaint(sweeping("base", out, "--seed", 1))
    answer = sweeping("base", out, "--device", "cpu", "--workers-per-gpu", 16)
    assert "there is no GPU" in complaint(answer)


def test_a_sweep_whose_run_failed_says_so(
    sweeping: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise InputError("the disk is full")

    monkeypatch.setattr("aiayn.ablations.sweep.train_model", broken)
    code, printed, said = sweeping("base", tmp_path / "table3.json", "--seeds", 1)
    assert code == 1 and "base, seed 1: the disk is full" in printed
    begins, ends, failed = said.splitlines()
    assert begins == "aiayn: runs to train and score: 1" and ends.endswith(": base")
    assert failed == f"aiayn: 1 of 1 runs failed; {tmp_path}/table3.json says why"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no broken pipes")
@pytest.mark.parametrize(
    "words", ["generate-corpus --n 3000", "generate-corpus --n 1", "--help"]
)
def test_a_reader_that_has_seen_enough_is_no_error(words: str) -> None:
    command = f"{sys.executable} -m aiayn {words} | true; exit ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (141, "")


def test_output_that_does_not_fit_is_an_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full, which is always full")
    command = f"{sys.executable} -m aiayn generate-corpus --n 1 > /dev/full"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    said = "aiayn: [Errno 28] No space left on device\n"
    assert (found.returncode, found.stderr) == (2, said)
