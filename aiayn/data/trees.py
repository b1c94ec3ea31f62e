# Made by `make export` from book/3-workshop/11-trees-and-parsing.ipynb
"""Trees in Penn Treebank brackets, and their form as a sequence of tokens."""

# book/3-workshop/11-trees-and-parsing.ipynb, cell trees-imports
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from aiayn.data.io import read_bytes
from aiayn.data.lines import decode_lines
from aiayn.errors import InputError


# book/3-workshop/11-trees-and-parsing.ipynb, cell tree
class Leaf(NamedTuple):
    """A word and its part of speech."""

    tag: str
    word: str

    def __str__(self) -> str:
        return f"({self.tag} {self.word})"


@dataclass(frozen=True)
class Tree:
    """A constituent; as a string, in Penn Treebank brackets."""

    label: str  # what kind of constituent it is, such as NP
    children: tuple["Tree | Leaf", ...]  # what it consists of, at least one

    def __str__(self) -> str:
        return f"({self.label} {' '.join(map(str, self.children))})"

    def leaves(self) -> Iterator[Leaf]:
        """Its words with their parts of speech, from left to right."""
        for child in self.children:
            if isinstance(child, Leaf):
                yield child
            else:
                yield from child.leaves()

    def words(self) -> list[str]:
        """Its words, from left to right."""
        return [leaf.word for leaf in self.leaves()]


# book/3-workshop/11-trees-and-parsing.ipynb, cell read-trees
# So many brackets may be open at once; Python, which counts its calls, allows some 240.
MAX_DEPTH = 100


