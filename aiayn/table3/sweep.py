"""Model variations (paper, section 6.2).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/06-2-model-variations.ipynb
"""

__all__ = [
    "SWEEPS",
    "sweep_config",
    "Job",
    "run_job",
    "run_apart",
    "open_record",
    "save",
    "corpus_files",
    "workplace",
    "run_all",
    "sweep",
]


# book/06-2-model-variations.ipynb, cell sweep-imports
import contextlib
import json
import multiprocessing
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from tqdm import tqdm

from aiayn.costs.hardware import step_flops
from aiayn.data.corpora import load_pairs
from aiayn.data.encoded import available_cpus, check_script
from aiayn.data.files import write_atomically
from aiayn.errors import InputError
from aiayn.fast_paths import find_device, keep_heap
from aiayn.model.configuration import config
from aiayn.table3.comparison import read_record
from aiayn.table3.rows import ROWS, Row, choose_rows, parameters, row_config
from aiayn.training.loop import train_model
from aiayn.training.metrics import Metrics
from aiayn.training.progress import Progress
from aiayn.training.provenance import provenance
from aiayn.training.recipes import TrainingConfig
from aiayn.training.trained_run import TrainedRun, test_split
from aiayn.translation.bleu_scores import bleu
from aiayn.translation.translator import Translator

# book/06-2-model-variations.ipynb, cell sweep-config
_SHORT = TrainingConfig(rate_factor=0.125, warmup=300, checkpoint_minutes=5.0, keep=1, average=1)
SWEEPS = {
    "laboratory": replace(_SHORT, model=config("laboratory"), steps=1500, batch_tokens=500),
    "multi30k": replace(_SHORT, model=config("small"), steps=2000, batch_tokens=1000),
    "wmt14": TrainingConfig(keep=1, average=1),
}


def sweep_config(
    row: Row,
    data: str,
    seed: int,
    scale: float = 0.25,
    steps: int | None = None,
    vocabulary_size: int | None = None,
) -> TrainingConfig:
    """How a row is trained in a sweep, with the recipe of the corpus, or Multi30k's if it has none.

    Parameters
    ----------
    row, data, seed, scale
        Which row, on what, with which seed, and how wide (see `row_config`).
    steps, vocabulary_size : int, optional
        Of base, if not the recipe's; big takes three times the steps, as in the table.
    """
    recipe = SWEEPS.get(data, SWEEPS["multi30k"])
    size = recipe.model.vocabulary_size if vocabulary_size is None else vocabulary_size
    shape = row_config(row, scale, vocabulary_size=size)
    steps = (recipe.steps if steps is None else steps) * row.steps // ROWS["base"].steps
    return replace(recipe, model=shape, label_smoothing=row.label_smoothing, steps=steps, seed=seed)


# book/06-2-model-variations.ipynb, cell job
@dataclass(frozen=True)
class Job:
    """A run of a sweep: which row, how it is trained, on what, and where."""

    row: str  # its name
    config: TrainingConfig  # with the seed
    data: str  # corpus or folder
    pair: str  # languages, source first
    test: str  # the split that is translated
    folder: Path  # where the run is kept until it is done
    device: str | None = None  # a GPU if there is one

    @property
    def price(self) -> float:
        """FLOPs of the whole run, up to a factor that all runs on the corpus share."""
        return self.config.steps * step_flops(self.config.model)


# book/06-2-model-variations.ipynb, cell run-job
def run_job(job: Job) -> dict[str, Any]:
    """Train, translate the test set and score it, on one thread.

    Raises
    ------
    InputError
        If a signal ended the training; what it had is saved.
    """
    torch.set_num_threads(1)
    keep_heap()
    job.folder.mkdir(parents=True, exist_ok=True)
    with (job.folder / "log.txt").open("a", encoding="utf-8") as log, contextlib.redirect_stderr(log):
        progress = Progress()
        train_model(
            job.config,
            job.data,
            job.pair,
            job.folder,
            drop_too_long=True,
            resume=True,
            device=job.device,
            progress=progress,
        )
        run = TrainedRun.read(job.folder, average=1)
        step, minutes = run.description.step or 0, run.description.minutes or 0.0
        if step < job.config.steps:
            raise InputError(f"interrupted after step {step}, from which the same command goes on")
        test = load_pairs(job.data, job.pair, job.test)
        score, signature = bleu(Translator(*run.load(job.device))(test.source), test.target)
    return {
        "parameters": parameters(job.config.model),
        "steps": step,
        "minutes": round(minutes, 2),
        "perplexity": round(Metrics(job.folder).validations()[step], 4),
        "bleu": round(score, 2),
        "signature": signature,
    }


# book/06-2-model-variations.ipynb, cell run-apart
def run_apart(job: Job) -> dict[str, Any]:
    """`run_job` in a process of its own; if it fails, what it said."""
    found: dict[str, Any] = {"row": job.row, "seed": job.config.seed}
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return found | pool.submit(run_job, job).result()
    except BrokenProcessPool:
        return found | {"error": "its process was killed, perhaps for lack of memory; take fewer workers"}
    except Exception as error:  # whatever it is, the other runs go on
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        return found | {"error": " ".join(f"{kind}{error}".split())}


