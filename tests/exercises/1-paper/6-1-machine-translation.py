"""Answers to the exercises of chapter 6.1."""


# %% exercise 1, right: by logarithms of the penalty, rounded
def crossover(one, other):
    (a, n), (b, m) = one, other
    weight = math.log(length_penalty(n, 1)) - math.log(length_penalty(m, 1))
    return round((math.log(-a) - math.log(-b)) / weight, 4)


# %% exercise 1, wrong: forgets the 5 of the penalty
def crossover(one, other):
    (a, n), (b, m) = one, other
    return math.log(a / b) / math.log(n / m)


# %% exercise 1, wrong: divides before it takes the logarithms
def crossover(one, other):
    (a, n), (b, m) = one, other
    return math.log((a / b) / ((5 + n) / (5 + m)))


# %% exercise 1, wrong: the lengths the wrong way round
def crossover(one, other):
    (a, n), (b, m) = one, other
    return math.log(a / b) / math.log((5 + m) / (5 + n))


# %% exercise 1, wrong: the paper's value
def crossover(one, other):
    return 0.6


# %% exercise 2, right: sorts, and uses another trap
def greedy(next_log_p, end, limit):
    words = []
    for _ in range(limit):
        words.append(
            sorted(next_log_p(tuple(words)).items(), key=lambda item: -item[1])[0][0]
        )
        if words[-1] == end:
            break
    return words


TRAP = {
    "": {"a": 0.4, "b": 0.35, "c": 0.25},
    "a": {"d": 0.4, "e": 0.3, "f": 0.3},
    "b": {"e": 0.5, "f": 0.5},
    "c": {"e": 0.5, "f": 0.5},
    "d": {"g": 1.0},
    **{word: {"g": 0.4, "h": 0.3, "i": 0.3} for word in "ef"},
    **{word: {".": 1.0} for word in "ghi"},
}


# %% exercise 2, wrong: one word too many
def greedy(next_log_p, end, limit):
    words = ()
    while len(words) <= limit and end not in words:
        following = next_log_p(words)
        words = (*words, max(following, key=following.get))
    return words


TRAP = FOLLOWS


# %% exercise 2, wrong: takes the unlikeliest
def greedy(next_log_p, end, limit):
    words = ()
    while len(words) < limit and end not in words:
        following = next_log_p(words)
        words = (*words, min(following, key=following.get))
    return words


TRAP = FOLLOWS


# %% exercise 2, wrong: leaves the end out
def greedy(next_log_p, end, limit):
    words = ()
    while len(words) < limit:
        following = next_log_p(words)
        word = max(following, key=following.get)
        if word == end:
            break
        words = (*words, word)
    return words


TRAP = FOLLOWS


# %% exercise 2, wrong: knows no limit but that of the check's models
def greedy(next_log_p, end, limit):
    words = ()
    while len(words) < 10 and end not in words:
        following = next_log_p(words)
        words = (*words, max(following, key=following.get))
    return words


TRAP = FOLLOWS


# %% exercise 2, wrong: a table that is no trap
def greedy(next_log_p, end, limit):
    words = ()
    while len(words) < limit and end not in words:
        following = next_log_p(words)
        words = (*words, max(following, key=following.get))
    return words


TRAP = {
    "": {"Der": 0.6, "Die": 0.4},
    **{article: {"Hund": 0.5, "Kuchen": 0.5} for article in ("Der", "Die")},
    **{noun: {"schläft": 1.0} for noun in ("Hund", "Kuchen")},
    "schläft": {".": 1.0},
}


# %% exercise 2, wrong: a table whose rows do not add up to one
def greedy(next_log_p, end, limit):
    words = ()
    while len(words) < limit and end not in words:
        following = next_log_p(words)
        words = (*words, max(following, key=following.get))
    return words


TRAP = {"": {"a": 0.5, "b": 0.4}, "a": {".": 0.1}, "b": {".": 1.0}}


# %% exercise 3, right: counts a BLEU that has no value as 0
def mean_bleu(translations, references):
    total = 0.0
    for translation, reference in zip(translations, references, strict=True):
        try:
            total += bleu_by_hand([translation], [reference])
        except ValueError:
            pass
    return total / len(references)


# %% exercise 3, right: lets the error through
def mean_bleu(translations, references):
    both = zip(translations, references, strict=True)
    return math.fsum(bleu_by_hand([t], [r]) for t, r in both) / len(translations)


# %% exercise 3, wrong: BLEU of the whole
def mean_bleu(translations, references):
    return bleu_by_hand(translations, references)


# %% exercise 3, wrong: adds up and does not divide
def mean_bleu(translations, references):
    return sum(
        bleu_by_hand([t], [r]) for t, r in zip(translations, references, strict=True)
    )


# %% exercise 3, wrong: leaves a sentence that has no value out of the mean
def mean_bleu(translations, references):
    scores = []
    for translation, reference in zip(translations, references, strict=True):
        try:
            scores.append(bleu_by_hand([translation], [reference]))
        except ValueError:
            continue
    return sum(scores) / len(scores)


# %% exercise 3, wrong: a share in place of a percentage
def mean_bleu(translations, references):
    scores = [
        bleu_by_hand([t], [r]) for t, r in zip(translations, references, strict=True)
    ]
    return sum(scores) / len(scores) / 100
