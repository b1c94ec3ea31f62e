"""Parsing of the command line, its errors, and its output streams.

From "Launch" (paper, section 6.1):
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/09-launch.ipynb, cell command-line-imports
import difflib
import logging
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import is_dataclass
from functools import cache, partial, wraps
from importlib.metadata import version
from inspect import unwrap
from io import StringIO
from itertools import pairwise
from shutil import get_terminal_size
from typing import Annotated, Any, get_type_hints

import tyro

from aiayn.commands.slurm import check_words
from aiayn.errors import InputError, did_you_mean
from aiayn.training.recipes import RECIPES, recipe


# book/09-launch.ipynb, cell output-arrives
@contextmanager
def output_arrives() -> Iterator[None]:
    """Within it, lost output is an error, unless its reader has seen enough."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # a shell may have closed it
                sys.stdout.flush()
    except OSError as error:
        if error.filename is None and sys.stdout is not None:
            # It may be standard output that fails, and Python would try again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(141)  # what a shell reports of a filter that SIGPIPE ended
        raise


# book/09-launch.ipynb, cell open-streams
def open_streams() -> None:
    """Let no other file take the number of a standard stream that a shell has closed.

    Messages are dropped. If it is the output that is closed, and the verb has something
    to print, that is an `InputError`.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It takes the lowest free number.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None and sys.argv[1:2] not in (["train"], ["convert"]):
        raise InputError(
            "standard output is closed; send it to a file, or to /dev/null"
        )


# book/09-launch.ipynb, cell show-progress
def show_progress() -> None:
    """Show what the package reports on standard error; of workers, only rank 0's."""
    log = logging.getLogger("aiayn")
    log.handlers = [logging.StreamHandler()]
    first = os.environ.get("RANK", "0") == "0"
    log.setLevel(logging.INFO if first else logging.ERROR)

    def one_line(message: Warning | str, *_: Any, **__: Any) -> None:
        if first:
            print("aiayn: warning:", " ".join(str(message).split()), file=sys.stderr)

    warnings.showwarning = one_line


# book/09-launch.ipynb, cell examples
EXAMPLES = """\
aiayn prepare --data multi30k --config multi30k
aiayn prepare --data wmt14 --config base --drop-too-long
aiayn train --data multi30k --config multi30k --out runs/first
aiayn train --data my/corpus --pair en-fr --config small --out runs/mine --minutes 30
aiayn launch --data wmt14 --config base --drop-too-long --checkpoint-steps 1500 --out b
aiayn launch --data my/corpus --config big --out runs/big --slurm --hours 12 > big.sh
aiayn translate runs/first < in.en > out.de
echo "A dog runs." | aiayn translate runs/first --n-best 3 --attention heads.html
aiayn evaluate runs/first --forms --json bleu.json
aiayn evaluate runs/first --data my/corpus --split val --device cpu
aiayn convert runs/first first.ct2
aiayn convert runs/first last.ct2 --average 1
aiayn parse runs/parser < in.en > trees.txt
echo "The dog is old." | aiayn parse runs/parser --no-constrained
aiayn sweep --data laboratory --rows base,h=1 --out table3.json
aiayn sweep --data multi30k --rows all --scale 0.5 --rates 0.5,1,2 --out m.json
aiayn plan --gpus 8 --gpu H100 --utilisation 0.1
aiayn plan --gpus 1 --gpu A100 --utilisation 0.3 --watts 300
aiayn sample --n 5 --with-tree
aiayn sample --n 2000 --span 8 --with-alignment > far.tsv
"""


# book/09-launch.ipynb, cell help-pages
NOTES = {"config": f"a recipe: {', '.join(RECIPES)}"}


def shown(default: str) -> str:
    """What the help of a flag says of its default."""
    return "" if default in ("None", "inf") else f"(default: {default})"


@cache
def add_hints(owner: Any) -> None:
    """Annotate the flags of a verb, or of a class of options, for their help."""
    for name, kind in get_type_hints(owner, include_extras=True).items():
        hint = tyro.conf.arg(help_behavior_hint=shown, help=NOTES.get(name))
        owner.__annotations__[name] = Annotated[kind, hint]
        options = getattr(kind, "__origin__", None)
        if isinstance(options, type) and is_dataclass(options):
            add_hints(options)


