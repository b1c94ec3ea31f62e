"""Answers to the exercises of chapter 3.3."""


# %% exercise 1, right: asks the network about the unit vectors
def folded(network):
    eye = torch.eye(network.W_1.in_features, dtype=network.W_1.weight.dtype)
    linear = lambda x: network.W_2(network.W_1(x))
    one = nn.Linear(network.W_1.in_features, network.W_2.out_features, dtype=eye.dtype)
    one.bias.data = linear(torch.zeros_like(eye[0])).detach()
    one.weight.data = (linear(eye) - one.bias).detach().T
    return one


# %% exercise 1, wrong: forgets the first bias
def folded(network):
    one = nn.Linear(network.W_1.in_features, network.W_2.out_features).to(
        network.W_1.weight
    )
    one.weight.data = network.W_2.weight @ network.W_1.weight
    one.bias.data = network.W_2.bias
    return one


# %% exercise 1, wrong: the product in the other order, as in the formula
def folded(network):
    one = nn.Linear(network.W_1.in_features, network.W_2.out_features).to(
        network.W_1.weight
    )
    one.weight.data = (network.W_2.weight @ network.W_1.weight).T
    one.bias.data = network.W_2(network.W_1.bias)
    return one


# %% exercise 1, wrong: two maps
def folded(network):
    return nn.Sequential(network.W_1, network.W_2)


# %% exercise 1, wrong: adds up the biases of the second map twice
def folded(network):
    one = nn.Linear(network.W_1.in_features, network.W_2.out_features).to(
        network.W_1.weight
    )
    one.weight.data = network.W_2.weight @ network.W_1.weight
    one.bias.data = network.W_2(network.W_1.bias) + network.W_2.bias
    return one


# %% exercise 2, right: the units in another order and size
def sorter():
    network = FeedForward(2, 4)
    with torch.no_grad():
        network.W_1.weight.copy_(torch.tensor([[-2, 2], [2, -2], [2, 2], [-2, -2]]))
        network.W_1.bias.zero_(), network.W_2.bias.zero_()
        network.W_2.weight.copy_(torch.tensor([[-1, -1, 1, -1], [1, 1, 1, -1]]) / 4)
    return network


# %% exercise 2, wrong: the larger first
def sorter():
    network = FeedForward(2, 4)
    with torch.no_grad():
        network.W_1.weight.copy_(torch.tensor([[1, 1], [-1, -1], [1, -1], [-1, 1]]))
        network.W_2.weight.copy_(torch.tensor([[1, -1, 1, 1], [1, -1, -1, -1]]) / 2)
    return network


# %% exercise 2, wrong: forgets the half
def sorter():
    network = FeedForward(2, 4)
    with torch.no_grad():
        network.W_1.weight.copy_(torch.tensor([[1, 1], [-1, -1], [1, -1], [-1, 1]]))
        network.W_2.weight.copy_(torch.tensor([[1, -1, -1, -1], [1, -1, 1, 1]]))
    return network


# %% exercise 2, wrong: weights left to chance
def sorter():
    return FeedForward(2, 4)


# %% exercise 2, wrong: the difference in place of the distance
def sorter():
    network = FeedForward(2, 4)
    with torch.no_grad():
        network.W_1.weight.copy_(torch.tensor([[1, 1], [-1, -1], [1, -1], [-1, 1]]))
        network.W_2.weight.copy_(torch.tensor([[1, -1, -1, 1], [1, -1, 1, -1]]) / 2)
    return network


# %% exercise 3, right: sets the two equal
def even_length(d_model, d_ff):
    return (2 * d_model * d_ff) // (2 * d_model)


# %% exercise 3, wrong: counts the scores and not the sums
def even_length(d_model, d_ff):
    return 2 * d_ff


# %% exercise 3, wrong: the width of the model
def even_length(d_model, d_ff):
    return d_model


# %% exercise 3, wrong: one matrix of the network
def even_length(d_model, d_ff):
    return d_ff // 2


# %% exercise 3, wrong: the ratio
def even_length(d_model, d_ff):
    return d_ff // d_model
