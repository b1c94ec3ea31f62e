"""Launching: the commands of torchrun and SLURM, workers that fail, die or are
interrupted, and the score.
"""

import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from small_runs import free_port

import aiayn.cli.test_sets
from aiayn.cli import format_scores, score
from aiayn.cli import launch as launch_module
from aiayn.cli.evaluation import write_record
from aiayn.cli.slurm import slurm_script
from aiayn.cli.test_sets import load_test
from aiayn.cli.torchrun import (
    failure_reason,
    paper_run,
    run_torchrun,
    torchrun_command,
)
from aiayn.data import Pairs
from aiayn.decoding import SearchConfig
from aiayn.errors import InputError
from aiayn.training import recipe, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.trained_run import TrainedRun

PROGRAM = ["-m", "aiayn", "train", "--out", "runs/a b"]


PLACES = "--nnodes 2 --rdzv-backend c10d --rdzv-id aiayn --rdzv-endpoint {}"


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [
        ("node1", "node1:29500"),
        ("node1:1234", "node1:1234"),
        ("10.0.0.1", "10.0.0.1:29500"),
        ("[fe80::1]", "[fe80::1]:29500"),
        ("knoten-ä.example.org", "knoten-ä.example.org:29500"),
    ],
)
def test_several_machines_and_one(address: str, endpoint: str) -> None:
    places = {"machines": 2, "address": address}
    found = torchrun_command(PROGRAM, workers=4, restarts=3, **places)
    command = f"torchrun {PLACES.format(endpoint)} --nproc-per-node 4 --max-restarts 3"
    assert found == [*command.split(), *PROGRAM]
    alone = "torchrun --standalone --nproc-per-node 8 --max-restarts 0"
    assert torchrun_command(PROGRAM, workers=8) == [*alone.split(), *PROGRAM]


def test_the_papers_commands() -> None:
    assert shlex.join(paper_run("base", "en-de", Path("out"))) == (
        "--data wmt14 --pair en-de --recipe base --model.vocabulary-size 37000"
        " --checkpoints.steps 1500 --batches.micro-batches 8 --out out"
        " --checkpoints.sparse --compile --batches.skip-long"
    )
    big = shlex.join(paper_run("big", "en-fr", Path("out")))
    for words in (
        "--model.vocabulary-size 32000",
        "--checkpoints.steps 600",
        "--model.dropout 0.1",
        "--recipe big",
    ):
        assert words in big
    said = "no cell of Table 2; there are base en-de, big en-de"
    with pytest.raises(InputError, match=said):
        paper_run("small", "en-de", Path("out"))


# SLURM


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that take the place of SLURM's: they note their arguments
    and do as $CODE says.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    log = f'echo "$(basename "$0") $*" >> {tmp_path}/log\n'
    scripts = {
        "srun": log + 'case "$*" in *torchrun*) exit ${CODE:-0};; esac',
        "scontrol": log + "echo node7",
    }
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/bash\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("SLURM_JOB_ID", "12345")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[7-8]")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "32")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path


ENDED = '{"step": 9, "loss": 1.0}\n{"step": 9, "validation_perplexity": 7.0}\n'


def submit(
    cluster: Path,
    script: str,
    seconds: int = 0,
    code: int = 0,
    metrics: str = ENDED,
    cwd: Path | None = None,
) -> tuple[int, list[str]]:
    """Exit code of a batch file that has run for so long, and the commands that it
    gave.
    """
    (cluster / "job.sh").write_text(script)
    (cluster / "runs" / "big").mkdir(parents=True)
    (cluster / "runs" / "big" / "metrics.jsonl").write_text(metrics)
    environment = {**os.environ, "SECONDS": str(seconds), "CODE": str(code)}
    done = subprocess.run(
        ["bash", cluster / "job.sh"], env=environment, cwd=cwd or cluster
    )
    return done.returncode, (cluster / "log").read_text().splitlines()


BIG = ["--data", "d e", "--out", "runs/big"]
SCRIPT = slurm_script(BIG, Path("runs/big"), workers=8, machines=2, hours=2.0)


