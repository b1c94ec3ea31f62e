"""Run the README's example and the how-to pages with the package that is installed.

python tools/smoke_test.py           # in an environment with nothing but the wheel

Each runs in a process and a folder of its own, so that the checkout is not imported in
its place. Pages that need a package which is not installed are named and left out.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MISSING = re.compile(r"ModuleNotFoundError: No module named '(?!aiayn)(\w+)'")


def programs() -> dict[str, str]:
    """The texts, by the names of their pages."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = {"README.md": "\n".join(re.findall(r"```python\n(.*?)```", readme, re.S))}
    for path in sorted((ROOT / "book" / "how-to").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        found[path.name] = "\n\n".join(code)
    return found


def main() -> None:
    """Run all of them; end with 1 if one fails."""
    failed = False
    environment = {n: v for n, v in os.environ.items() if n != "PYTHONPATH"}
    for name, program in programs().items():
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", program]
            ran = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True
            )
        missing = MISSING.search(ran.stderr) if ran.returncode else None
        outcome = "failed" if ran.returncode else "ran"
        print(f"{name}: {f'needs {missing[1]}' if missing else outcome}", flush=True)
        if ran.returncode and not missing:
            failed = True
            print(ran.stderr, file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
