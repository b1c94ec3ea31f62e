"""Build the site on all processors: python tools/site.py BOOK [FOLDER].

It is `jupyter-book build -q -W -n --keep-going BOOK --path-output FOLDER` in half the
time: Sphinx can read and write pages side by side, but jupyter-book has no option to
ask for it.
"""

import os
import sys
from pathlib import Path

try:
    from jupyter_book.sphinx import build_sphinx
except ImportError as error:  # of version 2, which is another program
    sys.exit(f"the site needs jupyter-book 1 ({error}): `make setup` installs it")

source, place = Path(sys.argv[1]).resolve(), Path(sys.argv[-1]).resolve()
# A process that is forked must not wait for threads which only its parent has.
os.environ["OMP_NUM_THREADS"] = "1"
failed = build_sphinx(
    source,
    place / "_build/html",
    noconfig=True,
    path_config=source / "_config.yml",
    confoverrides={
        "external_toc_path": str(source / "_toc.yml"),
        "latex_individualpages": False,
        "nitpicky": True,
    },
    jobs=os.cpu_count(),
    keep_going=True,
    quiet=True,
    warningiserror=True,
)
sys.exit(failed)
