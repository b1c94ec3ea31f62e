"""Answers to the exercises of chapter 5.4."""


# %% exercise 1, right: writes the norm out
def blind_pre_norm(encoder, x):
    deviations = x - x.mean(-1, keepdim=True)
    scaled = (
        deviations
        / (deviations.square().mean(-1, keepdim=True) + encoder.norm.eps).sqrt()
    )
    return scaled * encoder.norm.weight + encoder.norm.bias


# %% exercise 1, wrong: x itself
def blind_pre_norm(encoder, x):
    return x


# %% exercise 1, wrong: a norm without its gain and bias
def blind_pre_norm(encoder, x):
    return nn.functional.layer_norm(x, x.shape[-1:])


# %% exercise 1, wrong: a norm for each layer
def blind_pre_norm(encoder, x):
    for _ in encoder.layers:
        x = encoder.norm(x)
    return x


# %% exercise 1, wrong: nothing is left
def blind_pre_norm(encoder, x):
    return torch.zeros_like(x)


# %% exercise 2, right: adds what comes back to the label, rounded
def our_epsilon(epsilon, V):
    return round(epsilon + epsilon / (V - 1), 9)


# %% exercise 2, wrong: the inverse
def our_epsilon(epsilon, V):
    return epsilon * (V - 1) / V


# %% exercise 2, wrong: the same
def our_epsilon(epsilon, V):
    return epsilon


# %% exercise 2, wrong: one word's share
def our_epsilon(epsilon, V):
    return epsilon / (V - 1)


# %% exercise 2, wrong: a word too many
def our_epsilon(epsilon, V):
    return epsilon * (V + 1) / V


# %% exercise 3, right: as a difference of logarithms
def best_lead(epsilon, V):
    return round(math.log(V * (1 - epsilon) + epsilon) - math.log(epsilon), 3)


# %% exercise 3, wrong: forgets V
def best_lead(epsilon, V):
    return math.log((1 - epsilon) / epsilon)


# %% exercise 3, wrong: the ratio without the logarithm
def best_lead(epsilon, V):
    return (1 - epsilon + epsilon / V) / (epsilon / V)


# %% exercise 3, wrong: the sign
def best_lead(epsilon, V):
    return math.log((epsilon / V) / (1 - epsilon + epsilon / V))


# %% exercise 3, wrong: the logarithm to base 2
def best_lead(epsilon, V):
    return math.log2((1 - epsilon + epsilon / V) / (epsilon / V))
