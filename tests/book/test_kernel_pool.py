"""A kernel that is forked begins like one that is started."""

from pathlib import Path

import pytest
from jupyter_client.launcher import launch_kernel
from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import local_provisioner
from kernel_pool import Kernel, fork_kernels

LOOK = """
import json, os, signal, sys
import subprocess
json.dumps([
    sys.path, sys.argv[0], os.getcwd(), sorted(
        variable
        for variable in os.environ.items()
        if not variable[0].startswith(("JPY", "PYDEV"))  # Jupyter's own
    ),
    os.getpid() == os.getsid(0), signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL,
    subprocess.run(["false"]).returncode, sys.stdin.read(),
    [name for name in globals() if name in ("aiayn", "altair", "torch")],
])
"""


def seen(folder: Path) -> str:
    """What a kernel that is started in a folder says of itself."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=folder)
    forked = isinstance(manager.provisioner.process, Kernel)
    assert forked is (local_provisioner.launch_kernel.__name__ == "launch")
    said: list[str] = []

    def note(message: dict) -> None:
        if message["msg_type"] == "execute_result":
            said.append(message["content"]["data"]["text/plain"])

    try:
        client.execute_interactive(LOOK, output_hook=note, allow_stdin=False)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    assert not manager.is_alive()
    return said[0]


@pytest.mark.nightly
def test_a_forked_kernel_begins_like_one_that_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_provisioner, "launch_kernel", launch_kernel)
    started = seen(tmp_path)
    fork_kernels()
    assert seen(tmp_path) == started
