# Made by `make export` from book/3-workshop/05-distributed-training.ipynb
"""Distributed data-parallel training: the processes and how they agree."""

# book/3-workshop/05-distributed-training.ipynb, cell distribution-imports
import json
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed
from torch import Tensor
from torch.distributed import Store

from aiayn.data.io import printable
from aiayn.device import find_device
from aiayn.errors import InputError

T = TypeVar("T")


class WorkerLost(InputError):
    """A worker is not there, or no longer: to start all again may help."""


JOIN_SECONDS = 300.0  # for a worker to come up
HEARTBEAT_SECONDS = 60.0  # after which a worker without a heartbeat counts as lost


# book/3-workshop/05-distributed-training.ipynb, cell workers
@dataclass(frozen=True)
class Workers:
    """The processes that train one model, as one of them sees them (section 5.2)."""

    rank: int = 0  # the number of this one, from 0
    world_size: int = 1  # how many there are
    device: torch.device = torch.device("cpu")  # where this one computes
    store: Store | None = None  # where they leave each other notes

    def rank_zero_first(self, work: Callable[[], T]) -> T:
        """What `work()` gives, done once on each machine, by rank 0 before all others.

        There is no limit of time; all leave together.
        """
        if self.store is None:
            return work()
        with rank_zero_errors(), heartbeat(self.store, self.rank):
            if self.rank > 0:
                wait_for(self.store, [0])
            first = self.rank - int(os.environ.get("LOCAL_RANK", 0))  # on this machine
            if self.rank == first:
                self.store.set(f"made/{first}", pickle.dumps(work()).hex())
            else:
                wait_for(self.store, [first])
            self.store.set(f"done/{self.rank}", "")
            wait_for(self.store, range(self.world_size))
            made = self.store.get(f"made/{first}").decode()
            result: T = pickle.loads(bytes.fromhex(made))
            return result

    def agree(self, subject: str, facts: dict[str, Any]) -> None:
        """Raise an InputError unless all workers know the same of a subject."""
        if self.store is not None:
            with rank_zero_errors():
                check_agreement(self.store, self.rank, self.world_size, subject, facts)

    # book/3-workshop/05-distributed-training.ipynb, cell added-up
    def connect(self) -> None:
        """From here on workers can add up tensors, and the library's clocks run."""
        if self.store is not None:
            backend = "nccl" if self.device.type == "cuda" else "gloo"
            torch.distributed.init_process_group(
                backend, store=self.store, rank=self.rank, world_size=self.world_size
            )

    def any_worker(self, flag: bool) -> bool:
        """Whether any worker says so: the same answer for all."""
        return self.all_reduce(float(flag))[0] > 0

    def all_reduce(self, *values: float | Tensor) -> list[float]:
        """Each of the values, summed over all workers; all have to take part."""
        # Apple's GPUs have no float64.
        wide = torch.float32 if self.device.type == "mps" else torch.float64
        numbers = [torch.as_tensor(value, dtype=wide) for value in values]
        sums = torch.stack(
            [number.to(self.device, non_blocking=True) for number in numbers]
        )
        if self.world_size > 1:
            torch.distributed.all_reduce(sums)
        return sums.tolist()  # the only moment at which a GPU is waited for


# book/3-workshop/05-distributed-training.ipynb, cell signs-of-life
@contextmanager
def heartbeat(store: Store, rank: int) -> Iterator[None]:
    """Within it, the store hears once a second that this worker lives."""
    over = threading.Event()

    def beat() -> None:
        try:
            while not over.wait(1.0):
                store.add(f"heartbeat/{rank}", 1)
        except RuntimeError:
            pass  # the store is gone: whoever waits for something notices it

    (thread := threading.Thread(target=beat, daemon=True)).start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# book/3-workshop/05-distributed-training.ipynb, cell rank-0-answers
@contextmanager
def rank_zero_errors() -> Iterator[None]:
    """Within it, an InputError says if rank 0 is lost, which keeps the store."""
    try:
        yield
    except torch.distributed.DistError as error:
        raise WorkerLost(
            "rank 0 was lost while the data were prepared;"
            f" look at its output ({error!s:.80})"
        ) from None


