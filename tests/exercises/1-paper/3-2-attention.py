"""Answers to the exercises of chapter 3.2."""


# %% exercise 1, right: rolls the rows instead of drawing an order
def shuffle_test(attention, Q, K, V):
    rolled = attention(Q, K.roll(1, 0), V.roll(1, 0))
    return float(torch.dist(attention(Q, K, V), rolled, p=math.inf))


# %% exercise 1, wrong: knows the answer and computes nothing
def shuffle_test(attention, Q, K, V):
    return 0.0


# %% exercise 1, wrong: shuffles nothing
def shuffle_test(attention, Q, K, V):
    order = torch.arange(len(K))
    return (attention(Q, K, V) - attention(Q, K[order], V[order])).abs().max().item()


# %% exercise 1, wrong: shuffles V only
def shuffle_test(attention, Q, K, V):
    order = torch.randperm(len(K))
    return (attention(Q, K, V) - attention(Q, K, V[order])).abs().max().item()


# %% exercise 1, wrong: draws one order for K and another for V
def shuffle_test(attention, Q, K, V):
    one, other = torch.randperm(len(K)), torch.randperm(len(K))
    return (attention(Q, K, V) - attention(Q, K[one], V[other])).abs().max().item()


# %% exercise 1, wrong: shuffles the queries as well
def shuffle_test(attention, Q, K, V):
    order = torch.randperm(len(K))
    shuffled = attention(Q[order], K[order], V[order])
    return (attention(Q, K, V) - shuffled).abs().max().item()


# %% exercise 2, right: cuts a band out of a full matrix
def window_mask(n, r):
    return torch.ones(n, n).triu(-r).tril(r).bool()


# %% exercise 2, wrong: at most r is not less than r
def window_mask(n, r):
    at = torch.arange(n)
    return (at[:, None] - at).abs() < r


# %% exercise 2, wrong: looks back only
def window_mask(n, r):
    at = torch.arange(n)
    return (at[:, None] - at >= 0) & (at[:, None] - at <= r)


# %% exercise 2, wrong: forgets the absolute value
def window_mask(n, r):
    at = torch.arange(n)
    return at[:, None] - at <= r


# %% exercise 2, wrong: True where it may not look
def window_mask(n, r):
    at = torch.arange(n)
    return (at[:, None] - at).abs() > r


# %% exercise 2, wrong: ones and zeros
def window_mask(n, r):
    return torch.ones(n, n).triu(-r).tril(r)
