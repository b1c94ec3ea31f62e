"""Launch (paper, section 6.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/09-launch.ipynb
"""

__all__ = [
    "output_arrives",
    "open_streams",
    "show_progress",
    "deferred",
    "read_command",
]


# book/09-launch.ipynb, cell command-line-imports
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from functools import partial, wraps
from io import StringIO
from itertools import pairwise

import tyro

from aiayn.commands.slurm import check_words
from aiayn.errors import InputError


# book/09-launch.ipynb, cell output-arrives
@contextmanager
def output_arrives() -> Iterator[None]:
    """Within it, output that cannot be written is an error, but not if its reader has seen enough."""
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
    """Where a shell has closed a standard stream, let no other file take its number, and drop messages.

    Raises
    ------
    InputError
        If it is the output that is closed, and the verb has something to print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it takes the lowest free number
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None and sys.argv[1:2] not in (["train"], ["convert"]):
        raise InputError("standard output is closed; send it to a file, or to /dev/null")


# book/09-launch.ipynb, cell show-progress
def show_progress() -> None:
    """Let standard error show what the package reports on its way; of several workers, only rank 0's."""
    log = logging.getLogger("aiayn")
    log.handlers = [logging.StreamHandler()]
    log.setLevel(logging.INFO if os.environ.get("RANK", "0") == "0" else logging.WARNING)


# book/09-launch.ipynb, cell read-command
def deferred(verb: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """A function with the flags of a verb, which gives back what then remains to be called."""
    return wraps(verb)(lambda *arguments, **named: partial(verb, *arguments, **named))


def read_command(verbs: tuple[Callable[..., None], ...]) -> Callable[[], None]:
    """The verb that the command line names, with its arguments.

    Raises
    ------
    InputError
        If there is no such verb or flag, a value is of another type, or empty, or no plain text.
    """
    check_words(sys.argv[1:])
    for flag, word in pairwise(sys.argv):
        if not word.strip() or re.fullmatch("--[^=]*= *", word):
            raise InputError(f"an empty value ({flag} {word!r}); give one, or leave it out")
    commands, said = {verb.__name__: deferred(verb) for verb in verbs}, StringIO()
    try:
        with redirect_stderr(said):
            found: Callable[[], None] = tyro.extras.subcommand_cli_from_dict(commands, prog="aiayn")
    except SystemExit as error:
        if error.code in (None, 0):  # after --help
            raise
        _, *words = re.sub("[╭╮╰╯│─]", " ", said.getvalue()).strip().split("\n")  # without the title
        text, *_ = re.split("Got errors|Argument helptext|For full helptext", " ".join(words))
        text = " ".join(text.split()).rstrip(".: ")[:500]
        known = " ".join(["aiayn", *(word for word in sys.argv[1:2] if word in commands), "--help"])
        raise InputError(f"{text}; see `{known}`") from None
    return found
