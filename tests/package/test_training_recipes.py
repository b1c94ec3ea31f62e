"""Configurations: what they refuse, how they change, what JSON gives back."""

import inspect
import json
import math
from dataclasses import fields, replace
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from small_runs import QUICK, complaint

from aiayn import InputError
from aiayn.base_config import MAY_CHANGE, BaseConfig, changed, differences, settings
from aiayn.decoding.beam_search import SearchConfig
from aiayn.model import TransformerConfig, config
from aiayn.model.configuration import PRESETS
from aiayn.training import TrainingConfig, recipe
from aiayn.training.initialization import short_run
from aiayn.training.recipes import (
    RECIPES,
    BatchConfig,
    OptimizerConfig,
    with_learning_rate,
)


def values(hint: Any, bounds: dict[str, Any] | None = None) -> st.SearchStrategy[Any]:
    """Values of a field, within the bounds of its `Annotated`."""
    if get_origin(hint) is Annotated:
        kind, *metadata = get_args(hint)
        known = [each for m in metadata for each in getattr(m, "metadata", [m])]
        found = {
            n: getattr(m, n)
            for m in known
            for n in ("ge", "le", "gt", "lt")
            if hasattr(m, n)
        }
        return values(kind, found | (bounds or {}))
    if get_origin(hint) is UnionType or type(None) in get_args(hint):
        return st.one_of([values(kind, bounds) for kind in get_args(hint)])
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if hint is type(None):
        return st.none()
    if hint is bool:
        return st.booleans()
    known = bounds or {}
    low, high = known.get("ge", known.get("gt")), known.get("le", known.get("lt"))
    if hint is int:
        return st.integers(low, None if high is None else high - ("lt" in known))
    return st.floats(
        low,
        high,
        exclude_min="gt" in known,
        exclude_max="lt" in known,
        allow_nan=False,
        allow_infinity=False,
    )


@st.composite
def random_configs(draw: st.DrawFn, usual: BaseConfig) -> Any:
    """A configuration of that class, some fields of which differ."""
    hints, found = get_type_hints(type(usual), include_extras=True), {}
    for field in fields(usual):
        part = getattr(usual, field.name)
        if isinstance(part, BaseConfig):
            found[field.name] = draw(random_configs(part))
        elif draw(st.booleans()):
            found[field.name] = draw(values(hints[field.name]))
    try:
        return replace(usual, **found)
    except InputError:  # two fields that do not go together
        assume(False)


@pytest.mark.parametrize("name", ["multi30k", "wsj", "rnn-additive", "conv"])
@given(st.data())
def test_json_gives_back_any_configuration(name: str, data: st.DataObject) -> None:
    one = data.draw(random_configs(recipe(name)))
    text = json.dumps(one.to_dict(), allow_nan=False)
    assert TrainingConfig.from_dict(json.loads(text)) == one


def refused(part: BaseConfig, name: str, value: Any) -> str:
    """What is said of a setting; the tests' own check of types would come first in the
    constructor.
    """
    other = replace(part)
    object.__setattr__(other, name, value)
    return complaint(other.__post_init__)


@pytest.mark.parametrize("value", ["5", True, [1], math.nan, 2.5, 1j, 10**400, -1])
def test_a_setting_of_another_type_or_size_is_named(value: Any) -> None:
    small = recipe("small")
    for part, name in (
        (small, "steps"),
        (small.batches, "tokens"),
        (small.batches, "micro_batches"),
        (small.optimizer, "warmup"),
        (small.checkpoints, "keep"),
        (small.model, "N"),
    ):
        said = refused(part, name, value)
        assert said.startswith(f"{name}={value!r:.60}: should be "), said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"label_smoothing": 1.0}, "label_smoothing=1.0: should be less than 1"),
        ({"minutes": 0.0}, "minutes=0.0: should be greater than 0"),
        ({"learning_rate": 0.0}, "learning_rate=0.0: optimizer.rate_factor=0.0: s"),
        ({"seed": 2**31}, "seed=2147483648: should be less than 2147483648"),
        ({"optimizer": {"weight_decay": 0.1}}, "optimizer.weight_decay=0.1: it is p"),
        ({"checkpoints": {"keep": 3}}, "checkpoints.average=5: more checkpoints than"),
        ({"batches": {"bpe_dropout": 1.0}}, "batches.bpe_dropout=1.0: should be less"),
        ({"model": {"h": 3}}, "model.d_model=128 does not divide into h=3 heads"),
        ({"optimizer.rate_factor": math.inf}, "optimizer.rate_factor=inf: should be"),
        (
            {"warmup": 5},
            'warmup=5: no such setting; did you mean optimizer={"warmup": 5',
        ),
        (
            {"batch_tokens": 5},
            "batch_tokens=5: no such setting; did you mean batches={",
        ),
        (
            {"batch_size": 5},
            'batch_size=5: no such setting; give batches={"tokens": …}',
        ),
        ({"layers": 5}, 'layers=5: no such setting; give model={"N": …}'),
        ({"model": {"layers": 5}}, "model.layers=5: no such setting; did you mean N?"),
        ({"lr": 0.1}, "lr=0.1: no such setting; give learning_rate"),
        ({"epochs": 3}, "epochs=3: no such setting; give steps or minutes"),
        ({"n": 2}, 'n=2: no such setting; did you mean model={"N": 2}?'),
        ({"N": 2}, 'N=2: no such setting; did you mean model={"N": 2}?'),
        ({"optimizer": {"warmpu": 5}}, "optimizer.warmpu=5: no such setting; did you"),
    ],
    ids=str,
)
def test_a_recipe_that_makes_no_sense(changes: dict[str, Any], said: str) -> None:
    assert complaint(recipe, "small", **changes).startswith(said)