def read_trees(text: str, name: str) -> list[Tree]:
    """Read Penn Treebank brackets, however many lines; errors call the text `name`.

    Raises
    ------
    InputError
        If brackets do not match, one holds nothing, or text stands where none may.
    """
    trees: list[Tree] = []
    # for each open bracket its line, and what is in it
    pending: list[tuple[int, list[str | Leaf | Tree]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        for token in re.findall(r"[()]|[^\s()]+", line):
            if token == "(":
                pending.append((number, []))
                if len(pending) > MAX_DEPTH:
                    raise InputError(
                        f"{name}, line {pending[0][0]}: this bracket is not closed"
                        f" where {MAX_DEPTH} more are open; mend the file"
                    )
            elif not pending:
                raise InputError(
                    f"{name}, line {number}: {token!r} outside of all brackets;"
                    " mend the file"
                )
            elif token != ")":
                pending[-1][1].append(token)
            else:
                began, parts = pending.pop()
                place = f"{name}, line {began}"
                node = constituent(parts, outermost=not pending, place=place)
                if pending:
                    pending[-1][1].append(node)
                else:
                    trees.append(node if isinstance(node, Tree) else Tree("", (node,)))
    if pending:
        raise InputError(
            f"{name}, line {pending[0][0]}: this bracket is not closed; mend the file"
        )
    return trees


# book/3-workshop/11-trees-and-parsing.ipynb, cell constituent
def constituent(
    parts: list[str | Leaf | Tree], outermost: bool, place: str
) -> Tree | Leaf:
    """A pair of brackets: a label and constituents, or a part of speech and a word.

    Raises
    ------
    InputError
        If it is neither; the message names the `place`.
    """
    label, *rest = parts or [""]
    if isinstance(label, str) and len(rest) == 1 and isinstance(rest[0], str):
        return Leaf(label, rest[0])
    if not isinstance(label, str):
        if not outermost:
            raise InputError(
                f"{place}: a bracket without a label; is the one before it not closed?"
            )
        label, rest = "", parts  # the treebank puts such a bracket around each sentence
    if not rest:
        raise InputError(f"{place}: ({label}) holds nothing; mend the file")
    for part in rest:
        if isinstance(part, str):
            raise InputError(
                f"{place}: {part!r} stands in ({label} …) without brackets of its own"
            )
    return Tree(label, tuple(part for part in rest if not isinstance(part, str)))


def read_tree(text: str) -> Tree:
    """Read one tree in Penn Treebank brackets; else an InputError."""
    trees = read_trees(text, "tree")
    if len(trees) != 1:
        raise InputError(f"{len(trees)} trees, where one was expected")
    return trees[0]


# book/3-workshop/11-trees-and-parsing.ipynb, cell linearise
LEFT, RIGHT = "⟦", "⟧"


def plain(word: str) -> str:
    """A word as a source may have it, without the signs that mark a tree's tokens."""
    return word.replace(LEFT, "[").replace(RIGHT, "]")


def linearise(tree: Tree | Leaf) -> str:
    """A tree as a sentence: opening brackets, parts of speech and closing brackets."""
    if isinstance(tree, Leaf):
        return f"{LEFT}{tree.tag}{RIGHT}"
    inside = map(linearise, tree.children)
    return " ".join([f"{LEFT}{tree.label}", *inside, f"{tree.label}{RIGHT}"])


def tree_tokens(lines: Iterable[str], name: str) -> list[str]:
    """The different tokens of linearised trees, sorted; errors call the text `name`.

    Raises
    ------
    InputError
        If a line is something else than a linearised tree.
    """
    tokens: set[str] = set()
    for number, line in enumerate(lines, start=1):
        new = set(line.split()) - tokens
        for token in new:
            if not (token.startswith(LEFT) or token.endswith(RIGHT)):
                raise InputError(
                    f"{name}, line {number}: {token[:40]!r} is no part of a tree;"
                    " linearise the trees"
                )
        tokens |= new
    return sorted(tokens)


# book/3-workshop/11-trees-and-parsing.ipynb, cell delinearise
class IllFormed(ValueError):
    """No tree: brackets do not match, or hold nothing."""


class WrongLength(IllFormed):
    """A tree, but not one of so many words."""


def delinearise(text: str, words: Sequence[str]) -> Tree:
    """The tree of which `linearise` made this text, with its words.

    Raises
    ------
    IllFormed
        If there is no such tree; if there is, but for a different number of words,
        `WrongLength`.
    """
    tokens = text.split()
    tags = [
        token for token in tokens if token.startswith(LEFT) and token.endswith(RIGHT)
    ]
    given = iter([*words, *[""] * len(tags)])  # first of all, the brackets must match
    stack: list[tuple[str, list[Tree | Leaf]]] = [("", [])]
    for token in tokens:
        label = token.removeprefix(LEFT).removesuffix(RIGHT)
        if token == f"{LEFT}{label}{RIGHT}":
            stack[-1][1].append(Leaf(label, next(given)))
        elif token == f"{LEFT}{label}":
            stack.append((label, []))
            if len(stack) > MAX_DEPTH:  # with that of a word
                raise IllFormed(f"{MAX_DEPTH} brackets are open at once")
        elif len(stack) > 1 and token == f"{stack[-1][0]}{RIGHT}" and stack[-1][1]:
            _, children = stack.pop()
            stack[-1][1].append(Tree(label, tuple(children)))
        else:
            raise IllFormed(f"{token:.40} cannot follow here")
    roots = stack[0][1]
    if len(stack) > 1 or len(roots) != 1 or not isinstance(roots[0], Tree):
        raise IllFormed(
            f"{len(stack) - 1} brackets are open at the end,"
            f" {len(roots)} parts are whole"
        )
    if len(tags) != len(words):
        raise WrongLength(f"{len(tags)} parts of speech for {len(words)} words")
    return roots[0]


# book/3-workshop/11-trees-and-parsing.ipynb, cell cleaned
OUTER = ("", "TOP", "ROOT", "S1")


def pruned(node: Tree | Leaf) -> Tree | Leaf | None:
    """Without traces, what holds only these, and function tags; None if all is gone."""
    if isinstance(node, Leaf):
        return None if node.tag == "-NONE-" else node
    children = tuple(
        kept for child in node.children if (kept := pruned(child)) is not None
    )
    return Tree(re.split("[-=]", node.label)[0], children) if children else None


def cleaned(tree: Tree) -> Tree | None:
    """A tree as parsers learn it: pruned, without the bracket around; None if empty."""
    match pruned(tree):
        case Tree(label, (Tree() as only,)) if label in OUTER:
            return only
        case Tree(label, children) if label in OUTER:
            return Tree("TOP", children)
        case Tree() as kept:
            return kept
    return None


# book/3-workshop/11-trees-and-parsing.ipynb, cell treebank
SECTIONS = {"train": range(2, 22), "val": range(22, 23), "test": range(23, 24)}


def treebank(folder: Path, split: str) -> list[Tree]:
    """Trees of the Wall Street Journal, from the Penn Treebank's own files, cleaned.

    Parameters
    ----------
    folder : Path
        Somewhere in it are the files `wsj_NNNN.mrg`; the first two digits are the
        section.
    split : str
        `train` (sections 2 to 21), `val` (22) or `test` (23).

    Raises
    ------
    InputError
        If a section is missing, a file is there twice, or one cannot be read.
    """
    files: dict[int, list[Path]] = {section: [] for section in SECTIONS[split]}
    found = folder.rglob("wsj_[0-9][0-9][0-9][0-9].mrg")
    for path in sorted(found, key=lambda path: path.name):
        files.get(int(path.name[4:6]), []).append(path)
    for section, paths in files.items():
        if not paths:
            raise InputError(
                f"{folder}: no file wsj_{section:02}NN.mrg, which {split} needs"
            )
        for path, other in pairwise(paths):
            if path.name == other.name:
                raise InputError(f"{path} and {other} have one name; choose one folder")
    trees = []
    for path in (path for paths in files.values() for path in paths):
        text = "\n".join(decode_lines(read_bytes(path), str(path)))
        trees += [cleaned(tree) for tree in read_trees(text, str(path))]
    return [tree for tree in trees if tree is not None]
