"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "PORT",
    "ADDRESS",
    "SHUTDOWN_SECONDS",
    "ENVIRONMENT",
    "torchrun_command",
    "FAILURE",
    "first_failure",
    "reason",
    "launch",
    "paper_run",
    "plain_words",
    "TEST_SETS",
    "load_test",
    "scores_of",
    "translate_test",
    "how_trained",
    "is_parser",
    "score",
    "report",
    "write_record",
]


# book/09-launch.ipynb, cell launch-imports
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import torch

from aiayn.bleu_scores import MOSES, Score, bleu, bleu_in_every_form, bleu_on_newstest2014, check_language
from aiayn.checkpoint import read_training
from aiayn.data import InputError, Pairs, load_pairs, write_atomically
from aiayn.hardware import PAPER_RUNS
from aiayn.parsing import PARSING_SEARCH
from aiayn.parsing import evaluate as evaluate_parser
from aiayn.search import PAPER_SEARCH, SearchConfig
from aiayn.translation import TooLong, Translator, last_checkpoints

PORT = 29500  # torchrun's own, where an address has none
ADDRESS = r"(\w[\w.-]*|\[[\da-fA-F:.]+\])(:\d{1,5})?"  # of a machine, perhaps with a port
SHUTDOWN_SECONDS = 120  # in which interrupted workers may save: a checkpoint of big has 2.6 GB
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(SHUTDOWN_SECONDS),  # before PyTorch 2.12 it is always 30
}


# book/09-launch.ipynb, cell torchrun-command
def torchrun_command(
    program: list[str], workers: int, machines: int = 1, address: str | None = None, restarts: int = 0
) -> list[str]:
    """The command that starts `program` once for every worker; the same one on each machine.

    Parameters
    ----------
    program : list of str
        What each worker runs, such as `["-m", "aiayn", "train", …]`, or a script and its arguments.
    workers : int
        On each machine: one for every GPU.
    machines : int
        How many machines take part.
    address : str, optional
        Where several machines meet: the name of one of them, with a port if it is not to be 29500.
    restarts : int
        How often all workers are started again after one has failed.

    Raises
    ------
    InputError
        If several machines have no address, or a number makes no sense.
    """
    if not (1 <= workers <= 1000 and 1 <= machines <= 10_000 and 0 <= restarts <= 1000):
        numbers = f"workers={workers}, machines={machines}, restarts={restarts}"
        raise InputError(f"{numbers}: wanted are 1 to 1,000, 1 to 10,000 and 0 to 1,000")
    meeting = ["--standalone"]
    if machines > 1:
        if not address:
            raise InputError(f"{machines} machines: give the address of one of them, where all meet")
        if not (found := re.fullmatch(ADDRESS, address)):
            raise InputError(f"address {address!r}: give a machine's name, with a port or not: node1:{PORT}")
        endpoint = address if found[2] else f"{address}:{PORT}"
        meeting = ["--nnodes", str(machines), "--rdzv-backend", "c10d", "--rdzv-id", "aiayn"]
        meeting += ["--rdzv-endpoint", endpoint]
    many = ["--nproc-per-node", str(workers), "--max-restarts", str(restarts)]
    return ["torchrun", *meeting, *many, *program]


# book/09-launch.ipynb, cell reason
FAILURE = re.compile(r"rank +: (\d+) \(local_rank: \d+\)\s+exitcode +: (-?\d+) ")


def first_failure(output: str) -> tuple[int, str] | None:
    """Exit code of the worker that torchrun reports to have failed first, and a line about it."""
    victims, _, root = output.rpartition("Root Cause (first observed failure)")
    found = FAILURE.search(root) if victims else None
    if found is None:
        return None
    code = int(found[2])
    ranks = sorted({int(found[1]), *(int(rank) for rank, how in FAILURE.findall(victims) if how == found[2])})
    who = "rank " + ", ".join(map(str, ranks))
    if code >= 0:
        return code, f"{who}: ended with exit code {code}; its output says more"
    names = {each.value: each.name for each in signal.Signals}
    cause = ", perhaps for lack of memory" if code == -signal.SIGKILL else ""
    return code, f"{who}: killed by {names.get(-code, f'signal {-code}')}{cause}"


