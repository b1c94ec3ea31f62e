"""Faster products and a heap that is kept: nothing becomes less exact, and all is put
back afterwards.
"""

import platform
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from small_runs import finish, start
from torch import Tensor

import aiayn.device
from aiayn.device import fast_products, keep_heap, product_error, products_stay_exact
from aiayn.model import Transformer, config

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def matmul_precision() -> Iterator[None]:
    """Nothing is left changed, whatever a test does."""
    before = torch.get_float32_matmul_precision()
    torch.set_num_threads(1)
    products_stay_exact.cache_clear()
    yield
    products_stay_exact.cache_clear()
    torch.set_float32_matmul_precision(before)


def backends() -> list[bool]:
    """Which ways of attention torch may choose from."""
    names = ("flash", "mem_efficient", "math")
    return [getattr(torch.backends.cuda, f"{name}_sdp_enabled")() for name in names]


def test_threads_that_overlap_leave_the_setting_as_it_was() -> None:
    before = torch.get_float32_matmul_precision()
    first, second, third = (
        aiayn.device.matmul_precision(name) for name in ("medium", "highest", "medium")
    )
    for each in (first, second, third):
        each.__enter__()
    assert torch.get_float32_matmul_precision() == "medium"
    for each, left in ((first, "medium"), (third, "highest"), (second, before)):
        each.__exit__(None, None, None)
        assert torch.get_float32_matmul_precision() == left


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that could, as far as its name says."""
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")


@pytest.mark.parametrize("before", ["highest", "high"])
def test_products_stay_exact_and_all_is_put_back(before: str) -> None:
    torch.set_float32_matmul_precision(before)
    ways, random = backends(), torch.get_rng_state()
    with fast_products(CPU, 128):
        assert torch.equal(torch.get_rng_state(), random)
        assert product_error() < 1e-3
    assert torch.get_float32_matmul_precision() == before and backends() == ways


@pytest.mark.parametrize("before", ["highest", "high"])
def test_what_is_not_exact_is_not_used(
    able: None, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """As on a processor whose oneDNN rounds to bf16."""
    torch.set_float32_matmul_precision(before)
    monkeypatch.setattr(aiayn.device, "product_error", lambda: 0.1)
    ways = backends()
    with fast_products(CPU, 128) as used:
        assert not used
        assert torch.get_float32_matmul_precision() == before and backends() == ways
    assert torch.get_float32_matmul_precision() == before


@pytest.mark.parametrize(
    ("device", "kind", "onednn"),
    [
        ("cpu", "AVX2", True),
        ("cpu", "DEFAULT", True),
        ("cpu", "AVX512", False),
        ("cuda", "AVX512", True),
    ],
)
def test_other_processors_are_left_alone(
    device: str, kind: str, onednn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: onednn)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: kind)
    monkeypatch.setattr(aiayn.device, "product_error", lambda: pytest.fail("called"))
    with fast_products(torch.device(device), 128) as used:
        assert not used and torch.get_float32_matmul_precision() == "highest"


def test_the_check_can_tell_float32_from_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """With numbers rounded to bf16 or to tf32's ten bits, the error is far above the
    bound.
    """
    assert product_error() < 1e-4
    randn = torch.randn

    class Rounded(Tensor):
        """A matrix whose products are those of a processor that rounds to bf16."""

        def __matmul__(self, other: Tensor) -> Tensor:
            if self.dtype == torch.float64:
                return self.as_subclass(Tensor) @ other.as_subclass(Tensor)
            short = (
                side.as_subclass(Tensor).bfloat16().float() for side in (self, other)
            )
            return next(short) @ next(short)

    monkeypatch.setattr(
        torch, "randn", lambda *a, **k: randn(*a, **k).as_subclass(Rounded)
    )
    assert product_error() > 1e-2


def test_a_model_learns_the_same_within() -> None:
    model = Transformer(config("synthetic", vocabulary_size=40)).eval()
    source, target = torch.randint(4, 40, (5, 9)), torch.randint(4, 40, (5, 7))
    source[0, 6:] = target[1, 4:] = (
        0  # padding, which attention has to leave out both ways
    )

    def gradients() -> list[Tensor]:
        return list(
            torch.autograd.grad(
                model(source, target).square().mean(), model.parameters()
            )
        )

    outside = gradients()
    with fast_products(CPU, 128):
        within = gradients()
    for one, other in zip(outside, within, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


# The heap


def faults() -> int:
    """Pages that the system has to give for an array of 64 MB, at best, when such
    arrays came before.
    """
    needed = []
    for _ in range(8):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(1 << 24)
        needed.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(needed)


def compare_faults() -> None:
    before = faults()
    keep_heap()
    keep_heap()
    after = faults()
    assert before > 1000 and after < 100, (before, after)


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc has this heap"
)
def test_a_kept_heap_gives_no_pages_back(tmp_path: Path) -> None:
    """In a process of its own, for it cannot be undone; twice is as good as once."""
    assert finish(start(compare_faults, log=tmp_path / "log")) == 0, (
        tmp_path / "log"
    ).read_text()


def test_without_glibc_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("aiayn.device.ctypes.CDLL", missing)
    keep_heap()
