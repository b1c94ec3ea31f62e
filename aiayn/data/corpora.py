# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Parallel corpora, by name or by folder."""

# book/3-workshop/02-corpora.ipynb, cell imports
import os
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from aiayn.data.craft import craft_trees
from aiayn.data.lines import Lines, check_not_blank, decompressed, sentence_list
from aiayn.data.multi30k import multi30k_files
from aiayn.data.tatoeba import tatoeba_pairs
from aiayn.data.trees import (
    SECTIONS,
    IllFormed,
    Tree,
    delinearise,
    linearise,
    plain,
    read_tree,
    treebank,
)
from aiayn.data.wmt import wmt14_files
from aiayn.errors import InputError
from aiayn.synthetic.corpus import sample


# book/3-workshop/02-corpora.ipynb, cell pairs
@dataclass(frozen=True)
class Pairs:
    """Sentences and their translations: lists, or `Lines` of files."""

    source: Sequence[str]
    target: Sequence[str]  # line by line the same sentence in another language
    source_name: str = "source"  # where it comes from, for messages
    target_name: str = "target"  # likewise
    _: KW_ONLY
    languages: str | None = None  # source first, such as `en-de`, if a file says so
    # where each pair stands in its file, if not the first in line 1 and so on
    line_numbers: Sequence[int] | None = None

    def __post_init__(self) -> None:
        sides = [(self.source_name, self.source), (self.target_name, self.target)]
        if len(self.source) != len(self.target):
            counts = ", ".join(f"{name}: {len(lines)} lines" for name, lines in sides)
            rule = "line k of the one must be the translation of line k of the other"
            raise InputError(f"{counts}; {rule}")
        for name, lines in sides:
            if not isinstance(lines, Lines):  # which have been checked
                sentence_list(lines, f"{name}, line")
                check_not_blank(lines, name)
                broken = (k for k, line in enumerate(lines, start=1) if "\n" in line)
                if k := next(broken, 0):
                    place = f"{name}, line {k}"
                    raise InputError(f"{place}: a line break within; remove it")

    def __len__(self) -> int:
        return len(self.source)

    # book/3-workshop/02-corpora.ipynb, cell pairs-methods
    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.source, self.target, strict=True)

    def line_number(self, number: int) -> int:
        """The line of its file in which pair `number` stands, both counted from 1."""
        return self.line_numbers[number - 1] if self.line_numbers else number

    def __repr__(self) -> str:
        return f"Pairs({len(self):,}: {self.source_name}, {self.target_name})"


# book/3-workshop/02-corpora.ipynb, cell overlap
MAX_SEARCHED_PAIRS = 1_000_000  # pairs of a training text that is searched for others


def overlap(train: Pairs, other: Pairs) -> int:
    """How many sources of another text are in the training text, too."""
    shared = set(other.source).intersection(train.source)
    return sum(source in shared for source in other.source)


def corpus_warnings(train: Pairs, other: Pairs) -> Iterator[str]:
    """What may be wrong with two texts, although each of their lines is well."""
    if len(train) > MAX_SEARCHED_PAIRS or not (len(train) and len(other)):
        return
    if number := overlap(train, other):
        name, place = other.source_name, train.source_name
        if name == place:  # both are in memory
            name, place = "valid", "the training text"
        among = f"{number:,} of {len(other):,} sentences are in {place}"
        yield f"{name}: {among} too; scores on them say little"
    for pairs in (train, other):
        same = sum(map(str.__eq__, pairs.source, pairs.target))
        if same > len(pairs) / 10:
            sides = f"{pairs.source_name} and {pairs.target_name}"
            yield f"{sides}: {same:,} of {len(pairs):,} lines are the same"


