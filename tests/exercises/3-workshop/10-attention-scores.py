"""Answers to the exercises of "Attention scores"."""


# %% exercise 1, right: changes the keys
def fold(general):
    scaled = MultiHeadAttention(
        general.d_model, general.h, general.d_k, general.d_v
    ).double()
    state = {k: v.clone() for k, v in general.state_dict().items() if "score" not in k}
    rows = state["projections.weight"][general.h * general.d_k :][
        : general.h * general.d_k
    ]
    rows = rows.unflatten(0, (general.h, general.d_k))
    rows.copy_(math.sqrt(general.d_k) * general.attention.score.W.detach() @ rows)
    scaled.load_state_dict(state)
    return scaled


# %% exercise 1, wrong: forgets the scaling
def fold(general):
    scaled = MultiHeadAttention(
        general.d_model, general.h, general.d_k, general.d_v
    ).double()
    scaled.load_state_dict(
        {k: v for k, v in general.state_dict().items() if "score" not in k}
    )
    rows = scaled.projections.weight.data[: general.h * general.d_k].unflatten(
        0, (general.h, general.d_k)
    )
    rows.copy_(general.attention.score.W.transpose(1, 2) @ rows)
    return scaled


# %% exercise 1, wrong: W is not transposed
def fold(general):
    scaled = MultiHeadAttention(
        general.d_model, general.h, general.d_k, general.d_v
    ).double()
    scaled.load_state_dict(
        {k: v for k, v in general.state_dict().items() if "score" not in k}
    )
    rows = scaled.projections.weight.data[: general.h * general.d_k].unflatten(
        0, (general.h, general.d_k)
    )
    rows.copy_(math.sqrt(general.d_k) * general.attention.score.W @ rows)
    return scaled


# %% exercise 1, wrong: leaves W out
def fold(general):
    scaled = MultiHeadAttention(
        general.d_model, general.h, general.d_k, general.d_v
    ).double()
    scaled.load_state_dict(
        {k: v for k, v in general.state_dict().items() if "score" not in k}
    )
    return scaled


# %% exercise 1, wrong: gives back what it got
def fold(general):
    return general


# %% exercise 1, wrong: spoils the layer it was given
def fold(general):
    rows = general.projections.weight.data[: general.h * general.d_k].unflatten(
        0, (general.h, general.d_k)
    )
    rows.copy_(
        math.sqrt(general.d_k) * general.attention.score.W.transpose(1, 2) @ rows
    )
    scaled = MultiHeadAttention(
        general.d_model, general.h, general.d_k, general.d_v
    ).double()
    scaled.load_state_dict(
        {k: v for k, v in general.state_dict().items() if "score" not in k}
    )
    return scaled


# %% exercise 2, right: keeps the mixture normalised, and indexes
def streaming_attention(q, K, V):
    largest, total = (q @ K[0] / len(q) ** 0.5).item(), 1.0
    mixture = V[0]
    for i in range(1, len(K)):
        score = (q @ K[i] / len(q) ** 0.5).item()
        new = max(largest, score)
        total *= math.exp(largest - new)
        share = math.exp(score - new) / (total + math.exp(score - new))
        total, largest = total + math.exp(score - new), new
        mixture = mixture + share * (V[i] - mixture)
    return mixture


# %% exercise 2, wrong: does not stream
def streaming_attention(q, K, V):
    return literal_attention(q[None], K, V)[0]


# %% exercise 2, wrong: collects all scores first
def streaming_attention(q, K, V):
    scores = torch.stack([q @ k / math.sqrt(len(q)) for k in K])
    total, mixture = 0.0, torch.zeros_like(V[0])
    for score, v in zip(scores, V, strict=True):
        total += (score - scores.max()).exp()
        mixture = mixture + (score - scores.max()).exp() * v
    return mixture / total


# %% exercise 2, wrong: does not rescale the total
def streaming_attention(q, K, V):
    largest, total, mixture = -math.inf, 0.0, torch.zeros_like(V[0])
    for k, v in zip(K, V, strict=True):
        score = (q @ k).item() / math.sqrt(len(q))
        new = max(largest, score)
        shrink, power = math.exp(largest - new), math.exp(score - new)
        largest, total, mixture = new, total + power, mixture * shrink + power * v
    return mixture / total


# %% exercise 2, wrong: forgets the scaling
def streaming_attention(q, K, V):
    largest, total, mixture = -math.inf, 0.0, torch.zeros_like(V[0])
    for k, v in zip(K, V, strict=True):
        score = (q @ k).item()
        new = max(largest, score)
        shrink, power = math.exp(largest - new), math.exp(score - new)
        largest, total, mixture = (
            new,
            total * shrink + power,
            mixture * shrink + power * v,
        )
    return mixture / total


# %% exercise 2, wrong: overflows, as it does without the largest score
def streaming_attention(q, K, V):
    total, mixture = 0.0, torch.zeros_like(V[0])
    for k, v in zip(K, V, strict=True):
        power = (q @ k / math.sqrt(len(q))).exp()
        total, mixture = total + power, mixture + power * v
    return mixture / total


# %% exercise 2, wrong: the same without torch (OverflowError)
def streaming_attention(q, K, V):
    total, mixture = 0.0, torch.zeros_like(V[0])
    for k, v in zip(K, V, strict=True):
        power = math.exp((q @ k).item() / math.sqrt(len(q)))
        total, mixture = total + power, mixture + power * v
    return mixture / total
