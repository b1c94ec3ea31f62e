"""Answers to the exercises of chapter 3.1."""


# %% exercise 1, right: by nn.LayerNorm and the factor
def other_norm(x):
    d = x.shape[-1]
    return nn.functional.layer_norm(x, (d,), eps=0.0) * ((d - 1) / d) ** 0.5


# %% exercise 1, wrong: divides by d after all
def other_norm(x):
    return (x - x.mean(dim=-1, keepdim=True)) / (
        x.std(dim=-1, keepdim=True, correction=0) + 1e-6
    )


# %% exercise 1, wrong: the variance
def other_norm(x):
    return (x - x.mean(dim=-1, keepdim=True)) / (x.var(dim=-1, keepdim=True) + 1e-6)


# %% exercise 1, wrong: the mean stays in
def other_norm(x):
    return x / (x.std(dim=-1, keepdim=True) + 1e-6)


# %% exercise 1, wrong: over all rows
def other_norm(x):
    return (x - x.mean()) / (x.std() + 1e-6)


# %% exercise 2, right: normalised twice, as the layer does
def what_is_left(x, norm):
    layer_norm = nn.LayerNorm(x.shape[-1])
    return layer_norm(layer_norm(x)).detach() if norm == "post" else x.clone()


# %% exercise 2, wrong: the two exchanged
def what_is_left(x, norm):
    return nn.functional.layer_norm(x, x.shape[-1:]) if norm == "pre" else x


# %% exercise 2, wrong: x in both cases
def what_is_left(x, norm):
    return x


# %% exercise 2, wrong: normalised in both cases
def what_is_left(x, norm):
    return nn.functional.layer_norm(x, x.shape[-1:])


# %% exercise 2, wrong: nothing is left
def what_is_left(x, norm):
    return torch.zeros_like(x)


# %% exercise 3, right: all gradients at once
def reads_its_answer(mask, shift):
    attention, x = MultiHeadAttention(32, 4), torch.randn(6, 32)
    jacobian = torch.autograd.functional.jacobian(
        lambda x: attention(x[None], causal=mask)[0].sum(-1), x
    )
    return jacobian.abs().sum(-1).diagonal(1 if shift else 0).any().item()


# %% exercise 3, wrong: the mask is enough
def reads_its_answer(mask, shift):
    return not mask


# %% exercise 3, wrong: the shift is enough
def reads_its_answer(mask, shift):
    return not shift


# %% exercise 3, wrong: one of the two is enough
def reads_its_answer(mask, shift):
    return not (mask or shift)


# %% exercise 3, wrong: looks for the answer on the left
def reads_its_answer(mask, shift):
    attention, x = MultiHeadAttention(32, 4), torch.randn(1, 6, 32, requires_grad=True)
    output = attention(x, causal=mask)
    (gradient,) = torch.autograd.grad(output[0, 3].sum(), x)
    return bool(gradient[0, 2 if shift else 3].any())
