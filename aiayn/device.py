# Made by `make export` from book/3-workshop/05-distributed-training.ipynb
"""Settings of threads and memory that make training and decoding faster."""

# book/3-workshop/05-distributed-training.ipynb, cell fast-paths
import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from aiayn.errors import InputError


# book/3-workshop/05-distributed-training.ipynb, cell check-system
def check_system() -> None:
    """Raise an InputError on Windows: locks, signals and torchrun are others there."""
    if sys.platform == "win32":
        raise InputError(
            "Windows: use WSL (https://learn.microsoft.com/windows/wsl), which is Linux"
        )


def find_device(name: torch.device | str | None = None) -> torch.device:
    """The device of that name (cpu, cuda:1); unless given, a GPU if there is one.

    Raises
    ------
    InputError
        If there is no such device here.
    """
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, ValueError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"device {str(name)!r} is not to be had here ({reason:.100}); try cpu"
        ) from None
    return device


# book/3-workshop/05-distributed-training.ipynb, cell training-dtype
def training_dtype(device: torch.device, bfloat16: bool = False) -> torch.dtype:
    """The type in which training multiplies; `peak_flops` is of it.

    bfloat16 on a GPU that multiplies it itself; float16 on one whose tensor cores know
    nothing else, where gradients have to be scaled; else float32. On a processor,
    bfloat16 if it is asked for and the processor multiplies it itself.
    """
    if device.type != "cuda":
        wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
        in_hardware = wide and torch.cpu._is_avx512_bf16_supported()
        return torch.bfloat16 if bfloat16 and in_hardware else torch.float32
    with torch.cuda.device(device):
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return torch.bfloat16
    tensor_cores = torch.cuda.get_device_capability(device) >= (7, 0)
    return torch.float16 if tensor_cores else torch.float32


def keep_heap() -> None:
    """Tell glibc to keep freed memory: to give it back and ask again costs time."""
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return  # not glibc
    trim_threshold, mmap_max = -1, -4  # M_TRIM_THRESHOLD and M_MMAP_MAX of malloc.h
    libc.mallopt(mmap_max, 0)
    libc.mallopt(trim_threshold, (1 << 31) - 1)


# book/3-workshop/05-distributed-training.ipynb, cell precision
_LOCK = threading.Lock()
_REQUESTS: list[list[str]] = []  # of all threads, which share one setting
_BEFORE: list[str] = []  # what it was before the first wish


@contextmanager
def matmul_precision(name: str) -> Iterator[None]:
    """Within it, float32 products have that precision; the last thread resets it."""
    request = [name]
    with _LOCK:
        if not _REQUESTS:
            _BEFORE[:] = [torch.get_float32_matmul_precision()]
        _REQUESTS.append(request)
        torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        with _LOCK:
            _REQUESTS[:] = [each for each in _REQUESTS if each is not request]
            torch.set_float32_matmul_precision(
                (_REQUESTS[-1] if _REQUESTS else _BEFORE)[0]
            )


def small_products() -> AbstractContextManager[None]:
    """Within it, no product goes through oneDNN, whose start outlasts a small one."""
    return matmul_precision("highest")


# book/3-workshop/05-distributed-training.ipynb, cell fast-products
def product_error() -> float:
    """How far a float32 product of size 256 is off: below 1e-4 if all is float32."""
    x = torch.randn(256, 256, generator=torch.Generator().manual_seed(0))
    return float(((x @ x).double() - x.double() @ x.double()).abs().max())


@lru_cache
def products_stay_exact() -> bool:
    """Whether products of float32 through oneDNN are exact: measured once a process."""
    with matmul_precision("medium"):
        return product_error() < 1e-3


@contextmanager
def fast_products(device: torch.device, width: int) -> Iterator[bool]:
    """Within it, products use oneDNN on AVX-512 if they stay exact; says whether.

    `width` is the model's d_model: narrow products are left as they are.
    """
    for cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(cache, "32")  # read when the first product is made
    possible = device.type == "cpu" and width >= 128
    possible = possible and torch.backends.mkldnn.is_available()
    possible = possible and torch.backends.cpu.get_cpu_capability() == "AVX512"
    possible = possible and products_stay_exact()
    with ExitStack() as settings:
        if possible:
            settings.enter_context(matmul_precision("medium"))
            settings.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield possible