def reason(lines: Iterable[str]) -> str:
    """Why workers failed: what one of them said, how one ended, or else the end of the output."""
    last = [line.rstrip() for line in lines if line.strip()]
    failure = first_failure("\n".join(last))
    said = [line.removeprefix("aiayn: ") for line in last if line.startswith("aiayn: ")]
    if said and (failure is None or failure[0] == 2):  # any other code is not that of who said it
        return said[0]
    return failure[1] if failure else "the workers failed; the end of their output:\n" + "\n".join(last[-40:])


# book/09-launch.ipynb, cell launch
def launch(command: list[str], show: bool = True) -> None:
    """Run a command of `torchrun_command` to its end; `show` its output as it comes.

    If this is interrupted, the workers save what they have, and end.

    Raises
    ------
    InputError
        If the workers fail; it says why.
    """
    torchrun = [sys.executable, "-m", "torch.distributed.run", *command[1:]]  # that of this Python
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(torchrun, env=ENVIRONMENT | os.environ, start_new_session=True, **pipes)
    stdout: Any = process.stdout
    last: deque[str] = deque(maxlen=1000)
    # A progress bar comes as lines that end in a carriage return; newline="" leaves them so.
    with process, TextIOWrapper(stdout, "utf-8", "replace", newline="") as output:
        try:
            for line in output:
                last.append(line)
                if show:
                    print(line, end="", flush=True)
        except BaseException:  # Ctrl-C, above all
            process.terminate()
            deque(output, maxlen=0)  # the workers write until they have saved, and somebody has to read it
            process.wait()
            raise
    if process.returncode:
        raise InputError(reason(last))


# book/09-launch.ipynb, cell paper-run
def paper_run(model: str, pair: str, out: Path) -> list[str]:
    """What `aiayn train` and `aiayn launch` have to be told for a cell of Table 2.

    Raises
    ------
    InputError
        If there is no such cell.
    """
    cells = {(run.model, run.pair): run for run in PAPER_RUNS}
    if (model, pair) not in cells:
        known = ", ".join(" ".join(cell) for cell in cells)
        raise InputError(f"{model} {pair}: no cell of Table 2; there are {known}")
    run = cells[model, pair]
    flags = {
        "data": "wmt14",
        "pair": pair,
        "config": model,
        "vocabulary-size": run.shape.vocabulary_size,
        "checkpoint-steps": round(600 / run.seconds),  # of the paper's ten minutes
        "micro-batches": 8,
        "out": out,
    }
    if (model, pair) == ("big", "en-fr"):
        flags["dropout"] = 0.1  # section 6.1
    told = [word for flag, value in flags.items() for word in (f"--{flag}", str(value))]
    return [*told, "--sparse", "--compile", "--drop-too-long"]


# book/09-launch.ipynb, cell plain-words
@contextmanager
def plain_words() -> Iterator[None]:
    """Within it, what the package refuses is a fault of the input, and told as one: an `InputError`."""
    try:
        with warnings.catch_warnings(action="error", category=TooLong):
            yield
    except (ValueError, TooLong) as error:
        raise InputError(str(error)) from None


# book/09-launch.ipynb, cell load-test
TEST_SETS = {"wmt14": "newstest2014", "multi30k": "test_2016_flickr"}  # of other corpora: test


def load_test(data: str, pair: str, split: str | None) -> dict[str, Pairs]:
    """A test set by name, the corpus' own where `split` is None; of newstest2014 also the filtered one.

    Raises
    ------
    InputError
        As `load_pairs` does. But if it is only the filtered set that cannot be had, that is a warning.
    """
    split = split or TEST_SETS.get(data, "test")
    if data != "wmt14" or split not in ("test", "newstest2014"):
        return {split: load_pairs(data, pair, split)}
    tests = {"wmt14/full": load_pairs(data, pair, "newstest2014")}
    try:
        tests["wmt14"] = load_pairs(data, pair, "newstest2014-filtered")
    except InputError as error:
        warnings.warn(f"the filtered newstest2014 is left out: {error}", stacklevel=2)
    return tests


