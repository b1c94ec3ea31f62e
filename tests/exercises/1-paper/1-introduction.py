"""Answers to the exercises of chapter 1."""

from functools import cache

sample = cache(sample)  # drawn once, not for each answer


# %% exercise 1, right: gate by gate
def literal_lstm(lstm, words):
    W = lstm.weight_ih_l0.detach().view(4, -1, words.shape[1])
    U = lstm.weight_hh_l0.detach().view(4, lstm.hidden_size, -1)
    b = (lstm.bias_ih_l0 + lstm.bias_hh_l0).detach().view(4, -1)
    h = c = torch.zeros(lstm.hidden_size)
    states = torch.empty(len(words), lstm.hidden_size)
    for t in range(len(words)):
        i, f, g, o = (W[k] @ words[t] + U[k] @ h + b[k] for k in range(4))
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        states[t] = h = torch.sigmoid(o) * torch.tanh(c)
    return states


# %% exercise 1, wrong: the last state alone
def literal_lstm(lstm, words):
    return lstm(words)[0][-1].detach()


# %% exercise 1, wrong: input and forget gate exchanged
def literal_lstm(lstm, words):
    W, U, b, bias = (weight.detach() for weight in lstm.parameters())
    h, c, states = torch.zeros(lstm.hidden_size), torch.zeros(lstm.hidden_size), []
    for word in words:
        f, i, g, o = (W @ word + b + U @ h + bias).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return torch.stack(states)


# %% exercise 1, wrong: no tanh around the cell
def literal_lstm(lstm, words):
    W, U, b, bias = (weight.detach() for weight in lstm.parameters())
    h, c, states = torch.zeros(lstm.hidden_size), torch.zeros(lstm.hidden_size), []
    for word in words:
        i, f, g, o = (W @ word + b + U @ h + bias).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c
        states.append(h)
    return torch.stack(states)


# %% exercise 1, wrong: one of the biases
def literal_lstm(lstm, words):
    W, U, b, _ = (weight.detach() for weight in lstm.parameters())
    h, c, states = torch.zeros(lstm.hidden_size), torch.zeros(lstm.hidden_size), []
    for word in words:
        i, f, g, o = (W @ word + b + U @ h).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return torch.stack(states)


# %% exercise 2, right: turns the places around
def steps_between(pair, backwards):
    n, steps = len(pair.source_tokens), []
    for i, j in pair.alignment:
        read = n - 1 - i if backwards else i
        steps.append((n - read) + j)
    return steps


# %% exercise 2, wrong: always forwards
def steps_between(pair, backwards):
    return [len(pair.source_tokens) - i + j for i, j in pair.alignment]


# %% exercise 2, wrong: the two exchanged
def steps_between(pair, backwards):
    n = len(pair.source_tokens)
    return [n - i + j if backwards else i + 1 + j for i, j in pair.alignment]


# %% exercise 2, wrong: the length of the target
def steps_between(pair, backwards):
    n = len(pair.target_tokens)
    return [i + 1 + j if backwards else n - i + j for i, j in pair.alignment]


# %% exercise 2, wrong: counts from 1
def steps_between(pair, backwards):
    n = len(pair.source_tokens)
    return [i + 2 + j if backwards else n - i + j + 1 for i, j in pair.alignment]


# %% exercise 2, wrong: only four links
def steps_between(pair, backwards):
    n = len(pair.source_tokens)
    return [i + 1 + j if backwards else n - i + j for i, j in pair.alignment[:4]]


# %% exercise 3, right: builds the state first
def with_general(model):
    state = dict(model.state_dict())
    state["attention.score.W"] = torch.eye(model.config.d_state).unsqueeze(0)
    other = RecurrentModel(replace(model.config, attention="general"))
    other.load_state_dict(state)
    return other.train(False)


# %% exercise 3, wrong: returns the model
def with_general(model):
    return model


# %% exercise 3, wrong: leaves W as it is
def with_general(model):
    other = RecurrentModel(replace(model.config, attention="general"))
    other.load_state_dict(model.state_dict(), strict=False)
    return other.eval()


# %% exercise 3, wrong: copies nothing
def with_general(model):
    other = RecurrentModel(replace(model.config, attention="general"))
    other.attention.score.W.data = torch.eye(model.config.d_state)[None]
    return other.eval()


# %% exercise 3, wrong: ones in place of the identity
def with_general(model):
    other = RecurrentModel(replace(model.config, attention="general"))
    other.load_state_dict(model.state_dict(), strict=False)
    other.attention.score.W.data = torch.ones(
        1, model.config.d_state, model.config.d_state
    )
    return other.eval()