def test_the_batch_file_of_a_parser_scores_it_as_a_parser() -> None:
    told = ["--pair", "en-trees", "--out", "a b"]
    script = slurm_script(told, Path("a b"), workers=1)
    assert "aiayn evaluate 'a b' --json 'a b/bleu.json'" in script
    assert "--job-name=a-b\n" in script


@pytest.mark.parametrize("hours", [0.1, math.nan, math.inf, -1.0, 1e9])
def test_a_job_has_a_time(hours: float) -> None:
    with pytest.raises(InputError, match=f"hours={hours}"):
        slurm_script([], Path("run"), 1, hours=hours)


def test_the_batch_file_says_what_the_job_needs(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(SCRIPT)
    assert subprocess.run(["bash", "-n", tmp_path / "job.sh"]).returncode == 0
    head, _, body = SCRIPT.partition("\n\n")
    assert head.startswith("#!/bin/bash\n#SBATCH ")
    wanted = """
    job-name=big nodes=2 ntasks-per-node=1 gpus-per-node=8 cpus-per-task=32 time=120
    """
    for option in [*wanted.split(), "signal=TERM@180", "requeue", "open-mode=append"]:
        assert f"#SBATCH --{option}" in head.splitlines()
    assert "#SBATCH" not in body  # SLURM reads none behind the first command
    assert "export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1" in body
    assert "export TORCH_ELASTIC_SHUTDOWN_TIMEOUT=120" in body  # less than SLURM waits


def test_the_job_trains_on_all_machines_and_scores_on_one(cluster: Path) -> None:
    code, (hosts, training, scoring) = submit(cluster, SCRIPT)
    assert code == 0
    assert hosts == "scontrol show hostnames node[7-8]"
    assert "torchrun --nnodes 2 --rdzv-backend c10d" in training
    assert "--rdzv-endpoint node7:22345 --nproc-per-node 8 --max-restarts 3" in training
    assert training.endswith("-m aiayn train --data d e --out runs/big --resume")
    scored = "aiayn evaluate runs/big --bleu-variants --json runs/big/bleu.json"
    assert scored in scoring


@pytest.mark.parametrize(
    ("run", "ends", "last"),
    [
        # A signal that reached only the workers: they save, and end without a fault.
        *(
            ({"metrics": metrics}, 130, "srun")
            for metrics in ("", ENDED[:25], ENDED[:25] * 2)
        ),
        # The time is over, and another job goes on.
        ({"seconds": 120 * 60 - 150, "code": 143}, None, "scontrol requeue 12345"),
        # What fails before is not tried for ever: neither queued again nor scored.
        ({"seconds": 60, "code": 3}, 3, "srun"),
    ],
)
def test_what_has_not_come_to_its_end_is_not_scored(
    cluster: Path, run: dict[str, Any], ends: int | None, last: str
) -> None:
    code, commands = submit(cluster, SCRIPT, **run)
    assert ends in (None, code) and commands[-1].startswith(last)
    assert len(commands) == 2 + (ends is None)
    assert not any("aiayn evaluate" in command for command in commands)


# Workers


FLAGS = (
    "--recipe synthetic --model.vocabulary-size 60 --steps 4 --checkpoints.steps 2"
).split()


def launched(program: list[Any], show: bool = False, **how: Any) -> None:
    """Let torchrun start the workers of a program."""
    run_torchrun(torchrun_command([str(word) for word in program], **how), show=show)


@pytest.fixture(scope="module")
def run(sentences: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training in this process."""
    out = tmp_path_factory.mktemp("runs") / "run"
    settings = recipe(
        "synthetic",
        steps=4,
        checkpoints={"steps": 2},
        batches={"micro_batches": 2},
        model={"vocabulary_size": 60},
    )
    train_model(settings, str(sentences), "en-de", out)
    return out


# The command, but the worker of rank 1 kills itself the first time that it would count
# a step as the second.
MORTAL = """\
import os, signal, sys
import aiayn.training.trainer
from aiayn.__main__ import main

if (os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]) == ("1", "0"):
    step = aiayn.training.trainer.training_step
    def last_step(objective, optimizer, work, number, *rest):
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(objective, optimizer, work, number, *rest)
    aiayn.training.trainer.training_step = last_step
main()
"""


@pytest.mark.nightly  # by day the launch chapter loses a worker
def test_a_worker_is_killed_and_the_others_go_on(
    sentences: Path, run: Path, tmp_path: Path, out: Path
) -> None:
    program = tmp_path / "mortal.py"
    program.write_text(MORTAL)
    flags = ["train", "--data", sentences, *FLAGS, "--out", out, "--resume"]
    launched([program, *flags], workers=2, restarts=1)
    assert [path.name for path in list_checkpoints(out)] == [
        "step-0000002",
        "step-0000004",
    ]
    weights = Path("checkpoints", "step-0000004", "model.safetensors")
    found, expected = load_file(out / weights), load_file(run / weights)
    # The other is of one worker, who was not disturbed.
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


# Workers meet, and rank 1 is lost the first time.
MEETING = """\
import os
from aiayn.training.distributed import join_workers

with join_workers(100) as workers:
    workers.agree("place", {})
    if (workers.rank, os.environ["TORCHELASTIC_RESTART_COUNT"]) == (1, "0"):
        os._exit(3)
    workers.agree("time", {})
print("met again")
"""


def test_machines_meet_again_after_one_has_lost_a_worker(tmp_path: Path) -> None:
    """The other machine does not count that as a restart of its own."""
    program, address = tmp_path / "meeting.py", f"localhost:{free_port()}"
    program.write_text(MEETING)
    how = {"workers": 1, "machines": 2, "address": address, "restarts": 3}
    with ThreadPoolExecutor(2) as pool:
        for machine in [pool.submit(launched, [program], **how) for _ in "12"]:
            machine.result(300)


# The same, but the second worker is told to stop before the first checkpoint.
STOPPED = """\
import os, signal
import aiayn.training.trainer
from aiayn.__main__ import main

step = aiayn.training.trainer.training_step
def stop(objective, optimizer, work, number, *rest):
    if (os.environ["RANK"], number) == ("1", 3):
        os.kill(os.getpid(), signal.SIGTERM)
    return step(objective, optimizer, work, number, *rest)
aiayn.training.trainer.training_step = stop
main()
"""


def test_a_signal_to_a_worker_stops_all_and_nothing_is_scored(
    aiayn: Any, sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither lost nor taken for the end; and the run goes on."""
    real, out = launch_module.torchrun_command, tmp_path / "run"

    def command(program: list[str], *more: Any) -> list[str]:
        return real([str(tmp_path / "stopped.py"), *program[2:]], *more)

    (tmp_path / "stopped.py").write_text(STOPPED)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    told = ["launch", "--data", sentences, "--out", out, "--workers", 2, *FLAGS[:4]]
    with monkeypatch.context() as patch:
        patch.setattr(launch_module, "torchrun_command", command)
        code, output, _ = aiayn(*told, "--steps", 4000)
    assert code == 130 and not (out / "bleu.json").exists()
    wanted = "aiayn: stopped after step 3 of 4,000, which is saved; --resume goes on"
    assert wanted in output
    code, output, errors = aiayn(*told, "--steps", 4, "--resume")
    assert code == 0 and (out / "bleu.json").exists(), output + errors


def test_what_workers_refuse_they_refuse_once(
    sentences: Path, run: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three restarts would not make it right."""
    shutil.copytree(run, out)
    flags = ["--data", sentences, *FLAGS, "--out", out, "--resume", "--seed", 8]
    with pytest.raises(
        InputError, match=r"^[^\n]*trained with --seed 1, not 8; use that"
    ):
        launched(["-m", "aiayn", "train", *flags], show=True, workers=2, restarts=3)
    shown = capsys.readouterr().out
    assert shown.count("aiayn: ") in (1, 2), shown


def test_a_worker_that_ends_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "mute.py"
    program.write_text("print('here I am')\nraise SystemExit(7)\n")
    said = r"^rank 0: ended with exit code 7; its output says more$"
    with pytest.raises(InputError, match=said):
        launched([program], show=True, workers=1)
    assert "here I am\n" in capsys.readouterr().out


FATE = """\
import os, signal, sys, time
rank, ends = int(os.environ["RANK"]), dict(pair.split("=") for pair in sys.argv[1:])
# whole, since what several workers print in parts may mix
sys.stdout.write(f"aiayn: a word of rank {rank}\\n")
assert os.environ["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "120"
end = ends.get(str(rank), "")
if end.startswith("-"):
    os.kill(os.getpid(), int(end[1:]))
elif end:
    sys.exit(int(end))
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ("0=-9", "rank 0: killed by SIGKILL, perhaps for lack of memory"),
        ("0=2", "a word of rank [01]"),
    ],
)
def test_how_a_worker_ended_is_one_line(tmp_path: Path, ends: str, says: str) -> None:
    """What other workers say is of no interest; what the one says that refuses its
    input (2) is.
    """
    program = tmp_path / "fate.py"
    program.write_text(FATE)
    with pytest.raises(InputError, match=f"^{says}$"):
        launched([program, ends], workers=2)


NOISE = [
    "Traceback (most recent call last):\n",
    "RuntimeError: Connection closed by peer\n",
    "\n",
]
FIRST = "Root Cause (first observed failure):\n"


def failed(rank: int, code: int) -> str:
    """How torchrun says that a worker has ended."""
    return f"  rank      : {rank} (local_rank: 0)\n  exitcode  : {code} (pid: 7)\n"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (
            ["aiayn: no room on the disk\n", *NOISE, "aiayn: a worker is missing\n"],
            "no room on the disk",
        ),
        (
            ["aiayn: warning: 5 are in both\n", "aiayn: step 3: no number\n", *NOISE],
            "step 3: no number",
        ),
        (NOISE, "the workers failed; the end of their output:"),
        (
            f"Failures:\n{failed(3, -9)}{failed(1, -15)}{FIRST}{failed(2, -9)}",
            "rank 2: killed by SIGKILL",
        ),
        (f"Failures:\n{FIRST}{failed(1, -35)}", "rank 1: killed by signal 35"),
        ([], "the workers failed; the end of their output:\n"),
        *(
            ([NOISE[0], f"torch.x.Rendezvous{error}"], "the machines did not all meet:")
            for error in ("TimeoutError", "ConnectionError: The connection")
        ),
    ],
)
def test_the_cause_is_what_was_said_first(lines: list[str] | str, cause: str) -> None:
    found = failure_reason(lines.splitlines() if isinstance(lines, str) else lines)
    assert found.startswith(cause)
    if lines == NOISE:
        assert found.endswith("RuntimeError: Connection closed by peer")


