"""The trainings of bench/gpu.py, its parts (c) to (f), and how much each part does."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gpu_equality
import gpu_steps
import torch
from safetensors.torch import load_file

from aiayn.ablations.sweep import run_sweep
from aiayn.data import load_pairs
from aiayn.decoding import SearchConfig
from aiayn.errors import InputError
from aiayn.metrics.bleu_variants import bleu_by_variant
from aiayn.model import config
from aiayn.training import TrainingConfig, recipe, train_model
from aiayn.training.checkpoint import list_checkpoints
from aiayn.training.metrics_log import Metrics
from aiayn.training.trained_run import TrainedRun, test_split
from aiayn.translation import Translator
from aiayn.translation.ctranslate2 import write_ctranslate2

ROWS = "base,D,E"


@dataclass(frozen=True)
class Sizes:
    """How much each part does."""

    sentences: int  # that (a) translates
    steps: gpu_steps.Sizes  # of (b)
    launch: list[str]  # flags of the run of (c)
    base: TrainingConfig  # of (d)
    sweep: dict[str, Any]  # how the rows of (e) are trained


FULL = Sizes(
    sentences=300,
    steps=gpu_steps.Sizes({name: config(name) for name in ("base", "big")}),
    launch=["--steps", "300", "--checkpoints.steps", "100"],
    base=recipe(
        "base",
        model={"vocabulary_size": 8000, "dropout": 0.3},
        batches={"tokens": 8192, "skip_long": True},
        optimizer={"warmup": 1000, "cooldown": 1500},
        checkpoints={"steps": 250},
        steps=4000,
    ),
    sweep={"scale": 0.5},
)
_SMALL = config("synthetic", vocabulary_size=60)
TINY = Sizes(
    sentences=8,
    steps=gpu_steps.Sizes({"base": _SMALL}, tokens=200, steps=2, rounds=1, product=64),
    launch=["--steps", "40", "--checkpoints.steps", "10"],
    base=recipe(
        "synthetic",
        model={"vocabulary_size": 60},
        batches={"skip_long": True},
        checkpoints={"steps": 2},
        steps=6,
    ),
    sweep={
        "scale": 0.125,
        "recipe": recipe(
            "synthetic",
            model={"vocabulary_size": 60},
            batches={"tokens": 200},
            optimizer={"rate_factor": 0.5},
            steps=4,
        ),
    },
)


@dataclass(frozen=True)
class Job:
    """What all parts are told."""

    sizes: Sizes
    device: torch.device
    data: str
    out: Path  # where records go
    runs: Path  # where trainings go
    together: int  # trainings of (e) at a time
    end: float  # of `time.monotonic`

    @property
    def left(self) -> float:
        """Seconds."""
        return self.end - time.monotonic()


def kill(run: Path) -> int:
    """SIGKILL every process that has the folder of this run among its arguments."""
    killed = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if str(run).encode() in words and int(entry.name) != os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
    return killed


def weights(run: Path) -> torch.Tensor:
    """Those of the last checkpoint, as one vector."""
    tensors = load_file(list_checkpoints(run)[-1] / "model.safetensors")
    return torch.cat([tensors[name].flatten().double() for name in sorted(tensors)])


def launch(job: Job) -> dict[str, Any]:
    """Part (c): CUDA's sums are not ordered, so two undisturbed runs differ, too; a run
    that was killed may be three times as far from one of them as they are apart.
    """
    words = ["launch", "--workers", "1", "--data", job.data, "--recipe", "synthetic"]
    words += [*job.sizes.launch, "--device", job.device.type]
    if job.sizes is TINY:
        words += ["--model.vocabulary-size", "60", "--batches.tokens", "200"]
    words = [sys.executable, "-m", "aiayn", *words]
    steps = int(job.sizes.launch[1])
    half = int(job.sizes.launch[3])
    folders = {
        name: job.runs / f"launch-{name}" for name in ("first", "again", "killed")
    }

    def start(name: str, *more: str) -> subprocess.Popen[bytes]:
        command = [*words, "--out", str(folders[name]), *more]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def wait_for(name: str, process: subprocess.Popen[bytes]) -> None:
        if process.wait():
            raise InputError(f"aiayn launch failed; see {folders[name]}")

    for folder in folders.values():  # of a call that did not come to its end
        shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    processes = {name: start(name) for name in folders}  # side by side
    saved = folders["killed"] / "checkpoints"
    while processes["killed"].poll() is None and not list(saved.glob("step-*")):
        time.sleep(0.05)
    killed_processes = kill(folders["killed"])
    processes.pop("killed").wait()
    for name, process in processes.items():
        wait_for(name, process)
    at = TrainedRun.read(folders["killed"], 1).description.step
    wait_for("killed", start("killed", "--resume"))
    undisturbed = gpu_equality.difference(
        weights(folders["again"]), weights(folders["first"])
    )
    killed = gpu_equality.difference(
        weights(folders["killed"]), weights(folders["first"])
    )
    scores = json.loads((folders["killed"] / "bleu.json").read_text(encoding="utf-8"))
    return {
        "flags": words[3:],
        "backend": "nccl" if job.device.type == "cuda" else "gloo",
        "seconds": round(time.monotonic() - began, 1),
        "processes_killed": killed_processes,
        "killed_after_checkpoint": at,
        "first_checkpoint": half,
        "steps": steps,
        "undisturbed_difference": float(f"{undisturbed:.2e}"),
        "difference": float(f"{killed:.2e}"),
        "within": bool(killed <= max(1e-6, 3 * undisturbed)),
        "scores": scores.get("scores", scores.get("bleu")),
    }


def trained_base(job: Job) -> Path:
    """The folder of the run of part (d)."""
    return job.runs / "base"


def base(job: Job) -> dict[str, Any]:
    """Part (d)."""
    run, settings = trained_base(job), job.sizes.base
    began = time.monotonic()
    train_model(
        settings,
        job.data,
        "en-de",
        run,
        resume=run.exists(),
        device=job.device,
    )
    trained = TrainedRun.read(run)
    test = load_pairs(job.data, "en-de", test_split(job.data))
    ours = list(Translator(*trained.load(job.device))(test.source, batch_tokens=20_000))
    forms = bleu_by_variant(ours, test.target, "de").values()
    names = "steps label_smoothing seed"
    return {
        "data": job.data,
        "test": test_split(job.data),
        "recipe": {name: getattr(settings, name) for name in names.split()}
        | {
            "batch_tokens": settings.batches.tokens,
            "warmup": settings.optimizer.warmup,
            "cooldown": settings.optimizer.cooldown,
            "average": settings.checkpoints.average,
        },
        "model": {
            name: getattr(settings.model, name)
            for name in ("N", "d_model", "h", "vocabulary_size", "dropout")
        },
        "minutes": round(trained.description.minutes or 0.0, 2),
        "seconds_with_scoring": round(time.monotonic() - began, 1),
        "curve": [
            [step, round(p, 4)] for step, p in Metrics(run).validations().items()
        ],
        "bleu": {each.variant: round(each.value, 2) for each in forms},
        "signatures": {each.variant: each.signature for each in forms},
    }


@contextlib.contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Within it, what takes longer gets a KeyboardInterrupt, as from Ctrl-C."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(max(1, int(seconds)))
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.alarm(0)


def table3(job: Job) -> None:
    """Part (e): the sweep writes its record after each training."""
    path = job.out / "gpu-table3.json"
    gpu = job.device.type == "cuda"
    places = {"workers_per_gpu": job.together} if gpu else {"workers": 1}
    with interrupted_after(job.left - 40.0 * gpu):
        seeds = 1 if job.sizes is TINY else 5
        run_sweep(
            "base,E" if job.sizes is TINY else ROWS,
            job.data,
            path,
            seeds=seeds,
            device=str(job.device),
            **places,
            **job.sizes.sweep,
        )


def decoding(job: Job) -> dict[str, Any]:
    """Part (f): with the model of part (d)."""
    trained, rows = TrainedRun.read(trained_base(job)), []
    test = load_pairs(job.data, "en-de", test_split(job.data)).source
    model, vocabulary = trained.load(job.device)
    for beam in (1, 4):
        translator = Translator(model, vocabulary, SearchConfig(beam=beam))
        for batch_tokens in (2000, 20_000):
            list(translator(test[:50], batch_tokens=batch_tokens))  # a warm-up
            gpu_steps.synchronize(job.device)
            began = time.perf_counter()
            lines = list(translator(test, batch_tokens=batch_tokens))
            seconds = time.perf_counter() - began
            tokens = sum(map(len, vocabulary.encode(lines)))
            row = {"program": "aiayn", "beam": beam, "batch_tokens": batch_tokens}
            row |= {"seconds": round(seconds, 3)}
            rows.append(row | {"tokens_per_second": round(tokens / seconds)})
    return {"sentences": len(test), "rows": rows + ctranslate2(job, trained, test)}


def ctranslate2(job: Job, trained: TrainedRun, test: Any) -> list[dict[str, Any]]:
    """The same by CTranslate2, if it is installed and knows the GPU."""
    if find_spec("ctranslate2") is None:
        return []
    import ctranslate2

    if job.device.type == "cuda" and not ctranslate2.get_cuda_device_count():
        return []
    folder, (model, vocabulary) = job.runs / "ctranslate2", trained.load("cpu")
    if not folder.exists():
        write_ctranslate2(model, vocabulary, folder)
    translator = ctranslate2.Translator(str(folder), device=job.device.type)
    pieces = [vocabulary.pieces(each)[:-1] for each in vocabulary.encode(list(test))]
    rows = []
    for beam in (1, 4):
        for batch_tokens in (2000, 20_000):
            how = {
                "max_batch_size": batch_tokens,
                "batch_type": "tokens",
                "beam_size": beam,
            }
            translator.translate_batch(pieces[:50], **how)
            began = time.perf_counter()
            found = translator.translate_batch(pieces, **how)
            seconds = time.perf_counter() - began
            tokens = sum(len(each.hypotheses[0]) + 1 for each in found)
            row = {"program": "ctranslate2", "beam": beam, "batch_tokens": batch_tokens}
            row |= {"seconds": round(seconds, 3)}
            rows.append(row | {"tokens_per_second": round(tokens / seconds)})
    return rows
