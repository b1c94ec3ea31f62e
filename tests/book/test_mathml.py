"""Formulas as screen readers hear them."""

import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "site" / "extensions"))
from mathml import SEPARATOR, mathml


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        (r"PE_{(pos, 2i)}", ["𝑃𝐸", "(", "𝑝𝑜𝑠", ",", "2", "i", ")"]),
        (r"lp(Y)^\alpha", ["𝑙𝑝", "(", "Y", ")", "α"]),
        (r"lrate = step\_num^2", ["𝑙𝑟𝑎𝑡𝑒", "=", "𝑠𝑡𝑒𝑝", "_", "𝑛𝑢𝑚", "2"]),
        (r"xpos + QK^T", ["x", "p", "o", "s", "+", "Q", "K", "T"]),
        (r"\sqrt{d_k} \cdot \log n", ["d", "k", "·", "log", "n"]),
        (r"a \qquad b", ["a", SEPARATOR, "b"]),
        (r"\text{softmax}(x)", ["softmax", "(", "x", ")"]),
    ],
)
def test_what_is_one_is_heard_as_one(tex: str, parts: list[str]) -> None:
    found = fromstring(mathml(tex))
    assert [text.strip() for text in found.itertext() if text.strip()] == parts


def test_infinity_is_a_number_and_stands_close_to_its_sign() -> None:
    found = fromstring(mathml(r"-\infty"))
    assert [each.tag.rpartition("}")[2] for each in found.iter()][2:] == ["mo", "mi"]


@pytest.mark.parametrize(
    ("tex", "signs"),
    [
        (r"(0, -1)", ["prefix"]),
        (r"\log P = -4", ["prefix"]),
        (r"2 - 1", [None]),
        (r"f(x) - 1", [None]),
        (r"-x - 1", [None, None]),  # the first in a row is one without being told
    ],
)
def test_a_sign_stands_close_to_its_number(tex: str, signs: list[str | None]) -> None:
    found = fromstring(mathml(tex))
    minus = [each for each in found.iter() if each.text in {"−", "-"}]
    assert [each.get("form") for each in minus] == signs
