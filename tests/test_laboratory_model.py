"""The laboratory's model: trained once, found again, trained anew where the cache is of
no use.
"""

import ast
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import aiayn.laboratory_model as module
from aiayn import laboratory
from aiayn.data import corpora as data
from aiayn.errors import InputError
from aiayn.laboratory_model import (
    fingerprint,
    imported,
    laboratory_model,
    laboratory_parser,
    own_settings,
    pronouns_right,
    shipped_model,
    without_docstrings,
)
from aiayn.training import TrainingConfig, recipe
from aiayn.translation import Translator


def tiny(name: str, **changes: Any) -> TrainingConfig:
    """A recipe of two steps."""
    settings = recipe(name, steps=2, average=1, **changes)
    return replace(
        settings,
        model=replace(settings.model, vocabulary_size=150, d_model=8, d_ff=8, h=2),
    )


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """The seeds that were trained with, on forty pairs and in a cache of its own."""
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path))
    monkeypatch.setitem(data.LABORATORY_PAIRS, "train", 40)
    monkeypatch.setitem(data.LABORATORY_PAIRS, "val", 5)
    seeds, train = list[int](), module.train_model

    def counted(config: TrainingConfig, *arguments: Any, **named: Any) -> None:
        seeds.append(config.seed)
        train(config, *arguments, **named)

    monkeypatch.setattr(module, "train_model", counted)
    monkeypatch.setattr(module, "recipe", tiny)
    return seeds


def weights(model: torch.nn.Module) -> torch.Tensor:
    """All of them in a row."""
    return torch.cat([weight.flatten() for weight in model.parameters()])


def test_it_is_trained_once_for_each_seed(trainings: list[int]) -> None:
    first, again, other = (laboratory_model(seed)[0] for seed in (1, 1, 2))
    assert trainings == [1, 2]
    assert torch.equal(weights(first), weights(again)) and not torch.equal(
        weights(first), weights(other)
    )


def test_who_comes_second_waits(trainings: list[int]) -> None:
    with ThreadPoolExecutor(3) as pool:
        models = [model for model, _ in pool.map(laboratory_model, [1, 1, 1])]
    assert trainings == [1]
    assert torch.equal(weights(models[0]), weights(models[2]))


def test_a_damaged_cache_is_replaced(trainings: list[int], tmp_path: Path) -> None:
    laboratory_model()
    next(tmp_path.rglob("model.safetensors")).write_bytes(b"half of it")
    laboratory_model()
    laboratory_model()
    assert trainings == [1, 1]


def test_a_training_that_breaks_off_leaves_nothing(
    trainings: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **named: Any) -> None:
        Path(arguments[-1], "checkpoints").mkdir(parents=True)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "train_model", broken)
        with pytest.raises(KeyboardInterrupt):
            laboratory_model()
    assert [path.suffix for path in Path(tmp_path, "laboratory").iterdir()] in (
        [],
        [".lock"],
    )
    laboratory_model()
    assert trainings == [1]


def test_a_training_that_a_signal_ended_is_not_kept(
    trainings: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.train_model

    def shortened(config: TrainingConfig, *arguments: Any, **named: Any) -> None:
        real(replace(config, steps=1), *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(module, "train_model", shortened)
        with pytest.raises(KeyboardInterrupt):
            laboratory_model()
    laboratory_model()
    assert trainings == [1, 1]


def test_a_cache_that_cannot_be_written_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        InputError, match=r"file/laboratory/\w+: cannot be written .*; set AIAYN_CACHE"
    ):
        laboratory_model(seed=2)


def test_the_models_of_the_package_belong_to_its_code() -> None:
    """If this fails, the sentences or the models are computed by other code than that
    which the weights were made for: `make models` trains them anew.
    """
    for name, pair in (("laboratory", "en-de"), ("parser", "en-trees")):
        assert shipped_model(recipe(name), pair) is not None, "run make models"
        assert shipped_model(recipe(name, seed=2), pair) is None
        assert shipped_model(recipe(name, d_ff=128), pair) is None


def test_the_models_of_the_package_need_no_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "nothing"))
    model, vocabulary = laboratory_model()
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert not model.training and len(vocabulary) == model.config.vocabulary_size
    pairs = laboratory.sample(50, split="test")
    made = Translator(model, vocabulary)([pair.source for pair in pairs])
    assert sum(m == p.target for m, p in zip(made, pairs, strict=True)) > 35
    laboratory_parser()
    assert not (tmp_path / "nothing").exists()


def test_a_package_without_its_models_trains_them(
    trainings: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "source_path", lambda _: tmp_path / "__init__.py")
    monkeypatch.setattr(module, "fingerprint", lambda *_: "123")
    laboratory_model()
    assert trainings == [1]


def test_settings_that_are_as_usual_do_not_count() -> None:
    assert own_settings(TrainingConfig()) == {}
    assert own_settings(TrainingConfig(seed=3, keep=20)) == {"seed": 3}


def test_the_fingerprint_follows_code_data_and_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = imported("aiayn.training.loop", {})
    parts = {
        "laboratory.grammar.german",
        "laboratory.grammar.lexicon",
        "laboratory.corpus",
        "model.transformer",
        "model.attention",
        "training.optimizer",
        "data.vocabulary",
    }
    assert sources.keys() >= {f"aiayn.{part}" for part in parts}
    assert not sources.keys() & {
        "aiayn",
        "aiayn.book",
        "aiayn.charts",
        "aiayn.translation.translator",
        "aiayn.__main__",
    }
    plain = fingerprint(recipe("laboratory"))
    assert (
        plain
        == fingerprint(recipe("laboratory"))
        != fingerprint(recipe("laboratory", seed=2))
    )
    monkeypatch.setattr(
        module,
        "imported",
        lambda _, found: found.update(sources | {"aiayn.model.transformer": "# b"}),
    )
    assert fingerprint(recipe("laboratory")) != plain


def test_comments_and_docstrings_train_nothing_again() -> None:
    plain = "class A:\n    b = '# c'\n\n    def f(self):\n        return 1\n"
    said = '"""M."""\nclass A:\n    """A.\n\n    B.\n    """\n\n    b = \'# c\'  # b\n'
    said += '\n    # f\n    def f(self):\n        """F."""\n        return 1\n'
    one, same, other = (
        without_docstrings(t, ast.parse(t))
        for t in (plain, said, plain.replace("1", "2"))
    )
    assert one == same != other


def test_pronouns_are_looked_for_behind_weil() -> None:
    pairs = laboratory.sample(40, split="pronouns")
    assert pronouns_right([pair.target for pair in pairs], pairs) == 1
    swapped = [
        pair.target for two in zip(pairs[1::2], pairs[::2], strict=True) for pair in two
    ]
    assert pronouns_right(swapped, pairs) < 0.5
    assert (
        pronouns_right(["" for _ in pairs], pairs)
        == pronouns_right(["Weil", *["weil"] * 39], pairs)
        == 0
    )
