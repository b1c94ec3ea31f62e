# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""Marian models read from folders as Hugging Face has them, or from its hub."""

# book/3-workshop/14-other-peoples-models.ipynb, cell read-imports
import logging
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from aiayn.base_config import within
from aiayn.data.io import printable
from aiayn.data.marian_vocabulary import MarianVocabulary
from aiayn.data.vocabulary import BOS_ID, PAD_ID, Vocabulary
from aiayn.device import find_device
from aiayn.errors import InputError, NotFetched
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.model.marian import Marian
from aiayn.model.transformer import Transformer
from aiayn.training.checkpoint_metadata import Description
from aiayn.training.recipes import read_json
from aiayn.training.tensor_files import read_header
from aiayn.training.trained_run import TrainedRun
from aiayn.translation.huggingface_settings import Folder, read_config, read_vocabulary

LOG = logging.getLogger(__name__)  # the command line shows what it says


# book/3-workshop/14-other-peoples-models.ipynb, cell named-weights
def named_weights(model: Transformer) -> dict[str, Tensor]:
    """The weights of both stacks by Hugging Face's names: views, to read or to fill."""
    views = dict[str, Tensor]()

    def add(name: str, module: nn.Module) -> None:
        for part in ("weight", "bias"):
            views[f"{name}.{part}"] = getattr(module, part).detach()

    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        layer: Any  # which PyTorch's list of modules does not tell
        for number, layer in enumerate(stack.layers):
            place = f"model.{side}.layers.{number}."
            attentions = {"self_attn": layer.self_attention}
            if side == "decoder":
                attentions["encoder_attn"] = layer.cross_attention
            for name, attention in attentions.items():
                projections = attention.projections
                for part in ("weight", "bias"):
                    whole = getattr(projections, part).detach()
                    for letter, view in zip(
                        "qkv", whole.split(projections.widths), strict=True
                    ):
                        views[f"{place}{name}.{letter}_proj.{part}"] = view
                add(f"{place}{name}.out_proj", attention.W_O)
            add(f"{place}fc1", layer.feed_forward.W_1)
            add(f"{place}fc2", layer.feed_forward.W_2)
            norms = [f"{name}_layer_norm" for name in attentions]
            norms.append("final_layer_norm")
            for name, residual in zip(norms, layer.residuals, strict=True):
                add(place + name, residual.norm)
        if isinstance(stack.norm, nn.LayerNorm):  # of pre-norm models
            add(f"model.{side}.layer_norm", stack.norm)
    return views


# book/3-workshop/14-other-peoples-models.ipynb, cell read-tensors
def read_tensors_of(folder: Path) -> Mapping[str, Tensor]:
    """The weights in a folder; an InputError if there are none."""
    path, pickled = folder / "model.safetensors", folder / "pytorch_model.bin"
    if path.exists() or not pickled.exists():
        read_header(path)
        return load_file(path)
    LOG.warning(
        "%s: a pickle, read by torch.load with weights_only=True, which makes tensors"
        " of it and runs nothing else",
        pickled,
    )
    try:
        weights = torch.load(pickled, map_location="cpu", weights_only=True)
    except (
        OSError,
        RuntimeError,
        ValueError,
        EOFError,
        pickle.UnpicklingError,
    ) as error:
        reason = printable(str(error).partition("\n")[0])
        raise InputError(f"{pickled}: no weights alone ({reason})") from None
    tensors = weights if isinstance(weights, dict) else {"its content": weights}
    for name, weight in tensors.items():
        if not isinstance(weight, Tensor):
            raise InputError(f"{pickled}: {printable(name)} is no tensor")
    return tensors


# book/3-workshop/14-other-peoples-models.ipynb, cell places
def named_places(
    model: Marian, vocabulary: MarianVocabulary
) -> dict[str, tuple[Tensor, list[int] | None]]:
    """Where each tensor goes; for one with a row for each token, which rows, too.

    What is shared stands under several names.
    """
    places: dict[str, tuple[Tensor, list[int] | None]] = {}
    for name, view in named_weights(model).items():
        places[name] = view, None
    source, target = model.source_embeddings.weight, model.target_embeddings.weight
    ids, target_ids = vocabulary.ids, vocabulary.target.ids
    if source is target:
        places["model.shared.weight"] = source, ids
    places["model.encoder.embed_tokens.weight"] = source, ids
    places["model.decoder.embed_tokens.weight"] = target, target_ids
    places["lm_head.weight"] = model.output.weight, target_ids
    places["final_logits_bias"] = model.output.bias, target_ids
    for side in ("encoder", "decoder"):
        table = model.get_buffer("positions.table")
        places[f"model.{side}.embed_positions.weight"] = table, None
    return places


