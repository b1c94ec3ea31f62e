"""Answers to the exercises of chapter 8."""

import torch

from aiayn.analysis.probes import (
    alignment_error_rate,
    gold_alignment,
    predicted_alignment,
    read_examples,
)
from aiayn.data import train_vocabulary
from aiayn.model import TransformerConfig, build
from aiayn.synthetic import sample
from aiayn.translation import Translator
from aiayn.visualization.page import Head

# In place of the trained model one that has learned nothing, and fewer sentences.
drawn = sample(12, split="test")
asked = sample(40, seed=7, split="pronouns")
lines = [line for pair in (*drawn, *asked) for line in (pair.source, pair.target)]
vocabulary = train_vocabulary(lines, 600)
torch.manual_seed(0)
model = build(TransformerConfig(len(vocabulary), N=2, d_model=32, d_ff=64, h=4)).eval()
translator = Translator(model, vocabulary)
tuning, examples = (
    read_examples(translator, drawn[:6]),
    read_examples(translator, drawn[6:]),
)
sentences = {"score": read_examples(translator, asked)}
aligner = Head("cross", 1, 0)


def aligned(found):
    weights = [example.words["cross"][:, :, :-1] for example in found]
    gold = [gold_alignment(example.pair) for example in found]
    return alignment_error_rate([predicted_alignment(each) for each in weights], gold)


# %% exercise 1, right: adds up both signs
def moved(first, second):
    (i, _), *_ = from_target(antecedent)(first.pair)
    (j, _), *_ = from_target(antecedent)(second.pair)
    change = first.words["cross"][..., i, :] - second.words["cross"][..., j, :]
    return change.clamp(min=0).sum(-1) - change.clamp(max=0).sum(-1)


# %% exercise 1, wrong: forgets the absolute value
def moved(first, second):
    rows = []
    for example in (first, second):
        ((german, _),) = from_target(antecedent)(example.pair)
        rows.append(example.words["cross"][:, :, german])
    return (rows[0] - rows[1]).sum(dim=-1)


# %% exercise 1, wrong: the mean over the keys
def moved(first, second):
    rows = []
    for example in (first, second):
        ((german, _),) = from_target(antecedent)(example.pair)
        rows.append(example.words["cross"][:, :, german])
    return (rows[0] - rows[1]).abs().mean(dim=-1)


# %% exercise 1, wrong: adds up the heads as well
def moved(first, second):
    rows = []
    for example in (first, second):
        ((german, _),) = from_target(antecedent)(example.pair)
        rows.append(example.words["cross"][:, :, german])
    return (rows[0] - rows[1]).abs().sum(dim=(-2, -1))


# %% exercise 1, wrong: the row in which the pronoun is read
def moved(first, second):
    rows = []
    for example in (first, second):
        ((german, _),) = from_target(antecedent)(example.pair)
        rows.append(example.words["cross"][:, :, german + 1])
    return (rows[0] - rows[1]).abs().sum(dim=-1)


# %% exercise 1, wrong: heads of the encoder
def moved(first, second):
    rows = []
    for example in (first, second):
        (english, _), *_ = antecedent(example.pair)
        rows.append(example.words["encoder"][:, :, english])
    return (rows[0] - rows[1]).abs().sum(dim=-1)


# %% exercise 2, right: adds up and divides
def vote(weights, heads):
    return sum(weights[-1][head] for head in heads) / len(heads)


# %% exercise 2, wrong: the sum
def vote(weights, heads):
    return weights[-1, heads].sum(dim=0)


# %% exercise 2, wrong: the first layer
def vote(weights, heads):
    return weights[0, heads].mean(dim=0)


# %% exercise 2, wrong: all heads
def vote(weights, heads):
    return weights[-1].mean(dim=0)


# %% exercise 2, wrong: so many heads, whichever they are
def vote(weights, heads):
    return weights[-1, : len(heads)].mean(dim=0)


# %% exercise 2, wrong: leaves the heads side by side
def vote(weights, heads):
    return weights[-1, heads].mean(dim=0, keepdim=True)


# %% exercise 2, wrong: the mean of all layers
def vote(weights, heads):
    return weights[:, heads].mean(dim=(0, 1))