# book/3-workshop/05-distributed-training.ipynb, cell wait-for
def wait_for(store: Store, ranks: Iterable[int]) -> None:
    """Wait, without a limit, until each of these workers is done.

    Raises
    ------
    InputError
        If one of them dies before that; it is named.
    """
    for rank in ranks:
        last_beat, since = 0, time.monotonic()
        while not store.check([f"done/{rank}"]):
            beat = store.add(f"heartbeat/{rank}", 0)
            if beat != last_beat:
                last_beat, since = beat, time.monotonic()
            if time.monotonic() - since > HEARTBEAT_SECONDS:
                raise WorkerLost(
                    f"rank {rank} has given no sign of life for"
                    f" {HEARTBEAT_SECONDS:g} seconds while the data were prepared;"
                    " look at the output of its machine"
                )
            time.sleep(0.2)


# book/3-workshop/05-distributed-training.ipynb, cell call-the-roll
def barrier(store: Store, rank: int, world_size: int, seconds: float) -> None:
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
        missing = [
            str(other) for other, name in enumerate(names) if not store.check([name])
        ]
        raise WorkerLost(
            f"of {world_size} workers, rank {', '.join(missing)} did not join"
            f" within {seconds:g} seconds; look at the output of its machine,"
            " and whether it reaches MASTER_ADDR:MASTER_PORT"
        ) from None


# book/3-workshop/05-distributed-training.ipynb, cell compare
def check_agreement(
    store: Store, rank: int, world_size: int, subject: str, facts: dict[str, Any]
) -> None:
    """Raise an InputError, with all workers, unless each knows the same as rank 0."""
    names = [f"{subject}/{other}" for other in range(world_size)]
    store.set(names[rank], json.dumps(facts))
    store.wait(names, limit := timedelta(seconds=JOIN_SECONDS))
    ours, *others = (json.loads(store.get(name)) for name in names)
    store.set(f"{names[rank]}/read", "")
    if rank == 0:  # without which nobody could read
        store.wait([f"{name}/read" for name in names], limit)
    for number, theirs in enumerate(others, start=1):
        for key in sorted(ours.keys() | theirs.keys()):
            mine, other = ours.get(key), theirs.get(key)
            if mine != other:
                raise InputError(
                    f"rank {number} has {key}={printable(other)}, rank 0"
                    f" {key}={printable(mine)}; give all workers the same {subject}"
                )


# book/3-workshop/05-distributed-training.ipynb, cell meeting
def rendezvous(seconds: float) -> tuple[Store, int, int]:
    """From the environment: where workers meet, this one's number, and how many."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    environment = {name: os.environ.get(name, "") for name in names}
    rank, world_size, port = (
        int(environment[name]) if environment[name].isdecimal() else -1
        for name in ("RANK", "WORLD_SIZE", "MASTER_PORT")
    )
    if not (
        0 <= rank < world_size and 0 < port < 1 << 16 and environment["MASTER_ADDR"]
    ):
        given = ", ".join(f"{name}={value!r}" for name, value in environment.items())
        raise InputError(
            f"{given}: not what torchrun sets; unset WORLD_SIZE to train alone"
        )
    try:
        # Without a size rank 0 does not wait for the others here: the barrier does,
        # and names them.
        limit = timedelta(seconds=seconds)
        handshake = torch.distributed.rendezvous("env://?world_size=-1", timeout=limit)
        store, *_ = next(handshake)
    except (torch.distributed.DistError, ValueError) as error:
        address = f"{environment['MASTER_ADDR']}:{environment['MASTER_PORT']}"
        raise WorkerLost(
            f"rank 0 at {address} cannot be reached"
            f" within {seconds:g} seconds ({error})"
        ) from None
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        # It outlives the workers: what dead ones wrote does not count.
        start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = torch.distributed.PrefixStore(f"start-{start}", store)
    return store, rank, world_size


# book/3-workshop/05-distributed-training.ipynb, cell join-workers
@contextmanager
def join_workers(
    seconds: float | None = None, device: torch.device | str | None = None
) -> Iterator[Workers]:
    """Become one of the workers that torchrun started; without it, the only one.

    `device` is where to compute; a GPU if there is one, unless given.

    Raises
    ------
    InputError
        If not all workers join within so many seconds, `JOIN_SECONDS` unless given; or
        without the device.
    """
    chosen = find_device(device)
    if "WORLD_SIZE" not in os.environ:
        yield Workers(device=chosen)
        return
    seconds = JOIN_SECONDS if seconds is None else seconds
    store, rank, world_size = rendezvous(seconds)
    barrier(store, rank, world_size, seconds)
    if chosen.type == "cuda":
        chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(chosen)
    try:
        yield Workers(rank, world_size, chosen, store)
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
