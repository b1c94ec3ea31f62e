"""Answers to the exercises of "Two grammars"."""


# %% exercise 1, right: takes each two once, the upper first
def crossings(pairs):
    pairs, count = sorted(pairs), 0
    for place, (i, j) in enumerate(pairs):
        count += len([1 for k, m in pairs[place:] if k > i and m < j])
    return count


# %% exercise 1, wrong: counts them twice
def crossings(pairs):
    return sum(
        (i < k and j > m) or (i > k and j < m) for i, j in pairs for k, m in pairs
    )


# %% exercise 1, wrong: two lines to one word cross
def crossings(pairs):
    return sum(
        i <= k and j >= m and (i, j) != (k, m) for i, j in pairs for k, m in pairs
    )


# %% exercise 1, wrong: lines between other places than their own
def crossings(pairs):
    return sum(i != j for i, j in pairs)


# %% exercise 1, wrong: compares neighbours
def crossings(pairs):
    lines = sorted(pairs)
    return sum(
        i < k and j > m for (i, j), (k, m) in zip(lines, lines[1:], strict=False)
    )


# %% exercise 1, wrong: takes the lines for sorted
def crossings(pairs):
    return sum(
        i < k and j > m
        for place, (i, j) in enumerate(pairs)
        for k, m in pairs[place + 1 :]
    )


# %% exercise 2, right: builds it part by part
def object_first(clause):
    finite, tail = verb_words(clause, last=False)
    words = list(noun_phrase(clause.object, clause.verb.case))
    words.append(finite)
    words += noun_phrase(clause.subject, "nom")
    words += middle_field(clause, clause.object)
    return words + list(tail)


# %% exercise 2, wrong: says the object again
def object_first(clause):
    finite, tail = verb_words(clause, last=False)
    front = noun_phrase(clause.object, clause.verb.case)
    return [
        *front,
        finite,
        *noun_phrase(clause.subject, "nom"),
        *middle_field(clause),
        *tail,
    ]


# %% exercise 2, wrong: the subject before the verb
def object_first(clause):
    finite, tail = verb_words(clause, last=False)
    front = noun_phrase(clause.object, clause.verb.case)
    return [
        *front,
        *noun_phrase(clause.subject, "nom"),
        finite,
        *middle_field(clause, clause.object),
        *tail,
    ]


# %% exercise 2, wrong: the object in the nominative
def object_first(clause):
    finite, tail = verb_words(clause, last=False)
    front = noun_phrase(clause.object, "nom")
    return [
        *front,
        finite,
        *noun_phrase(clause.subject, "nom"),
        *middle_field(clause, clause.object),
        *tail,
    ]


# %% exercise 2, wrong: every object in the accusative
def object_first(clause):
    finite, tail = verb_words(clause, last=False)
    front = noun_phrase(clause.object, "acc")
    return [
        *front,
        finite,
        *noun_phrase(clause.subject, "nom"),
        *middle_field(clause, clause.object),
        *tail,
    ]


# %% exercise 2, wrong: no middle
def object_first(clause):
    finite, tail = verb_words(clause, last=False)
    front = noun_phrase(clause.object, clause.verb.case)
    return [*front, finite, *noun_phrase(clause.subject, "nom"), *tail]


# %% exercise 2, wrong: forgets the tail
def object_first(clause):
    finite, _ = verb_words(clause, last=False)
    front = noun_phrase(clause.object, clause.verb.case)
    return [
        *front,
        finite,
        *noun_phrase(clause.subject, "nom"),
        *middle_field(clause, clause.object),
    ]
