# Made by `make export` from book/5-launch/1-launch.ipynb
"""The command aiayn."""

# book/5-launch/1-launch.ipynb, cell imports
import signal
import sys
import warnings
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal

import tyro

from aiayn import synthetic
from aiayn.ablations.comparison import comparison_table, gains
from aiayn.ablations.plan import sweep_recipe
from aiayn.ablations.sweep import run_sweep
from aiayn.base_config import settings
from aiayn.cli.inference import evaluate, parse, translate
from aiayn.cli.launch import launch
from aiayn.cli.models import convert, info, models
from aiayn.cli.parser import (
    flushed_output,
    naming_flags,
    read_command,
    show_progress,
    value_of,
    with_defaults,
)
from aiayn.cli.train import prepare, train
from aiayn.complexity.flops import (
    PAPER_RUNS,
    PlannedRun,
    estimate_table,
    step_flops,
)
from aiayn.device import check_system
from aiayn.errors import InputError
from aiayn.training.recipes import TrainingConfig
from aiayn.training.recipes import recipe as find_recipe


# book/5-launch/1-launch.ipynb, cell sweep-command
@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """What is trained, and how."""

    # tatoeba, synthetic, …, or a folder, scored on its val if it has no test
    data: str
    out: Path  # the record, a JSON file; what it has is not done again
    # all, groups or names, with commas between them, such as base,A or h=1,N=2
    rows: str = "all"
    pair: str = "en-de"  # languages, source first
    seeds: int = 5  # how many times each row is trained; a verdict needs five
    scale: float = 0.25  # share of the paper's widths
    depth: float = 1.0  # share of the paper's numbers of layers
    # multiples of the learning rate, such as 0.5,1,2: each row's seeds take what does
    # best in a trial
    rates: str = ""
    recipe: str | None = None  # how to train; the corpus's own way unless given
    # runs at a time; one for each processor unless given
    workers: int | None = None
    # runs at a time on each GPU, in place of `workers`
    workers_per_gpu: int | None = None
    # cpu, cuda, cuda:1, …; a GPU if there is one unless given
    device: str | None = None
    # a row sets the shape (dropout in D and big, vocabulary_size never); the
    # sweep sets checkpoints, label smoothing and seeds
    config: Annotated[TrainingConfig, tyro.conf.arg(name="")] = TrainingConfig()

    @classmethod
    def with_recipe_defaults(cls, words: list[str]) -> type:
        """This class, with the recipe that the words of a command name as default."""
        name, data = value_of("--recipe", words), value_of("--data", words)
        config = find_recipe(name) if name else sweep_recipe(data or "")
        return with_defaults(cls, recipe=name, config=config)

    def check(self) -> None:
        """Raise an InputError if it changes a part of the shape that a row sets."""
        given = {word.partition("=")[0].replace("_", "-") for word in sys.argv}
        for name in settings(self.config):
            if f"--{name.replace('_', '-')}" not in given:
                continue
            part, _, last = name.rpartition(".")
            if part == "model" and last not in ("vocabulary_size", "dropout"):
                raise InputError(f"--{name}: the rows set it; take scale or depth")
            if part == "checkpoints" or name in ("label_smoothing", "seed"):
                raise InputError(f"--{name}: the sweep sets it; leave it out")


# book/5-launch/1-launch.ipynb, cell sweep-verb
def sweep(options: Annotated[SweepOptions, tyro.conf.arg(name="")]) -> None:
    """Train rows of Table 3 with several seeds, and say which are better than base."""
    options.check()
    try:
        rates = [float(rate) for rate in options.rates.split(",") if options.rates]
    except ValueError:
        fault = "must be numbers, such as 0.5,1,2"
        raise InputError(f"rates={options.rates}: {fault}") from None
    # The runs are to hear of it, and save.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    record = run_sweep(
        options.rows,
        options.data,
        options.out,
        options.pair,
        options.config,
        options.seeds,
        options.scale,
        options.depth,
        rates,
        options.workers,
        options.workers_per_gpu,
        progress=sys.stderr.isatty(),
        device=options.device,
    )
    print(f"{comparison_table(record)}\n\n{gains(record)}")
    if failed := sum("error" in run for run in record["runs"]):
        message = (
            f"{failed} of {len(record['runs'])} runs failed; {options.out} says why"
        )
        print(f"aiayn: {message}", file=sys.stderr)
        sys.exit(1)