PATIENT = """\
import os, signal, sys, time
from pathlib import Path

heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append("INT"))
signal.signal(signal.SIGTERM, lambda *_: heard.append("TERM"))
print("ready", flush=True)
while not heard:
    time.sleep(0.01)
for _ in range(50):  # of a long save, during which it goes on talking
    print("saving", flush=True)
    time.sleep(0.01)
Path(sys.argv[1]).write_text(" ".join(heard))
"""


def test_an_interrupt_reaches_the_workers_once(tmp_path: Path) -> None:
    program, heard = tmp_path / "patient.py", tmp_path / "heard"
    program.write_text(PATIENT)
    code = (
        "from aiayn.cli.torchrun import *;"
        f" run_torchrun(torchrun_command({[str(program), str(heard)]}, workers=1))"
    )
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(
        [sys.executable, "-c", code], start_new_session=True, **pipes
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=120)
    assert errors.endswith("KeyboardInterrupt\n")
    assert heard.read_text() == "TERM"


# Scores


def test_the_mean_of_the_last_checkpoints_is_scored_in_every_form(
    run: Path, tmp_path: Path
) -> None:
    record = score(TrainedRun.read(run, average=2))
    assert record["checkpoints"] == ["step-0000002", "step-0000004"]
    assert (record["beam"], record["alpha"], record["pair"]) == (4, 0.6, "en-de")
    forms = record["bleu"]["test"]
    assert list(forms) == "sacrebleu sacrebleu-intl paper tokenised-lowercased".split()
    for each in forms.values():
        assert 0 <= each["value"] <= 100 and "version:" in each["signature"]
    # BLEU, chrF and the paper's form with intervals, and the variants.
    assert len(format_scores(record).splitlines()) == 7
    write_record(tmp_path / "bleu.json", record, ["aiayn", "launch", "--data", "d e"])
    written = json.loads((tmp_path / "bleu.json").read_text(encoding="utf-8"))
    assert written["command"] == "aiayn launch --data 'd e'"
    assert written == {**written, **record}
    made = {"command", "machine", "commit", "date", "torch"}
    assert written.keys() - record.keys() == made


