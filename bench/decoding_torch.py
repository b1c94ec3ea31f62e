"""What decodes with PyTorch, for bench/decoding.py: this package, MarianMT, and a plain
loop of torch.nn.Transformer.

python bench/decoding_torch.py NAME SHAPE.json|RUN THREADS
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from programs import serve
from torch import Tensor, nn
from training import TorchTransformer, marian_model

from aiayn.data.batching import pad
from aiayn.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from aiayn.decoding import SearchConfig, beam_search
from aiayn.decoding.beam_search import expand
from aiayn.decoding.fast_decoder import FastDecoder
from aiayn.decoding.quantization import Compute
from aiayn.device import fast_products, keep_heap
from aiayn.model import Transformer, TransformerConfig
from aiayn.translation import Translator

# Of a batch of sources, with so many beams, so many tokens for each.
Decode = Callable[[Tensor, int, int], list[list[int]]]


class Endless(Transformer):
    """A model that never says that a sentence is over."""

    def logits(self, x: Tensor) -> Tensor:
        """As usual, but for the end."""
        scores = super().logits(x)
        scores[..., EOS_ID] = -torch.inf
        return scores


def random_model(config: TransformerConfig) -> Endless:
    """The same every time, in every process."""
    torch.manual_seed(1)
    return Endless(config).eval()


def aiayn(config: TransformerConfig, compute: Compute = "float32") -> Decode:
    """This package."""
    model = FastDecoder(random_model(config), compute)

    def decode(source: Tensor, beams: int, length: int) -> list[list[int]]:
        # A limit for all sentences, however long they are.
        model.config = SimpleNamespace(max_positions=length, pad_id=PAD_ID)
        search = SearchConfig(beams, alpha=0.0, extra_length=length)
        return [found[0].tokens for found in beam_search(model, source, search)]

    return decode


def marian(config: TransformerConfig) -> Decode:
    """Hugging Face's MarianMT and its generate."""
    model = marian_model(config).eval()

    def decode(source: Tensor, beams: int, length: int) -> list[list[int]]:
        found = model.generate(
            source,
            attention_mask=(source != PAD_ID).long(),
            num_beams=beams,
            do_sample=False,
            min_new_tokens=length,
            max_new_tokens=length,
        )
        return found[:, 1:].tolist()

    return decode


def plain_loop(config: TransformerConfig) -> Decode:
    """What one writes around torch.nn.Transformer: the whole prefix at each step."""
    model = TorchTransformer(config).eval()

    def decode(source: Tensor, beams: int, length: int) -> list[list[int]]:
        memory = model.transformer.encoder(model.embed(source))
        memory = memory.repeat_interleave(beams, 0)
        prefixes = source.new_full((len(source), 1, 1), BOS_ID)
        live = torch.zeros(len(source), 1)
        for n in range(1, length + 1):
            rows = prefixes.flatten(0, 1)
            mask = nn.Transformer.generate_square_subsequent_mask(n)
            over = memory if n > 1 else memory[::beams]
            hidden = model.transformer.decoder(
                model.embed(rows), over, mask, tgt_is_causal=True
            )
            scores = hidden[:, -1] @ model.embeddings.weight.T
            scores[:, EOS_ID] = -torch.inf
            live, origin, token = expand(scores, live, beams)
            prefixes = torch.cat([rows[origin], token.unsqueeze(-1)], dim=-1)
        return prefixes[:, 0, 1:].tolist()

    return decode


SYSTEMS: dict[str, Callable[[TransformerConfig], Decode]] = {
    "aiayn": aiayn,
    "aiayn int8": partial(aiayn, compute="int8"),
    "marian": marian,
    "torch.nn": plain_loop,
}


def random_work(name: str, config: TransformerConfig) -> Callable[..., Any]:
    """Decode batches of tokens, with a random model."""
    decode = SYSTEMS[name](config)

    def prepare(
        batches: list[list[list[int]]], beam: int, length: int
    ) -> Callable[[], Any]:
        padded = [pad(batch) for batch in batches]
        return lambda: [row for batch in padded for row in decode(batch, beam, length)]

    return prepare


def real_work(name: str, run: Path) -> Callable[..., Any]:
    """Translate lines, with a trained model."""
    translator = Translator.load(run, device="cpu")
    translator.compute = "int8" if name.endswith("int8") else "float32"

    def prepare(lines: list[str], beam: int, batch_tokens: int) -> Callable[[], Any]:
        translator.search = SearchConfig(beam, alpha=0.0)
        return lambda: [
            (found[0].text, found[0].log_probability)
            for found in translator.n_best(lines, 1, batch_tokens=batch_tokens)
        ]

    return prepare


def main() -> None:
    """Decode what is asked for."""
    name, model, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    keep_heap()
    if Path(model).is_dir():
        serve(real_work(name, Path(model)))
        return
    config = TransformerConfig(**json.loads(Path(model).read_text("utf-8")))
    products = fast_products(torch.device("cpu"), config.d_model)
    with torch.inference_mode():
        if not name.startswith("aiayn"):
            serve(random_work(name, config))
            return
        with products:
            serve(random_work(name, config))


if __name__ == "__main__":
    main()
