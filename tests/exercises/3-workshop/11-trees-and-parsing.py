"""Answers to the exercises of "Trees and parsing"."""


# %% exercise 1, right: counts the brackets of the treebank's form
def tokens_of(tree):
    words = len(tree.words())
    return words + 2 * (str(tree).count("(") - words)


# %% exercise 1, right: goes down the tree
def tokens_of(tree):
    return 2 + sum(
        1 if isinstance(child, Leaf) else tokens_of(child) for child in tree.children
    )


# %% exercise 1, wrong: forgets the outermost constituent
def tokens_of(tree):
    def inner(tree):
        below = [child for child in tree.children if isinstance(child, Tree)]
        return len(below) + sum(map(inner, below))

    return len(tree.words()) + 2 * inner(tree)


# %% exercise 1, wrong: one bracket for each constituent
def tokens_of(tree):
    def constituents(tree):
        return 1 + sum(
            constituents(child) for child in tree.children if isinstance(child, Tree)
        )

    return len(tree.words()) + constituents(tree)


# %% exercise 1, wrong: takes words for constituents
def tokens_of(tree):
    return len(tree.words()) + 2 * str(tree).count("(")


# %% exercise 1, wrong: always one constituent fewer than words
def tokens_of(tree):
    words = len(tree.words())
    return words + 2 * (words - 1)


# %% exercise 1, wrong: a chain counts once
def tokens_of(tree):
    def constituents(tree):
        only = len(tree.children) == 1 and isinstance(tree.children[0], Tree)
        below = sum(
            constituents(child) for child in tree.children if isinstance(child, Tree)
        )
        return below + (not only)

    return len(tree.words()) + 2 * constituents(tree)


# %% exercise 2, right: takes away innermost brackets until nothing is left
def is_tree(tokens, words):
    if sum(token[0] == LEFT and token[-1] == RIGHT for token in tokens) != words:
        return False
    rest = [
        "." if token[0] == LEFT and token[-1] == RIGHT else token for token in tokens
    ]
    while len(rest) > 1:
        close = next((k for k, token in enumerate(rest) if token[-1] == RIGHT), None)
        if close is None:
            return False
        start = next((k for k in range(close - 1, -1, -1) if rest[k] != "."), None)
        if start is None or start == close - 1 or rest[start][1:] != rest[close][:-1]:
            return False
        if start == 0 and close == len(rest) - 1:
            return True
        rest[start : close + 1] = ["."]
    return False


# %% exercise 2, wrong: counts brackets and forgets their labels
def is_tree(tokens, words):
    depth = tags = 0
    for place, token in enumerate(tokens):
        if token[0] == LEFT and token[-1] == RIGHT:
            tags += 1
        elif token[0] == LEFT:
            depth += 1
        else:
            depth -= 1
            if tokens[place - 1][0] == LEFT and tokens[place - 1][-1] != RIGHT:
                return False
        if depth < 0 or (depth == 0 and place < len(tokens) - 1):
            return False
    return depth == 0 and tags == words and len(tokens) > 1


# %% exercise 2, wrong: lets a bracket be empty
def is_tree(tokens, words):
    due, tags = [], 0
    for place, token in enumerate(tokens):
        if place and not due:
            return False
        if token[0] == LEFT and token[-1] == RIGHT:
            tags += 1
        elif token[0] == LEFT:
            due.append(token[1:])
        elif not due or token[:-1] != due.pop():
            return False
    return len(tokens) > 1 and not due and tags == words


# %% exercise 2, wrong: does not count the words
def is_tree(tokens, words):
    try:
        delinearise(
            " ".join(tokens),
            ["word"] * sum(t[0] == LEFT and t[-1] == RIGHT for t in tokens),
        )
    except IllFormed:
        return False
    return True


# %% exercise 2, wrong: takes two trees for one
def is_tree(tokens, words):
    due, tags, before = [], 0, LEFT
    for token in tokens:
        if token[0] == LEFT and token[-1] == RIGHT:
            tags += 1
            if not due:
                return False
        elif token[0] == LEFT:
            due.append(token[1:])
        elif (
            (before[0] == LEFT and before[-1] != RIGHT)
            or not due
            or token[:-1] != due.pop()
        ):
            return False
        before = token
    return not due and tags == words


# %% exercise 2, wrong: leaves brackets open at the end
def is_tree(tokens, words):
    due, tags, before = [], 0, LEFT
    for place, token in enumerate(tokens):
        if place and not due:
            return False
        if token[0] == LEFT and token[-1] == RIGHT:
            tags += 1
        elif token[0] == LEFT:
            due.append(token[1:])
        elif (before[0] == LEFT and before[-1] != RIGHT) or token[:-1] != due.pop():
            return False
        before = token
    return tags == words
