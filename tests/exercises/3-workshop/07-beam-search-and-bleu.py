"""Answers to the exercises of "Beam search and BLEU"."""


# %% exercise 1, right: keeps the maxima of each block beside it
def largest(row, k, size):
    blocks = [row[start : start + size] for start in range(0, len(row), size)]
    least = sort([max(block) for block in blocks])[:k][-1]
    kept = [value for block in blocks if max(block) >= least for value in block]
    return sort(kept)[:k]


# %% exercise 1, wrong: sorts everything
def largest(row, k, size):
    return sort(row)[:k]


# %% exercise 1, wrong: takes the greatest of each block
def largest(row, k, size):
    return sort([max(row[start : start + size]) for start in range(0, len(row), size)])[
        :k
    ]


# %% exercise 1, wrong: keeps one block too few
def largest(row, k, size):
    blocks = [row[start : start + size] for start in range(0, len(row), size)]
    maxima = sort([(max(block), place) for place, block in enumerate(blocks)])
    return sort([value for _, place in maxima[: k - 1] for value in blocks[place]])[:k]


# %% exercise 1, wrong: forgets the last block, which is smaller
def largest(row, k, size):
    blocks = [
        row[start : start + size] for start in range(0, len(row) - size + 1, size)
    ]
    maxima = sort([(max(block), place) for place, block in enumerate(blocks)])
    return sort([value for _, place in maxima[:k] for value in blocks[place]])[:k]


# %% exercise 1, wrong: rising order
def largest(row, k, size):
    blocks = [row[start : start + size] for start in range(0, len(row), size)]
    maxima = sort([(max(block), place) for place, block in enumerate(blocks)])
    return sort([value for _, place in maxima[:k] for value in blocks[place]])[:k][::-1]


# %% exercise 2, right: the difference of two means
def interval(one, other, draws):
    def mean(scores, draw):
        return math.fsum(scores[row] for row in draw) / len(draw)

    gains = sorted(mean(one, draw) - mean(other, draw) for draw in draws)
    cut = int(0.025 * len(draws))
    kept = gains[cut : len(gains) - cut]
    return kept[0], kept[-1]


# %% exercise 2, wrong: draws the systems independently
def interval(one, other, draws):
    pairs = zip(draws, draws[::-1], strict=True)
    gains = sorted(
        sum(one[row] for row in a) / len(a) - sum(other[row] for row in b) / len(b)
        for a, b in pairs
    )
    cut = int(0.025 * len(gains))
    return gains[cut], gains[len(gains) - 1 - cut]


# %% exercise 2, wrong: the other way round
def interval(one, other, draws):
    gains = sorted(
        sum(other[row] - one[row] for row in draw) / len(draw) for draw in draws
    )
    cut = int(0.025 * len(gains))
    return gains[cut], gains[len(gains) - 1 - cut]


# %% exercise 2, wrong: leaves out nothing
def interval(one, other, draws):
    gains = [sum(one[row] - other[row] for row in draw) / len(draw) for draw in draws]
    return min(gains), max(gains)


# %% exercise 2, wrong: leaves out 5% at each end
def interval(one, other, draws):
    gains = sorted(
        sum(one[row] - other[row] for row in draw) / len(draw) for draw in draws
    )
    cut = int(0.05 * len(gains))
    return gains[cut], gains[len(gains) - 1 - cut]


# %% exercise 2, wrong: sums in place of means
def interval(one, other, draws):
    gains = sorted(sum(one[row] - other[row] for row in draw) for draw in draws)
    cut = int(0.025 * len(gains))
    return gains[cut], gains[len(gains) - 1 - cut]
