"""What a recipe refuses: settings of another type, and numbers that nobody can train
with.
"""

import math
from dataclasses import replace
from typing import Any

import pytest
from small_runs import complaint

from aiayn.model import TransformerConfig
from aiayn.training import TrainingConfig, recipe
from aiayn.training.recipes import MOST, RECIPES


@pytest.mark.parametrize("name", MOST)
def test_every_number_has_an_upper_bound(name: str) -> None:
    bound = (
        {"keep": MOST["keep"], name: MOST[name]}
        if name == "average"
        else {name: MOST[name]}
    )
    assert getattr(recipe("small", **bound), name) == MOST[name]
    for more in (MOST[name] + 1, 10**12, 10**400):
        assert (
            complaint(recipe, "small", **{name: more})
            == f"{name}={more!r:.60}: must be at most {MOST[name]:,}"
        )


def refused(name: str, value: Any) -> str:
    """What is said of a setting; the tests' own check of types would come first in the
    constructor.
    """
    config = replace(recipe("small"))
    object.__setattr__(config, name, value)
    return complaint(config.__post_init__)


OPTIONAL = ("micro_batches", "checkpoint_steps", "patience")


@pytest.mark.parametrize(
    "name", [*MOST, "rate_factor", "label_smoothing", "checkpoint_minutes"]
)
@pytest.mark.parametrize("value", ["5", True, [1], math.nan, 2.0, 1j, None])
def test_a_setting_of_another_type_is_named(name: str, value: Any) -> None:
    if (name not in MOST and isinstance(value, float)) or (
        value is None and name in OPTIONAL
    ):
        return  # these may be
    kind = "a whole number" if name in MOST else "a number"
    kind += " or nothing" if name in OPTIONAL else ""
    assert refused(name, value) == f"{name}={value!r}: must be {kind}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("label_smoothing", -0.1),
        ("label_smoothing", 1.0),
        ("label_smoothing", math.nan),
        ("rate_factor", -1.0),
        ("checkpoint_minutes", -0.5),
        ("seed", -1),
        ("model", None),
        ("model", {"N": 6}),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(name: str, value: Any) -> None:
    assert f"{name}={value}" in refused(name, value)


@pytest.mark.parametrize(
    ("name", "value"), [("rate_factor", 1), ("label_smoothing", 0), ("seed", 0)]
)
def test_whole_numbers_do_where_fractions_may_stand(name: str, value: int) -> None:
    assert getattr(recipe("small", **{name: value}), name) == value


def test_the_recipes_are_within_the_bounds() -> None:
    assert all(isinstance(each, TrainingConfig) for each in RECIPES.values())


@pytest.mark.parametrize(
    ("name", "both"), [("wsj", (0.2, 0.2)), ("wsj-semi", (0.1, 0.1))]
)
def test_the_parsers_drop_weights_of_attention(
    name: str, both: tuple[float, float]
) -> None:
    """The paper says so (section 6.3), of both settings, and gives no value."""
    model = recipe(name).model
    assert isinstance(model, TransformerConfig)
    assert (model.dropout, model.attention_dropout) == both


def test_the_parser_of_tensor2tensor_drops_as_much_as_there() -> None:
    model = recipe("wsj-t2t").model
    assert isinstance(model, TransformerConfig)
    assert (model.dropout, model.attention_dropout) == (0.2, 0.2)


def test_no_translator_drops_weights_of_attention() -> None:
    """Section 5.4 names two places for dropout, and this is neither."""
    for name, each in RECIPES.items():
        rate = getattr(each.model, "attention_dropout", 0)
        assert (rate > 0) is name.startswith("wsj"), name
    assert recipe("small", attention_dropout=0.1).model.attention_dropout == 0.1  # type: ignore[attr-defined]
