"""Chromium, for what prints, draws, measures and tests pages: whichever this machine
has.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = "--no-sandbox --disable-gpu --disable-background-networking --no-first-run"


class NoBrowser(Exception):
    """There is neither Chromium nor Chrome on this machine."""


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """A browser that is closed again.

    Raises
    ------
    NoBrowser
        If there is none.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        # Without a program of such a name, Chrome may be where its installer puts it.
        try:
            where = {"executable_path": found} if found else {"channel": "chrome"}
            browser = playwright.chromium.launch(
                **where, args=[*QUIET.split(), *options]
            )
        except Error as error:
            reason = str(error).strip().splitlines()[0]
            needs = "needs Chromium or Chrome (apt-get install chromium)"
            raise NoBrowser(f"{needs}: {reason}") from None
        try:
            yield browser
        finally:
            browser.close()
