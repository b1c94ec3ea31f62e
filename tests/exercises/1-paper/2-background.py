"""Answers to the exercises of chapter 2."""

import math

# What the chapter finds by gradients, in some seconds.
measured = {}
for k in (2, 3, 5):
    at = range(1, FARTHEST + 1)
    measured[f"contiguous, k={k}"] = [math.ceil(d / (k - 1)) for d in at]
    measured[f"dilated, k={k}"] = [
        next(n for n in range(99) if (k - 1) * (2**n - 1) >= d) for d in at
    ]


# %% exercise 1, right: by recursion
def layers(d, k, g):
    def count(rest, step):
        return 0 if rest <= 0 else 1 + count(rest - (k - 1) * step, step * g)

    return count(d, 1)


# %% exercise 1, wrong: the dilations do not add up
def layers(d, k, g):
    return next((n for n in range(100) if (k - 1) * g**n >= d), 100)


# %% exercise 1, wrong: a kernel of k bridges k
def layers(d, k, g):
    reach, count = 0, 0
    while reach < d:
        reach += k * g**count
        count += 1
    return count


# %% exercise 1, wrong: the logarithm for every g
def layers(d, k, g):
    return math.ceil(round(math.log(d + 1, k), 9))


# %% exercise 1, wrong: one layer too many
def layers(d, k, g):
    reach, count = 0, 0
    while reach <= d:
        reach += (k - 1) * g**count
        count += 1
    return count


# %% exercise 2, right: exchanges rows of a copy
def last_after_swap(layer, x):
    other = x.clone()
    other[0, 1], other[0, 2] = x[0, 2], x[0, 1]
    return float(torch.max(torch.abs(layer(other) - layer(x)).detach()[:, 4]))


# %% exercise 2, wrong: swaps features
def last_after_swap(layer, x):
    swapped = x[:, :, [0, 2, 1, 3, 4, 5, 6, 7]]
    return (layer(x)[0, -1] - layer(swapped)[0, -1]).detach().abs().max().item()


# %% exercise 2, wrong: compares all positions
def last_after_swap(layer, x):
    return (layer(x) - layer(x[:, [0, 2, 1, 3, 4]])).abs().max().item()


# %% exercise 2, wrong: swaps nothing, as both names are one tensor
def last_after_swap(layer, x):
    swapped = x
    swapped[:, 1], swapped[:, 2] = x[:, 2], x[:, 1]
    return (layer(x)[0, -1] - layer(swapped)[0, -1]).detach().abs().max().item()


# %% exercise 2, wrong: forgets the absolute value
def last_after_swap(layer, x):
    return (layer(x)[0, -1] - layer(x[:, [0, 2, 1, 3, 4]])[0, -1]).min().item()


# %% exercise 3, right: by geometric series
def kept_numbers(t):
    vectors = (conv.kernel - 1) * sum(conv.growth**layer for layer in range(conv.N))
    return [vectors * conv.d_model, 2 * t * synthetic.d_model * synthetic.N]


# %% exercise 3, wrong: keys and no values
def kept_numbers(t):
    convolutions = sum(
        (conv.kernel - 1) * conv.growth**k * conv.d_model for k in range(conv.N)
    )
    return convolutions, synthetic.N * synthetic.d_model * t


# %% exercise 3, wrong: the convolution's past grows, too
def kept_numbers(t):
    return conv.N * conv.d_model * t, synthetic.N * 2 * synthetic.d_model * t


# %% exercise 3, wrong: one layer
def kept_numbers(t):
    convolutions = sum(
        (conv.kernel - 1) * conv.growth**k * conv.d_model for k in range(conv.N)
    )
    return convolutions, 2 * synthetic.d_model * t


# %% exercise 3, wrong: the whole kernel
def kept_numbers(t):
    convolutions = sum(
        conv.kernel * conv.growth**k * conv.d_model for k in range(conv.N)
    )
    return convolutions, synthetic.N * 2 * synthetic.d_model * t
