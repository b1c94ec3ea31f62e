"""What attention heads do, and pictures of it.

From "Pages to look at":
https://github.com/OWNER/aiayn/blob/main/book/11-11-pages-to-look-at.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

__all__ = [
    "SentenceAttention",
    "attention_of",
    "attention_view",
    "write_page",
]


# book/11-11-pages-to-look-at.ipynb, cell inside-front
from aiayn.inside.sentence import SentenceAttention as SentenceAttention
from aiayn.inside.sentence import attention_of as attention_of
from aiayn.inside.view import attention_view as attention_view
from aiayn.inside.view import write_page as write_page
