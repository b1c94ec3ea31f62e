"""Answers to the exercises of "Visualizations"."""

import torch

from aiayn.analysis.probes import pair_batch
from aiayn.analysis.pruning import attention_at
from aiayn.data import train_vocabulary
from aiayn.model import TransformerConfig, build
from aiayn.synthetic import sample
from aiayn.visualization.page import Head

# In place of the trained model one that has learned nothing, and fewer sentences.
drawn = sample(12, split="test")
lines = [line for pair in drawn for line in (pair.source, pair.target)]
vocabulary = train_vocabulary(lines, 600)
torch.manual_seed(0)
model = build(TransformerConfig(len(vocabulary), N=2, d_model=32, d_ff=64, h=4)).eval()
held = pair_batch(vocabulary, drawn)

# The last cross-attention matters most, as in the trained one; the loss is the
# distance from what it says.
with torch.no_grad():
    attention_at(model, "cross", 1).W_O.weight *= 20
    said = model(held.source, held.target)


def token_loss(model, batch):
    return (model(batch.source, batch.target) - said).square().mean()


# %% exercise 1, right: takes heads by their number
def alone(kind, layer):
    found, heads = [], range(model.config.h)
    for kept in heads:
        others = [Head(kind, layer, head) for head in heads if head != kept]
        with zero_ablation(model, others):
            found.append(token_loss(model, held).detach().item())
    return found


# %% exercise 1, wrong: silences the one head
def alone(kind, layer):
    here = [head for head in all_heads(model) if head[:2] == (kind, layer)]
    losses = []
    for kept in here:
        with zero_ablation(model, [kept]), torch.no_grad():
            losses.append(float(token_loss(model, held)))
    return losses


# %% exercise 1, wrong: silences all heads of the place
def alone(kind, layer):
    here = [head for head in all_heads(model) if head[:2] == (kind, layer)]
    with zero_ablation(model, here), torch.no_grad():
        return [float(token_loss(model, held)) for _ in here]


# %% exercise 1, wrong: silences all other heads of the model
def alone(kind, layer):
    losses = []
    for kept in [head for head in all_heads(model) if head[:2] == (kind, layer)]:
        with (
            zero_ablation(model, [head for head in all_heads(model) if head != kept]),
            torch.no_grad(),
        ):
            losses.append(float(token_loss(model, held)))
    return losses


# %% exercise 1, wrong: measures when the heads speak again
def alone(kind, layer):
    here = [head for head in all_heads(model) if head[:2] == (kind, layer)]
    losses = []
    for kept in here:
        with zero_ablation(model, [head for head in here if head != kept]):
            pass
        losses.append(token_loss(model, held).detach().item())
    return losses


# %% exercise 2, right: escapes every sign that HTML knows
def in_script(value):
    text = json.dumps(value, ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


# %% exercise 2, wrong: plain JSON
def in_script(value):
    return json.dumps(value)


# %% exercise 2, wrong: escapes as HTML does
def in_script(value):
    return html.escape(json.dumps(value))


# %% exercise 2, wrong: escapes the words as HTML does, and leaves the quotes
def in_script(value):
    return html.escape(json.dumps(value), quote=False)


# %% exercise 2, wrong: the end of a script in small letters alone
def in_script(value):
    return json.dumps(value).replace("</script", r"\u003c/script")


# %% exercise 2, wrong: the usual escape of the slash, which leaves the sign
def in_script(value):
    return json.dumps(value).replace("</", r"<\/")


# %% exercise 2, wrong: leaves the signs out
def in_script(value):
    return json.dumps(value).replace("<", "")


# %% exercise 2, wrong: Python in place of JSON
def in_script(value):
    return repr(value).replace("<", r"\u003c")