# book/09-launch.ipynb, cell scores-of
def scores_of(
    translations: list[str], tests: dict[str, Pairs], language: str, forms: bool
) -> dict[str, dict[str, Score]]:
    """BLEU by test set and form; the translations are those of the first set, and the second is a part."""
    (name, pairs), *part = tests.items()
    if not forms:
        return {name: {"sacrebleu": Score("sacrebleu", *bleu(translations, pairs.target))}}
    if part:
        return bleu_on_newstest2014(translations, pairs, part[0][1], language)
    return {name: bleu_in_every_form(translations, pairs.target, language)}


# book/09-launch.ipynb, cell translate-test
def translate_test(translator: Translator, test: Pairs, progress: bool) -> list[str]:
    """Translate a test set; an `InputError` names its file and the sentence, if that is too long."""
    try:
        with plain_words():
            return list(translator(test.source, progress=progress))
    except InputError as error:
        raise InputError(f"{test.source_name}: {error}") from None


# book/09-launch.ipynb, cell is-parser
def how_trained(run: Path) -> dict[str, Any]:
    """What the last checkpoint of a run says of its training; nothing, if it was saved by other means."""
    return read_training(last_checkpoints(run)[-1])


def is_parser(run: Path) -> bool:
    """Whether a run trained its model on trees (section 6.3)."""
    return str(how_trained(run).get("pair")).endswith("-trees")


# book/09-launch.ipynb, cell score
def score(
    run: Path,
    search: SearchConfig | None = None,
    average: int | None = None,
    tests: tuple[str | None, str | None, str | None] = (None, None, None),
    forms: bool | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Translate a test set with the model that a run has left, and score it (section 6.1).

    `tests` are corpus, pair of languages, and split: where None, those of the training, and `load_test`'s.
    Without `forms` there is sacreBLEU alone; where None, there are as many forms as the language has. A
    parser is scored by `aiayn.parsing.evaluate`. An `InputError` says if there is no model or no such test.
    """
    training = how_trained(run)
    data, pair = tests[0] or training.get("data"), tests[1] or training.get("pair")
    if not (data and pair):
        raise InputError(f"{run}: does not say on what it was trained; give --data and --pair")
    if is_parser(run):
        search = search or PARSING_SEARCH
        return evaluate_parser(run, search, average, data, tests[2] or "test", progress=progress)
    search, language = search or PAPER_SEARCH, pair.partition("-")[2]
    if forms:
        check_language(language)  # before hours of work, not after them
    sets = load_test(data, pair, tests[2])
    translations = translate_test(Translator.load(run, average, search), next(iter(sets.values())), progress)
    found = scores_of(translations, sets, language, language in MOSES if forms is None else forms)
    checkpoints = [folder.name for folder in last_checkpoints(run, average)]
    here = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine()
    return {
        "run": str(run),
        "data": data,
        "pair": pair,
        "beam": search.beam,
        "alpha": search.alpha,
        "checkpoints": checkpoints,
        "minutes": training.get("minutes"),
        "device": here,
        "torch": torch.__version__,
        "date": date.today().isoformat(),
        "bleu": {test: {form: asdict(each) for form, each in forms.items()} for test, forms in found.items()},
    }


# book/09-launch.ipynb, cell report
def report(record: dict[str, Any]) -> str:
    """What `score` found, as a table: test set, form, BLEU, signature; or the labelled F1 of a parser."""
    if "f1" in record:
        parts = [f"{name} {record[name]:.2f}" for name in ("precision", "recall", "complete_match")]
        f1 = f"F1 {record['f1']:.2f}  ({', '.join(parts)}; {record['sentences']:,} sentences)"
        without = (
            f"F1 {record['strict_f1']:.2f}  if the {record['skipped']:,} that EVALB skips count as no trees"
        )
        return f"{f1}\n{without}" if record["skipped"] else f1
    rows = [(test, each) for test, forms in record["bleu"].items() for each in forms.values()]
    return "\n".join(
        f"{test:10}  {each['form']:20}  {each['value']:5.2f}  {each['signature']}" for test, each in rows
    )


def write_record(path: Path, record: dict[str, Any], command: list[str]) -> None:
    """Write down what `score` found, and how it came about.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    text = json.dumps({"command": shlex.join(command), **record}, indent=1, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())
