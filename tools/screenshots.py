"""Make the two pictures of the book that others show.

python tools/screenshots.py [SITE]

site/static/social.png is what a link to the site looks like in a chat, made from the
drawing of figure 1; site/static/readme.png is the front page of the built site
(_build/html), as the README shows it.
"""

import io
import re
import sys
from pathlib import Path
from string import Template
from typing import Any

from browser import chromium
from PIL import Image
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "site" / "static"
CARD = ROOT / "site" / "print" / "social.html"


def save(page: Page, name: str) -> None:
    """A picture of the page in 256 colours: half the bytes, and it looks the same."""
    shot = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    options = {"method": Image.Quantize.MAXCOVERAGE, "dither": Image.Dither.NONE}
    picture = shot.convert("RGB").quantize(256, **options)
    picture.save(STATIC / f"{name}.png", optimize=True)


def social(browser: Browser) -> None:
    """The picture of the whole book, 1200 by 630."""
    drawing = (ROOT / "book" / "figures" / "figure-1.svg").read_text(encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 630})
    drawing = re.sub(r'width="100%" style="[^"]*"', "", drawing, count=1)
    card = Template(CARD.read_text(encoding="utf-8"))
    page.set_content(card.substitute(drawing=drawing))
    save(page, "social")


def readme(browser: Browser, site: Path) -> None:
    """The front page, with a block of figure 1 pointed at."""
    size: Any = {"width": 1180, "height": 1000}
    page = browser.new_page(viewport=size, color_scheme="light")
    page.goto((site / "book" / "index.html").resolve().as_uri())
    page.wait_for_selector('[data-panel="encoder-attention"] math', state="attached")
    page.locator('a[data-block="encoder-attention"]').hover()
    page.locator('[data-panel="encoder-attention"]').wait_for()
    save(page, "readme")


if __name__ == "__main__":
    with chromium("--disable-lcd-text", "--force-color-profile=srgb") as browser:
        social(browser)
        site = sys.argv[1] if len(sys.argv) > 1 else ROOT / "_build" / "html"
        readme(browser, Path(site))
