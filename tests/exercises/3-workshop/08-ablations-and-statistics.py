"""Answers to the exercises of "Ablations and statistics"."""


# %% exercise 1, right: squares both sides
def seeds_needed(reach, spread):
    ns = range(2, 100_000)
    return next(
        n for n in ns if n * reach**2 >= (stats.t.isf(0.025, n - 1) * spread) ** 2
    )


# %% exercise 1, wrong: the normal distribution's 1.96
def seeds_needed(reach, spread):
    return max(2, math.ceil((1.96 * spread / reach) ** 2))


# %% exercise 1, wrong: n degrees of freedom
def seeds_needed(reach, spread):
    n = 2
    while stats.t.ppf(0.975, n) * spread / n**0.5 > reach:
        n += 1
    return n


# %% exercise 1, wrong: one side of the interval
def seeds_needed(reach, spread):
    n = 2
    while stats.t.ppf(0.95, n - 1) * spread / n**0.5 > reach:
        n += 1
    return n


# %% exercise 1, wrong: forgets the spread
def seeds_needed(reach, spread):
    n = 2
    while stats.t.ppf(0.975, n - 1) * 0.35 / n**0.5 > reach:
        n += 1
    return n


# %% exercise 1, wrong: begins with one seed
def seeds_needed(reach, spread):
    n = 1
    while stats.t.ppf(0.975, n - 1) * spread / n**0.5 > reach:
        n += 1
    return n


# %% exercise 1, wrong: forgets the root
def seeds_needed(reach, spread):
    n = 2
    while stats.t.ppf(0.975, n - 1) * spread / n > reach:
        n += 1
    return n


# %% exercise 2, right: the largest product among the values that are not larger
def adjusted(values):
    def level(u):
        return u * sum(w >= u for w in values)

    return [min(1.0, max(level(u) for u in values if u <= v)) for v in values]


# %% exercise 2, wrong: all are multiplied by their number
def adjusted(values):
    return [min(1.0, len(values) * v) for v in values]


# %% exercise 2, wrong: does not wait for smaller ones
def adjusted(values):
    order = sorted(range(len(values)), key=lambda k: values[k])
    return [min(1.0, v * (len(values) - order.index(k))) for k, v in enumerate(values)]


# %% exercise 2, wrong: above 1
def adjusted(values):
    return [
        max(u * sum(w >= u for w in values) for u in values if u <= v) for v in values
    ]


# %% exercise 2, wrong: in rising order
def adjusted(values):
    levels, level = [], 0.0
    for rank, v in enumerate(sorted(values)):
        level = max(level, v * (len(values) - rank))
        levels.append(min(1.0, level))
    return levels


# %% exercise 2, wrong: the rate of false discoveries
def adjusted(values):
    m = len(values)
    return [
        min(w * m / sum(u <= w for u in values) for w in values if w >= v)
        for v in values
    ]


# %% exercise 2, wrong: begins one lower
def adjusted(values):
    levels, level = [0.0] * len(values), 0.0
    order = sorted(range(len(values)), key=lambda k: values[k])
    for rank, k in enumerate(order, start=1):
        level = max(level, values[k] * (len(values) - rank))
        levels[k] = min(1.0, level)
    return levels