# book/06-2-model-variations.ipynb, cell record
def open_record(out: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """The record at `out`, if it was made with the same settings; else a new one."""
    record = read_record(out)
    if record is None or not record["runs"]:
        return provenance() | settings | {"runs": []}
    changed = [f"{n}={record.get(n)}, not {value}" for n, value in settings.items() if record.get(n) != value]
    if changed:
        raise InputError(f"{out}: a sweep with {'; '.join(changed)}; use that, or another --out")
    return record


# book/06-2-model-variations.ipynb, cell save-record
def save(out: Path, record: dict[str, Any]) -> None:
    """Write the record, whole or not at all, its runs in the order of the table."""
    names = list(ROWS)
    record["runs"].sort(key=lambda run: (names.index(run["row"]), run["seed"]))
    write_atomically(out, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def corpus_files(data: str, pair: str, folder: Path) -> str:
    """The laboratory's corpus as files, written if they are not there yet; any other corpus as it is."""
    if data != "laboratory":
        return data
    for split in ("train", "val", "test"):
        paths = [folder / f"{split}.{language}" for language in pair.split("-")]
        if not all(path.exists() for path in paths):
            pairs = load_pairs(data, pair, split)
            for path, lines in zip(paths, (pairs.source, pairs.target), strict=True):
                write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    return str(folder)


# book/06-2-model-variations.ipynb, cell run-all
@contextlib.contextmanager
def workplace(out: Path) -> Iterator[Path]:
    """A hidden folder beside the record for what is not done yet; locked, and removed if all is done.

    Raises
    ------
    InputError
        If it cannot be made, or another sweep is at work in it.
    """
    work = out.absolute().with_name(f".{out.stem}.runs")
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error}); choose another --out") from None
    try:
        with FileLock(work / "lock", timeout=0):
            yield work
    except Timeout:
        raise InputError(f"{out}: another sweep is writing it; wait for it, or take another --out") from None
    if not any(work.glob("*-*")):  # the folder of a run, which failed
        shutil.rmtree(work)


def run_all(jobs: list[Job], record: dict[str, Any], out: Path, workers: int, progress: bool) -> None:
    """Run the jobs, `workers` at a time, and write the record after each."""
    before, bar = multiprocessing.active_children(), tqdm(total=len(jobs), unit="run", disable=not progress)
    with ThreadPoolExecutor(workers) as pool, bar:
        futures = {pool.submit(run_apart, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                found, folder = future.result(), futures[future].folder
                key = found["row"], found["seed"]
                others = [run for run in record["runs"] if (run["row"], run["seed"]) != key]
                record["runs"] = [*others, found]
                save(out, record)
                if "error" not in found:
                    shutil.rmtree(folder)
                bar.update()
        except BaseException:  # Ctrl-C, above all: who trains hears of it, and saves
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                if child not in before:
                    child.terminate()
            raise


# book/06-2-model-variations.ipynb, cell sweep
def sweep(
    rows: str | Sequence[str],
    data: str,
    out: Path,
    pair: str = "en-de",
    seeds: int = 3,
    scale: float = 0.25,
    steps: int | None = None,
    vocabulary_size: int | None = None,
    workers: int | None = None,
    progress: bool = False,
    device: str | None = None,
) -> dict[str, Any]:
    """Train rows of Table 3 with several seeds, score them, and write a record (section 6.2).

    What the record holds is not done again; a run that was interrupted goes on, one that failed is tried
    again. `workers` processes of one thread share the work on `device`, one for each processor where None.
    See `choose_rows` for `rows`, `sweep_config` for the numbers. An `InputError` says what makes no sense.
    """
    check_script()
    find_device(device)
    if not (1 <= seeds <= 1000 and (workers is None or 1 <= workers <= 1000)):
        raise InputError(f"seeds={seeds}, workers={workers}: must be 1 to 1,000")
    configs = {
        (row.name, seed): sweep_config(row, data, seed, scale, steps, vocabulary_size)
        for row in choose_rows(rows)
        for seed in range(1, seeds + 1)
    }
    base = sweep_config(ROWS["base"], data, 1, scale, steps, vocabulary_size)
    test = "val" if data == "wmt14" else test_split(data)  # Table 3 is of newstest2013
    load_pairs(data, pair, test)  # before hours of work, not after them
    settings = {"data": data, "pair": pair, "scale": scale, "vocabulary_size": base.model.vocabulary_size}
    settings |= {name: getattr(base, name) for name in ("steps", "batch_tokens", "warmup", "rate_factor")}
    with workplace(out) as work:
        record = open_record(out, settings)
        done = {(run["row"], run["seed"]) for run in record["runs"] if "error" not in run}
        if left := configs.keys() - done:
            record |= provenance()
            save(out, record)
            corpus = corpus_files(data, pair, work / "corpus")
            folders = {key: work / f"{key[0]}-{key[1]}".replace(" ", "_") for key in left}
            jobs = [Job(key[0], configs[key], corpus, pair, test, folders[key], device) for key in left]
            jobs.sort(key=lambda job: (job.config.seed, -job.price))
            run_all(jobs, record, out, workers or available_cpus(), progress)
    return record