# book/5-launch/1-launch.ipynb, cell planned-run
SMALL_STEP = 1e12  # FLOPs, a tenth of what a step of base takes


def planned_run(name: str, steps: int | None) -> PlannedRun:
    """The run of a recipe; an InputError if it is too small for an estimate."""
    its = find_recipe(name, **({} if steps is None else {"steps": steps}))
    tokens = its.batches.tokens
    if step_flops(its.model, tokens) < SMALL_STEP:
        work = f"{step_flops(its.model, tokens):.0e} FLOPs for {tokens:,} tokens"
        fault = f"a step of this model, {work}, does not fill a GPU"
        advice = "train for a minute, and the bar says how long it will take"
        raise InputError(f"--recipe {name}: {fault}; {advice}")
    return PlannedRun(name, "", its.model, its.steps, tokens)


# book/5-launch/1-launch.ipynb, cell estimate-verb
def estimate(
    gpus: int,
    gpu: str,
    utilisation: float | None = None,
    watts: float | None = None,
    recipe: list[str] | None = None,
    steps: int | None = None,
) -> None:
    """Print hours and energy of the runs of Table 2, or of recipes.

    They are bounds from below: validation, checkpoints, and what GPUs lose by sharing a
    batch come on top. A recipe with steps much smaller than those of base is refused:
    they do not fill a GPU, so FLOPs say nothing of their time. For one of these, or on
    a processor, train for a minute: the bar says how long it will take.

    Parameters
    ----------
    gpus : int
        How many.
    gpu : str
        Their name, such as H100.
    utilisation : float, optional
        Which share of their peak they reach, as `metrics.jsonl` of a run has it;
        0.2, 0.3 and 0.4 in turn unless given. One H100 reached 0.11 with base.
    watts : float, optional
        The power of one, if not that of its data sheet.
    recipe : list of str, optional
        Recipes in place of Table 2's runs.
    steps : int, optional
        How many they take, if not the recipe's.
    """
    runs = [planned_run(name, steps) for name in recipe or ()]
    if steps is not None and not runs:
        raise InputError("--steps: those of Table 2 are the paper's; add --recipe")
    print(estimate_table(gpus, gpu, utilisation, watts, runs or PAPER_RUNS))


# book/5-launch/1-launch.ipynb, cell generate-corpus-command
def generate_corpus(
    n: int = 10,
    seed: int = 1,
    split: Literal["train", "valid", "test", "long", "novel", "pronouns"] = "train",
    span: int | None = None,
    with_tree: bool = False,
    with_alignment: bool = False,
) -> None:
    """Print sentence pairs of the synthetic corpus, with tabs between the columns.

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
        raise InputError(
            f"n={n}: must be at most 1,000,000; for more, take several seeds"
        )
    for pair in synthetic.sample(n, seed, split, span):
        columns = [pair.source, pair.target]
        if with_tree:
            columns.append(pair.tree)
        if with_alignment:
            columns.append(" ".join(f"{i}-{j}" for i, j in pair.alignment))
        print(*columns, sep="\t")


# book/5-launch/1-launch.ipynb, cell main
def main() -> None:
    """The command `aiayn`; faulty input gets one line, and exit code 2."""
    with_a_model = (translate, evaluate, convert, parse)
    others = (info, models, sweep, estimate, generate_corpus)
    verbs = (prepare, train, launch, *with_a_model, *others)
    # As standard input is, whatever the locale.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        check_system()
        with warnings.catch_warnings(action="default", category=UserWarning):
            show_progress()
            with flushed_output(), naming_flags(verbs):
                read_command(verbs)()
    except (InputError, OSError) as error:
        print(f"aiayn: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


# A notebook is __main__ too, but is no file.
if __name__ == "__main__" and "__file__" in globals():
    main()
