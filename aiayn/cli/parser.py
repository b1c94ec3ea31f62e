# Made by `make export` from book/5-launch/1-launch.ipynb
"""Parsing of the command line, its errors, and its output streams."""

# book/5-launch/1-launch.ipynb, cell command-line-imports
import argparse
import importlib
import logging
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import is_dataclass, make_dataclass
from functools import partial, wraps
from importlib.metadata import version
from io import StringIO
from itertools import pairwise
from shutil import get_terminal_size
from typing import Annotated, Any, get_type_hints

import tyro

from aiayn.base_config import INSTEAD, settings
from aiayn.errors import InputError, did_you_mean, nearest


# book/5-launch/1-launch.ipynb, cell output-arrives
@contextmanager
def flushed_output() -> Iterator[None]:
    """Within it, lost output is an error, unless its reader has seen enough."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is None:
            # It may be standard output that fails, and Python would try again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(141)  # what a shell reports of a filter that SIGPIPE ended
        raise


# book/5-launch/1-launch.ipynb, cell show-progress
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


# book/5-launch/1-launch.ipynb, cell examples
EXAMPLES = """\
aiayn prepare --data multi30k --recipe multi30k
aiayn prepare --data wmt14 --recipe base --batches.skip-long
aiayn train --train pairs.tsv --recipe small --out runs/mine --minutes 30
aiayn train --data my/corpus --recipe small --out runs/first --optimizer.warmup 400
aiayn launch --data my/corpus --recipe base --checkpoints.steps 1500 --out runs/base
aiayn launch --data my/corpus --recipe big --out runs/big --slurm --workers 8 > big.sh
aiayn translate runs/first --input in.en.gz --output out.de
aiayn translate en-de "A dog runs." --n-best 3 --attention heads.html
aiayn evaluate runs/first --bleu-variants --json bleu.json
aiayn evaluate runs/first --source test.en --reference test.de --baseline en-de
aiayn convert runs/first first.ct2
aiayn convert runs/first models/first --to huggingface --average 1
aiayn parse runs/parser < in.en > trees.txt
echo "The dog is old." | aiayn parse runs/parser --no-constrained
aiayn info runs/first
aiayn info en-de
aiayn models
aiayn models > models.txt
aiayn sweep --data synthetic --rows base,h=1 --out table3.json
aiayn sweep --data multi30k --rows all --scale 0.5 --rates 0.5,1,2 --out m.json
aiayn estimate --gpus 8 --gpu H100 --utilisation 0.1
aiayn estimate --gpus 1 --gpu A100 --utilisation 0.3 --watts 300
aiayn generate-corpus --n 5 --with-tree
aiayn generate-corpus --n 2000 --span 8 --with-alignment > far.tsv
"""


# book/5-launch/1-launch.ipynb, cell help-pages
def value_of(flag: str, words: list[str]) -> str | None:
    """What stands after a flag on the command line, as in `--flag a` or `--flag=a`.

    Of a flag that is given twice the last counts.
    """
    value = None
    for word, following in pairwise([*words, ""]):
        if word == flag:
            value = following
        if word.startswith(f"{flag}="):
            value = word.partition("=")[2]
    return value


def with_defaults(options: type, **defaults: Any) -> type:
    """A dataclass of options, some fields of which have other defaults."""
    hints = get_type_hints(options, include_extras=True)
    fields = [(name, hints[name], value) for name, value in defaults.items()]
    made = make_dataclass(
        options.__name__, fields, bases=(options,), frozen=True, kw_only=True
    )
    made.__module__ = options.__module__  # where tyro looks for the comments on fields
    return made


# book/5-launch/1-launch.ipynb, cell deferred-call
def defer_call(
    verb: Callable[..., None], words: list[str]
) -> Callable[..., Callable[[], None]]:
    """A function with a verb's flags, which gives back what remains to be called.

    The defaults are those of the recipe that the words name.
    """

    @wraps(verb)
    def prepare_call(*arguments: Any, **named: Any) -> Callable[[], None]:
        return partial(verb, *arguments, **named)

    def with_options(options: Any) -> Callable[[], None]:
        return partial(verb, options)

    if kind := get_type_hints(verb).get("options"):
        filled: Any = kind.with_recipe_defaults(words)
        with_options.__annotations__["options"] = Annotated[
            filled, tyro.conf.arg(name="")
        ]
        with_options.__doc__ = verb.__doc__
        return with_options
    return prepare_call


# book/5-launch/1-launch.ipynb, cell complaint
def overview(verbs: dict[str, Callable[..., None]]) -> str:
    """What `aiayn --help` prints: the verbs, a line for each."""
    lines = ["usage: aiayn VERB [options]", ""]
    indent, width = " " * 19, max(40, get_terminal_size().columns)
    for name, verb in verbs.items():
        summary, _, _ = (verb.__doc__ or "").partition("\n")
        entry = f"  {name:15}  {summary}"
        lines += textwrap.wrap(entry, width, subsequent_indent=indent)
    more = "tells of its flags, with examples; there is `aiayn --version`."
    own = "Every verb takes `--import MODULE`, your own, which registers models."
    return "\n".join(
        [*lines, "", *textwrap.wrap(own, width), f"`aiayn VERB --help` {more}"]
    )


# book/5-launch/1-launch.ipynb, cell import-modules
def split_imports(words: list[str]) -> tuple[list[str], list[str]]:
    """The modules that `--import` names, and the other words."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--import", dest="modules", action="append", default=[])
    given, others = parser.parse_known_args(words)
    return given.modules, others


