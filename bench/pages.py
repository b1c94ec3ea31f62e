"""Weigh and time every page of the built site in Chromium, and print a table of them.

python bench/pages.py [--site _build/html] [--record] [PAGE ...]

A page is loaded with an empty cache, from a server on this machine that compresses as a
host on the web would, over a network of 10 Mbit/s and 40 ms, by a browser whose
processor is slowed down four times, until for three seconds it has asked for nothing
and has not been blocked. Nothing is clicked or scrolled. One that comes near a limit is
loaded twice more; the median counts. Ends with an error if a page weighs or takes more
than it may. With --record, book/runs/pages.json is written.
"""

import argparse
import gzip
import os
import statistics
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import records
from playwright.sync_api import Browser

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from browser import NoBrowser, chromium

# The most that a page may need, in bytes, milliseconds, and shares of the window.
WEIGHT, PAINT, BLOCKED, SHIFT = 1_500_000, 1500.0, 1200.0, 0.02
NEAR = 0.6  # of these limits
SLOWDOWN, LOADS = 4, 3
REST = 3000  # milliseconds without a new file or a long task
NETWORK = {"offline": False, "latency": 40, "downloadThroughput": 10e6 / 8} | {
    "uploadThroughput": 10e6 / 8
}
COMPRESSED = (".html", ".css", ".js", ".json", ".svg", ".txt", ".csv")

# Both are told to the page's own observers, because the browser keeps no list that
# could be asked for later.
OBSERVE = """
window.paints = []; window.shifts = []; window.tasks = [];
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  paints.push([entry.startTime, entry.element?.tagName.toLowerCase() ?? "?"]);
})).observe({type: "largest-contentful-paint", buffered: true});
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  if (!entry.hadRecentInput) shifts.push([entry.startTime, entry.value]);
})).observe({type: "layout-shift", buffered: true});
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  tasks.push([entry.startTime, entry.duration]);
})).observe({type: "longtask", buffered: true});
"""


class Page(NamedTuple):
    """What one page costs its reader."""

    page: str
    bytes: int  # as transferred, compressed, with headers
    requests: int
    paint_ms: float  # the largest contentful paint
    painted: str  # the element that was painted then
    shift: float  # the cumulative layout shift
    blocked_ms: float  # what tasks took beyond their first 50 ms
    last_task_ms: float  # the end of the last one of more than 50 ms


@cache
def compressed(path: Path) -> bytes:
    """A file, as a host would send it."""
    return gzip.compress(path.read_bytes(), 6)


