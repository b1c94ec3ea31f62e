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
def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """What to say of an unknown `name`: the known one most like it, or all."""
    names = list(valid)
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