# book/3-workshop/02-corpora.ipynb, cell load-pairs
def load_pairs(name: str, pair: str, split: str) -> Pairs:
    """Parallel sentences, by the name of a corpus or of a folder.

    Parameters
    ----------
    name : str
        `tatoeba`, `multi30k`, `wmt14`, `synthetic`, `ptb` (the Penn Treebank), `craft`
        (trees of biomedical articles), or a folder with files such as `train.en` and
        `train.de`, plain or .gz.
    pair : str
        Languages, source first: `en-de`; `en-trees` for sentences and their trees.
    split : str
        `train`, `val`; of Tatoeba also `test`; of Multi30k `test_2016_flickr`; of
        WMT14 `newstest2013`
        (its `val`), `newstest2014` (its `test`) and `newstest2014-filtered`; of the
        synthetic corpus `test`, `long`, `novel`, `pronouns`, of the treebanks `test`;
        in a folder, whatever its files are called.

    Raises
    ------
    InputError
        If there is no such corpus, language or split, or a file is at fault.
    """
    languages = pair.split("-")
    if len(languages) != 2 or not all(languages) or languages[0] == languages[1]:
        give = "give two languages, source first, such as en-de"
        raise InputError(f"pair {pair!r}: {give}")
    if name == "synthetic":
        return synthetic_pairs(pair, split)
    if name == "ptb":
        return treebank_pairs(pair, split)
    if name == "craft":
        return tree_pairs(craft_trees(pair, split), f"craft {split}")
    if name == "tatoeba":
        return Pairs(*tatoeba_pairs(pair, split), *[f"tatoeba {split}"] * 2)
    if name == "wmt14":
        paths = wmt14_files(pair, split)
    elif name == "multi30k":
        paths = multi30k_files(pair, split)
    else:
        paths = [folder_file(name, split, language) for language in languages]
    source, target = (Lines(decompressed(path), str(path)) for path in paths)
    return Pairs(source, target, *map(str, paths))


# book/3-workshop/02-corpora.ipynb, cell folder-file
def folder_file(name: str, split: str, language: str) -> Path:
    """The path of a user's own file, plain or .gz; an InputError if there is none."""
    for ending in ("", ".gz"):
        path = Path(name, f"{split}.{language}{ending}")
        if os.path.exists(path) and not os.path.isdir(path):
            return path
    raise InputError(
        f"{name}: neither the name of a corpus (tatoeba, multi30k, wmt14, synthetic, "
        f"ptb, craft) nor a folder with {split}.{language} or {split}.{language}.gz"
    )


# book/3-workshop/02-corpora.ipynb, cell synthetic
SYNTHETIC_PAIRS = {
    "train": 100_000,
    "val": 1000,
    "test": 1000,
    "long": 1000,
    "novel": 1000,
    "pronouns": 1000,
}


def synthetic_pairs(pair: str, split: str) -> Pairs:
    """The synthetic corpus, drawn now; about ten seconds for `train`.

    Raises
    ------
    InputError
        If it has no such languages or split.
    """
    if pair not in ("en-de", "de-en", "en-trees") or split not in SYNTHETIC_PAIRS:
        raise InputError(
            f"synthetic has no {pair} {split}: languages are en-de and de-en, "
            f"or en-trees, splits {', '.join(SYNTHETIC_PAIRS)}"
        )
    drawn = sample(SYNTHETIC_PAIRS[split], split="valid" if split == "val" else split)
    if pair == "en-trees":
        return tree_pairs([read_tree(each.tree) for each in drawn], "synthetic")
    english, german = [each.source for each in drawn], [each.target for each in drawn]
    return Pairs(english, german) if pair == "en-de" else Pairs(german, english)


# book/3-workshop/02-corpora.ipynb, cell tree-pairs
def tree_pairs(trees: list[Tree], name: str) -> Pairs:
    """Trees as text, and their words, with spaces between all of them."""
    sources = [" ".join(map(plain, tree.words())) for tree in trees]
    targets = [linearise(tree) for tree in trees]
    return Pairs(sources, targets, f"{name} words", f"{name} trees")


def treebank_pairs(pair: str, split: str) -> Pairs:
    """The Penn Treebank's sentences and trees, from the folder $AIAYN_PTB.

    Raises
    ------
    InputError
        If there is no such folder or split, or a file is at fault.
    """
    if pair != "en-trees" or split not in SECTIONS:
        available = f"the pair is en-trees, splits are {', '.join(SECTIONS)}"
        raise InputError(f"ptb has no {pair} {split}: {available}")
    folder = os.environ.get("AIAYN_PTB", "")
    if not os.path.isdir(folder):
        name_it = "let it name the folder that holds the Penn Treebank"
        raise InputError(f"AIAYN_PTB={folder!r}: {name_it}")
    return tree_pairs(treebank(Path(folder), split), folder)


def trees_of(pairs: Pairs) -> Iterator[Tree]:
    """The trees of a corpus of sentences and trees, one after another.

    Raises
    ------
    InputError
        If a line of its target is not the tree of the same line of its source.
    """
    both = zip(pairs.source, pairs.target, strict=True)
    for number, (source, target) in enumerate(both, start=1):
        try:
            yield delinearise(target, source.split())
        except IllFormed as error:
            raise InputError(
                f"{pairs.target_name}, line {number}: no tree ({error}) of the same "
                f"line of {pairs.source_name}; mend it, or remove the pair"
            ) from None
