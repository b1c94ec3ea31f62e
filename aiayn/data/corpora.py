"""Parallel corpora, by name or by folder.

From "Corpora" (paper, section 5.1):
https://github.com/OWNER/aiayn/blob/main/book/3-workshop/02-corpora.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/3-workshop/02-corpora.ipynb, cell imports
import hashlib
import os
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from aiayn.data.io import cache_folder, read_bytes, write_atomically
from aiayn.data.lines import Lines, check_not_blank, decompressed, sentence_list
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
from aiayn.errors import InputError, NotFetched
from aiayn.synthetic.corpus import sample


# book/3-workshop/02-corpora.ipynb, cell pairs
@dataclass(frozen=True)
class Pairs:
    """Sentences and their translations.

    Attributes
    ----------
    source, target : sequence of str
        Line by line the same sentence in two languages: lists, or `Lines` of files.
    source_name, target_name : str
        Where they come from, for messages.
    """

    source: Sequence[str]
    target: Sequence[str]
    source_name: str = "source"
    target_name: str = "target"

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
        among = f"{number:,} of {len(other):,} sentences are in {train.source_name}"
        yield f"{other.source_name}: {among} too; scores on them say little"
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
        `multi30k`, `wmt14`, `synthetic`, `ptb` (the Penn Treebank), or a folder with
        files such as `train.en` and `train.de`, plain or .gz.
    pair : str
        Languages, source first: `en-de`; `en-trees` for sentences and their trees.
    split : str
        `train`, `val`; of Multi30k also `test_2016_flickr`; of WMT14 `newstest2013`
        (its `val`), `newstest2014` (its `test`) and `newstest2014-filtered`; of the
        synthetic corpus `test`, `long`, `novel`, `pronouns`, of the treebank `test`;
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
    if name == "wmt14":
        paths = wmt14_files(pair, split)
    else:
        find = multi30k_file if name == "multi30k" else folder_file
        if name == "multi30k":  # before anything is fetched
            multi30k_checksums(split, languages)
        paths = [find(name, split, language) for language in languages]
    source, target = (Lines(decompressed(path), str(path)) for path in paths)
    return Pairs(source, target, *map(str, paths))


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


# book/3-workshop/02-corpora.ipynb, cell multi30k
MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
_CHECKSUMS = """\
train.en d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f
train.de 726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6
train.fr 622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c
val.en 14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28
val.de f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a
val.fr ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9
test_2016_flickr.en 611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9
test_2016_flickr.de 9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8
test_2016_flickr.fr 6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90
"""
MULTI30K_SHA256 = dict(line.split() for line in _CHECKSUMS.splitlines())


# book/3-workshop/02-corpora.ipynb, cell checked-download
def check_sha256(content: bytes, expected: str, name: str) -> None:
    """Refuse content that is not what was published.

    Raises
    ------
    InputError
        If the checksum differs.
    """
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        wrong = f"{name}: SHA-256 is {actual}, not {expected}"
        raise InputError(f"{wrong}; delete it and fetch it again")


def download(url: str, path: Path, sha256: str) -> None:
    """Fetch a file, check it, and only then give it its name.

    Raises
    ------
    InputError
        If there is no network, or the content is not what was expected.
    """
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            content = response.read()
    except (OSError, HTTPException) as error:  # the latter if it breaks off halfway
        wrong = f"{url}: cannot be fetched ({error})"
        put = f"fetch it elsewhere and put it at {path}, or set AIAYN_DATA"
        raise NotFetched(f"{wrong}; {put}") from None
    check_sha256(content, sha256, url)
    write_atomically(path, content)


# book/3-workshop/02-corpora.ipynb, cell find-files
def multi30k_checksums(split: str, languages: list[str]) -> list[str]:
    """Checksums of a split in some languages.

    Raises
    ------
    InputError
        If it has no such split or language.
    """
    names = [f"{split}.{language}" for language in languages]
    missing = [name for name in names if name not in MULTI30K_SHA256]
    if missing:
        splits = dict.fromkeys(key.rpartition(".")[0] for key in MULTI30K_SHA256)
        available = f"splits are {', '.join(splits)}; languages en, de, fr"
        raise InputError(f"multi30k has no {missing[0]}: {available}")
    return [MULTI30K_SHA256[name] for name in names]


def multi30k_file(name: str, split: str, language: str) -> Path:
    """A checked file of Multi30k: under $AIAYN_DATA, in the cache, or fetched now."""
    (expected,) = multi30k_checksums(split, [language])
    data = os.environ.get("AIAYN_DATA")
    for folder in [*([Path(data)] if data else []), cache_folder()]:
        path = folder / name / f"{split}.{language}.gz"
        if os.path.exists(path):
            check_sha256(read_bytes(path), expected, str(path))
            return path
    download(f"{MULTI30K}/{split}.{language}.gz", path, expected)
    return path


def folder_file(name: str, split: str, language: str) -> Path:
    """The path of a user's own file, plain or .gz; an InputError if there is none."""
    for ending in ("", ".gz"):
        path = Path(name, f"{split}.{language}{ending}")
        if os.path.exists(path) and not os.path.isdir(path):
            return path
    raise InputError(
        f"{name}: neither the name of a corpus (multi30k, wmt14, synthetic, ptb) "
        f"nor a folder with {split}.{language} or {split}.{language}.gz"
    )
