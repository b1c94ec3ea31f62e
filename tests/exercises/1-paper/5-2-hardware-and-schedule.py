"""Answers to the exercises of chapter 5.2."""


# %% exercise 1, right: by layers
def rule_of_thumb(shape, tokens):
    square, network = shape.d_model**2, 2 * shape.d_model * shape.d_ff
    encoder, decoder = 4 * square + network, 8 * square + network
    return (
        2
        * 3
        * tokens
        * (shape.N * (encoder + decoder) + shape.d_model * shape.vocabulary_size)
    )


# %% exercise 1, wrong: the tokens of both sides for every matrix
def rule_of_thumb(shape, tokens):
    attention, feed_forward = 4 * shape.d_model**2, 2 * shape.d_model * shape.d_ff
    entries = (
        shape.N * (3 * attention + 2 * feed_forward)
        + shape.vocabulary_size * shape.d_model
    )
    return 6 * entries * 2 * tokens


# %% exercise 1, wrong: forgets the vocabulary
def rule_of_thumb(shape, tokens):
    return (
        6 * shape.N * (12 * shape.d_model**2 + 4 * shape.d_model * shape.d_ff) * tokens
    )


# %% exercise 1, wrong: the forward pass alone
def rule_of_thumb(shape, tokens):
    entries = shape.N * (12 * shape.d_model**2 + 4 * shape.d_model * shape.d_ff)
    return 2 * (entries + shape.vocabulary_size * shape.d_model) * tokens


# %% exercise 1, wrong: forgets the attention over the source
def rule_of_thumb(shape, tokens):
    entries = shape.N * (8 * shape.d_model**2 + 4 * shape.d_model * shape.d_ff)
    return 6 * (entries + shape.vocabulary_size * shape.d_model) * tokens


# %% exercise 2, right: two thirds of d_ff, as both presets have h d_k = d_model
def crossover(shape):
    return round(2 / 3 * shape.d_ff)


# %% exercise 2, wrong: one square of three
def crossover(shape):
    return 2 * shape.d_ff


# %% exercise 2, wrong: forgets the weighted sums
def crossover(shape):
    return 4 / 3 * shape.d_ff


# %% exercise 2, wrong: the answer of chapter 3.3, for the encoder alone
def crossover(shape):
    return shape.d_ff


# %% exercise 3, right: the peak of the A100 by hand, rounded
def utilisation(name, seconds, gpu):
    return round(step_flops(config(name)) / (seconds * 312e12), 3)


# %% exercise 3, wrong: upside down
def utilisation(name, seconds, gpu):
    return find_accelerator(gpu).peak * seconds / step_flops(config(name))


# %% exercise 3, wrong: always base
def utilisation(name, seconds, gpu):
    return step_flops(config("base")) / seconds / find_accelerator(gpu).peak


# %% exercise 3, wrong: the forward pass alone
def utilisation(name, seconds, gpu):
    return step_flops(config(name)) / 3 / seconds / find_accelerator(gpu).peak


# %% exercise 3, wrong: no more than all of the peak
def utilisation(name, seconds, gpu):
    return min(1.0, step_flops(config(name)) / seconds / find_accelerator(gpu).peak)
