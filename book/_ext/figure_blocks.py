"""What the front page says about each block of figure 1, in the order of the drawing."""

from typing import NamedTuple

ATTENTION = r"""\begin{{aligned}}
\text{{head}}_i &= \text{{softmax}}\Big(\frac{{Q_i K_i^\top}}{{\sqrt{{d_k}}}}{mask}\Big)\, V_i \\
\text{{result}} &= [\text{{head}}_1, \dots, \text{{head}}_h]\, W^O \\
Q_i &= x W_i^Q \\
K_i, V_i &= {memory} W_i^K,\ {memory} W_i^V
\end{{aligned}}"""
POSITIONS = r"""\begin{aligned}
PE_{p,\,2i} &= \sin\big(p \,/\, 10000^{2i/d_{\text{model}}}\big) \\
PE_{p,\,2i+1} &= \cos\big(p \,/\, 10000^{2i/d_{\text{model}}}\big)
\end{aligned}"""
NORM = r"\text{LayerNorm}\big(x + \text{Sublayer}(x)\big)"
FEED_FORWARD = r"\max(0,\ x W_1 + b_1)\, W_2 + b_2"
EMBEDDING = r"\sqrt{d_{\text{model}}}\; E_{\text{token}}"


class Block(NamedTuple):
    """A block: its name, kind and chapter, what it does, its formula, and what flows there, in words.

    `flows` has a word for each of the shapes that figure_numbers.py finds.
    """

    key: str
    title: str
    kind: str
    chapter: str
    text: str
    formula: str
    flows: tuple[str, ...]


IN, OUT = "in", "out"
HEADS = ("queries", "keys, values", "weights")

BLOCKS = (
    Block(
        "source-embedding", "Embedding of the source", "embedding", "03-4-embeddings-and-softmax",
        "Looks up a vector for each token of the source. One matrix, with a row for every token of the "
        "vocabulary, serves source, target and scores; it counts once.",
        EMBEDDING, ("in: tokens", OUT),
    ),
    Block(
        "source-positions", "Positions of the source", "positions", "03-5-positional-encoding",
        "Adds a pattern of sines and cosines that tells the first place from the second and the third. "
        "The pattern is computed, not learned.",
        POSITIONS, (IN, OUT),
    ),
    Block(
        "encoder-attention", "Self-attention", "attention", "03-2-attention",
        "Lets each source token collect what it needs from all of them, in h ways at once.",
        ATTENTION.format(mask="", memory="x"), (IN, *HEADS, OUT),
    ),
    Block(
        "encoder-norm", "Add and normalise, encoder", "norm", "03-1-encoder-and-decoder-stacks",
        "Adds what a sub-layer found to what it was given, and brings the sum to one scale. "
        "Two in every layer.",
        NORM, (IN, OUT),
    ),
    Block(
        "encoder-feed-forward", "Feed-forward network, encoder", "feed-forward", "03-3-feed-forward",
        "Thinks about each token by itself, in a much wider space: the same small network at every position.",
        FEED_FORWARD, (IN, "between", OUT),
    ),
    Block(
        "memory", "Memory", "memory", "03-model-architecture",
        "What the encoder leaves: a vector for each source token, which knows of all the others. It is made "
        "once, and every layer of the decoder reads it.",
        r"z_1, \dots, z_n = \text{Encoder}(x_1, \dots, x_n)", (OUT,),
    ),
    Block(
        "target-embedding", "Embedding of the target", "embedding", "03-4-embeddings-and-softmax",
        "Looks up a vector for each token written so far, the start mark first. It is the same matrix as "
        "that of the source, and counts once.",
        EMBEDDING, ("in: tokens", OUT),
    ),
    Block(
        "target-positions", "Positions of the target", "positions", "03-5-positional-encoding",
        "The same pattern as for the source: position 5 looks alike on both sides.",
        POSITIONS, (IN, OUT),
    ),
    Block(
        "decoder-attention", "Masked self-attention", "attention", "03-2-attention",
        "Lets each target token collect from those before it and from itself. The mask M is minus infinity "
        "for every later one, so nobody looks ahead.",
        ATTENTION.format(mask=" + M", memory="x"), (IN, *HEADS, OUT),
    ),
    Block(
        "decoder-norm", "Add and normalise, decoder", "norm", "03-1-encoder-and-decoder-stacks",
        "The same as in the encoder. Three in every layer, one after each sub-layer.",
        NORM, (IN, OUT),
    ),
    Block(
        "memory-attention", "Attention over the memory", "attention", "03-2-attention",
        "Here the target meets the source: queries come from the target x, keys and values from the "
        "memory z.",
        ATTENTION.format(mask="", memory="z"), (IN, "in: memory", *HEADS, OUT),
    ),
    Block(
        "decoder-feed-forward", "Feed-forward network, decoder", "feed-forward", "03-3-feed-forward",
        "As in the encoder, with weights of its own in every layer.",
        FEED_FORWARD, (IN, "between", OUT),
    ),
    Block(
        "scores", "Scores and softmax", "embedding", "03-4-embeddings-and-softmax",
        "Compares each vector with every row of the embedding's matrix; the softmax turns the scores into "
        "probabilities of the next token. No parameters of its own.",
        r"\text{softmax}(x E^\top)", (IN, OUT),
    ),
)  # fmt: skip

WHOLE = Block(
    "whole", "The whole model", "whole", "03-model-architecture",
    "The encoder reads the source once. The decoder gives, after every beginning of the target, a "
    "probability to each token that could come next.",
    r"p(y \mid x) = \prod_{t=1}^{m} p(y_t \mid y_1, \dots, y_{t-1}, x)",
    ("in: source", "in: target", OUT),
)  # fmt: skip

# The kinds of blocks, as the summary names them.
KINDS = {
    "embedding": "embedding and scores",
    "attention": "attention",
    "feed-forward": "feed-forward",
    "norm": "add, normalise",
}
