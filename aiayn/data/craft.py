# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""CRAFT: sentences of biomedical articles, and their trees."""

# book/3-workshop/02-corpora.ipynb, cell craft-files
import logging
import re
from pathlib import Path

from aiayn.data.download import published_file, published_files
from aiayn.data.trees import Tree, cleaned, read_trees
from aiayn.errors import InputError

LOG = logging.getLogger(__name__)  # the command line shows what it says
CRAFT = (
    "https://raw.githubusercontent.com/UCDenver-ccp/CRAFT"
    "/2abe82b8bb8089448b84937d5f61d8c218011322"
)
# Of the lists of articles, and of the trees of all articles on a list.
_CHECKSUMS = """\
train.txt 9215bc144bb67f3f2c93555068e166fe9934d9f941e1df1ae1e842dac15ccae9
train.tree c323e628d100655b28735eae553f4f39055f74ca3c01387ece2f8ca307501f3d
dev.txt 96e26a2a6e818a36b23ed14891ab195616f752c42abc686585b8a1d39bd3bafe
dev.tree 375a93c83b1ea203c58881d75d68627f549f3b7dd9237e64f40710e97c428b30
test.txt 9b86db4128e9314e24bcc1f910fdba01bc08686b1754adcdbe6eb39a730a0f33
test.tree c06bf57da48d79bf33ab9d67b8faf45eb6c34486d4f169ae0953c7475a5b2600
"""
CRAFT_SHA256 = dict(line.split() for line in _CHECKSUMS.splitlines())
CRAFT_SPLITS = {"train": "train", "val": "dev", "test": "test"}  # what CRAFT calls ours


def craft_files(split: str) -> list[Path]:
    """The checked files with the trees of a split, one for each of its articles."""
    stem = CRAFT_SPLITS[split]
    ids = f"articles/ids/craft-ids-{stem}.txt"
    articles = published_file(
        f"craft/{ids}", f"{CRAFT}/{ids}", CRAFT_SHA256[f"{stem}.txt"]
    )
    names = [
        f"structural-annotation/treebank/penn/{article}.tree"
        for article in articles.read_text(encoding="utf-8").split()
    ]
    urls = {f"craft/{name}": f"{CRAFT}/{name}" for name in names}
    return published_files(urls, CRAFT_SHA256[f"{stem}.tree"])


# book/3-workshop/02-corpora.ipynb, cell craft-trees
MAX_WORDS = 60  # of a sentence to learn from
NOT_PLAIN_SPACES = re.compile("[\u00a0\u2009\u200a]")  # no-break, thin and hair space


def craft_trees(pair: str, split: str) -> list[Tree]:
    """CRAFT's trees, cleaned as those of the Penn Treebank; short ones of `train`.

    Raises
    ------
    InputError
        If the pair is not en-trees, there is no such split, or a file is not what was
        published.
    """
    if pair != "en-trees" or split not in CRAFT_SPLITS:
        available = f"the pair is en-trees, splits are {', '.join(CRAFT_SPLITS)}"
        raise InputError(f"craft has no {pair} {split}: {available}")
    trees: list[Tree] = []
    for path in craft_files(split):
        text = NOT_PLAIN_SPACES.sub("", path.read_text(encoding="utf-8"))
        trees += filter(None, map(cleaned, read_trees(text, str(path))))
    if split != "train":
        return trees
    short = [tree for tree in trees if len(tree.words()) <= MAX_WORDS]
    counts = f"{len(trees) - len(short):,} of {len(trees):,} trees are left out"
    LOG.info("craft train: %s, of more than %s words", counts, MAX_WORDS)
    return short