def test_what_is_scored_can_be_chosen(run: Path, sentences: Path) -> None:
    search, one = SearchConfig(beam=2, alpha=0.0), TrainedRun.read(run, average=1)
    record = score(one, search, str(sentences), "de-en", "val", bleu_variants=False)
    assert (record["beam"], record["alpha"], record["pair"]) == (2, 0.0, "de-en")
    assert record["checkpoints"] == ["step-0000004"]
    assert list(record["bleu"]["val"]) == ["sacrebleu"]


def test_a_language_without_a_tokenizer_has_one_score(
    sentences: Path, run: Path
) -> None:
    """Moses has no rules for Klingon: whoever asks for all variants hears it
    before anything is translated.
    """
    for language, side in (("en", "de"), ("tlh", "en")):
        shutil.copy(sentences / f"val.{side}", sentences / f"klingon.{language}")
    trained = TrainedRun.read(run)
    test = {"data": str(sentences), "pair": "en-tlh", "split": "klingon"}
    assert list(score(trained, **test)["bleu"]["klingon"]) == ["sacrebleu"]
    with pytest.raises(InputError, match="language 'tlh': the Moses tokenizer"):
        score(trained, **test, bleu_variants=True)


def test_a_test_set_that_is_not_there(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainedRun, "load", lambda *_: pytest.fail("loaded in vain"))
    with pytest.raises(InputError, match=r"test_2017\.en"):
        score(TrainedRun.read(run), split="test_2017")


