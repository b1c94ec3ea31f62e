"""Answers to the exercises of "The corpus"."""

from functools import cache


@cache
def drafts(n, seed):  # drawn once, not for each answer
    draw = Draw(seed)
    return [Draft(compose(draw, long=False)) for _ in range(n)]


# %% exercise 1, right: a loop, and a dictionary of texts
def careless(n, seed):
    draw, found = Draw(seed), []
    while len(found) < n:
        found.append(Draft(compose(draw, False)))
    return found


def leaked(train, test):
    seen = dict.fromkeys(draft.text for draft in train)
    return list(filter(lambda draft: draft.text in seen, test))


# %% exercise 1, wrong: new dice for each sentence
def careless(n, seed):
    return [Draft(compose(Draw(seed), long=False)) for _ in range(n)]


def leaked(train, test):
    seen = {draft.text for draft in train}
    return [draft for draft in test if draft.text in seen]


# %% exercise 1, wrong: compares the drafts themselves
def careless(n, seed):
    return drafts(n, seed)


def leaked(train, test):
    seen = set(train)
    return [draft for draft in test if draft in seen]


# %% exercise 1, wrong: counts each sentence once
def careless(n, seed):
    return drafts(n, seed)


def leaked(train, test):
    return {draft.text for draft in train} & {draft.text for draft in test}


# %% exercise 1, wrong: looks up the training in the test
def careless(n, seed):
    return drafts(n, seed)


def leaked(train, test):
    seen = {draft.text for draft in test}
    return [draft for draft in train if draft.text in seen]


# %% exercise 1, wrong: drops what is not for training
def careless(n, seed):
    return [draft for draft in drafts(n, seed) if split_of(draft) == "train"]


def leaked(train, test):
    seen = {draft.text for draft in train}
    return [draft for draft in test if draft.text in seen]


# %% exercise 2, right: by the last four bits
def part_of(text):
    names = ["test"] * 4 + ["valid"] * 2 + ["pronouns"] * 2 + ["train"] * 8
    return names[zlib.crc32(text.encode()) & 15]


# %% exercise 2, wrong: leaves the adjective out
def part_of(text):
    part = zlib.crc32(re.sub(r"\b(too|so) \w+", "", text).encode()) % 16
    return ("test", "test", "valid", "pronouns")[part // 2] if part < 8 else "train"


# %% exercise 2, wrong: nothing for training
def part_of(text):
    part = zlib.crc32(text.encode()) % 8
    return ("test", "test", "valid", "pronouns")[part // 2]


# %% exercise 2, wrong: one value for each name
def part_of(text):
    part = zlib.crc32(text.encode()) % 16
    return ("test", "test", "valid", "pronouns")[part] if part < 4 else "train"


# %% exercise 2, wrong: the test no larger than the others
def part_of(text):
    part = zlib.crc32(text.encode()) % 16
    return ("test", "valid", "pronouns")[part // 2] if part < 6 else "train"


# %% exercise 2, wrong: forgets to encode (TypeError)
def part_of(text):
    part = zlib.crc32(text) % 16
    return ("test", "test", "valid", "pronouns")[part // 2] if part < 8 else "train"
