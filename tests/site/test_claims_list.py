"""The list of claims: its formulas, and the choice of a state."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from test_site import PAGES, SITE

sys.path.insert(0, str(Path(__file__).parents[2] / "site" / "extensions"))

from claims import typeset


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "the authors' word is a claim & more",
            "the authors' word is a claim &amp; more",
        ),
        ("sqrt(d_k)", "√<i>d</i><sub><i>k</i></sub>"),
        ("d_model = 512", "<i>d</i><sub>model</sub> = 512"),
        ("10^-9", "10<sup>−9</sup>"),
        ("Q W_i^Q", "<i>Q</i> <i>W</i><sub><i>i</i></sub><sup><i>Q</i></sup>"),
        ("O(log_k n)", "O(log<sub><i>k</i></sub> <i>n</i>)"),
        ("Rows (B): 4-a", "Rows (B): 4-a"),
    ],
)
def test_formulas_of_claims(text: str, expected: str) -> None:
    assert typeset(text) == expected


@pytest.mark.browser
@pytest.mark.skipif(not PAGES, reason=f"no site in {SITE}: run `make book`")
def test_the_list_shows_one_state(desktop: Page) -> None:
    desktop.goto((SITE / "book/reference/claims.html").resolve().as_uri())
    refuted = desktop.locator('.aiayn-entry[data-state="does not hold"]')
    held = desktop.locator('.aiayn-entry[data-state="holds"]').first
    expect(held).to_be_visible()
    desktop.get_by_role("radio", name="does not hold:").check()
    expect(refuted.first).to_be_visible()
    expect(held).not_to_be_visible()