@pytest.mark.parametrize("name", ["base", "small", "multi30k"])
def test_a_learning_rate_is_that_of_the_peak(name: str) -> None:
    chosen = recipe(name, 0.003, optimizer={"warmup": 50}, model={"d_model": 64})
    assert max(map(chosen.rate, range(1, 200))) == pytest.approx(0.003)
    assert chosen.rate(50) == pytest.approx(0.003)
    assert with_learning_rate(chosen, 0.003) == chosen


@pytest.mark.parametrize(
    ("steps", "before", "said"),
    [
        (100, 0, ""),
        (99, 0, "rises for 100 steps, but after about 99 the run ends"),
        (10, 90, ""),
        (10, 89, "after about 99 the run ends; optimizer.warmup shortens that"),
    ],
)
def test_a_run_that_ends_in_its_warm_up_is_said(
    steps: int, before: int, said: str
) -> None:
    optimizer = {"warmup": 100, "steps_before": before}
    found = short_run(recipe("small", optimizer=optimizer), steps)
    assert said in found and bool(found) == bool(said)


def test_a_dictionary_and_a_full_name_change_fields_of_a_part() -> None:
    one = recipe("small", optimizer={"warmup": 5}, model={"N": 2})
    full = {"optimizer.warmup": 5, "model.N": 2}
    assert one == recipe("small", **full) == changed(recipe("small"), **full)
    assert differences(recipe("small"), one) == {
        "model.N": (4, 2),
        "optimizer.warmup": (800, 5),
    }
    assert settings(one)["model.architecture"] == "transformer"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda known: known.pop("steps"), "steps: is missing"),
        (lambda known: known["optimizer"].pop("muon"), "optimizer.muon: is missing"),
        (lambda known: known.update(warmup=5), "'warmup': no such field"),
        (lambda known: known["model"].update(N=0), "model.N=0: should be greater"),
        (
            lambda known: known.update(batches=[]),
            "batches=[]: should be an instance of",
        ),
    ],
)
def test_a_file_that_is_no_configuration(
    change: Any, said: str, tmp_path: Path
) -> None:
    known = recipe("small").to_dict()
    change(known)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(known))
    assert complaint(recipe, str(path)).startswith(f"{path}: {said}")


def test_a_recipe_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QUICK.to_dict()))
    assert recipe(str(path)) == QUICK
    path.write_text(json.dumps({"training": QUICK.to_dict(), "step": 5}))
    assert recipe(str(path), steps=7) == replace(QUICK, steps=7)
    assert complaint(recipe, "smal") == (
        "unknown recipe 'smal': did you mean 'small'?; or give a run's config.json"
    )
    assert "there are base, big" in complaint(recipe, "xyz")


def test_help_has_the_comments_on_the_fields() -> None:
    said = inspect.getdoc(BatchConfig) or ""
    assert said.startswith("What a step reads (section 5.1).\n\nAttributes\n------")
    assert "\nskip_long : bool, default False\n    leave out pairs of which" in said
    assert "minutes : Optional[float], default" in (TrainingConfig.__doc__ or "")
    assert "in tokens; any where None" in said  # of two lines
    inherited = "\nvocabulary_size : int, default 37000\n    tokens, of both languages"
    assert inherited in (inspect.getdoc(TransformerConfig) or "")
    for kind in (TrainingConfig, SearchConfig, TransformerConfig, OptimizerConfig):
        assert kind.__doc__ and all(
            f"\n    {field.name} : " in kind.__doc__ for field in fields(kind)
        )
        assert list(inspect.signature(kind).parameters) == [
            field.name for field in fields(kind)
        ]
        assert "FieldInfo" not in str(inspect.signature(kind))
    assert "tokens=25000, micro_batches=None" in str(inspect.signature(BatchConfig))


def test_fields_say_whether_they_may_change() -> None:
    """How long, how often saved and how much kept has no part in what is learned."""
    free = settings(QUICK).keys() - settings(QUICK, fixed=True).keys()
    assert free == {
        "steps",
        "minutes",
        "patience",
        "batches.micro_batches",
        *(f"checkpoints.{field.name}" for field in fields(QUICK.checkpoints)),
    }
    assert MAY_CHANGE


def test_a_name_is_one_model() -> None:
    for name, shape in PRESETS.items():
        assert config(name) == shape == recipe(name).model
    assert PRESETS.keys() <= RECIPES.keys()


@pytest.mark.parametrize(
    ("name", "rate"), [("wsj", 0.2), ("wsj-semi", 0.1), ("wsj-t2t", 0.2)]
)
def test_the_parsers_drop_weights_of_attention(name: str, rate: float) -> None:
    """The paper says so (section 6.3), of both settings, and gives no value."""
    model = recipe(name).model
    assert isinstance(model, TransformerConfig)
    assert model.dropout == model.attention_dropout == rate


def test_no_translator_drops_weights_of_attention() -> None:
    """Section 5.4 names two places for dropout, and this is neither."""
    for name, each in RECIPES.items():
        rate = getattr(each.model, "attention_dropout", 0)
        assert (rate > 0) is name.startswith("wsj"), name
