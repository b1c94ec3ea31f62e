"""Answers to the exercises of chapter 5."""

import torch
from torch import nn

from aiayn.model import Transformer, TransformerConfig
from aiayn.training.optimizer import make_optimizer, set_rate

SHAPE = TransformerConfig(
    vocabulary_size=170, N=2, d_model=64, d_ff=128, h=4, dropout=0.0
)


# %% exercise 1, right: keeps the state beside it and sums parameter by parameter
def leap(steps, forgets):
    torch.manual_seed(2)
    model, draw = Transformer(SHAPE), random.Random(2)
    optimizer = make_optimizer(model)

    def step():
        optimizer.zero_grad()
        batch_loss(model, make_batch(draw.sample(examples, 4)), 0.0)[0].backward()
        set_rate(optimizer, 1e-3)
        optimizer.step()

    for _ in range(steps):
        step()
    if forgets:
        optimizer.state.clear()
    before = [weight.detach().clone() for weight in model.parameters()]
    step()
    after = [weight.detach() for weight in model.parameters()]
    squares = sum(
        float((w - b).square().sum()) for w, b in zip(after, before, strict=True)
    )
    return (squares / sum(b.numel() for b in before)) ** 0.5 / 1e-3


# %% exercise 1, wrong: forgets in any case
def leap(steps, forgets):
    torch.manual_seed(1)
    model, chance = Transformer(SHAPE), random.Random(1)
    for _ in range(steps + 1):
        before = nn.utils.parameters_to_vector(model.parameters()).detach()
        optimizer = make_optimizer(model)
        optimizer.zero_grad()
        batch_loss(model, make_batch(chance.sample(examples, 4)), 0.0)[0].backward()
        set_rate(optimizer, 1e-3)
        optimizer.step()
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    return float((moved / 1e-3).square().mean().sqrt())


# %% exercise 1, wrong: not in units of the rate
def leap(steps, forgets):
    torch.manual_seed(1)
    model, chance = Transformer(SHAPE), random.Random(1)
    optimizer = make_optimizer(model)
    for step in range(steps + 1):
        if step == steps:
            before = nn.utils.parameters_to_vector(model.parameters()).detach()
            optimizer = make_optimizer(model) if forgets else optimizer
        optimizer.zero_grad()
        batch_loss(model, make_batch(chance.sample(examples, 4)), 0.0)[0].backward()
        set_rate(optimizer, 1e-3)
        optimizer.step()
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    return float(moved.square().mean().sqrt())


# %% exercise 1, wrong: the mean of the absolute values
def leap(steps, forgets):
    torch.manual_seed(1)
    model, chance = Transformer(SHAPE), random.Random(1)
    optimizer = make_optimizer(model)
    for step in range(steps + 1):
        if step == steps:
            before = nn.utils.parameters_to_vector(model.parameters()).detach()
            optimizer = make_optimizer(model) if forgets else optimizer
        optimizer.zero_grad()
        batch_loss(model, make_batch(chance.sample(examples, 4)), 0.0)[0].backward()
        set_rate(optimizer, 1e-3)
        optimizer.step()
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    return float((moved / 1e-3).abs().mean())


# %% exercise 1, wrong: always the same four examples
def leap(steps, forgets):
    torch.manual_seed(1)
    model = Transformer(SHAPE)
    optimizer = make_optimizer(model)
    for step in range(steps + 1):
        if step == steps:
            before = nn.utils.parameters_to_vector(model.parameters()).detach()
            optimizer = make_optimizer(model) if forgets else optimizer
        optimizer.zero_grad()
        batch_loss(model, make_batch(examples[:4]), 0.0)[0].backward()
        set_rate(optimizer, 1e-3)
        optimizer.step()
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    return float((moved / 1e-3).square().mean().sqrt())


# %% exercise 1, wrong: how far from the start
def leap(steps, forgets):
    torch.manual_seed(1)
    model, chance = Transformer(SHAPE), random.Random(1)
    optimizer = make_optimizer(model)
    before = nn.utils.parameters_to_vector(model.parameters()).detach()
    for step in range(steps + 1):
        optimizer = make_optimizer(model) if forgets and step == steps else optimizer
        optimizer.zero_grad()
        batch_loss(model, make_batch(chance.sample(examples, 4)), 0.0)[0].backward()
        set_rate(optimizer, 1e-3)
        optimizer.step()
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    return float((moved / 1e-3).square().mean().sqrt())


# %% exercise 1, wrong: forgets the other way round
def leap(steps, forgets):
    torch.manual_seed(1)
    model, chance = Transformer(SHAPE), random.Random(1)
    optimizer = make_optimizer(model)
    for step in range(steps + 1):
        if step == steps:
            before = nn.utils.parameters_to_vector(model.parameters()).detach()
            optimizer = optimizer if forgets else make_optimizer(model)
        optimizer.zero_grad()
        batch_loss(model, make_batch(chance.sample(examples, 4)), 0.0)[0].backward()
        set_rate(optimizer, 1e-3)
        optimizer.step()
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    return float((moved / 1e-3).square().mean().sqrt())


# %% exercise 1, wrong: never clears the gradient
def leap(steps, forgets):
    torch.manual_seed(1)
    model, chance = Transformer(SHAPE), random.Random(1)
    optimizer = make_optimizer(model)
    for step in range(steps + 1):
        if step == steps:
            before = nn.utils.parameters_to_vector(model.parameters()).detach()
            optimizer = make_optimizer(model) if forgets else optimizer
        batch_loss(model, make_batch(chance.sample(examples, 4)), 0.0)[0].backward()
        set_rate(optimizer, 1e-3)
        optimizer.step()
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    return float((moved / 1e-3).square().mean().sqrt())


# %% exercise 2, right: a power
def per_word(perplexity, tokens, words):
    return perplexity ** (tokens / words)


# %% exercise 2, wrong: multiplies
def per_word(perplexity, tokens, words):
    return perplexity * tokens / words


# %% exercise 2, wrong: words over tokens
def per_word(perplexity, tokens, words):
    return perplexity ** (words / tokens)


# %% exercise 2, wrong: rounds the tokens of a word down
def per_word(perplexity, tokens, words):
    return perplexity ** (tokens // words)


# %% exercise 2, wrong: two tokens a word
def per_word(perplexity, tokens, words):
    return perplexity**2


# %% exercise 2, wrong: the logarithm
def per_word(perplexity, tokens, words):
    return math.log(perplexity) * tokens / words


# %% exercise 2, wrong: the whole text
def per_word(perplexity, tokens, words):
    return perplexity**tokens
