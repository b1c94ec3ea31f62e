"""What bench/pages.py makes of the figures that a browser gives."""

import pages
import pytest


def page(**figures: float) -> pages.Page:
    """A light and quick page, but for what is said."""
    return pages.Page("a.html", 100, 3, 500.0, "p", 0.0, 0.0, 0.0)._replace(**figures)


@pytest.mark.parametrize(
    ("shifts", "largest"),
    [
        ([], 0),
        ([(0, 0.1), (900, 0.2), (2000, 0.25)], 0.3),
        ([(900.0 * k, 0.1) for k in range(8)], 0.6),
    ],
)
def test_layout_shifts_add_up_within_a_burst_only(
    shifts: list[tuple[float, float]], largest: float
) -> None:
    """A second of rest ends a burst, and so do five seconds; the largest counts."""
    assert pages.largest_window(shifts) == pytest.approx(largest)


def test_a_page_is_as_slow_as_its_median_load_and_as_heavy_as_its_heaviest() -> None:
    """One slow load of three is noise; a file loaded once has to be paid for."""
    heavy = page(paint_ms=100, bytes=300, requests=4)
    loads = [page(paint_ms=900.4), heavy, page(paint_ms=200, shift=0.1)]
    assert pages.typical(loads) == page(paint_ms=200, bytes=300, requests=4, shift=0.1)


def test_pages_over_a_threshold_are_named() -> None:
    """Exactly as much as allowed is allowed."""
    assert not pages.faults([page(bytes=pages.WEIGHT, paint_ms=pages.PAINT)])
    over = [
        page(bytes=pages.WEIGHT + 1),
        page(paint_ms=pages.PAINT + 1),
        page(blocked_ms=pages.BLOCKED + 1),
    ]
    assert len(pages.faults(over)) == 3


@pytest.mark.parametrize(("first", "loads"), [(0.3, 1), (0.7, 3)])
def test_a_page_near_the_limit_is_loaded_again(
    first: float, loads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first load is the slowest as a rule; one that is quick by far settles the
    matter.
    """
    paints = [first * pages.PAINT, 200.0, 300.0]
    monkeypatch.setattr(pages, "load", lambda *_: page(paint_ms=paints.pop(0)))
    found = pages.measured(None, "", "a.html")
    assert len(paints) == 3 - loads
    assert found.paint_ms == (300 if loads == 3 else round(first * pages.PAINT))
