"""Answers to the exercises of chapter 4."""


# %% exercise 1, right: by the formulas
def whole_layers(n, d):
    projections, table = 4 * n * d * d, 2 * n * n * d
    gates = n * (d * d + d * d)  # from the word and from the state
    return [projections + table, 4 * gates, gates]


# %% exercise 1, wrong: attention without its projections
def whole_layers(n, d):
    x = torch.zeros(1, n, d)
    layers = (
        SelfAttention(d),
        nn.LSTM(d, d, batch_first=True),
        nn.RNN(d, d, batch_first=True),
    )
    return [multiply_adds(layer, x) for layer in layers]


# %% exercise 1, wrong: the words as the batch
def whole_layers(n, d):
    x = torch.zeros(n, 1, d)
    layers = (
        MultiHeadAttention(d, 1),
        nn.LSTM(d, d, batch_first=True),
        nn.RNN(d, d, batch_first=True),
    )
    return [multiply_adds(layer, x) for layer in layers]


# %% exercise 1, wrong: the recurrent layers the other way round
def whole_layers(n, d):
    x = torch.zeros(1, n, d)
    layers = (
        MultiHeadAttention(d, 1),
        nn.RNN(d, d, batch_first=True),
        nn.LSTM(d, d, batch_first=True),
    )
    return [multiply_adds(layer, x) for layer in layers]


# %% exercise 1, wrong: reads in both directions
def whole_layers(n, d):
    x = torch.zeros(1, n, d)
    many = {"batch_first": True, "bidirectional": True}
    layers = MultiHeadAttention(d, 1), nn.LSTM(d, d, **many), nn.RNN(d, d, **many)
    return [multiply_adds(layer, x) for layer in layers]


# %% exercise 1, wrong: one matrix a gate
def whole_layers(n, d):
    return [4 * n * d**2 + 2 * n**2 * d, 4 * n * d**2, n * d**2]


# %% exercise 1, wrong: the scores and not the weighted sum
def whole_layers(n, d):
    return [4 * n * d**2 + n**2 * d, 8 * n * d**2, 2 * n * d**2]


# %% exercise 1, wrong: for a width of 64 alone
def whole_layers(n, d):
    x = torch.zeros(1, n, 64)
    layers = (
        MultiHeadAttention(64, 1),
        nn.LSTM(64, 64, batch_first=True),
        nn.RNN(64, 64, batch_first=True),
    )
    return [multiply_adds(layer, x) for layer in layers]


# %% exercise 2, right: scans the pairs, and from them the odd places
def scan(a, b):
    if len(a) == 1:
        return b, 0
    even = len(a) // 2 * 2
    a_1, b_1, a_2, b_2 = a[0:even:2], b[0:even:2], a[1:even:2], b[1:even:2]
    second, rounds = scan(a_1 * a_2, a_2 * b_1 + b_2)
    h = b.clone()
    h[1:even:2] = second
    h[2::2] += a[2::2] * second[: len(h[2::2])]
    return h, rounds + 1


# %% exercise 2, wrong: a word a round
def scan(a, b):
    h = [torch.zeros_like(b[0])]
    for t in range(len(a)):
        h.append(a[t] * h[-1] + b[t])
    return torch.stack(h[1:]), len(a)


# %% exercise 2, wrong: always one step back
def scan(a, b):
    rounds = math.ceil(math.log2(len(a)))
    for _ in range(rounds):
        before = torch.cat([torch.zeros_like(b[:1]), b[:-1]])
        factor = torch.cat([torch.ones_like(a[:1]), a[:-1]])
        a, b = a * factor, a * before + b
    return b, rounds


# %% exercise 2, wrong: the last comes before the first
def scan(a, b):
    step, rounds = 1, 0
    while step < len(a):
        a, b = a * a.roll(step, 0), a * b.roll(step, 0) + b
        step, rounds = 2 * step, rounds + 1
    return b, rounds


# %% exercise 2, wrong: uses the new a
def scan(a, b):
    step, rounds = 1, 0
    while step < len(a):
        a = a * torch.cat([torch.ones_like(a[:step]), a[:-step]])
        b = a * torch.cat([torch.zeros_like(b[:step]), b[:-step]]) + b
        step, rounds = 2 * step, rounds + 1
    return b, rounds


# %% exercise 2, wrong: the factor of the earlier step
def scan(a, b):
    step, rounds = 1, 0
    while step < len(a):
        before = torch.cat([torch.zeros_like(b[:step]), b[:-step]])
        factor = torch.cat([torch.ones_like(a[:step]), a[:-step]])
        a, b = a * factor, factor * before + b
        step, rounds = 2 * step, rounds + 1
    return b, rounds


# %% exercise 2, wrong: divides by the running product
def scan(a, b):
    product = a.cumprod(dim=0)
    return product * (b / product).cumsum(dim=0), 1


# %% exercise 2, wrong: stops a round early
def scan(a, b):
    step, rounds = 1, 0
    while 2 * step < len(a):
        before = torch.cat([torch.zeros_like(b[:step]), b[:-step]])
        factor = torch.cat([torch.ones_like(a[:step]), a[:-step]])
        a, b = a * factor, a * before + b
        step, rounds = 2 * step, rounds + 1
    return b, rounds


# %% exercise 2, wrong: in float32
def scan(a, b):
    a, b, step, rounds = a.float(), b.float(), 1, 0
    while step < len(a):
        before = torch.cat([torch.zeros_like(b[:step]), b[:-step]])
        factor = torch.cat([torch.ones_like(a[:step]), a[:-step]])
        a, b = a * factor, a * before + b
        step, rounds = 2 * step, rounds + 1
    return b, rounds


# %% exercise 3, right: from the positions
def with_hub(n, r):
    at = torch.arange(n)
    return window_mask(n, r) | (at[:, None] == 0) | (at[None, :] == 0)


# %% exercise 3, wrong: looks at all, and is not looked at
def with_hub(n, r):
    linked = window_mask(n, r)
    linked[0] = True
    return linked


# %% exercise 3, wrong: is looked at by all, and looks at its neighbours
def with_hub(n, r):
    linked = window_mask(n, r)
    linked[:, 0] = True
    return linked


# %% exercise 3, wrong: everybody looks at all
def with_hub(n, r):
    return torch.ones(n, n, dtype=torch.bool)


# %% exercise 3, wrong: the neighbours are lost
def with_hub(n, r):
    linked = torch.eye(n, dtype=torch.bool)
    linked[0, :] = linked[:, 0] = True
    return linked


# %% exercise 3, wrong: the position in the middle
def with_hub(n, r):
    linked = window_mask(n, r)
    linked[n // 2, :] = linked[:, n // 2] = True
    return linked


# %% exercise 3, wrong: the last position as well
def with_hub(n, r):
    linked = window_mask(n, r)
    linked[[0, -1], :] = linked[:, [0, -1]] = True
    return linked


# %% exercise 3, wrong: a wider window
def with_hub(n, r):
    return window_mask(n, r + 2)
