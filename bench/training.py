"""Training speed: aiayn, torch.nn.Transformer, MarianMT, this machine's products.

python bench/training.py [--shapes small base] [--rounds 9] [--record]

All take the same steps on the same batches of Multi30k in float32 on the CPU, with the
same optimizer; each in a process of its own, one after another in turn. A ratio is that
of the medians. "products" takes the dense products of the same model alone, forwards
and backwards, padding left out, with either library that PyTorch brings: what no
program on this machine can be faster than. "torch.nn + oneDNN" is the peer with the one
switch that a user can set without touching the model. Memory is a process's peak, less
what importing takes.
"""

import argparse
import contextlib
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np
import records
import torch
from torch import nn

from aiayn.data import Batch, encode_pairs, load_pairs, make_batch, train_vocabulary
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.device import fast_products, keep_heap
from aiayn.model import Transformer, TransformerConfig
from aiayn.training.optimizer import make_optimizer, set_rate
from aiayn.training.step import batch_loss

SHAPES = {
    "small": TransformerConfig(vocabulary_size=8000, N=3, d_model=256, d_ff=1024, h=4),
    "base": TransformerConfig(vocabulary_size=8000),
}
TOKENS, RATE, SMOOTHING, MICRO_BATCHES = 2000, 1e-4, 0.1, 4
Step = Callable[[Batch], float]


def multi30k_batches(count: int) -> list[Batch]:
    """Every so many batches of the training set, short sentences and long ones."""
    pairs = load_pairs("multi30k", "en-de", "train")
    vocabulary = train_vocabulary([*pairs.source, *pairs.target], 8000)
    examples = encode_pairs(vocabulary, pairs, 256)
    order = sorted(range(len(examples)), key=lambda i: tuple(map(len, examples[i])))
    batches = []
    for at in np.linspace(0.1, 0.9, count):
        chosen = [examples[order[int(at * len(order))]]]
        for index in order[int(at * len(order)) + 1 :]:
            width = max(max(map(len, pair)) for pair in [*chosen, examples[index]])
            if width * (len(chosen) + 1) > TOKENS:
                break
            chosen.append(examples[index])
        batches.append(make_batch(chosen))
    return batches


