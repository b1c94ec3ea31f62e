"""Answers to the exercises of the chapter "Since 2017"."""

# %% exercise 1, right: by sorting
order = sorted(range(16), key=lambda component: (component % 2, component))

# %% exercise 1, wrong: as they are
order = list(range(16))

# %% exercise 1, wrong: the other way round
order = [component // 2 + 8 * (component % 2) for component in range(16)]

# %% exercise 1, wrong: the odd ones first
order = [*range(1, 16, 2), *range(0, 16, 2)]

# %% exercise 1, wrong: neighbours exchanged
order = [component ^ 1 for component in range(16)]

# %% exercise 1, wrong: the even ones alone
order = list(range(0, 16, 2))


# %% exercise 2, right: on the scale of the guess's probability
def accepted(guess, p, q, generator):
    if generator.uniform(0, q[guess]) <= min(p[guess], q[guess]):
        return guess
    left = [a - min(a, b) for a, b in zip(p, q, strict=True)]
    point = generator.uniform(0, sum(left))
    for token, share in enumerate(left):
        point -= share
        if point < 0:
            return token
    return left.index(max(left))


# %% exercise 2, wrong: always keeps the guess
def accepted(guess, p, q, generator):
    return guess


# %% exercise 2, wrong: draws again from the model itself
def accepted(guess, p, q, generator):
    if generator.random() < p[guess] / q[guess]:
        return guess
    return generator.choices(range(len(p)), p)[0]


# %% exercise 2, wrong: p and q exchanged
def accepted(guess, p, q, generator):
    if p[guess] == 0 or generator.random() < q[guess] / p[guess]:
        return guess
    left = [max(0.0, b - a) for a, b in zip(p, q, strict=True)]
    return generator.choices(range(len(p)), left)[0]


# %% exercise 2, wrong: takes the best of what is left
def accepted(guess, p, q, generator):
    if generator.random() < p[guess] / q[guess]:
        return guess
    left = [a - b for a, b in zip(p, q, strict=True)]
    return left.index(max(left))


# %% exercise 2, wrong: accepts by p alone
def accepted(guess, p, q, generator):
    if generator.random() < p[guess]:
        return guess
    left = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    return generator.choices(range(len(p)), left)[0]
