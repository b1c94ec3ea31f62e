# Made by `make export` from book/3-workshop/01-exporter.ipynb
"""The style of the charts, and how a notebook stores them."""

# book/3-workshop/01-exporter.ipynb, cell charts-imports
import base64
import io
import sys
import textwrap
from typing import Any

# book/3-workshop/01-exporter.ipynb, cell palette
# Close to Okabe and Ito's colours: colour-blind readers can tell them apart, on white
# and on black.
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a6761d", "#56b4e9", "#888888"]


# book/3-workshop/01-exporter.ipynb, cell rounded
def rounded(value: Any) -> Any:
    """`value` with every float in it rounded to four significant digits."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


# book/3-workshop/01-exporter.ipynb, cell chart-bundle
def chart_bundle(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A Vega-Lite chart as the book stores it: interactive, as a picture, and in words.

    Raises
    ------
    ValueError
        If the chart has no description for readers who cannot see it.
    """
    if not spec.get("description"):
        advice = "chart.properties(description='what one sees')"
        raise ValueError(f"this chart has no description: {advice}")
    import vl_convert  # the package does not need it, and Colab does not have it
    from PIL import Image

    spec = rounded(spec)
    png = vl_convert.vegalite_to_png({**spec, "background": "white"}, scale=1.5)
    picture = io.BytesIO()  # 256 colours do, for an eighth of the size
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(256)
    image.save(picture, "PNG", optimize=True)
    return {
        "application/vnd.vegalite.v6+json": spec,
        "image/png": base64.b64encode(picture.getvalue()).decode(),
        "text/plain": textwrap.fill(spec["description"], 100),
    }


# book/3-workshop/01-exporter.ipynb, cell enable-charts
def enable_charts() -> None:
    """Give this notebook's charts the book's look and, outside Colab, its storage."""
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

    # Altair would name a data set by a hash, which depends on its last digits.
    alt.data_transformers.enable(consolidate_datasets=False)
    if "google.colab" not in sys.modules:
        alt.renderers.register("aiayn", chart_bundle)
        alt.renderers.enable("aiayn")
