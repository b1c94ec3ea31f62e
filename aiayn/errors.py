"""Training data and batching (paper, section 5.1).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/05-1-data-and-batching.ipynb
"""

__all__ = [
    "InputError",
    "NotFetched",
]


# book/05-1-data-and-batching.ipynb, cell input-error
class InputError(ValueError):
    """Something outside the program is wrong; the message says what, where, and what to do."""


class NotFetched(InputError):
    """Something is to be had from a network only, and could not be fetched."""
