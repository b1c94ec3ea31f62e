"""How each row of a sweep is trained, and what is left to train.

From "Sweeps and evidence" (paper, section 6.2):
https://github.com/OWNER/aiayn/blob/main/book/11-12-sweeps-and-evidence.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/11-12-sweeps-and-evidence.ipynb, cell plan-imports
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from aiayn.costs.hardware import step_flops
from aiayn.model.configuration import config
from aiayn.table3.rows import ROWS, Row, row_config
from aiayn.training.recipes import TrainingConfig

# book/11-12-sweeps-and-evidence.ipynb, cell sweep-config
_LABORATORY = TrainingConfig(
    config("laboratory"), 4400, batch_tokens=1000, warmup=400, rate_factor=0.5
)
_MULTI30K = TrainingConfig(
    config("multi30k-wu", vocabulary_size=8000), 3300, batch_tokens=8192, warmup=2000
)
SWEEPS = {"laboratory": _LABORATORY, "multi30k": _MULTI30K, "wmt14": TrainingConfig()}


def sweep_config(
    row: Row, data: str, seed: int, scale: float = 0.25, **changes: Any
) -> TrainingConfig:
    """How a row is trained in a sweep: by the corpus's recipe, or else Multi30k's.

    Parameters
    ----------
    row, data, seed, scale
        Which row, on what, with which seed, and how wide (see `row_config`).
    **changes
        What is not the recipe's, if not None: fields of `TrainingConfig`,
        `vocabulary_size`, `depth`, or `dropout` where no row changes it. Big
        takes three times the `steps`, as in the table.
    """
    recipe = SWEEPS.get(data, SWEEPS["multi30k"])
    given = {name: value for name, value in changes.items() if value is not None}
    model = {
        name: given.pop(name, getattr(recipe.model, name))
        for name in ("vocabulary_size", "dropout")
    }
    if "dropout" in row.changes:
        model["dropout"] = row.changes["dropout"]
    shape = row_config(row, scale, depth=given.pop("depth", 1.0), **model)
    steps = given.pop("steps", recipe.steps) * row.steps // ROWS["base"].steps
    given |= {
        "steps": steps,
        "checkpoint_steps": max(1, steps // 40),
        "keep": 1,
        "average": 1,
    }
    return replace(
        recipe, model=shape, label_smoothing=row.label_smoothing, seed=seed, **given
    )


# book/11-12-sweeps-and-evidence.ipynb, cell job
@dataclass(frozen=True)
class Job:
    """A run of a sweep: which row, how it is trained, on what, and where."""

    row: str  # its name
    config: TrainingConfig  # with the seed
    data: str  # corpus or folder
    pair: str  # languages, source first
    test: str | None  # the split that is translated; none in a trial of a rate
    folder: Path  # where the run is kept until it is done
    device: str | None = None  # a GPU if there is one

    @property
    def price(self) -> float:
        """FLOPs of the whole run, up to a factor that all runs on the corpus share."""
        return self.config.steps * step_flops(self.config.model)


# book/11-12-sweeps-and-evidence.ipynb, cell plan
key_of = itemgetter("row", "seed", "rate_factor")  # which run it is


@dataclass(frozen=True)
class Plan:
    """What a sweep trains: rows with seeds; before, each rate to try, with seed 0."""

    rows: list[Row]
    data: str
    pair: str
    test: str  # the split that is translated
    seeds: int
    scale: float
    changes: dict[str, Any]
    rates: list[float]  # rate factors to be tried
    rate: float  # the factor where none is tried
    folder: Path

    def rate_of(self, record: dict[str, Any]) -> dict[str, float]:
        """By row the best factor of its trials; a row has none if all trials failed."""
        if not self.rates:
            return dict.fromkeys([row.name for row in self.rows], self.rate)
        ended = [run for run in record["trials"] if "error" not in run]
        ended.sort(key=lambda run: -run["perplexity"])
        return {run["row"]: run["rate_factor"] for run in ended}

    def left(self, kind: str, record: dict[str, Any]) -> list[Job]:
        """The `trials` or `runs` that the record lacks, by seed, the dearest first."""
        done = {key_of(run) for run in record[kind] if "error" not in run}
        jobs = [
            self._job(row, seed, rate)
            for row, seed, rate in self._wanted(kind, record)
            if (row.name, seed, rate) not in done
        ]
        return sorted(jobs, key=lambda job: (job.config.seed, -job.price))

    def _wanted(
        self, kind: str, record: dict[str, Any]
    ) -> list[tuple[Row, int, float]]:
        """Row, seed and rate factor of all `trials` or `runs`."""
        if kind == "trials":
            return [(row, 0, rate) for row in self.rows for rate in self.rates]
        rate_of, seeds = self.rate_of(record), range(1, self.seeds + 1)
        rows = [row for row in self.rows if row.name in rate_of]
        return [(row, seed, rate_of[row.name]) for row in rows for seed in seeds]

    def _job(self, row: Row, seed: int, rate: float) -> Job:
        """A run, with a folder of its own."""
        name = f"{row.name}-{seed}{f'-{rate}' * (seed == 0)}".replace(" ", "_")
        changes = self.changes | {"rate_factor": rate}
        how = sweep_config(row, self.data, seed, self.scale, **changes)
        test = self.test if seed else None
        return Job(row.name, how, self.data, self.pair, test, self.folder / name)