def import_modules(modules: list[str]) -> None:
    """Import modules, from the present folder too, for what they register."""
    sys.path.insert(0, "")
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            fault = f"cannot be imported ({error})"
            raise InputError(f"--import {module}: {fault}") from None


# book/5-launch/1-launch.ipynb, cell name-flags
def flags_of(verb: Callable[..., None]) -> dict[str, str]:
    """The flags of a verb by their names in Python, alone and in full."""
    hints = get_type_hints(verb)
    options = [each for each in hints.values() if is_dataclass(each)]
    for each in options:
        hints |= get_type_hints(each)
    names = [
        name
        for name, kind in hints.items()
        if name != "return" and not is_dataclass(kind)
    ]
    configs = [each.config for each in options if hasattr(each, "config")]
    full = [*(name for each in configs for name in settings(each)), *names]
    flags = {name: "--" + name.replace("_", "-") for name in full}
    return {name.rpartition(".")[2]: flag for name, flag in flags.items()} | flags


def in_flags(message: str, flags: dict[str, str]) -> str:
    """A message of the package with flags in place of the names that Python has."""
    quoted, begins = "'[^']*'", r"(?<![\w./-])"
    names = "|".join(map(re.escape, sorted(flags, key=len, reverse=True)))
    long = "|".join(re.escape(name) for name in flags if re.search("[_.]", name))

    def flag(found: re.Match[str]) -> str:
        if found[1] is None:  # what somebody typed, or a name of the package's
            return found[0]
        name, value = found[1], found[2]
        part, dot, last = flags[name].removeprefix("--").rpartition(".")
        if value == "False":
            return f"--{part}{dot}no-{last}"
        return flags[name] + " " * (value == "")

    message = re.sub(rf"{quoted}|{begins}({names})=(True\b|False\b|)", flag, message)
    alone = rf"(?<=\()(?:{names})(?=\))|(?<=as )init\b"
    alone += rf"|{begins}(?:{long})(?!\w|[.=/-]\w)"
    return re.sub(alone, lambda found: flags.get(found[0], found[0]), message)


# book/5-launch/1-launch.ipynb, cell naming-flags
@contextmanager
def naming_flags(verbs: tuple[Callable[..., None], ...]) -> Iterator[None]:
    """Within it, an InputError names the flags of the verb on the command line."""
    try:
        yield
    except InputError as error:
        message, (_, words) = str(error), split_imports(sys.argv[1:])
        for verb in verbs:
            if words[:1] == [verb.__name__.replace("_", "-")]:
                message = in_flags(message, flags_of(verb))
        raise InputError(message) from None


# book/5-launch/1-launch.ipynb, cell unknown-flag
def unknown_flag(flag: str, verb: Callable[..., None]) -> str:
    """What to say of a flag that a verb does not have: which it has instead."""
    name, flags = flag.removeprefix("--").replace("-", "_"), flags_of(verb)
    parts = {f: None for full, f in flags.items() if full.startswith(f"{name}.")}
    if parts:
        return f"no flag {flag}; there are {', '.join(parts)}"
    near = nearest(name, [*flags, *INSTEAD])
    other = INSTEAD.get(near or "", ())
    if other and flags.keys() >= set(other):
        return f"no flag {flag}; give {' or '.join(flags[each] for each in other)}"
    if near in flags:
        return f"no flag {flag}; did you mean {flags[near]}?"
    return f"no flag {flag}; `aiayn {verb.__name__.replace('_', '-')} --help` lists all"


# book/5-launch/1-launch.ipynb, cell read-command
def read_command(verbs: tuple[Callable[..., None], ...]) -> Callable[[], None]:
    """The verb on the command line with its arguments, or an `InputError`."""
    for flag, word in pairwise(sys.argv):
        if not word.strip() or re.fullmatch("--[^=]*= *", word):
            raise InputError(
                f"an empty value ({flag} {word!r}); give one, or leave it out"
            )
    commands = {verb.__name__.replace("_", "-"): verb for verb in verbs}
    modules, words = split_imports(sys.argv[1:])
    import_modules(modules)
    name, *rest = words or ["--help"]
    if name in ("--help", "-h"):
        return partial(print, overview(commands))
    if name == "--version":
        return partial(print, "aiayn", version("aiayn"))
    if name not in commands:
        meant = did_you_mean(name, [*commands, "--help", "--version"])
        raise InputError(f"no verb {name!r}: {meant}")
    complaint = StringIO()
    try:
        with redirect_stderr(complaint):
            call: Callable[[], None] = tyro.cli(
                defer_call(commands[name], rest), prog=f"aiayn {name}", args=rest
            )
    except SystemExit as error:
        if error.code in (None, 0):  # after --help
            lines = [
                line for line in EXAMPLES.splitlines() if f"aiayn {name} " in f"{line} "
            ]
            print("\nexamples:", *lines, sep="\n  ")
            raise
        box = dict.fromkeys(map(ord, "╭╮╰╯│─"), " ")
        _, *text = (
            complaint.getvalue().translate(box).strip().splitlines()
        )  # with a title
        said = " ".join(" ".join(text).split())
        said = said.replace(" For full help", "; for full help")
        said = re.sub(r"^Error parsing [\w.]+: ", "", said)
        if said.startswith("Unrecognized options: --"):
            word = said.split()[2].rstrip(",;")
            said = unknown_flag(word.partition("=")[0], commands[name])
        raise InputError(said[:500]) from None
    return call
