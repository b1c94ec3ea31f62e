# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""Tensors read from a file, with a check of their names, shapes and numbers."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell tensor-files-imports
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file

from aiayn.data.io import printable
from aiayn.errors import InputError

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell read-header
DTYPES = ("F16", "BF16", "F32", "F64", "I8")  # in which weights may be stored
SCALES = "/scales"  # what follows the name of a matrix in eight bits: one a row


def read_header(path: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a file's weights; an InputError if they cannot be weights."""
    shapes, eight_bits, allowed = {}, list[str](), ", ".join(DTYPES)
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (it is no dictionary)
                tensor = file.get_slice(name)
                shapes[name] = tuple(tensor.get_shape())
                if (dtype := tensor.get_dtype()) not in DTYPES:
                    fault = f"is of type {dtype}, not one of {allowed}"
                    advice = "use another checkpoint"
                    raise InputError(f"{path}: {printable(name)} {fault}; {advice}")
                if dtype == "I8":
                    eight_bits.append(name)
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"{path}: damaged or not there ({error}); use the checkpoint before it"
        ) from None
    for name in eight_bits:
        if (scales := shapes.pop(name + SCALES, None)) != shapes.get(name, ())[:1]:
            fault = f"in eight bits, with scales of shape {scales}"
            raise InputError(f"{path}: {printable(name)} is {fault}; use another")
    return shapes


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell read-tensors
def read_tensors(
    path: Path, expected: dict[str, torch.Size]
) -> dict[str, torch.Tensor]:
    """The tensors in a file, if they are finite, and have these names and shapes.

    Raises
    ------
    InputError
        If the file is missing or damaged, or something else than expected.
    """
    shapes = read_header(path)
    for name in sorted(expected.keys() | shapes.keys()):
        shape = shapes.get(name, "missing")
        wanted = tuple(expected[name]) if name in expected else "not to be there"
        if shape != wanted:
            fault = f"is {shape}, but the configuration wants {wanted}"
            raise InputError(f"{path}: {printable(name)} {fault}")
    stored = load_file(path)
    tensors = {name: stored[name] for name in shapes}
    for name in stored.keys() - shapes.keys():
        matrix = name.removesuffix(SCALES)
        tensors[matrix] = tensors[matrix] * stored[name].float()[:, None]
    for name in sorted(tensors):
        if not tensors[name].isfinite().all():
            fault = f"{name} has numbers that are not finite; use another checkpoint"
            raise InputError(f"{path}: {fault}")
    return tensors


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell eight-bits
def quantize_rows(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Matrices in eight bits with a scale for each row; vectors in 32 bits."""
    stored = dict[str, torch.Tensor]()
    for name, weight in weights.items():
        stored[name] = weight.float()
        if weight.dim() == 2:
            scales = (stored[name].abs().amax(dim=1) / 127).clamp_min(1e-12)
            stored[name + SCALES] = scales
            stored[name] = (stored[name] / scales[:, None]).round().to(torch.int8)
    return stored
