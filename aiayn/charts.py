"""How this book works (preface).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/00-how-this-book-works.ipynb
"""

__all__ = [
    "PALETTE",
    "rounded",
    "chart_bundle",
    "enable_charts",
]


# book/00-how-this-book-works.ipynb, cell charts-imports
import base64
import io
import sys
import textwrap
from typing import Any

# book/00-how-this-book-works.ipynb, cell palette
# Close to Okabe and Ito's colours: colour-blind readers can tell them apart, on white and on black.
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a6761d", "#56b4e9", "#888888"]


# book/00-how-this-book-works.ipynb, cell rounded
def rounded(value: Any) -> Any:
    """`value` with every float in it cut to four significant digits: the same chart on every machine."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


# book/00-how-this-book-works.ipynb, cell chart-bundle
def chart_bundle(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A Vega-Lite chart as the book stores it: the interactive form, a picture, and words.

    Raises
    ------
    ValueError
        If the chart has no description for readers who cannot see it.
    """
    if not spec.get("description"):
        raise ValueError("this chart has no description: chart.properties(description='what one sees')")
    import vl_convert  # only here: the package does not need it, and Colab does not have it
    from PIL import Image

    spec = rounded(spec)
    drawn = vl_convert.vegalite_to_png({**spec, "background": "white"}, scale=1.5)
    picture = io.BytesIO()  # 256 colours do: an eighth of the size, and chapters are fetched often
    Image.open(io.BytesIO(drawn)).convert("RGB").quantize(256).save(picture, "PNG", optimize=True)
    return {
        "application/vnd.vegalite.v6+json": spec,
        "image/png": base64.b64encode(picture.getvalue()).decode(),
        "text/plain": textwrap.fill(spec["description"], 100),
    }


# book/00-how-this-book-works.ipynb, cell enable-charts
def enable_charts() -> None:
    """Give this notebook's altair charts the book's look and, outside Colab, its way of storing them."""
    import altair as alt

    words = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    config = {
        "background": "transparent",
        "range": {"category": PALETTE, "heatmap": {"scheme": "blues"}},
        "axis": {"grid": False, **words},
        "title": {"anchor": "start", "fontSize": 14, "fontWeight": 600},
        "legend": words,
        "view": {"stroke": None},
    }

    @alt.theme.register("aiayn", enable=True)
    def theme() -> alt.theme.ThemeConfig:
        return {"config": config}

    alt.data_transformers.enable(consolidate_datasets=False)  # a data set's name would hash its last digits
    if "google.colab" not in sys.modules:
        alt.renderers.register("aiayn", chart_bundle)
        alt.renderers.enable("aiayn")
