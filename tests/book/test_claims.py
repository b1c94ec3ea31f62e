"""The list of claims: each has a state, and none is claimed on less than the book's
own rules ask for.
"""

import re
import sys
from pathlib import Path
from typing import Any, get_args

import nbformat
import pytest
import yaml

from aiayn.book.claims import Evidence, Verdict

BOOK = Path(__file__).parents[2] / "book"
sys.path.insert(0, str(BOOK.parent / "site" / "extensions"))

from claims import state_of  # noqa: E402

CLAIMS = {
    claim["id"]: claim
    for claim in yaml.safe_load(
        (BOOK / "data" / "claims.yml").read_text(encoding="utf-8")
    )
}


def reports() -> list[dict[str, Any]]:
    """What the cells of the book say of claims, with the chapter."""
    found = []
    for path in sorted(BOOK.glob("*/*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                record = output.get("metadata", {}).get("aiayn", {})
                if "claim" in record:
                    found.append(record | {"chapter": path.stem})
    return found


REPORTS = reports()
STATES = ["holds", "does not hold", "does not hold here", "undecided"]
STATES += ["not yet run", "cited"]
EXPERIMENTS = ["toy", "synthetic corpus", "real text"]


def rows(page: str) -> list[list[str]]:
    """The rows of the tables of states and kinds of evidence on a page."""
    found = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    links = r"\(\S+\.ipynb\)"  # each page has its own way to another
    words = [[name.lstrip("✓✗?○§ "), re.sub(links, "", text)] for name, text in found]
    return [row for row in words if row[0] in {*STATES, *get_args(Evidence)}]


def test_chapter_and_list_tell_states_and_evidence_in_the_same_words() -> None:
    chapter = nbformat.read(BOOK / "0-start/5-how-this-book-works.ipynb", as_version=4)
    (told,) = (cell.source for cell in chapter.cells if cell.id == "claims-text")
    page = (BOOK / "reference" / "claims.md").read_text(encoding="utf-8")
    assert rows(told) == rows(page)
    assert [name for name, _ in rows(told)] == [*STATES, *get_args(Evidence)]
    (rules,) = (text for text in page.split("\n\n") if text.startswith("An order"))
    assert rules in told


def test_there_are_all_79_in_the_papers_order() -> None:
    assert len(CLAIMS) == 79
    assert all(
        set(claim) - {"cited"} == {"id", "page", "claim"} for claim in CLAIMS.values()
    )
    pages = [claim["page"] for claim in CLAIMS.values()]
    assert all(1 <= page <= 15 for page in pages)


@pytest.mark.parametrize("identifier", CLAIMS)
def test_each_is_checked_or_says_why_not(identifier: str) -> None:
    claim = CLAIMS[identifier]
    checked = any(report["claim"] == identifier for report in REPORTS)
    assert checked != ("cited" in claim)


@pytest.mark.parametrize(
    "report", REPORTS, ids=lambda report: f"{report['claim']}-{report['chapter']}"
)
def test_a_state_has_its_evidence(report: dict[str, Any]) -> None:
    assert report["state"] in get_args(Verdict) and report["evidence"] in get_args(
        Evidence
    )
    assert report["figure"]
    assert bool(report.get("run")) == (report["state"] == "not yet run")
    proven = report["evidence"] == "proof"
    assert report["state"] != ("does not hold here" if proven else "does not hold")
    # A figure is judged by a tolerance that stood there before the training; a count
    # has no seeds.
    figure = report["figure"].startswith(("one training", "counted"))
    experiment = report["evidence"] in EXPERIMENTS and not figure
    if report["state"] == "does not hold here" and experiment:
        seeds = re.findall(r"(\d+) (?:seeds|trainings)", report["figure"])
        assert seeds and min(map(int, seeds)) >= 5, (
            "found on fewer than five seeds: that is undecided"
        )


@pytest.mark.parametrize(
    ("checks", "state"),
    [
        ([], "cited"),
        (["holds", "not yet run"], "not yet run"),
        (["not yet run", "undecided"], "undecided"),
        (["undecided", "does not hold here"], "does not hold here"),
    ],
)
def test_a_claim_with_several_checks_has_the_least_of_their_states(
    checks: list[str], state: str
) -> None:
    assert state_of({"checks": [{"state": check} for check in checks]}) == state
