"""What chapters import to check claims and to go on with a class.

From "From cells to a package":
https://github.com/OWNER/aiayn/blob/main/book/11-4-from-cells-to-a-package.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "claim",
    "read_record",
    "record_path",
    "patch",
]


# book/11-4-from-cells-to-a-package.ipynb, cell book-front
from aiayn.book.claims import claim as claim
from aiayn.book.claims import read_record as read_record
from aiayn.book.claims import record_path as record_path
from aiayn.book.classes import patch as patch