class Compressing(SimpleHTTPRequestHandler):
    """A file server that compresses what is text, and keeps its log to itself."""

    protocol_version = "HTTP/1.1"  # one connection for many files

    def do_GET(self) -> None:
        """Send a file."""
        path = Path(self.translate_path(self.path))
        if path.suffix not in COMPRESSED or not path.is_file():
            return super().do_GET()
        body = compressed(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # the window was closed
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The site's address while it is served."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Compressing, directory=site)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def largest_window(shifts: Sequence[tuple[float, float]]) -> float:
    """The cumulative layout shift: the largest sum of shifts in one burst.

    A burst ends with a second of rest, or after five (https://web.dev/articles/cls).
    Times are milliseconds.
    """
    best = burst = 0.0
    began = last = -float("inf")
    for time, value in shifts:
        if time - last > 1000 or time - began > 5000:
            began, burst = time, 0.0
        last, burst = time, burst + value
        best = max(best, burst)
    return best


def load(browser: Browser, address: str, name: str) -> Page:
    """Open a page in a fresh window, wait until it rests, and ask what it took."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    session = context.new_cdp_session(page)
    asked, sizes = set[str](), dict[str, float]()

    def on_request(event: dict[str, Any]) -> None:
        if not event["request"]["url"].startswith("data:"):
            asked.add(event["requestId"])

    def on_end(event: dict[str, Any]) -> None:
        sizes[event["requestId"]] = event["encodedDataLength"]

    session.on("Network.requestWillBeSent", on_request)
    session.on("Network.loadingFinished", on_end)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    page.add_init_script(OBSERVE)
    page.goto(address + name, wait_until="networkidle")
    tasks, rests = list[tuple[float, float]](), False
    while not rests:  # a script that computes for long may then ask for the next one
        before = len(asked), len(tasks)
        page.wait_for_timeout(REST)
        tasks = page.evaluate("tasks")
        rests = before == (len(asked), len(tasks))
    paint, painted = page.evaluate("paints.at(-1)")
    shifts: list[tuple[float, float]] = page.evaluate("shifts")
    context.close()
    blocked = sum(duration - 50 for _, duration in tasks)
    last = max((start + duration for start, duration in tasks), default=0.0)
    weight = sum(size for request, size in sizes.items() if request in asked)
    shift = round(largest_window(shifts), 3)
    return Page(name, int(weight), len(asked), paint, painted, shift, blocked, last)


def measured(browser: Browser, address: str, name: str) -> Page:
    """One load, or the typical one of several if the first came near the limit."""
    first = load(browser, address, name)
    near = first.paint_ms > NEAR * PAINT or first.bytes > NEAR * WEIGHT
    more = LOADS - 1 if near else 0
    return typical([first, *(load(browser, address, name) for _ in range(more))])


def typical(loads: Sequence[Page]) -> Page:
    """The load of median paint, with the most that any of them loaded and shifted."""
    middle = statistics.median_low(load.paint_ms for load in loads)
    first, *_ = (load for load in loads if load.paint_ms == middle)
    return first._replace(
        bytes=max(load.bytes for load in loads),
        requests=max(load.requests for load in loads),
        paint_ms=round(middle),
        shift=max(load.shift for load in loads),
        blocked_ms=round(statistics.median(load.blocked_ms for load in loads)),
        last_task_ms=round(statistics.median(load.last_task_ms for load in loads)),
    )


def faults(pages: Sequence[Page]) -> list[str]:
    """What is more than a page may need."""
    heavy = [
        f"{page.page} weighs {page.bytes:,} bytes"
        for page in pages
        if page.bytes > WEIGHT
    ]
    return (
        heavy
        + [
            f"{page.page} paints at {page.paint_ms:.0f} ms"
            for page in pages
            if page.paint_ms > PAINT
        ]
        + [
            f"{page.page} is blocked for {page.blocked_ms:.0f} ms"
            for page in pages
            if page.blocked_ms > BLOCKED
        ]
        + [
            f"{page.page} shifts by {page.shift}"
            for page in pages
            if page.shift > SHIFT
        ]
    )


def names(site: Path) -> list[str]:
    """The site's pages, without those that only lead to another."""
    paths = (
        path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts
    )
    pages = [
        path
        for path in paths
        if 'http-equiv="refresh"' not in path.read_text(encoding="utf-8").lower()
    ]
    return [path.relative_to(site).as_posix() for path in pages]


def row(page: Page) -> str:
    """A line of the table."""
    weight = f"{page.bytes / 1000:8,.0f} {page.requests:9}"
    times = f"{page.paint_ms:8.0f} {page.blocked_ms:8.0f} {page.last_task_ms:9.0f}"
    figures = f"{weight} {times} {page.shift:7.3f}"
    return f"{page.page:48} {figures}  {page.painted}"


def measure(site: Path, chosen: Sequence[str]) -> list[Page]:
    """Every page's figures; each is printed as it comes."""
    sizes, times = f"{'kB':>8} {'requests':>9}", f"{'LCP ms':>8} {'blocked':>8}"
    print(f"{'page':48} {sizes} {times} {'last task':>9} {'CLS':>7}  painted")
    found = list[Page]()
    with served(site) as address, chromium() as browser:
        for name in chosen or names(site):
            found.append(measured(browser, address, name))
            print(row(found[-1]), flush=True)
    return found


def main() -> None:
    """Print the table; with --record, write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=Path("_build/html"))
    parser.add_argument(
        "--record", action="store_true", help="write book/runs/pages.json"
    )
    parser.add_argument(
        "pages", nargs="*", metavar="PAGE", help="such as book/index.html; else all"
    )
    arguments = parser.parse_args()
    if not arguments.site.is_dir():
        sys.exit(f"no site in {arguments.site}: run `make book`")
    for name in arguments.pages:
        if not (arguments.site / name).is_file():
            sys.exit(f"no page {name} in {arguments.site}: give it as book/index.html")
    before = os.getloadavg()[0]
    try:
        pages = measure(arguments.site, arguments.pages)
    except NoBrowser as error:
        sys.exit(f"pages cannot be measured: {error}")
    load_average = [round(before, 1), round(os.getloadavg()[0], 1)]
    cores = os.cpu_count() or 1
    print(
        f"\nload average {load_average[0]} before, {load_average[1]} after,"
        f" on {cores} cores"
    )
    if max(load_average) > cores:
        print("The machine was busy: paints came later than they would on a quiet one.")
    wrong = faults(pages)
    if arguments.record:
        findings: dict[str, Any] = {
            "slowdown": SLOWDOWN,
            "loads_near_the_limit": LOADS,
            "load_average": load_average,
            "pages": [page._asdict() for page in pages],
        }
        records.write("pages", findings)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
