# Made by `make export` from book/1-paper/5-1-data-and-batching.ipynb
"""Corpora, vocabularies and batches."""

# book/1-paper/5-1-data-and-batching.ipynb, cell data-front
# The names that a program needs first.
from aiayn.data.batching import Batch as Batch
from aiayn.data.batching import Batches as Batches
from aiayn.data.batching import encode_pairs as encode_pairs
from aiayn.data.batching import make_batch as make_batch
from aiayn.data.corpora import Pairs as Pairs
from aiayn.data.corpora import load_pairs as load_pairs
from aiayn.data.vocabulary import Vocabulary as Vocabulary
from aiayn.data.vocabulary import load_vocabulary as load_vocabulary
from aiayn.data.vocabulary import train_vocabulary as train_vocabulary