def deferred(verb: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """A function with a verb's flags, which gives back what remains to be called."""
    add_hints(unwrap(verb))
    return wraps(verb)(lambda *arguments, **named: partial(verb, *arguments, **named))


# book/09-launch.ipynb, cell complaint
def overview(verbs: dict[str, Callable[..., None]]) -> str:
    """What `aiayn --help` prints: the verbs, a line for each."""
    lines = ["usage: aiayn VERB [options]", ""]
    indent, width = " " * 13, max(40, get_terminal_size().columns)
    for name, verb in verbs.items():
        summary, _, _ = (verb.__doc__ or "").partition("\n")
        entry = f"  {name:9}  {summary}"
        lines += textwrap.wrap(entry, width, subsequent_indent=indent)
    more = "tells of its flags, with examples; there is `aiayn --version`."
    return "\n".join([*lines, "", f"`aiayn VERB --help` {more}"])


def instead_of(verb: str, flag: str, known: list[str]) -> str:
    """What to say of an unknown flag: one that is like it, or where to look."""
    bare = {each.strip("-"): each for each in known}
    if near := difflib.get_close_matches(flag.strip("-"), bare, 1, 0.7):
        return f"did you mean {bare[near[0]]!r}?"
    name = flag.strip("-").replace("-", "_")
    name = {"lr": "rate_factor", "learning_rate": "rate_factor"}.get(name, name)
    config = recipe("base")
    if hasattr(config, name) or hasattr(config.model, name):
        return f"it is a setting of the recipe; in Python, aiayn.recipe(…, {name}=…)"
    few = f"there are {', '.join(known)}"
    return few if len(known) < 12 else f"see `aiayn {verb} --help`"


def complaint(verb: str, said: str, page: str) -> str:
    """One line on what tyro refused: a flag that the help `page` lacks, or its box."""
    known = dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][\w-]*", page))
    for word in sys.argv[2:]:
        flag = word.partition("=")[0].replace("_", "-")
        if flag.startswith("--") and flag not in known:
            meant = instead_of(verb, flag, list(known))
            return f"`aiayn {verb}` has no {flag}: {meant}"
    _, *words = re.sub("[╭╮╰╯│─]", " ", said).strip().split("\n")  # without the title
    ends = "Got errors|Argument helptext|For full helptext"
    text, *_ = re.split(ends, " ".join(words))
    return f"{' '.join(text.split()).rstrip('.: ')[:500]}; see `aiayn {verb} --help`"


# book/09-launch.ipynb, cell read-command
def read_command(verbs: tuple[Callable[..., None], ...]) -> Callable[[], None]:
    """The verb on the command line with its arguments, or an `InputError`."""
    check_words(sys.argv[1:])
    for flag, word in pairwise(sys.argv):
        if not word.strip() or re.fullmatch("--[^=]*= *", word):
            raise InputError(
                f"an empty value ({flag} {word!r}); give one, or leave it out"
            )
    commands = {verb.__name__: verb for verb in verbs}
    name, *rest = sys.argv[1:] or ["--help"]
    if name in ("--help", "-h"):
        return partial(print, overview(commands))
    if name == "--version":
        return partial(print, "aiayn", version("aiayn"))
    if name not in commands:
        meant = did_you_mean(name, [*commands, "--help", "--version"])
        raise InputError(f"no verb {name!r}: {meant}")
    told: dict[str, Any] = {"prog": f"aiayn {name}", "config": [tyro.conf.DisallowNone]}
    ask = partial(tyro.cli, deferred(commands[name]), **told)
    said, page = StringIO(), StringIO()
    try:
        with redirect_stderr(said):
            found: Callable[[], None] = ask(args=rest)
    except SystemExit as error:
        if error.code in (None, 0):  # after --help
            lines = [line for line in EXAMPLES.splitlines() if f"aiayn {name} " in line]
            print("\nexamples:", *lines, sep="\n  ")
            raise
        with suppress(SystemExit), redirect_stdout(page):
            ask(args=["--help"])
        raise InputError(complaint(name, said.getvalue(), page.getvalue())) from None
    return found
