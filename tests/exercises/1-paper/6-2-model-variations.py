"""Answers to the exercises of chapter 6.2."""


# %% exercise 1, right: the paper's millions
def bought(name):
    row, base = ROWS[name], ROWS["base"]
    return (
        1000
        * (math.log(base.perplexity) - math.log(row.perplexity))
        / (row.millions - base.millions)
    )


# %% exercise 1, wrong: the share of the larger perplexity
def bought(name):
    row, base = ROWS[name], ROWS["base"]
    added = (parameters(row_config(row)) - parameters(row_config(base))) / 1e6
    return 1000 * (1 - row.perplexity / base.perplexity) / added


# %% exercise 1, wrong: for each million
def bought(name):
    row, base = ROWS[name], ROWS["base"]
    added = (parameters(row_config(row)) - parameters(row_config(base))) / 1e6
    return 100 * math.log(base.perplexity / row.perplexity) / added


# %% exercise 1, wrong: how much it rises
def bought(name):
    row, base = ROWS[name], ROWS["base"]
    added = (parameters(row_config(row)) - parameters(row_config(base))) / 1e6
    return 1000 * math.log(row.perplexity / base.perplexity) / added


# %% exercise 1, wrong: for all that the row has
def bought(name):
    row, base = ROWS[name], ROWS["base"]
    return 1000 * math.log(base.perplexity / row.perplexity) / row.millions


# %% exercise 1, wrong: base's own rounded number
def bought(name):
    row, base = ROWS[name], ROWS["base"]
    added = parameters(row_config(row)) / 1e6 - base.millions
    return 1000 * math.log(base.perplexity / row.perplexity) / added


# %% exercise 2, right: counts place by place
def softmax_entries(config, n, m):
    squares = [(n, n)] * config.N + [(m, m), (m, n)] * config.N
    return sum(queries * keys for queries, keys in squares for _ in range(config.h))


# %% exercise 2, wrong: forgets to look across
def softmax_entries(config, n, m):
    return config.N * config.h * (n * n + m * m)


# %% exercise 2, wrong: one sequence of source and target
def softmax_entries(config, n, m):
    return config.N * config.h * (n + m) ** 2


# %% exercise 2, wrong: one layer
def softmax_entries(config, n, m):
    return config.h * (n * n + m * m + m * n)


# %% exercise 2, wrong: the heads' width in place of their number
def softmax_entries(config, n, m):
    return config.N * config.d_k * (n * n + m * m + m * n)


# %% exercise 2, wrong: the decoder looks across at its own length
def softmax_entries(config, n, m):
    return config.N * config.h * (n * n + 2 * m * m)
