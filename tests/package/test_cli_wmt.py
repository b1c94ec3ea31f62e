"""WMT14 from the hub to a score, by the commands of the README: with a server that
answers as the hub does, and the files of a small stand-in.
"""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from small_runs import free_port, kept
from test_data_wmt import write_parquet

from aiayn.data import wmt
from aiayn.synthetic import sample

SMALL = ["--data", "wmt14", "--recipe", "synthetic", "--model.vocabulary-size", "300"]
SMALL += ["--batches.skip-long", "--batches.max-ratio", "1.5"]


class Hub(BaseHTTPRequestHandler):
    """What `huggingface_hub` asks of the hub: names of files, then these."""

    def __init__(self, folder: Path, *arguments: Any) -> None:
        self.folder = folder
        super().__init__(*arguments)

    def do_GET(self) -> None:
        headers = {"X-Repo-Commit": wmt.REVISION}
        if self.path.startswith("/api/datasets/wmt/wmt14/"):
            assert wmt.REVISION in self.path
            files = [
                {
                    "type": "file",
                    "path": path.relative_to(self.folder).as_posix(),
                    "size": path.stat().st_size,
                    "oid": "0",
                }
                for path in sorted(self.folder.rglob("*.parquet"))
            ]
            content = json.dumps(files).encode()
        elif f"/resolve/{wmt.REVISION}/" in self.path:
            name = self.path.partition(f"/resolve/{wmt.REVISION}/")[2]
            content = (self.folder / name).read_bytes()
            headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
        else:
            self.send_error(404)
            return
        self.send_response(200)
        for key, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """The address of a server with 200 synthetic pairs in place of WMT14's."""
    drawn = [{"en": pair.source, "de": pair.target} for pair in sample(200)]
    drawn += [{"en": "Yes.", "de": "Ja, " * 20}, {"en": "", "de": "Nichts."}]
    write_parquet(tmp_path / "archive" / "de-en", drawn)
    handler = partial(Hub, tmp_path / "archive")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    """A folder that takes the place of the test sets."""
    folder = tmp_path / "data" / "wmt"
    folder.mkdir(parents=True)
    names = ("newstest2013", "newstest2014-ende", "newstest2014-filtered-ende")
    for name, split in zip(names, ("valid", "test", "test"), strict=True):
        for side, field in (("en", "source"), ("de", "target")):
            lines = [getattr(pair, field) + "\n" for pair in sample(8, split=split)]
            (folder / f"{name}.{side}").write_text("".join(lines), encoding="utf-8")
    return folder.parent


def aiayn(tmp_path: Path, *words: Any, **environment: str) -> tuple[int, str, str]:
    """Exit code, output and messages of a command in a process of its own."""
    settings = {
        "AIAYN_CACHE": str(tmp_path / "cache"),
        "AIAYN_DATA": str(tmp_path / "data"),
        "HF_HOME": str(tmp_path / "hub"),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "aiayn", *map(str, words)],
        env=os.environ | settings | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout, done.stderr


def test_without_a_network_no_worker_starts(tests: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    out = tmp_path / "run"
    code, output, errors = aiayn(
        tmp_path,
        *("launch", *SMALL, "--out", out, "--workers", 2),
        HF_ENDPOINT=f"http://127.0.0.1:{free_port()}",
    )
    (said,) = [line for line in errors.splitlines() if line.startswith("aiayn: ")]
    assert code == 2 and output == "" and not out.exists()
    assert said.startswith("aiayn: wmt14 en-de: cannot be fetched from Hugging Face (")
    _, command, rest = said.split("`")
    assert command.startswith("aiayn prepare --data wmt14 --recipe synthetic")
    for flag in ("model.vocabulary-size 300", "batches.skip-long", "max-ratio 1.5"):
        assert flag in command
    assert rest.startswith(" on a machine that has a network")


def test_prepare_launch_evaluate(hub: str, tests: Path, tmp_path: Path) -> None:
    code, output, errors = aiayn(tmp_path, "prepare", *SMALL, HF_ENDPOINT=hub)
    assert code == 0, errors
    ready = "ready: train 200 pairs, val 8 pairs, wmt14/full 8 pairs, wmt14 8 pairs\n"
    assert output == ready
    assert "1 of 201 pairs are left out, one side has more than 1.5 times" in errors
    out, offline = tmp_path / "run", {"HF_HUB_OFFLINE": "1"}
    words = ["launch", *SMALL, "--steps", 3, "--out", out, "--workers", 2]
    code, output, errors = aiayn(tmp_path, *words, **offline)
    assert code == 0 and kept(out) == [3], errors
    record = json.loads((out / "bleu.json").read_text())
    assert record["dtype"] == "float32"
    assert list(record["bleu"]) == ["wmt14/full", "wmt14"]
    config = out / "checkpoints" / "step-0000003" / "config.json"
    known = json.loads(config.read_text())
    assert (known["pairs"], known["left_out"]) == (200, 1)
    batches = known["training"]["batches"]
    assert (batches["max_ratio"], batches["micro_batches"]) == (1.5, 8)
    words = ["evaluate", out, "--bleu-variants"]
    code, output, errors = aiayn(tmp_path, *words, **offline)
    assert code == 0 and output.startswith("BLEU "), errors
