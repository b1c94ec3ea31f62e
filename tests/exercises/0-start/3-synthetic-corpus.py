"""Answers to the exercises of "The synthetic corpus"."""

from functools import cache

sample = cache(sample)  # drawn once, not for each answer


# %% exercise 1, right: without min
def guesses(first, second):
    pronoun, one = first.coreference[0]
    other = second.coreference[0][1]
    near = one if abs(pronoun - one) < abs(pronoun - other) else other
    front = one if one < other else other
    return [(near == noun, front == noun) for noun in (one, other)]


# %% exercise 1, wrong: the nearest to the start
def guesses(first, second):
    one, other = first.coreference[0][1], second.coreference[0][1]
    return [
        (min(one, other) == one, max(one, other) == one),
        (min(one, other) == other, max(one, other) == other),
    ]


# %% exercise 1, wrong: takes the later noun for the nearest
def guesses(first, second):
    one, other = first.coreference[0][1], second.coreference[0][1]
    return [(max(one, other) == noun, min(one, other) == noun) for noun in (one, other)]


# %% exercise 1, wrong: forgets the absolute value
def guesses(first, second):
    pronoun, one = first.coreference[0]
    other = second.coreference[0][1]
    near = min((one, other), key=lambda noun: noun - pronoun)
    return [(near == noun, min(one, other) == noun) for noun in (one, other)]


# %% exercise 1, wrong: the first noun before the nearest
def guesses(first, second):
    pronoun, one = first.coreference[0]
    other = second.coreference[0][1]
    near = min((one, other), key=lambda noun: abs(noun - pronoun))
    return [(min(one, other) == noun, near == noun) for noun in (one, other)]


# %% exercise 2, right: looks at every two links
def in_order(pair):
    return not any(
        i < k and j > m for i, j in pair.alignment for k, m in pair.alignment
    )


# %% exercise 2, wrong: says when they cross
def in_order(pair):
    german = [j for _, j in pair.alignment]
    return german != sorted(german)


# %% exercise 2, wrong: two links to one word cross
def in_order(pair):
    german = [j for _, j in pair.alignment]
    return all(a < b for a, b in zip(german, german[1:], strict=False))


# %% exercise 2, wrong: word by word at the same place
def in_order(pair):
    return all(i == j for i, j in pair.alignment)


# %% exercise 2, wrong: looks at the English side
def in_order(pair):
    return [i for i, _ in pair.alignment] == sorted(i for i, _ in pair.alignment)
