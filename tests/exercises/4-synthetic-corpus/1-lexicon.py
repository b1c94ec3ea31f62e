"""Answers to the exercises of "Lexicon"."""


# %% exercise 1, right: by permutations
def compounds():
    from itertools import permutations

    pairs = permutations(NOUNS.values(), 2)
    return [
        pair
        for pair in pairs
        if pair[0].nominative.lower().endswith(pair[1].nominative.lower())
    ]


# %% exercise 1, wrong: each noun with itself
def compounds():
    nouns = list(NOUNS.values())
    return [
        (a, b)
        for a in nouns
        for b in nouns
        if a.nominative.lower().endswith(b.nominative.lower())
    ]


# %% exercise 1, wrong: capitals
def compounds():
    nouns = list(NOUNS.values())
    return [
        (a, b)
        for a in nouns
        for b in nouns
        if a is not b and a.nominative.endswith(b.nominative)
    ]


# %% exercise 1, wrong: anywhere in the word
def compounds():
    nouns = list(NOUNS.values())
    return [
        (a, b)
        for a in nouns
        for b in nouns
        if a is not b and b.nominative.lower() in a.nominative.lower()
    ]


# %% exercise 1, wrong: the part first
def compounds():
    nouns = list(NOUNS.values())
    found = [
        (a, b)
        for a in nouns
        for b in nouns
        if a.nominative.endswith(b.nominative.lower()) and a is not b
    ]
    return [(b, a) for a, b in found][:10]


# %% exercise 2, right: by conditions
def guess(noun):
    word = noun.nominative
    if word.endswith("chen"):
        return "n"
    return "f" if word.endswith(("e", "in", "ung")) else None


# %% exercise 2, wrong: capitals and lengths do not matter, -en for -chen
def guess(noun):
    word = noun.nominative
    return (
        "n"
        if word.endswith("en")
        else "f"
        if word.endswith(("e", "in", "ung"))
        else None
    )


# %% exercise 2, wrong: feminine for all others
def guess(noun):
    return "n" if noun.nominative.endswith("chen") else "f"


# %% exercise 2, wrong: forgets -ung and -in
def guess(noun):
    word = noun.nominative
    return "n" if word.endswith("chen") else "f" if word.endswith("e") else None


# %% exercise 2, wrong: looks it up
def guess(noun):
    return noun.gender if noun.nominative.endswith(("chen", "e", "in", "ung")) else None
