"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "sweep",
    "plan",
    "sample",
    "main",
]


# book/09-launch.ipynb, cell imports
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Literal

from aiayn import laboratory
from aiayn.commands.command_line import open_streams, output_arrives, read_command, show_progress
from aiayn.commands.train import launch, prepare, train
from aiayn.commands.use import convert, evaluate, parse, translate
from aiayn.costs.hardware import plan_table
from aiayn.errors import InputError
from aiayn.table3.comparison import report as comparison_report
from aiayn.table3.sweep import sweep as run_sweep


# book/09-launch.ipynb, cell sweep-command
def sweep(
    data: str,
    out: Path,
    rows: str = "all",
    pair: str = "en-de",
    seeds: int = 3,
    scale: float = 0.25,
    steps: int | None = None,
    vocabulary_size: int | None = None,
    workers: int | None = None,
    device: str | None = None,
) -> None:
    """Train rows of Table 3 with several seeds, score them, and write a record; what is there is kept.

    Parameters
    ----------
    data : str
        laboratory, multi30k, wmt14, or a folder, which is scored on val if it has no test.
    out : Path
        The record, a JSON file.
    rows : str
        all, groups or names, with commas between them, such as A,base or "C N=2".
    pair : str
        Languages, source first.
    seeds : int
        How many times each row is trained.
    scale : float
        Of the paper's widths.
    steps : int, optional
        Of base, if not the recipe's; big takes three times as many.
    vocabulary_size : int, optional
        If not the recipe's.
    workers : int, optional
        How many trainings at a time; one for each processor unless given.
    device : str, optional
        Where all of them compute: cpu, cuda, cuda:1, …; a GPU if there is one unless given.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the trainings hear of it, and save
    progress = sys.stderr.isatty()
    numbers = (seeds, scale, steps, vocabulary_size, workers)
    record = run_sweep(rows, data, out, pair, *numbers, progress, device)
    print(comparison_report(record))
    if failed := sum("error" in run for run in record["runs"]):
        print(f"aiayn: {failed} of {len(record['runs'])} runs failed; {out} says why", file=sys.stderr)
        sys.exit(1)


# book/09-launch.ipynb, cell plan-verb
def plan(gpus: int, gpu: str, utilisation: float, watts: float | None = None) -> None:
    """Print the hours and the energy that the trainings of Table 2 will take.

    Parameters
    ----------
    gpus : int
        How many.
    gpu : str
        Their name, such as H100.
    utilisation : float
        Which share of their peak they reach, such as 0.4.
    watts : float, optional
        The power of one, if not that of its data sheet.
    """
    print(plan_table(gpus, gpu, utilisation, watts))


# book/09-launch.ipynb, cell sample-command
def sample(
    n: int = 10,
    seed: int = 1,
    split: Literal["train", "valid", "test", "long", "novel", "pronouns"] = "train",
    span: int | None = None,
    with_tree: bool = False,
    with_alignment: bool = False,
) -> None:
    """Print sentence pairs of the laboratory, with tabs between the columns.

    Parameters
    ----------
    n : int
        How many pairs.
    seed : int
        Other seeds give other pairs.
    split : str
        Part of the corpus.
    span : int, optional
        Only sentences with so many words between a verb and its particle or complement.
    with_tree : bool
        Also the English tree in brackets.
    with_alignment : bool
        Also the alignment, as pairs of word numbers.
    """
    if n > 1_000_000:  # they are all drawn before the first is printed
        raise InputError(f"n={n}: must be at most 1,000,000; for more, take several seeds")
    for pair in laboratory.sample(n, seed, split, span):
        tree = [pair.tree] if with_tree else []
        alignment = [" ".join(f"{i}-{j}" for i, j in pair.alignment)] if with_alignment else []
        print(pair.source, pair.target, *tree, *alignment, sep="\t")


# book/09-launch.ipynb, cell main
def main() -> None:
    """The command `aiayn`; whatever is wrong with its input is one line, and exit code 2."""
    verbs = (prepare, train, launch, translate, evaluate, convert, parse, sweep, plan, sample)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as standard input is, whatever the locale
    try:
        open_streams()
        show_progress()
        with output_arrives():
            read_command(verbs)()
    except (InputError, OSError) as error:
        with suppress(OSError):  # standard error may be full
            print(f"aiayn: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__" and "__file__" in globals():  # a notebook is __main__ too, but is no file
    main()
