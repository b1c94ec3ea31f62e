"""The ledger: every claim has a state, and no state is claimed on less than the book's
own rules ask for.
"""

import re
from pathlib import Path
from typing import Any, get_args

import nbformat
import pytest
import yaml

from aiayn.book import Evidence, State

BOOK = Path(__file__).parents[1] / "book"
CLAIMS = {
    claim["id"]: claim
    for claim in yaml.safe_load((BOOK / "claims.yml").read_text(encoding="utf-8"))
}


def reports() -> list[dict[str, Any]]:
    """What the cells of the book say of claims, with the chapter."""
    found = []
    for path in sorted(BOOK.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                record = output.get("metadata", {}).get("aiayn", {})
                if "claim" in record:
                    found.append(record | {"chapter": path.stem})
    return found


REPORTS = reports()
EXPERIMENTS = ["toy", "laboratory", "real text"]


def test_there_are_all_78_in_the_papers_order() -> None:
    assert len(CLAIMS) == 78
    assert all(
        set(claim) - {"cited", "run"} == {"id", "page", "claim"}
        for claim in CLAIMS.values()
    )
    pages = [claim["page"] for claim in CLAIMS.values()]
    assert all(1 <= page <= 15 for page in pages)


@pytest.mark.parametrize("identifier", CLAIMS)
def test_each_is_checked_or_says_why_not(identifier: str) -> None:
    claim = CLAIMS[identifier]
    checked = any(report["claim"] == identifier for report in REPORTS)
    assert "cited" not in claim if checked else ("cited" in claim) != ("run" in claim)


@pytest.mark.parametrize(
    "report", REPORTS, ids=lambda report: f"{report['claim']}-{report['chapter']}"
)
def test_a_state_has_its_evidence(report: dict[str, Any]) -> None:
    assert report["state"] in get_args(State) and report["evidence"] in get_args(
        Evidence
    )
    assert report["figure"]
    assert bool(report.get("run")) == (report["state"] == "not yet run")
    # A figure is judged by a tolerance that stood there before the training.
    figure = report["figure"].startswith("one training")
    experiment = report["evidence"] in EXPERIMENTS and not figure
    if report["state"] == "does not hold here" and experiment:
        seeds = re.findall(r"(\d+) (?:seeds|trainings)", report["figure"])
        assert seeds and min(map(int, seeds)) >= 5, (
            "found on fewer than five seeds: that is undecided"
        )
