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

from browser import chromium
from PIL import Image
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "site" / "static"
CARD = """
<style>
  body {{
    background: #fffefb;
    color: #24292f;
    display: flex;
    height: 630px;
    margin: 0;
    width: 1200px;
  }}
  div {{ box-sizing: border-box; padding: 92px 0 0 84px; width: 730px; }}
  h1 {{ font: 600 76px/1.12 Charter, "Liberation Serif", serif; margin: 0; }}
  h2 {{
    color: #1d5b99;
    font: 600 42px/1.3 Charter, "Liberation Serif", serif;
    margin: 22px 0 58px;
  }}
  code {{
    color: #57606a;
    font: 24px/1.6 "DejaVu Sans Mono", monospace;
    white-space: pre;
  }}
  svg {{ height: 590px; margin: 22px 0 0; width: 420px; }}
</style>
<div><h1>Attention Is<br>All You Need</h1><h2>as a book you can run</h2>
<code>from aiayn import Transformer, config
model = Transformer(config("base"))</code></div>{drawing}
"""


def save(page: Page, name: str) -> None:
    """A picture of the page in 256 colours: half the bytes, and it looks the same."""
    picture = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert(
        "RGB"
    )
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        STATIC / f"{name}.png", optimize=True
    )


def social(browser: Browser) -> None:
    """The picture of the whole book, 1200 by 630."""
    drawing = (ROOT / "book" / "figures" / "figure-1.svg").read_text(encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 630})
    page.set_content(
        CARD.format(drawing=re.sub(r'width="100%" style="[^"]*"', "", drawing, count=1))
    )
    save(page, "social")


def readme(browser: Browser, site: Path) -> None:
    """The front page, with a block of figure 1 pointed at."""
    page = browser.new_page(
        viewport={"width": 1180, "height": 1000}, color_scheme="light"
    )
    page.goto(f"{(site / 'book' / 'index.html').resolve().as_uri()}")
    page.wait_for_selector('[data-panel="encoder-attention"] math', state="attached")
    page.locator('a[data-block="encoder-attention"]').hover()
    page.locator('[data-panel="encoder-attention"]').wait_for()
    save(page, "readme")


if __name__ == "__main__":
    with chromium("--disable-lcd-text", "--force-color-profile=srgb") as browser:
        social(browser)
        readme(
            browser,
            Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "_build" / "html"),
        )
