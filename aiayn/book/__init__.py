# Made by `make export` from book/3-workshop/01-exporter.ipynb
"""What chapters import to check claims and to go on with a class."""

# book/3-workshop/01-exporter.ipynb, cell book-front
from aiayn.book.claims import claim as claim
from aiayn.book.claims import read_record as read_record
from aiayn.book.claims import record_path as record_path
from aiayn.book.patch import patch as patch
