"""Answers to the exercises of chapter 6.3."""

from types import SimpleNamespace

from aiayn.data.trees import Tree, linearise, read_tree
from aiayn.parsing import Parse
from aiayn.synthetic import sample

# In place of the trained parser and of what it found: golds, and made-up parses.
gold_of = {
    split: [read_tree(pair.tree) for pair in sample(60, split=split)]
    for split in ("test", "long")
}


def made_up(tree, score):
    return Parse(tree, "" if tree is None else linearise(tree), score, 9 * score)


def n_best(sentences, beam):
    """Of four sentences the right tree is first, second, and twice missing."""
    found = []
    for place, gold in enumerate(gold_of["long"][: len(sentences)]):
        others = [Tree(label, gold.children) for label in ("X", "Y", "Z", "W")]
        chosen = [[gold, *others], [others[0], gold, others[1]], others, others][
            place % 4
        ][:beam]
        found.append([made_up(tree, -1.0 - rank) for rank, tree in enumerate(chosen)])
    return found


parser = SimpleNamespace(n_best=n_best)
results = {
    ("test", "constrained"): [made_up(gold, -1.0) for gold in gold_of["test"]],
    ("test", "free"): [made_up(gold, -1.0) for gold in gold_of["test"]],
}


# %% exercise 1, right: compares the brackets, one after the other
def rank(gold, parses):
    for place, parse in enumerate(parses, start=1):
        if str(parse.tree) == str(gold):
            return place
    return None


# %% exercise 1, wrong: counts from 0
def rank(gold, parses):
    return next(
        (place for place, parse in enumerate(parses) if parse.tree == gold), None
    )


# %% exercise 1, wrong: compares parses with a tree
def rank(gold, parses):
    return list(parses).index(gold) + 1 if gold in parses else None


# %% exercise 1, wrong: 0 where it is not
def rank(gold, parses):
    return sum(
        place for place, parse in enumerate(parses, start=1) if parse.tree == gold
    )


# %% exercise 1, wrong: looks at the first alone
def rank(gold, parses):
    return 1 if parses and parses[0].tree == gold else None


# %% exercise 1, wrong: counts from the last
def rank(gold, parses):
    trees = [parse.tree for parse in reversed(parses)]
    return trees.index(gold) + 1 if gold in trees else None


# %% exercise 1, wrong: an error where it is not (ValueError)
def rank(gold, parses):
    return [parse.tree for parse in parses].index(gold) + 1


# %% exercise 2, right: looks for one that is worse
def never_worse(constrained, free):
    for mine, other in zip(constrained, free, strict=True):
        if other.tree is not None and other.score - mine.score > 1e-4:
            return False
    return True


# %% exercise 2, wrong: skips nothing
def never_worse(constrained, free):
    return all(
        a.score >= b.score - 1e-4 for a, b in zip(constrained, free, strict=True)
    )


# %% exercise 2, wrong: allows no rounding
def never_worse(constrained, free):
    both = zip(constrained, free, strict=True)
    return all(a.score >= b.score for a, b in both if b.tree is not None)


# %% exercise 2, wrong: the wrong way round
def never_worse(constrained, free):
    both = zip(constrained, free, strict=True)
    return all(b.score >= a.score - 1e-4 for a, b in both if b.tree is not None)


# %% exercise 2, wrong: looks at the last alone
def never_worse(constrained, free):
    return free[-1].tree is None or constrained[-1].score >= free[-1].score - 1e-4


# %% exercise 2, wrong: one that is not worse is enough
def never_worse(constrained, free):
    both = zip(constrained, free, strict=True)
    return any(a.score >= b.score - 1e-4 for a, b in both if b.tree is not None)


# %% exercise 2, wrong: on average
def never_worse(constrained, free):
    both = [
        (a.score, b.score)
        for a, b in zip(constrained, free, strict=True)
        if b.tree is not None
    ]
    return sum(a for a, _ in both) >= sum(b for _, b in both) - 1e-4 * len(both)