def stepper(model: nn.Module, loss_of: Callable[[Batch], torch.Tensor]) -> Step:
    """The loop that all models share."""
    optimizer = make_optimizer(model)
    set_rate(optimizer, RATE)
    model.train()

    def step(batch: Batch) -> float:
        loss = loss_of(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return step


def aiayn(config: TransformerConfig) -> Step:
    """This package."""
    model = Transformer(config)
    return stepper(
        model,
        lambda batch: (
            batch_loss(model, batch, SMOOTHING)[0] / (batch.labels != PAD_ID).sum()
        ),
    )


def aiayn_in_pieces(config: TransformerConfig) -> Step:
    """The same step, its batch computed in micro-batches: less memory at a time."""
    model = Transformer(config)

    def loss(batch: Batch) -> torch.Tensor:
        words = (batch.labels != PAD_ID).sum()
        total = torch.zeros((), requires_grad=True)
        for k in range(MICRO_BATCHES):
            piece = Batch(
                *(
                    side[k::MICRO_BATCHES]
                    for side in (batch.source, batch.target, batch.labels)
                )
            )
            found = batch_loss(model, piece, SMOOTHING)[0] / words
            found.backward()
            total = total + found.detach()
        return total  # its own backward pass has nothing left to do

    return stepper(model, loss)


def smoothed(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """The peers' loss: torch's own."""
    return nn.functional.cross_entropy(
        logits.flatten(0, 1),
        batch.labels.flatten(),
        ignore_index=PAD_ID,
        label_smoothing=SMOOTHING,
    )


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with what it lacks: embeddings, positions, projection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(config.vocabulary_size, config.d_model)
        nn.init.normal_(self.embeddings.weight, std=config.d_model**-0.5)
        self.dropout, self.scale = nn.Dropout(config.dropout), config.d_model**0.5
        self.transformer = nn.Transformer(
            config.d_model,
            config.h,
            config.N,
            config.N,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        angles = torch.arange(512.0)[:, None] * 1e4 ** -(
            torch.arange(0, config.d_model, 2) / config.d_model
        )
        self.register_buffer(
            "positions", torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
        )

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.dropout(
            self.embeddings(tokens) * self.scale + self.positions[: tokens.shape[1]]
        )

    def forward(self, batch: Batch) -> torch.Tensor:
        n = batch.target.shape[1]
        padding = batch.source == PAD_ID
        hidden = self.transformer(
            self.embed(batch.source),
            self.embed(batch.target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(n),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return hidden @ self.embeddings.weight.T


def torch_transformer(config: TransformerConfig) -> Step:
    """PyTorch's own model."""
    model = TorchTransformer(config)
    return stepper(model, lambda batch: smoothed(model(batch), batch))


def marian_model(config: TransformerConfig) -> nn.Module:
    """Hugging Face's MarianMT of that shape."""
    from transformers import MarianConfig, MarianMTModel

    layers = dict(encoder_layers=config.N, decoder_layers=config.N)
    heads = dict(encoder_attention_heads=config.h, decoder_attention_heads=config.h)
    widths = dict(
        encoder_ffn_dim=config.d_ff, decoder_ffn_dim=config.d_ff, d_model=config.d_model
    )
    return MarianMTModel(
        MarianConfig(
            vocab_size=config.vocabulary_size,
            dropout=config.dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD_ID,
            eos_token_id=EOS_ID,
            decoder_start_token_id=BOS_ID,
            **layers,
            **heads,
            **widths,
        )
    )


def marian_logits(model: nn.Module, batch: Batch) -> torch.Tensor:
    """Logits of Hugging Face's MarianMT, teacher-forced."""
    mask = (batch.source != PAD_ID).long()
    found = model(
        input_ids=batch.source,
        attention_mask=mask,
        decoder_input_ids=batch.target,
        use_cache=False,
    )
    return found.logits


def marian(config: TransformerConfig) -> Step:
    """Hugging Face's MarianMT."""
    model = marian_model(config)
    return stepper(model, lambda batch: smoothed(marian_logits(model, batch), batch))


def products(config: TransformerConfig) -> Step:
    """The dense products alone: forward, gradient of the input, gradient of the
    weights.
    """
    d, width = config.d_model, config.d_ff
    encoder = [(d, 3 * d), (d, d), (d, width), (width, d)] * config.N
    # The products of K and V of the memory come below.
    decoder = [(d, 3 * d), (d, d), (d, d), (d, d), (d, width), (width, d)] * config.N
    sides = [
        ("source", [*encoder, *[(d, 2 * d)] * config.N]),
        ("labels", [*decoder, (d, config.vocabulary_size)]),
    ]
    weights = {
        shape: torch.randn(shape[1], shape[0])
        for _, shapes in sides
        for shape in shapes
    }
    room = {shape: torch.empty_like(weight) for shape, weight in weights.items()}

    def step(batch: Batch) -> float:
        for side, shapes in sides:
            rows = int((getattr(batch, side) != PAD_ID).sum())
            memory = {
                size: (torch.ones(rows, size), torch.empty(rows, size))
                for pair in shapes
                for size in pair
            }
            for shape in shapes:
                (x, dx), (dy, y) = memory[shape[0]], memory[shape[1]]
                torch.mm(x, weights[shape].T, out=y)
                torch.mm(dy, weights[shape], out=dx)
                torch.mm(dy.T, x, out=room[shape])
        return 0.0

    return step


SYSTEMS: dict[str, Callable[[TransformerConfig], Step]] = {
    "aiayn": aiayn,
    "aiayn, 4 pieces": aiayn_in_pieces,
    "torch.nn": torch_transformer,
    "marian": marian,
    "torch.nn + oneDNN": torch_transformer,
    "products, MKL": products,
    "products, oneDNN": products,
}
PEERS = ("torch.nn", "marian")


def work(
    name: str, config: TransformerConfig, batches: list[Batch], connection: Connection
) -> None:
    """Be one of the systems, in a process of its own: take a round when asked, tell how
    long it took.
    """
    torch.manual_seed(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours = name.startswith("aiayn")
    if ours:
        keep_heap()  # as its command line does; peers run as they come
    fast = ours or name.endswith("oneDNN")
    with (
        fast_products(torch.device("cpu"), config.d_model)
        if fast
        else contextlib.nullcontext()
    ):
        step = SYSTEMS[name](config)
        while connection.recv():
            began = time.perf_counter()
            for batch in batches:
                step(batch)
            seconds = time.perf_counter() - began
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            connection.send((seconds, peak / 1024))


def race(
    config: TransformerConfig, batches: list[Batch], rounds: int
) -> dict[str, dict[str, float]]:
    """Median speed over rounds, each of one pass over the batches by each system in
    turn; peak memory.
    """
    context, ends = multiprocessing.get_context("spawn"), {}
    for name in SYSTEMS:
        ends[name], theirs = context.Pipe()
        context.Process(
            target=work, args=(name, config, batches, theirs), daemon=True
        ).start()
    tokens = sum(batch.tokens for batch in batches)
    seconds: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    peak = dict.fromkeys(SYSTEMS, 0.0)
    names = list(SYSTEMS)
    for number in range(rounds + 1):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            ends[name].send(True)
            took, peak[name] = ends[name].recv()
            if number:  # the first warms up
                seconds[name].append(took)
    for end in ends.values():
        end.send(False)
    return {
        name: {
            "tokens_per_second": round(tokens / statistics.median(found)),
            "MiB": round(peak[name]),
        }
        for name, found in seconds.items()
    }


def report(shape: str, rows: dict[str, dict[str, float]]) -> dict[str, float]:
    """Print the table of a model's shape; the ratios that it comes down to."""
    speed = {name: row["tokens_per_second"] for name, row in rows.items()}
    print(
        f"\n{shape:20} {'tokens/s':>9} {'of MKL':>8} {'of oneDNN':>10} {'peak MiB':>9}"
    )
    for name, row in rows.items():
        shares = (
            speed[name] / speed[f"products, {library}"] for library in ("MKL", "oneDNN")
        )
        print(
            "  {:18} {:>9,} {:>8.0%} {:>10.0%} {:>9,}".format(
                name, speed[name], *shares, row["MiB"]
            )
        )
    ratios = {
        "speed": speed["aiayn"] / max(speed[peer] for peer in PEERS),
        "speed, same products": speed["aiayn"] / speed["torch.nn + oneDNN"],
        "of products": speed["aiayn"] / speed["products, oneDNN"],
        "memory": rows["aiayn"]["MiB"] / min(rows[peer]["MiB"] for peer in PEERS),
        "speed in pieces": (
            speed["aiayn, 4 pieces"] / max(speed[peer] for peer in PEERS)
        ),
        "memory in pieces": (
            rows["aiayn, 4 pieces"]["MiB"] / min(rows[peer]["MiB"] for peer in PEERS)
        ),
    }
    summary = (
        "  aiayn: {:.2f} x the speed of the faster peer,"
        " {:.2f} x that of torch.nn with the same products,\n"
        "  {:.0%} of the machine's limit; {:.2f} x the memory of the smaller peer;\n"
        "  in 4 pieces {:.2f} x the speed and {:.2f} x the memory"
    )
    print(summary.format(*ratios.values()))
    return {name: round(ratio, 3) for name, ratio in ratios.items()}


def main() -> None:
    """Measure, print, and record on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES)
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument(
        "--record", action="store_true", help="write book/runs/training-speed.json"
    )
    arguments = parser.parse_args()
    records.check_peers()
    batches = multi30k_batches(arguments.batches)
    words = sum(batch.tokens for batch in batches)
    print(
        f"{len(batches)} batches, {words:,} tokens on both sides,"
        f" {torch.get_num_threads()} threads"
    )
    found = {}
    for shape in arguments.shapes:
        rows = race(SHAPES[shape], batches, arguments.rounds)
        found[shape] = {"rows": rows, "ratios": report(shape, rows)}
    if arguments.record:
        records.write("training-speed", {"shapes": found})


if __name__ == "__main__":
    main()