def newstest(*missing: str) -> Any:
    """A `load_pairs` that knows small test sets."""

    def load(name: str, pair: str, split: str) -> Pairs:
        if split in missing:
            raise InputError("no network")
        lines = [f"Line {k}." for k in range(8 if "filtered" in split else 10)]
        return Pairs(lines, lines)

    return load


@pytest.mark.parametrize("split", [None, "test", "newstest2014"])
def test_newstest2014_is_scored_whole_and_filtered(
    run: Path, monkeypatch: pytest.MonkeyPatch, split: str | None
) -> None:
    monkeypatch.setattr(aiayn.cli.test_sets, "load_pairs", newstest())
    tests = load_test("wmt14", "en-de", split)
    sizes = {name: len(pairs) for name, pairs in tests.items()}
    assert sizes == {"wmt14/full": 10, "wmt14": 8}
    found = score(TrainedRun.read(run), data="wmt14", split=split)
    assert list(found["bleu"]) == ["wmt14/full", "wmt14"]


def test_without_the_filtered_lines_there_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = newstest("newstest2014-filtered")
    monkeypatch.setattr(aiayn.cli.test_sets, "load_pairs", some)
    said = "filtered newstest2014 is left out: no network"
    with pytest.warns(UserWarning, match=said):
        assert list(load_test("wmt14", "en-de", None)) == ["wmt14/full"]
    assert list(load_test("wmt14", "en-de", "newstest2013")) == ["newstest2013"]


@pytest.mark.parametrize(
    ("name", "split"), [("multi30k", "test_2016_flickr"), ("synthetic", "test")]
)
def test_each_corpus_has_its_test_set(
    name: str, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aiayn.cli.test_sets, "load_pairs", newstest())
    assert list(load_test(name, "en-de", None)) == [split]
