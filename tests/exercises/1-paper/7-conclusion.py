"""Answers to the exercises of chapter 7."""

import torch

from aiayn import SearchConfig, Transformer, beam_search, config, train_vocabulary

# Any model that runs on when it is untrained will do.
sentences = ["The cake was sour.", "The animal was tired.", "Der Kuchen war sauer."]
vocabulary = train_vocabulary(sentences, size=40)
torch.manual_seed(0)
model = Transformer(config("synthetic", vocabulary_size=len(vocabulary)))


# %% exercise 1, right: counts the pairs
comparisons = {
    n: sum(base.h for _ in range(base.N) for _ in range(n) for _ in range(n))
    for n in (25, 100)
}

# %% exercise 1, wrong: the factor alone
comparisons = 16

# %% exercise 1, wrong: forgets the heads
comparisons = {n: base.N * n**2 for n in (25, 100)}

# %% exercise 1, wrong: forgets the layers
comparisons = {n: base.h * n**2 for n in (25, 100)}

# %% exercise 1, wrong: each pair once
comparisons = {n: base.N * base.h * n * (n + 1) // 2 for n in (25, 100)}

# %% exercise 1, wrong: grows like n
comparisons = {n: base.N * base.h * n * 25 for n in (25, 100)}

# %% exercise 1, wrong: the decoder's too
comparisons = {n: 3 * base.N * base.h * n**2 for n in (25, 100)}

# %% exercise 1, wrong: multiplications, not pairs
comparisons = {n: base.N * base.d_model * n**2 for n in (25, 100)}

# %% exercise 2, right: from the source's pieces
pieces = vocabulary.pieces(vocabulary.encode(["The cake was sour."])[0])
limit = SearchConfig().extra_length + sum(piece != "</s>" for piece in pieces)

# %% exercise 2, wrong: counts the end of the sentence
limit = len(vocabulary.encode(["The cake was sour."])[0]) + SearchConfig().extra_length

# %% exercise 2, wrong: fifty in all
limit = SearchConfig().extra_length

# %% exercise 2, wrong: in words
limit = len("The cake was sour.".split()) + SearchConfig().extra_length

# %% exercise 2, wrong: in letters
limit = len("The cake was sour.") + SearchConfig().extra_length

# %% exercise 2, wrong: the length of the longest source
limit = model.config.max_positions
