"""What every test shares: shapes checked at run time, a fresh random state, and the
folder of real data.
"""

import functools
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import hypothesis
import jaxtyping
import pytest
import torch
from jaxtyping import install_import_hook
from kernel_pool import fork_kernels

# From here on importing the package makes it check the shapes in its annotations. As
# for mypy, an int will do where a float is asked for. The synthetic
# corpus has no tensors; it would draw sentences twenty times as slowly.
PACKAGE = Path(__file__).parent.parent / "aiayn"
ROOMS = {path.stem for path in PACKAGE.glob("[!_.]*")} - {"synthetic"}
install_import_hook(
    [f"aiayn.{room}" for room in sorted(ROOMS)],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

fork_kernels()  # for the chapters, which nbval runs

# How long an example takes says how busy the machine is, and nothing of the code.
hypothesis.settings.register_profile("aiayn", deadline=None)
hypothesis.settings.load_profile("aiayn")

# A shell has what it starts in the background ignore interrupts, and so would all that
# the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def fresh_state() -> Iterator[None]:
    """Every test starts from seed 0 and leaves torch's global state as it found it."""
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


@pytest.fixture
def one_thread(fresh_state: None) -> None:
    """For models as small as the tests' a second thread costs more than it brings: 54 s
    where one takes 8.
    """
    torch.set_num_threads(1)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Types are not checked, as outside these tests: the check would refuse first."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def shown(
    request: pytest.FixtureRequest, browser: Any, page_file: str
) -> Iterator[Any]:
    """A module's page, on a phone if a test names a theme: no error, no dialog, and
    nothing else is fetched.
    """
    theme, faults = getattr(request, "param", None), list[str]()
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": theme}
    page = browser.new_page(**phone if theme else {})
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda asked: faults.append(asked.url))
    page.goto(page_file)
    assert not theme or page.evaluate("document.documentElement.scrollWidth") <= 390
    yield page
    page.close()
    assert faults == [page_file]


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """A window of a reader who wants no motion."""
    page = browser.new_page(
        viewport={"width": 1400, "height": 900},
        color_scheme="light",
        reduced_motion="reduce",
    )
    page.set_default_timeout(60_000)  # the machine may be busy
    yield page
    page.close()


@pytest.fixture(scope="session", autouse=True)
def measured_once() -> Iterator[None]:
    """Each training measures how fast the machine is; here the first one, for all."""
    import aiayn.training.trainer as loop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "measured_peak", functools.cache(loop.measured_peak))
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder named by AIAYN_DATA, which holds multi30k/ and wmt/; without it the
    test is skipped.
    """
    folder = os.environ.get("AIAYN_DATA")
    if not folder:
        pytest.skip(
            "needs real data: AIAYN_DATA names no folder that holds multi30k/ and wmt/"
        )
    assert Path(folder, "multi30k").is_dir(), f"AIAYN_DATA={folder} holds no multi30k/"
    return Path(folder)


@pytest.fixture(scope="session")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus of eight sentences, the same for training, validation and
    test.
    """
    folder = tmp_path_factory.mktemp("sentences")
    english = [
        f"The {a} is {b}."
        for a in ("dog", "cake")
        for b in ("tired", "sour", "old", "new")
    ]
    german = [
        f"{a} ist {b}."
        for a in ("Der Hund", "Der Kuchen")
        for b in ("müde", "sauer", "alt", "neu")
    ]
    for split in ("train", "val", "test"):
        (folder / f"{split}.en").write_text("\n".join(english) + "\n", encoding="utf-8")
        (folder / f"{split}.de").write_text("\n".join(german) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with number words and their translations."""
    from small_runs import write_corpus

    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of the module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIAYN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of a run, which is still to be made."""
    return tmp_path / "run"


@pytest.fixture
def train(corpus: Path) -> Callable[..., Any]:
    """Train on the corpus as a configuration says, into a folder."""
    from aiayn.training import train_model

    def train(config: Any, out: Path, **options: Any) -> Any:
        return train_model(config, str(corpus), "en-de", out, **options)

    return train


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Chromium. Where there is none, tests are skipped, but not those that are marked
    as the browser's.
    """
    from browser import NoBrowser, chromium

    with ExitStack() as stack:
        try:
            yield stack.enter_context(chromium())
        except NoBrowser as error:
            if request.node.get_closest_marker("browser"):
                raise
            pytest.skip(str(error))


@pytest.fixture
def reader(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """A reader of the playground, with a phone unless a test names a window."""
    from playground_page import opened_page

    with opened_page(browser, getattr(request, "param", (390, 844))) as page:
        yield page


@pytest.fixture(scope="module")
def models(browser: Any) -> Iterator[Any]:
    """A window with both of the playground's models in JavaScript."""
    from playground_page import both_models

    with both_models(browser) as page:
        yield page


@pytest.fixture
def open_link(reader: Any) -> Callable[[str], None]:
    """Opens the playground's page anew, at an address."""

    def follow(address: str) -> None:
        reader.goto("about:blank")  # the same page with another # would not load again
        reader.goto(address)

    return follow


@pytest.fixture
def desktop(browser: Any) -> Iterator[Any]:
    """A window of its own, with a storage of its own, onto pages from disk."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    faults = list[str]()
    page.on("pageerror", lambda error: faults.append(error.message))
    yield page
    page.context.close()
    assert not faults


@pytest.fixture
def aiayn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[Any, str, str]]:
    """Run a command in this process: exit code, standard output, standard error."""

    def run(*arguments: Any, text: bytes | str = b"") -> tuple[Any, str, str]:
        from aiayn.__main__ import main

        content = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr(sys, "argv", ["aiayn", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code: Any = 0
        try:
            main()
        except SystemExit as error:
            code = error.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def descriptions_read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Which descriptions of checkpoints were read, each as often as it was, by whoever
    did.
    """
    read, read_text = list[Path](), Path.read_text

    def noted(path: Path, *arguments: Any, **named: Any) -> str:
        if path.name == "config.json":
            read.append(path)
        return read_text(path, *arguments, **named)

    monkeypatch.setattr(Path, "read_text", noted)
    return read
