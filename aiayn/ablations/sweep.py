# Made by `make export` from book/3-workshop/08-ablations-and-statistics.ipynb
"""Trains and scores rows of Table 3 with several seeds."""

# book/3-workshop/08-ablations-and-statistics.ipynb, cell sweep-imports
import contextlib
import logging
import multiprocessing
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import torch
from filelock import FileLock, Timeout
from tqdm import tqdm

from aiayn.ablations.plan import (
    SweepJob,
    SweepPlan,
    run_key,
    sweep_config,
    sweep_recipe,
)
from aiayn.ablations.record import open_sweep, save_record
from aiayn.ablations.rows import ROWS, choose_rows, parameters
from aiayn.data.corpora import load_pairs
from aiayn.data.io import cause, write_atomically
from aiayn.data.tokenized import available_cpus, check_script
from aiayn.device import find_device, keep_heap
from aiayn.errors import InputError
from aiayn.metrics.bleu import corpus_bleu
from aiayn.training.metrics_log import Metrics
from aiayn.training.progress import Progress
from aiayn.training.provenance import current_provenance
from aiayn.training.recipes import TrainingConfig
from aiayn.training.trained_run import TrainedRun, test_split
from aiayn.training.trainer import train_model
from aiayn.translation.translator import Translator

LOG = logging.getLogger(__name__)


# book/3-workshop/08-ablations-and-statistics.ipynb, cell run-job
def run_job(job: SweepJob) -> dict[str, Any]:
    """Train, and translate the test set and score it, on one thread.

    Raises
    ------
    InputError
        If a signal ended the training; what it had is saved.
    """
    torch.set_num_threads(1)
    keep_heap()
    job.folder.mkdir(parents=True, exist_ok=True)
    with (
        (job.folder / "log.txt").open("a", encoding="utf-8") as log,
        contextlib.redirect_stderr(log),
    ):
        progress = Progress()
        result = train_model(
            job.config,
            job.data,
            job.pair,
            job.folder,
            resume=True,
            device=job.device,
            progress=progress,
        )
        if not result.ended:
            raise InputError(
                f"interrupted after step {result.step},"
                " from which the same command goes on"
            )
        validations = Metrics(job.folder).validations()
        summary = {
            "parameters": parameters(job.config.model),
            "steps": result.step,
            "minutes": round(result.minutes, 2),
            "perplexity": round(validations[result.step], 4),
            "validations": [round(each, 4) for each in validations.values()],
        }
        if job.test is not None:
            test = load_pairs(job.data, job.pair, job.test)
            run = TrainedRun.read(job.folder, average=1)
            translator = Translator(*run.load(job.device))
            score, signature = corpus_bleu(translator(test.source), test.target)
            summary |= {"bleu": round(score, 2), "signature": signature}
    return summary


# book/3-workshop/08-ablations-and-statistics.ipynb, cell run-apart
def run_apart(job: SweepJob) -> dict[str, Any]:
    """`run_job` in a process of its own; if it fails, what it said."""
    result: dict[str, Any] = {"row": job.row, "seed": job.config.seed}
    result["rate_factor"] = job.config.optimizer.rate_factor
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return result | pool.submit(run_job, job).result()
    except BrokenProcessPool:
        why = "its process was killed, perhaps for lack of memory; take fewer workers"
        return result | {"error": why}
    except Exception as error:  # whatever it is, the other runs go on
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        return result | {"error": " ".join(f"{kind}{error}".split())}


# book/3-workshop/08-ablations-and-statistics.ipynb, cell save-record
def corpus_files(data: str, pair: str, folder: Path) -> str:
    """The corpus; the synthetic one as a folder of files, written if there are none."""
    if data != "synthetic":
        return data
    for split in ("train", "val", "test"):
        paths = [folder / f"{split}.{language}" for language in pair.split("-")]
        if not all(path.exists() for path in paths):
            pairs = load_pairs(data, pair, split)
            for path, lines in zip(paths, (pairs.source, pairs.target), strict=True):
                write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    return str(folder)


# book/3-workshop/08-ablations-and-statistics.ipynb, cell run-all
@contextlib.contextmanager
def workplace(out: Path) -> Iterator[Path]:
    """A locked folder, hidden beside the record, for runs; removed if all are done.

    Raises
    ------
    InputError
        If it cannot be made, or another sweep is at work in it.
    """
    work = out.absolute().with_name(f".{out.stem}.runs")
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written ({cause(error)}); choose another file (out)"
        ) from None
    try:
        with FileLock(work / "lock", timeout=0):
            yield work
    except Timeout:
        raise InputError(
            f"{out}: another sweep is writing it; wait for it, or take another file"
        ) from None
    if not any(work.glob("*-*")):  # the folder of a run, which failed
        shutil.rmtree(work)


def places(
    workers: int | None, per_gpu: int | None, device: str | None
) -> Sequence[str | None]:
    """The devices of the runs that go on at a time: `workers`, or `per_gpu` per GPU."""
    if per_gpu is None:
        return [device] * (workers or available_cpus())
    every = [f"cuda:{k}" for k in range(torch.cuda.device_count())]
    gpus = [device] if device else every
    if not gpus or not str(gpus[0]).startswith("cuda"):
        raise InputError(
            f"workers_per_gpu={per_gpu}: there is no GPU; give workers instead"
        )
    return gpus * per_gpu


