"""Kernels that are forked off a process in which what all chapters import is imported.

To start Python and import torch, altair and the package takes two seconds and more, for
each of some fifty chapters, and again where they are compared. `fork_kernels()` makes
Jupyter's kernels children of one such process, which has computed nothing: each begins
as a new one would, but that the imports are at hand. Processes cannot be forked safely
everywhere; elsewhere than on Linux all stays as it is.
"""

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from typing import Any

from jupyter_client.provisioning import local_provisioner

IMPORTS = "aiayn altair ipykernel.kernelapp ipykernel.ipkernel ipykernel.debugger"


class Kernel:
    """A kernel, as far as Jupyter asks a `subprocess.Popen`: a child of another."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None while it runs. With what code it ended only its parent knows."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    wait = poll

    def send_signal(self, number: int) -> None:
        """Send it a signal, as Jupyter does to interrupt it or to end it."""
        os.kill(self.pid, number)


def fork_kernels() -> None:
    """Have all kernels that this process starts from now on forked, on Linux."""
    if sys.platform != "linux":
        return
    command = [sys.executable, "-Xfrozen_modules=off", __file__]
    parent: subprocess.Popen[str] | None = None
    start = local_provisioner.launch_kernel

    def launch(argv: list[str], **how: Any) -> Any:
        nonlocal parent
        if argv[0] != sys.executable:
            return start(argv, **how)  # of another environment
        if parent is None:
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            parent = subprocess.Popen(command, text=True, **pipes)
            atexit.register(parent.communicate)  # no more wishes, so that it ends
        assert parent.stdin and parent.stdout
        wish = {
            "argv": argv,
            "env": dict(how["env"]),
            "folder": str(how.get("cwd") or "."),
            "quiet": how.get("stderr") is not None,
        }
        print(json.dumps(wish), file=parent.stdin, flush=True)
        pid = parent.stdout.readline()
        if not pid:
            raise RuntimeError(f"{__file__} has ended, and with it all kernels")
        return Kernel(int(pid))

    local_provisioner.launch_kernel = launch  # type: ignore[assignment]


def serve() -> None:
    """Read on standard input what kernels are wanted, and write their process ids."""
    del sys.path[0]  # the folder of this file is not one where chapters find modules
    for name in IMPORTS.split():
        with contextlib.suppress(Exception):  # a chapter that needs it will say why
            import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that end leave no zombie
    for line in sys.stdin:
        if os.fork() == 0:
            return become(**json.loads(line))


def become(argv: list[str], env: dict[str, str], folder: str, quiet: bool) -> None:
    """Be the kernel that `argv` would have started."""
    import ipykernel_launcher
    from ipykernel import kernelapp

    os.setsid()  # Jupyter sends signals to all processes of a kernel
    print(os.getpid(), flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    if quiet:
        os.dup2(nothing, 2)
    os.dup2(2, 1)  # standard output was what the parent of all answers on
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    options = argv[argv.index("ipykernel_launcher") + 1 :]
    sys.argv = [ipykernel_launcher.__file__, *options]
    parent = f"--IPKernelApp.parent_handle={os.getppid()}"
    with contextlib.suppress(SystemExit):
        kernelapp.launch_new_instance([*options, parent])
    atexit._run_exitfuncs()


if __name__ == "__main__":
    serve()
    sys.stdout.flush()
    os._exit(0)  # to take the modules apart would last a second
