# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""InputError: what is wrong with a file, a field or a word, in one line."""

# book/3-workshop/02-corpora.ipynb, cell input-error
import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something outside the program is wrong.

    The message says what, where, and what to do.
    """


class NotFetched(InputError):
    """Something is to be had from a network only, and could not be fetched."""


# book/3-workshop/02-corpora.ipynb, cell did-you-mean
def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The known name most like an unknown one, capitals or not; None if none is."""
    names = {each.lower(): each for each in valid}
    near = difflib.get_close_matches(name.lower(), names, 1)
    return names[near[0]] if near else None


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """What to say of an unknown `name`: the known one most like it, or all."""
    names = list(valid)
    near = nearest(name, names)
    return f"did you mean {near!r}?" if near else f"there are {', '.join(names)}"
