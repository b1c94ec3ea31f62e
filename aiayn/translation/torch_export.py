# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""Export of a Transformer to `torch.export` and ONNX, with free batch and lengths."""

# book/3-workshop/14-other-peoples-models.ipynb, cell programs-imports
import copy
import logging
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.model.attention import padding_mask
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.model.kv_cache import KVCache
from aiayn.model.layers import LayerCache
from aiayn.model.transformer import Transformer
from aiayn.translation.huggingface_export import LONGEST, new_folder


# book/3-workshop/14-other-peoples-models.ipynb, cell given-cache
class GivenCache(KVCache):
    """A cache of keys and values (rows, h, m, width) that come from outside."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self.length, self.buffers = keys.shape[2], [keys, values]

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """As in the model, but nothing is written in place."""
        pairs = zip(self.buffers, (keys, values), strict=True)
        self.buffers = [torch.cat(pair, dim=2) for pair in pairs]
        self.length += keys.shape[2]
        return self.kept


# book/3-workshop/14-other-peoples-models.ipynb, cell programs
class EncoderProgram(nn.Module):
    """Keys and values of the memory for each decoder layer, of a source (batch, n)."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> list[Tensor]:
        """For each layer two tensors (batch, h, n, width), keys first."""
        memory, kept = self.model.encode(source), list[Tensor]()
        layer: Any  # which PyTorch's list of modules does not tell
        for layer in self.model.decoder.layers:
            kept += layer.cross_attention.projections.project(memory, slice(1, 3))
        return kept


class DecoderProgram(nn.Module):
    """One step of the decoder: scores of the token after the newest ones (batch, 1)."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, tokens: Tensor, source: Tensor, memory: list[Tensor], past: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Logits (batch, vocabulary), and the `past` of the next step.

        `memory` is the encoder's; `past` holds for each layer keys and values
        (batch, h, m, width) of the m tokens so far, none at first.
        """
        model, caches = self.model, list[LayerCache]()
        for k in range(0, len(past), 2):
            caches.append(LayerCache())
            caches[-1].target = GivenCache(*past[k : k + 2])
            caches[-1].memory = GivenCache(*memory[k : k + 2])
        x = model.positions(model.target_embeddings(tokens), past[0].shape[2])
        mask = padding_mask(source, model.config.pad_id)
        x = model.decoder(x, x, mask, caches)  # of the memory, only the cache is read
        kept = [part for cache in caches for part in cache.target.buffers]
        return model.logits(x[:, -1]), kept


# book/3-workshop/14-other-peoples-models.ipynb, cell export-programs
# Which dimensions of each input are free.
AXES = {
    "source": {0: "batch", 1: "n"},
    "tokens": {0: "batch"},
    "memory": {0: "batch", 2: "n"},
    "past": {0: "batch", 2: "m"},
}


def export_programs(model: EncoderDecoder) -> dict[str, ExportedProgram]:
    """The encoder and a step of the decoder as programs of `torch.export`.

    Batch and lengths are free.
    """
    if not isinstance(model, Transformer):
        raise InputError(f"no program of torch.export for a {type(model).__name__}")
    model = copy.deepcopy(model).cpu().eval()
    most = min(LONGEST, model.config.max_positions or LONGEST)
    model.positions(torch.zeros(1, most, model.config.d_model))  # a table grows to it
    encoder, decoder = EncoderProgram(model), DecoderProgram(model)
    source, tokens = torch.ones(2, 7).long(), torch.ones(2, 1).long()
    memory = encoder(source)
    past = [each[:, :, :5] for each in memory]
    dims = {"batch": Dim("batch"), "n": Dim("n", max=most), "m": Dim("m", max=most - 1)}
    free: Any = {
        name: {axis: dims[size] for axis, size in sizes.items()}
        for name, sizes in AXES.items()
    }
    axes = (
        free["tokens"],
        free["source"],
        *([free[x]] * len(past) for x in ("memory", "past")),
    )
    inputs = tokens, source, memory, past
    return {
        "encoder": torch.export.export(encoder, (source,), dynamic_shapes=(axes[1],)),
        "decoder": torch.export.export(decoder, inputs, dynamic_shapes=axes),
    }


# book/3-workshop/14-other-peoples-models.ipynb, cell onnx
def onnx_names(layers: int) -> dict[str, tuple[list[str], list[str]]]:
    """What goes into each program and what comes out, in the programs' order."""
    parts = [
        f"{part}_{layer}" for layer in range(layers) for part in ("keys", "values")
    ]
    memory = [f"memory_{part}" for part in parts]
    inputs = ["tokens", "source", *memory, *(f"past_{part}" for part in parts)]
    return {"encoder": (["source"], memory), "decoder": (inputs, ["logits", *parts])}


def save_onnx(name: str, program: ExportedProgram, path: Path) -> None:
    """Write the encoder or the decoder as ONNX."""
    layers = len(program.graph_signature.user_outputs) // 2  # keys and values of each
    inputs, outputs = onnx_names(layers)[name]
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it lists what it may lack
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch, about itself
        torch.onnx.export(
            program,
            f=path,
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=[AXES[name.partition("_")[0]] for name in inputs],
            dynamo=True,
            external_data=False,
            verbose=False,
        )


# book/3-workshop/14-other-peoples-models.ipynb, cell write-programs
def write_programs(
    model: EncoderDecoder,
    vocabulary: Vocabulary,
    folder: Path | str,
    to: Literal["torch", "onnx"] = "torch",
) -> None:
    """Write encoder and decoder, .pt2 or .onnx, and vocabulary.model to a new folder.

    Raises
    ------
    InputError
        If it is there already, or cannot be written, or the model is no Transformer,
        or ONNX is not installed.
    """
    if to == "onnx" and not all(map(find_spec, ("onnx", "onnxscript"))):
        raise InputError("ONNX is not installed: pip install 'aiayn[onnx]'")
    with new_folder(Path(folder)) as part:
        vocabulary.save(part / "vocabulary.model")
        for name, program in export_programs(model).items():
            if to == "torch":
                torch.export.save(program, part / f"{name}.pt2")
            else:
                save_onnx(name, program, part / f"{name}.onnx")
