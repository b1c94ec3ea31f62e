"""Answers to the exercises of chapter 3.4."""


# %% exercise 1, right: from two models, by the difference
def vocabulary_sizes(millions, **changes):
    counts = []
    for size in (1000, 2000):
        with torch.device("meta"):
            model = Transformer(
                config("base", vocabulary_size=size, attention_bias=True, **changes)
            )
        counts.append(sum(parameter.numel() for parameter in model.parameters()))
    width = (counts[1] - counts[0]) / 1000
    return tuple(
        1000 + (1e6 * (millions + half) - counts[0]) / width for half in (-0.5, 0.5)
    )


# %% exercise 1, wrong: no biases
def vocabulary_sizes(millions, **changes):
    with torch.device("meta"):
        model = Transformer(config("base", vocabulary_size=1, **changes))
    d_model = model.config.d_model
    layers = sum(parameter.numel() for parameter in model.parameters()) - d_model
    return ((millions - 0.5) * 1e6 - layers) / d_model, (
        (millions + 0.5) * 1e6 - layers
    ) / d_model


# %% exercise 1, wrong: forgets the changes
def vocabulary_sizes(millions, **changes):
    with torch.device("meta"):
        model = Transformer(config("base", vocabulary_size=1, attention_bias=True))
    d_model = model.config.d_model
    layers = sum(parameter.numel() for parameter in model.parameters()) - d_model
    return ((millions - 0.5) * 1e6 - layers) / d_model, (
        (millions + 0.5) * 1e6 - layers
    ) / d_model


# %% exercise 1, wrong: rounds to millions on either side
def vocabulary_sizes(millions, **changes):
    with torch.device("meta"):
        model = Transformer(
            config("base", vocabulary_size=1, attention_bias=True, **changes)
        )
    d_model = model.config.d_model
    layers = sum(parameter.numel() for parameter in model.parameters()) - d_model
    return ((millions - 1) * 1e6 - layers) / d_model, (
        (millions + 1) * 1e6 - layers
    ) / d_model


# %% exercise 1, wrong: always 512 wide
def vocabulary_sizes(millions, **changes):
    with torch.device("meta"):
        model = Transformer(
            config("base", vocabulary_size=1, attention_bias=True, **changes)
        )
    layers = sum(parameter.numel() for parameter in model.parameters()) - 512
    return ((millions - 0.5) * 1e6 - layers) / 512, (
        (millions + 0.5) * 1e6 - layers
    ) / 512


# %% exercise 2, right: by logarithms
def stable_softmax(z):
    return torch.exp(z - torch.logsumexp(z, 0))


# %% exercise 2, wrong: the formula
def stable_softmax(z):
    return z.exp() / z.exp().sum()


# %% exercise 2, wrong: the mean in place of the largest
def stable_softmax(z):
    powers = torch.exp(z - z.mean())
    return powers / powers.sum()


# %% exercise 2, wrong: divides by the largest
def stable_softmax(z):
    powers = torch.exp(z / z.abs().max())
    return powers / powers.sum()


# %% exercise 2, wrong: limits the logits
def stable_softmax(z):
    powers = torch.exp(z.clamp(-80, 80))
    return powers / powers.sum()


# %% exercise 2, wrong: does not divide by the sum
def stable_softmax(z):
    return torch.exp(z - z.max())


# %% exercise 3, right: halves the inverse
def temperature_for(z, share):
    low, high = 0.0, 1000.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (
            (middle, high) if (z * middle).softmax(0).max() < share else (low, middle)
        )
    return 1 / high


# %% exercise 3, wrong: the wrong half
def temperature_for(z, share):
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = math.sqrt(low * high)
        if (z / middle).softmax(dim=0).max() < share:
            low = middle
        else:
            high = middle
    return middle


# %% exercise 3, wrong: stops too early
def temperature_for(z, share):
    low, high = 1e-3, 1e3
    for _ in range(10):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high)
            if (z / middle).softmax(dim=0).max() > share
            else (low, middle)
        )
    return middle


# %% exercise 3, wrong: multiplies by the temperature
def temperature_for(z, share):
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high)
            if (z * middle).softmax(dim=0).max() < share
            else (low, middle)
        )
    return middle


# %% exercise 3, wrong: the last word in place of the likeliest
def temperature_for(z, share):
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if (z / middle).softmax(dim=0)[-1] > share else (low, middle)
        )
    return middle
