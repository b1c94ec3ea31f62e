"""Answers to the exercises of "Low-resource training"."""


# %% exercise 1, right: one after the other
def whole(p):
    made = 1.0
    for _ in ("e n", "t en"):
        made *= 1 - p
    return made


# %% exercise 1, wrong: only the last merge counts
def whole(p):
    return 1 - p


# %% exercise 1, wrong: both must be skipped to fail
def whole(p):
    return 1 - p**2


# %% exercise 1, wrong: each letter
def whole(p):
    return (1 - p) ** 3


# %% exercise 1, wrong: to two digits
def whole(p):
    return round((1 - p) ** 2, 1)


# %% exercise 2, right: solved by halving
def common(p, q, alpha):
    wanted = r_drop_by_hand([p, 1 - p], [q, 1 - q], 0, alpha)
    low, high = 1e-9, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if -math.log(middle) > wanted:
            low = middle
        else:
            high = middle
    return low


# %% exercise 2, wrong: the mean
def common(p, q, alpha):
    return (p + q) / 2


# %% exercise 2, wrong: the geometric mean, without the divergence
def common(p, q, alpha):
    return math.sqrt(p * q)


# %% exercise 2, wrong: the divergence in one direction
def common(p, q, alpha):
    apart = divergence([p, 1 - p], [q, 1 - q])
    return math.sqrt(p * q) * math.exp(-alpha / 2 * apart)


# %% exercise 2, wrong: not halved
def common(p, q, alpha):
    return math.exp(-2 * r_drop_by_hand([p, 1 - p], [q, 1 - q], 0, alpha))
