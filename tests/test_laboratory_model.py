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
    pronouns_right,
    without_docstrings,
)
from aiayn.training import TrainingConfig, recipe


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
        laboratory_model()


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
        lambda *_: {**sources, "aiayn.model.transformer": "# another"},
    )
    assert fingerprint(recipe("laboratory")) != plain


def test_comments_and_docstrings_train_nothing_again() -> None:
    plain = "class A:\n    b = 'c'\n\n    def f(self):\n        return 1\n"
    said = '"""M."""\nclass A:\n    """A."""\n\n    b = "c"  # b\n\n    def f(self):\n'
    said += '        """F."""\n        return 1\n'
    one, same, other = (
        without_docstrings(ast.parse(t)) for t in (plain, said, plain.replace("1", "2"))
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