# book/3-workshop/14-other-peoples-models.ipynb, cell fill
@torch.no_grad()
def fill(
    model: Marian, vocabulary: MarianVocabulary, tensors: Mapping[str, Tensor]
) -> None:
    """Copy Hugging Face's tensors into a model; an InputError if they are others."""
    places, bias = named_places(model, vocabulary), model.output.bias
    filled = {id(model.get_buffer("positions.table"))}  # it is computed
    for name, tensor in tensors.items():
        if name not in places:
            raise InputError(f"{printable(name)}: no weight of such a model")
        place, ids = places[name]
        value = tensor.flatten() if place is bias else tensor
        if ids and len(value) == 1 + max(ids):
            value = value[ids]
        if place.shape != value.shape or not value.isfinite().all():
            found, wanted = tuple(tensor.shape), tuple(place.shape)
            raise InputError(f"{name}: {found}, or not finite, for {wanted}")
        value = value.to(place)
        if id(place) not in filled:
            place.copy_(value)
        elif not torch.allclose(place, value, atol=1e-3):  # some are in 16 bits
            raise InputError(f"{name} is not what it has to be equal to")
        filled.add(id(place))
    lacking = [name for name, (place, _) in places.items() if id(place) not in filled]
    if lacking != ["final_logits_bias"] * len(lacking):  # zeros without it
        raise InputError(f"{lacking[0]} is missing, one of {len(lacking)} weights")
    pad, unknown, start, end = vocabulary.target.ids[:4]
    if start in (pad, unknown, end):
        bias[BOS_ID] = -1e9  # the second number of a token is never written
    if model.config.bans_padding and model.config.renormalizes:
        bias[PAD_ID] = -1e9  # the rest has all of the softmax


# book/3-workshop/14-other-peoples-models.ipynb, cell read-huggingface
def is_huggingface(folder: Path | str) -> bool:
    """Whether a folder is Hugging Face's: its config.json names the type of a model."""
    path = Path(folder) / "config.json"
    return path.is_file() and "model_type" in read_json(path)


def read_huggingface(folder: Path | str) -> tuple[Marian, MarianVocabulary]:
    """A Marian model, such as OPUS-MT's, from a folder as Hugging Face has it.

    Raises
    ------
    InputError
        If a file is missing or damaged, or of a model that is not known here.
    """
    files = Folder.read(folder)
    vocabulary = read_vocabulary(files)
    with within(f"{files.path}: "):
        model = Marian(read_config(files, vocabulary))
        fill(model, vocabulary, read_tensors_of(files.path))
    return model.eval(), vocabulary


# book/3-workshop/14-other-peoples-models.ipynb, cell load-folder
class MarianFolder(TrainedRun):
    """A folder as Hugging Face has it for Marian, read like a run of our own."""

    @classmethod
    def read(cls, folder: Path | str, average: int | None = None) -> "MarianFolder":
        """A folder with one model, so that there is nothing to `average`."""
        if average is not None:
            fault = "there is one model, and nothing to average; leave it out"
            raise InputError(f"{folder}: average={average}, but {fault}")
        files = Folder.read(folder)
        vocabulary = read_vocabulary(files)
        with within(f"{folder}: "):
            config = read_config(files, vocabulary)
        source, target = map(files.tokenizer.get, ("source_lang", "target_lang"))
        pair = f"{source}-{target}" if source and target else None
        return cls(Path(folder), [], Description(config, pair=pair))

    def load(
        self, device: torch.device | str | None = None
    ) -> tuple[EncoderDecoder, Vocabulary]:
        """The model and its vocabulary, on a GPU if there is one."""
        model, vocabulary = read_huggingface(self.folder)
        return model.to(find_device(device)), vocabulary


def read_run(folder: Path | str, average: int | None = None) -> TrainedRun:
    """What is in the folder of a run, or in one as Hugging Face has it for Marian."""
    kind = MarianFolder if is_huggingface(folder) else TrainedRun
    return kind.read(folder, average)


# book/3-workshop/14-other-peoples-models.ipynb, cell from-hub
HUB_FILES = """config.json generation_config.json tokenizer_config.json vocab.json
target_vocab.json source.spm target.spm model.safetensors""".split()


def from_hub(name: str) -> Path:
    """Fetch OWNER/MODEL from Hugging Face's hub, or OWNER/MODEL@REVISION; its folder.

    Without a revision, it is the newest, and a line says which.

    Raises
    ------
    InputError
        If huggingface_hub is not installed.
    NotFetched
        If there is no such model, or no network.
    """
    try:
        import huggingface_hub
    except ModuleNotFoundError:
        raise InputError(f"{name}: to fetch it, pip install huggingface_hub") from None
    owner_and_model, _, revision = name.partition("@")
    try:
        if not revision:
            revision = str(huggingface_hub.HfApi().model_info(owner_and_model).sha)
            LOG.warning("%s@%s gives this model again", owner_and_model, revision)
        folder = Path(
            huggingface_hub.snapshot_download(
                owner_and_model, revision=revision, allow_patterns=HUB_FILES
            )
        )
        if not (folder / "model.safetensors").exists():
            huggingface_hub.snapshot_download(
                owner_and_model, revision=revision, allow_patterns="pytorch_model.bin"
            )
    except Exception as error:  # whatever the libraries below it raise
        reason = printable(str(error).partition("\n")[0])
        raise NotFetched(f"{name}: cannot be fetched from the hub ({reason})") from None
    return folder
