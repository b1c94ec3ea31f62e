"""Verdicts follow the records: chapters 1 and 4 judge records that were changed."""

import contextlib
import copy
import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
import pytest
import torch

import aiayn.book
from aiayn.book import record_path
from aiayn.metrics.significance import all_of, paired

BOOK = Path(__file__).parents[2] / "book"
Record = dict[str, Any]


def record(name: str) -> Record:
    """A record of the book, to be changed."""
    return copy.deepcopy(json.loads((BOOK / "runs" / name).read_text("utf-8")))


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run cells of a chapter beside a record; what it says of a claim, expected or
    not.
    """
    found: list[bool | None] = []

    def claim(identifier: str, holds: bool | None, *rest: Any, **named: Any) -> None:
        found.append(holds)

    def run(
        chapter: str, cells: list[str], name: str, content: Record, **names: Any
    ) -> bool | None:
        Path("runs").mkdir(exist_ok=True)
        Path("runs", name).write_text(json.dumps(content), encoding="utf-8")
        known = {"json": json, "math": math, "claim": claim, "Counter": Counter}
        known |= {"all_of": all_of, "paired": paired, "record_path": record_path}
        known |= names
        sources = {
            cell.id: cell.source
            for cell in nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4).cells
        }
        for cell in cells:
            exec(compile(sources[cell], cell, "exec"), known)
        return found[-1]

    monkeypatch.setattr(aiayn.book, "claim", claim)
    monkeypatch.chdir(tmp_path)
    return run


STACKS = ["full", "window", "convolution", "dilated", "recurrent"]


def learned(right: dict[str, list[float]]) -> Record:
    """A record of stacks that are so often right at 4, 8, 16, 32 and 64 positions."""
    content, distances = record("path-length.json"), ("4", "8", "16", "32", "64")
    setting: Record = {"rate": 1e-3, "warmup": 50}
    content |= {"arms": [], "runs": []}
    for task, stack in itertools.product(("copying", "agreement"), STACKS):
        arm = {"task": task, "stack": stack} | setting
        content["arms"].append(arm)
        for seed in range(1, 6):
            shares = [each - seed / 1000 for each in right.get(stack, [0.99] * 5)]
            run = arm | {
                "seed": seed,
                "right": dict(zip(distances, shares, strict=True)),
            }
            content["runs"].append(run)
    return content


FADES, FLAT = [0.95, 0.9, 0.8, 0.6, 0.3], [0.99] * 5


@pytest.mark.parametrize(
    ("right", "holds"),
    [
        ({}, None),  # nothing loses with distance: no test of it
        ({"recurrent": FADES}, True),
        ({"recurrent": FADES, "full": [0.8] * 5}, None),  # not well trained
        ({"recurrent": FADES, "full": FADES}, False),
    ],
)
def test_distance_is_judged_with_a_control(
    judge: Any, right: dict[str, list[float]], holds: bool | None
) -> None:
    chapter, cells = "1-paper/1-introduction", ["distance-record", "claim-distance"]
    assert judge(chapter, cells, "path-length.json", learned(right)) is holds
    content = learned(right)
    content["arms"].pop()
    assert judge(chapter, cells, "path-length.json", content) is None  # not through


@pytest.mark.parametrize(
    ("right", "holds"),
    [
        ({"window": FADES, "convolution": FADES, "recurrent": FADES}, True),
        ({"window": [0.99] * 4 + [1.0], "full": FADES}, False),
        ({"recurrent": FADES}, None),  # the window is as good as full attention
        (dict.fromkeys(STACKS, [1.0] * 5), None),  # too easy
    ],
)
def test_paths_are_judged_where_distance_costs_something(
    judge: Any, right: dict[str, list[float]], holds: bool | None
) -> None:
    chapter = "1-paper/4-why-self-attention"
    cells = ["paths-learned", "claim-paths-learned"]
    assert judge(chapter, cells, "path-length.json", learned(right)) is holds


FAIR = {"trial": 2400, "warmups": [50, 100, 400]}


@pytest.mark.parametrize(
    ("settings", "factor", "holds"),
    [
        ({}, 1.0, None),  # as recorded: tuned for a shorter race, on the edge
        (FAIR, 1.0, False),
        (FAIR, 0.3, True),
        (FAIR | {"trial": 600}, 0.3, None),
        (FAIR | {"warmups": [100, 400]}, 0.3, None),
        (FAIR | {"rates": [0.005, 0.0125, 0.03]}, 0.3, None),
    ],
)
def test_a_race_is_judged_if_its_tuning_was_fair(
    judge: Any, settings: Record, factor: float, holds: bool | None
) -> None:
    content = record("comparison.json")
    content["settings"] |= settings
    for run in content["runs"]:
        if run["model"] == "synthetic":
            run["steps_to"] = [factor * steps for steps in run["steps_to"]]
    cells = ["race", "race-table", "race-again", "claim-faster"]
    assert judge("1-paper/1-introduction", cells, "comparison.json", content) is holds


@pytest.mark.parametrize(
    ("done", "holds"), [(2, False), (4, None), (7, True), (8, True)]
)
def test_the_encoder_s_heads_are_judged(
    judge: Any, done: int, holds: bool | None
) -> None:
    """So many of the eight heads have a task, and one more with every second seed."""
    content = record("heads.json")
    for number, run in enumerate(content["runs"]):
        run["steps"] = 4400
        heads = run["trained"]["tasks"]["asked"]["encoder"]
        for k, head in enumerate(heads):
            head |= {"done": k < done + number % 2, "name": f"task {k}"}
    cells = ["heads", "claim-heads"]
    assert judge("1-paper/4-why-self-attention", cells, "heads.json", content) is holds


@pytest.mark.parametrize(
    ("start", "ahead", "budgets", "holds"),
    [
        ("best", 0.0, 0, None),  # as recorded: it turns with the start
        ("best", 0.3, 5, True),
        ("best", 0.3, 1, None),
        ("1", 0.0, 5, False),  # from neither start
    ],
)
def test_additive_scores_are_judged_at_every_budget(
    judge: Any, start: str, ahead: float, budgets: int, holds: bool | None
) -> None:
    content = record("scores.json")
    for run in content["runs"]:
        if run["start"] == start and run["steps"] in content["budgets"][:budgets]:
            better = run["score"] == "additive" and run["d_k"] > 4
            run["right"] = [0.5 + ahead * better] * 5
    chapter, cells = "3-workshop/10-attention-scores", ["scores-record"]
    cells.append("claim-additive-beats")
    assert judge(chapter, cells, "scores.json", content) is holds


STEPS = {"one symbol": 100, "one head": 10_000, "four heads": 400}


@pytest.mark.parametrize(
    ("steps", "holds"),
    [
        ({}, True),
        ({"one head": 400}, None),  # four times one symbol's, but not the four heads'
        ({"one head": 200}, False),
        ({"four heads": 4000}, None),  # not good enough
    ],
)
def test_averaging_is_judged_by_the_steps_that_it_costs(
    judge: Any, steps: dict[str, int], holds: bool | None
) -> None:
    """Arms that know half before so many steps, and all from then on."""
    content = record("copier.json")
    for run in content["runs"]:
        known = run["steps"] >= (STEPS | steps)[run["arm"]]
        run["right"] = [1.0 if known else 0.5] * 5
    content["runs"] = [run for run in content["runs"] if run["arm"] in STEPS]
    source = mock.Mock(return_value=0)
    names = {"weights": source, "Copier": source}
    cells = ["copier-record", "copier-judged", "claim-2-b"]
    chapter = "1-paper/2-background"
    assert judge(chapter, cells, "copier.json", content, **names) is holds


@pytest.mark.parametrize(
    ("chapter", "names"),
    [
        (
            "1-paper/1-introduction",
            {"counted": {"GRU": {1024: 1025}, "self-attention": {1024: 4}}},
        ),
        (
            "1-paper/4-why-self-attention",
            {"chains": {"recurrent": [1], "other": [2]}, "tried": (1,)},
        ),
    ],
)
@pytest.mark.parametrize(
    ("products", "loss", "holds"),
    [
        ({}, 0.0, False),  # as recorded; of 64 states, nearly as many as a loop takes
        ({"GRU": 200, "LSTM": 200}, 0.0, False),
        ({"GRU": 600}, 0.0, None),
        ({"GRU": 1024}, 0.0, None),
        ({"GRU": 1024, "LSTM": 1024, "tanh": 1024}, 0.0, True),
        ({}, 3.0, None),  # not trained well enough
    ],
)
def test_recurrences_are_judged_by_what_the_best_way_takes(
    judge: Any,
    chapter: str,
    names: Record,
    products: dict[str, int],
    loss: float,
    holds: bool | None,
) -> None:
    content = record("newton.json")
    for run in content["runs"]:
        run["loss"] += loss
        if run["layer"] in products:
            many = products[run["layer"]]
            run["products"] |= {"1024": many, "64": many // 7}
    cell = "claim-sequential" if "intro" in chapter else "claim-steps"
    if "intro" in chapter and not products:
        holds = None  # it turns with the length
    assert judge(chapter, [cell], "newton.json", content, **names) is holds


def judged(chapter: str, names: list[str], known: Record) -> bool | None:
    """What cells say of a claim with such names, whatever they assert later."""
    found: list[bool | None] = []

    def claim(identifier: str, holds: bool | None, **named: Any) -> None:
        found.append(holds)

    sources = {
        cell.id: cell.source
        for cell in nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4).cells
    }
    known = known | {"claim": claim}
    with contextlib.suppress(AssertionError):
        for name in names:
            exec(compile(sources[name], name, "exec"), known)
    return found[-1]


GAIN, NONE, LOSS = [4.0, 4.1, 4.2], [-0.5, 0.1, 0.4], [-4.0, -4.1, -4.2]


@pytest.mark.parametrize(
    ("gains", "holds"),
    [
        ([GAIN, None], None),  # as recorded: one corpus
        ([GAIN, GAIN], True),
        ([GAIN, NONE], None),
        ([GAIN, LOSS], False),
        ([None, None], None),
    ],
)
def test_heads_are_judged_by_records_fit_to_judge(
    gains: list[list[float] | None], holds: bool | None
) -> None:
    six = {f"attention {k}": 0.6 for k in range(6)}
    low = dict.fromkeys(six, 0.3)
    records = {
        name: (paired(each, [0.0] * 3) if each else None, "as recorded")
        for name, each in zip(("synthetic", "multi30k"), gains, strict=True)
    }
    trained, blank = mock.Mock(), mock.Mock()
    known: Record = {"all_of": all_of, "torch": mock.Mock(), "translator": trained}
    known |= {"Transformer": mock.Mock(return_value=blank), "overlap": lambda head: 0.3}
    known |= {"disagreement": lambda model: (six if model is trained else low, low)}
    known |= {"one_head": records.get, "one_fails": True, "two_do_not": True}
    assert judged("1-paper/3-2-attention", ["claim-heads"], known) is holds


def test_a_run_that_was_added_to_a_record_says_when_and_where() -> None:
    added = record("comparison.json")["again"]
    assert added and all(run["date"] and run["machine"] for run in added)


def jacobian(weights: torch.Tensor) -> torch.Tensor:
    """The derivatives of a softmax, from its weights."""
    outer = weights.unsqueeze(-1) * weights.unsqueeze(-2)
    return torch.diag_embed(weights) - outer


@pytest.mark.parametrize(
    ("derivatives", "holds"),
    [
        (jacobian, True),
        (torch.ones_like, False),  # no score makes them small
        (lambda weights: jacobian(weights.square()), False),  # nor does the root help
    ],
)
def test_gradients_are_judged_by_how_small_the_scores_make_them(
    derivatives: Any, holds: bool
) -> None:
    chapter, widths = "1-paper/3-2-attention", [64, 1024]
    statistics = ["median, queries", "mean of both"]
    ratio = mock.Mock(mean=0.0, above=lambda: False)
    known: Record = {"torch": torch, "math": math, "jacobian": derivatives}
    known |= {"widths": widths, "STATISTICS": statistics}
    known["more"] = {(name, d_k): ratio for name in statistics for d_k in widths}
    keys = [(kind, d_k) for kind in ("unscaled", "scaled") for d_k in widths]
    known |= {"norms": dict.fromkeys(keys, torch.ones(1))}
    known |= {"tiny": dict.fromkeys(keys, 0.0)}
    with mock.patch.object(ratio, "above", side_effect=[False, True, True]):
        assert judged(chapter, ["gradients-by-keys", "claim-gradients"], known) is holds


@pytest.mark.parametrize(
    ("beam", "seeds", "holds"),
    [
        (None, 10, None),  # as recorded
        (1.0, 10, True),
        (1.0, 9, None),
        (-3.0, 10, False),
    ],
)
def test_the_gain_by_beam_and_averaging_is_judged(
    judge: Any, beam: float | None, seeds: int, holds: bool | None
) -> None:
    content = record("averaging-and-beam.json")
    content["runs"] = content["runs"][:seeds]
    for number, run in enumerate(content["runs"]):
        for effect in run["effects"].values() if beam is not None else ():
            for score in ("BLEU", "chrF"):
                effect[score]["value"] = beam + number / 100
    name, chapter = "averaging-and-beam.json", "1-paper/6-1-machine-translation"
    assert judge(chapter, ["help", "help-claim"], name, content) is holds


@pytest.mark.parametrize(
    ("share", "heads", "holds"),
    [
        (None, None, False),  # as recorded
        (0.9, 6.0, True),
        (0.9, 2.0, False),  # one head, not many
        (0.35, 6.0, None),  # no better than a fixed distance
    ],
)
def test_heads_that_look_far_are_judged_beside_a_fixed_distance(
    judge: Any, share: float | None, heads: float | None, holds: bool | None
) -> None:
    content = record("heads.json")
    for number, run in enumerate(content["runs"]):
        far = run["trained"]["far"]["complement"]
        if share is not None and heads is not None:
            far |= {"share": share + number / 20, "attend": heads + number / 10}
    cells, names = ["trainings", "judge", "far-claim"], {"model": mock.Mock()}
    names["model"].config.h = 8
    Path("runs").mkdir()
    cases = json.dumps(record("real-cases.json"))
    Path("runs", "real-cases.json").write_text(cases, encoding="utf-8")
    chapter = "1-paper/8-attention-visualizations"
    assert judge(chapter, cells, "heads.json", content, **names) is holds
