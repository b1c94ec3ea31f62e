"""Answers to the exercises of "The training API"."""

from functools import cache

from aiayn.synthetic import sample


# In place of the chapter's cell, which goes on to train; drawn once for all answers.
@cache
def some(n, seed, split):
    return [(each.source, each.target) for each in sample(n, seed, split)]


# %% exercise 1, right: counts those that do not leak
def leaked(kept, held):
    new = [line for line in held.source if line not in frozenset(kept.source)]
    return 1 - len(new) / len(held.source)


# %% exercise 1, wrong: of those that are trained on
def leaked(kept, held):
    known = set(held.source)
    return sum(source in known for source in kept.source) / len(kept)


# %% exercise 1, wrong: compares pairs
def leaked(kept, held):
    known = set(zip(kept.source, kept.target, strict=True))
    both = list(zip(held.source, held.target, strict=True))
    return sum(pair in known for pair in both) / len(both)


# %% exercise 1, wrong: compares targets
def leaked(kept, held):
    known = set(kept.target)
    return sum(target in known for target in held.target) / len(held)


# %% exercise 1, wrong: different sentences in place of lines
def leaked(kept, held):
    return len(set(kept.source) & set(held.source)) / len(set(held.source))


# %% exercise 1, wrong: a percentage
def leaked(kept, held):
    known = set(kept.source)
    return 100 * sum(source in known for source in held.source) / len(held)


# %% exercise 1, wrong: the number
def leaked(kept, held):
    known = set(kept.source)
    return sum(source in known for source in held.source)


# %% exercise 2, right: doubles, then halves the distance
def steps_until(share, warmup):
    low = high = float(warmup)
    while (warmup / high) ** 0.5 > share:
        high *= 2
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if (warmup / middle) ** 0.5 > share else (low, middle)
        )
    return high


# %% exercise 2, wrong: falls as one over the step
def steps_until(share, warmup):
    return warmup / share


# %% exercise 2, wrong: counts from the end of the warm-up
def steps_until(share, warmup):
    return warmup / share**2 - warmup


# %% exercise 2, wrong: the step before the peak
def steps_until(share, warmup):
    return share * warmup


# %% exercise 2, wrong: forgets the warm-up
def steps_until(share, warmup):
    return 1 / share**2


# %% exercise 2, wrong: the warm-up of small, always
def steps_until(share, warmup):
    return 800 / share**2


# %% exercise 2, wrong: the square of the share in place of one over it
def steps_until(share, warmup):
    return warmup * (1 + share**2)
