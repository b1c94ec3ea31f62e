"""bench/usage.py: what a lead is, and what the conditions leave behind."""

import os
import subprocess

import pytest

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")

import usage
from programs import timed


def test_a_lead_is_over_the_best_rival_of_the_same_round() -> None:
    times = {
        "aiayn float32": [[1.0, 1.0], [2.0, 2.0]],
        "aiayn int8": [[1.0, 0.0], [1.0, 0.0]],
        "ctranslate2 float32": [[2.0, 2.0], [2.0, 2.0]],
        "ctranslate2 int8": [[1.0, 0.5], [1.0, 1.0]],
    }
    found = usage.summary(times)
    assert found["aiayn float32"]["median"] == 1500.0
    assert found["lead of float32"] == [1.0, 1.5, 2.0]
    if "int8" in usage.OURS:
        assert found["lead of int8"] == [1.5, 1.75, 2.0]


def test_conditions_end_with_their_block(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def note(*arguments: object) -> subprocess.Popen[bytes]:
        started.append(start(*arguments))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", note)
    before = dict(os.environ)
    with usage.setting("AVX2") as threads:
        assert threads == 2 and os.environ["CT2_FORCE_CPU_ISA"] == "AVX2"
    with usage.setting("beside a busy process"):
        assert started[0].poll() is None
    assert started[0].poll() is not None and dict(os.environ) == before
    with usage.setting("one thread") as threads:
        assert threads == 1


def test_every_call_has_its_time() -> None:
    seen: list[list[str]] = []
    assert len(timed(seen.append, ["a", "b", "c"], 2)) == 2
    assert seen == [["a", "b"], ["c"]]


def test_each_system_takes_its_turn_and_the_first_round_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(usage, "PAUSE", 0)
    order: list[str] = []

    def system(name: str) -> usage.Callable[[], list[float]]:
        def run() -> list[float]:
            order.append(name)
            return [1.0]

        return run

    times = usage.take_turns({name: system(name) for name in "ab"}, rounds=2)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert times == {"a": [[1.0]] * 2, "b": [[1.0]] * 2}
