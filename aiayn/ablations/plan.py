# Made by `make export` from book/3-workshop/08-ablations-and-statistics.ipynb
"""How each row of a sweep is trained, and what is left to train."""

# book/3-workshop/08-ablations-and-statistics.ipynb, cell plan-imports
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from aiayn.ablations.rows import ROWS, Row, row_config
from aiayn.base_config import changed
from aiayn.complexity.flops import step_flops
from aiayn.training.recipes import TrainingConfig, recipe

# book/3-workshop/08-ablations-and-statistics.ipynb, cell sweep-config
SWEEPS = {
    "synthetic": recipe("synthetic", optimizer={"rate_factor": 0.5}),
    "multi30k": recipe(
        "multi30k-wu",
        model={"vocabulary_size": 8000},
        optimizer={"rate_factor": 1.0},
        steps=3300,
        patience=None,
    ),
    "wmt14": recipe("base"),
}


def sweep_recipe(data: str) -> TrainingConfig:
    """How a sweep trains on a corpus, unless told otherwise; Multi30k's way if new."""
    return SWEEPS.get(data, SWEEPS["multi30k"])


# book/3-workshop/08-ablations-and-statistics.ipynb, cell sweep-row
def sweep_config(
    row: Row, recipe: TrainingConfig, seed: int, scale: float = 0.25, depth: float = 1.0
) -> TrainingConfig:
    """How a row is trained in a sweep, with which seed.

    The row fixes the shape (see `row_config` for `scale` and `depth`) and the label
    smoothing. Of the recipe's model only the vocabulary's size counts, and dropout
    where no row changes it. Big takes three times the steps, as in the table.
    """
    shape_given = recipe.model
    model = {"dropout": shape_given.dropout} | row.changes
    shape = row_config(
        row,
        scale,
        depth=depth,
        vocabulary_size=shape_given.vocabulary_size,
        dropout=model["dropout"],
    )
    steps = recipe.steps * row.steps // ROWS["base"].steps
    return changed(
        recipe,
        model=shape,
        steps=steps,
        label_smoothing=row.label_smoothing,
        batches={"skip_long": True},
        checkpoints={"steps": max(1, steps // 40), "keep": 1, "average": 1},
        seed=seed,
    )


# book/3-workshop/08-ablations-and-statistics.ipynb, cell job
@dataclass(frozen=True)
class SweepJob:
    """A run of a sweep: which row, how it is trained, on what, and where."""

    row: str  # its name
    config: TrainingConfig  # with the seed
    data: str  # corpus or folder
    pair: str  # languages, source first
    test: str | None  # the split that is translated; none in a trial of a rate
    folder: Path  # where the run is kept until it is done
    device: str | None = None  # a GPU if there is one

    @property
    def flops(self) -> float:
        """FLOPs of the whole run, up to a factor that all runs on the corpus share."""
        return self.config.steps * step_flops(self.config.model)


# book/3-workshop/08-ablations-and-statistics.ipynb, cell plan-key
run_key = itemgetter("row", "seed", "rate_factor")  # which run it is


# book/3-workshop/08-ablations-and-statistics.ipynb, cell plan
@dataclass(frozen=True)
class SweepPlan:
    """What a sweep trains: rows with seeds; before, each rate to try, with seed 0."""

    rows: list[Row]
    data: str
    pair: str
    test: str  # the split that is translated
    seeds: int
    scale: float  # of widths
    depth: float  # of numbers of layers
    recipe: TrainingConfig
    rates: list[float]  # rate factors to be tried
    folder: Path

    def best_rates(self, record: dict[str, Any]) -> dict[str, float]:
        """By row the best factor of its trials; a row has none if all trials failed."""
        if not self.rates:
            rate = self.recipe.optimizer.rate_factor
            return {row.name: rate for row in self.rows}
        ended = [run for run in record["trials"] if "error" not in run]
        ended.sort(key=lambda run: -run["perplexity"])
        return {run["row"]: run["rate_factor"] for run in ended}

    def missing_jobs(self, kind: str, record: dict[str, Any]) -> list[SweepJob]:
        """The `trials` or `runs` that a record lacks, by seed, the costliest first."""
        done = {run_key(run) for run in record[kind] if "error" not in run}
        jobs = [
            self._job(row, seed, rate)
            for row, seed, rate in self._wanted(kind, record)
            if (row.name, seed, rate) not in done
        ]
        return sorted(jobs, key=lambda job: (job.config.seed, -job.flops))

    # book/3-workshop/08-ablations-and-statistics.ipynb, cell plan-jobs
    def _wanted(
        self, kind: str, record: dict[str, Any]
    ) -> list[tuple[Row, int, float]]:
        """Row, seed and rate factor of all `trials` or `runs`."""
        if kind == "trials":
            return [(row, 0, rate) for row in self.rows for rate in self.rates]
        best_rates, seeds = self.best_rates(record), range(1, self.seeds + 1)
        rows = [row for row in self.rows if row.name in best_rates]
        return [(row, seed, best_rates[row.name]) for row in rows for seed in seeds]

    def _job(self, row: Row, seed: int, rate: float) -> SweepJob:
        """A run, with a folder of its own."""
        name = f"{row.name}-{seed}{f'-{rate}' * (seed == 0)}".replace(" ", "_")
        recipe = changed(self.recipe, optimizer={"rate_factor": rate})
        config = sweep_config(row, recipe, seed, self.scale, self.depth)
        test = self.test if seed else None
        folder = self.folder / name
        return SweepJob(row.name, config, self.data, self.pair, test, folder)
