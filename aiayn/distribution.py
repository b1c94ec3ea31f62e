"""Training (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-training.ipynb
"""

__all__ = [
    "Workers",
    "call_the_roll",
    "join_workers",
]


# book/05-training.ipynb, cell distribution-imports
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed
from torch import Tensor

from aiayn.data import InputError


# book/05-training.ipynb, cell workers
@dataclass(frozen=True)
class Workers:
    """The processes that train one model together, as one of them sees it (section 5.2)."""

    rank: int = 0  # the number of this one, from 0
    world_size: int = 1  # how many there are
    device: torch.device = torch.device("cpu")  # where this one computes

    def agree(self, *flags: bool) -> list[bool]:
        """Whether the first worker says so, or (for the first flag) any: the same answer for all."""
        mine = [flag and (k == 0 or self.rank == 0) for k, flag in enumerate(flags)]
        return [count > 0 for count in self.total(*mine)]

    def total(self, *values: float | Tensor) -> list[float]:
        """Each of the values, summed over all workers: a round that all of them have to take part in."""
        sums = torch.tensor([float(value) for value in values], dtype=torch.float64, device=self.device)
        if self.world_size > 1:
            torch.distributed.all_reduce(sums)
        return sums.tolist()


def call_the_roll(store: torch.distributed.Store, rank: int, world_size: int, seconds: float) -> None:
    """Wait until every worker has signed.

    Raises
    ------
    InputError
        If some have not after so many seconds; it names them.
    """
    names = [f"here/{other}" for other in range(world_size)]
    store.set(names[rank], "")
    try:
        store.wait(names, timedelta(seconds=seconds))
    except torch.distributed.DistStoreError:
        missing = [str(other) for other, name in enumerate(names) if not store.check([name])]
        raise InputError(
            f"of {world_size} workers, rank {', '.join(missing)} did not join within {seconds:g} seconds; "
            "look at the output of its machine, and whether it reaches MASTER_ADDR:MASTER_PORT"
        ) from None


# book/05-training.ipynb, cell join-workers
@contextmanager
def join_workers(seconds: float = 300) -> Iterator[Workers]:
    """Become one of the workers that torchrun has started; without torchrun, the only one.

    Raises
    ------
    InputError
        If not all workers join within so many seconds.
    """
    cuda = torch.cuda.is_available()
    if "WORLD_SIZE" not in os.environ:
        yield Workers(device=torch.device("cuda" if cuda else "cpu"))
        return
    limit = timedelta(seconds=seconds)
    try:
        # Without a size rank 0 does not wait for the others here: the roll call does, and knows their names.
        store, rank, _ = next(torch.distributed.rendezvous("env://?world_size=-1", timeout=limit))
    except (torch.distributed.DistError, ValueError) as error:
        address = ":".join(os.environ.get(name, "?") for name in ("MASTER_ADDR", "MASTER_PORT"))
        raise InputError(
            f"rank 0 at {address} cannot be reached within {seconds:g} seconds ({error})"
        ) from None
    world_size = int(os.environ["WORLD_SIZE"])
    start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")  # what dead workers wrote does not count
    store = torch.distributed.PrefixStore(f"start-{start}", store)
    call_the_roll(store, rank, world_size, seconds)
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.distributed.init_process_group(
        "nccl" if cuda else "gloo", store=store, rank=rank, world_size=world_size
    )
    try:
        yield Workers(rank, world_size, device)
    finally:
        torch.distributed.destroy_process_group()