# book/3-workshop/08-ablations-and-statistics.ipynb, cell run-jobs
def run_all(
    jobs: list[SweepJob],
    record: dict[str, Any],
    out: Path,
    devices: Sequence[str | None],
    progress: bool,
    kind: str = "runs",
) -> None:
    """Run the jobs, as many at a time as devices; write the record after each."""
    LOG.info("aiayn: %s to train and score: %s", kind, len(jobs))
    before = multiprocessing.active_children()
    bar = tqdm(total=len(jobs), unit="run", disable=not progress)
    free = SimpleQueue[str | None]()
    for device in devices:
        free.put(device)

    def placed(job: SweepJob) -> dict[str, Any]:
        device = free.get()
        try:
            return run_apart(replace(job, device=device))
        finally:
            free.put(device)

    with ThreadPoolExecutor(len(devices)) as pool, bar:
        futures = {pool.submit(placed, job): job for job in jobs}
        try:
            for number, future in enumerate(as_completed(futures), start=1):
                result, folder = future.result(), futures[future].folder
                key = run_key(result)
                others = [run for run in record[kind] if run_key(run) != key]
                record[kind] = [*others, result]
                save_record(out, record)
                if "error" not in result:
                    shutil.rmtree(folder)
                bar.update()
                LOG.info("aiayn: %s of %s: %s", number, len(jobs), result["row"])
        except BaseException:  # Ctrl-C, above all: who trains hears of it, and saves
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                if child not in before:
                    child.terminate()
            raise


# book/3-workshop/08-ablations-and-statistics.ipynb, cell sweep-settings
def sweep_settings(
    data: str, pair: str, scale: float, rates: Sequence[float], base: TrainingConfig
) -> dict[str, Any]:
    """What a record says of a sweep; one that goes on has to agree with it."""
    settings = {"data": data, "pair": pair, "scale": scale, "rates": list(rates)}
    settings |= {"steps": base.steps, "batch_tokens": base.batches.tokens}
    settings |= {n: getattr(base.optimizer, n) for n in ("warmup", "rate_factor")}
    return settings | {
        n: getattr(base.model, n) for n in ("vocabulary_size", "dropout", "N")
    }


# book/3-workshop/08-ablations-and-statistics.ipynb, cell run-plan
def run_plan(
    plan: SweepPlan,
    record: dict[str, Any],
    out: Path,
    devices: Sequence[str | None],
    progress: bool,
) -> None:
    """Do what the record lacks: the trials of rates, then the runs with the best."""
    for kind in ("trials", "runs"):
        if missing_jobs := plan.missing_jobs(kind, record):
            record |= current_provenance()
            save_record(out, record)
            corpus = corpus_files(plan.data, plan.pair, plan.folder / "corpus")
            jobs = [replace(job, data=corpus) for job in missing_jobs]
            run_all(jobs, record, out, devices, progress, kind)


# book/3-workshop/08-ablations-and-statistics.ipynb, cell sweep
def run_sweep(
    rows: str | Sequence[str],
    data: str,
    out: Path,
    pair: str = "en-de",
    recipe: TrainingConfig | None = None,
    seeds: int = 5,
    scale: float = 0.25,
    depth: float = 1.0,
    rates: Sequence[float] = (),
    workers: int | None = None,
    workers_per_gpu: int | None = None,
    progress: bool = False,
    device: str | None = None,
) -> dict[str, Any]:
    """Train and score rows of Table 3 with several seeds, for a record (section 6.2).

    What the record holds is not done again; a run that was interrupted goes on, one
    that failed is tried again. With `rates`, a run of seed 0 tries each multiple of the
    rate for each row, and the row's seeds get the one whose validation perplexity is
    least. The `recipe` is the corpus's unless given. See `choose_rows` for `rows`,
    `sweep_config` for `scale` and `depth`, `places` for the others.
    """
    check_script()
    find_device(device)
    counts_given = [n for n in (seeds, workers, workers_per_gpu) if n is not None]
    if not 1 <= min(counts_given) <= max(counts_given) <= 1000:
        counts = f"seeds={seeds}, workers={workers}, workers_per_gpu={workers_per_gpu}"
        raise InputError(f"{counts}: must be 1 to 1,000")
    chosen, devices = choose_rows(rows), places(workers, workers_per_gpu, device)
    recipe = recipe or sweep_recipe(data)
    wanted = ROWS["base"], *chosen
    base, *_ = [sweep_config(row, recipe, 1, scale, depth) for row in wanted]
    tried = [multiple * base.optimizer.rate_factor for multiple in rates]
    test = "val" if data == "wmt14" else test_split(data)  # Table 3 is of newstest2013
    load_pairs(data, pair, test)  # before hours of work, not after them
    settings = sweep_settings(data, pair, scale, rates, base)
    with workplace(out) as work:
        record = open_sweep(out, settings)
        plan = SweepPlan(
            chosen, data, pair, test, seeds, scale, depth, recipe, tried, work
        )
        run_plan(plan, record, out, devices, progress)
    return record
