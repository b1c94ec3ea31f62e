# Made by `make export` from book/3-workshop/14-other-peoples-models.ipynb
"""Export of a Transformer as programs of `torch.export`, of any batch and length."""

# book/3-workshop/14-other-peoples-models.ipynb, cell programs-imports
import copy
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.model.transformer import Transformer
from aiayn.translation.huggingface_export import LONGEST, new_folder


# book/3-workshop/14-other-peoples-models.ipynb, cell programs
class EncoderProgram(nn.Module):
    """The memory, of a source (batch, n)."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> Tensor:
        """What `encode` gives: (batch, n, d_model)."""
        return self.model.encode(source)


class DecoderProgram(nn.Module):
    """Scores of the token after a target (batch, m), its start token among it."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Logits (batch, vocabulary), of the encoder's memory and its source."""
        return self.model.logits(self.model.decode(target, memory, source)[:, -1])


# book/3-workshop/14-other-peoples-models.ipynb, cell export-programs
def export_programs(model: EncoderDecoder) -> dict[str, ExportedProgram]:
    """The encoder and the decoder as programs of `torch.export`.

    Batch and lengths are free.
    """
    if not isinstance(model, Transformer):
        raise InputError(f"no program of torch.export for a {type(model).__name__}")
    model = copy.deepcopy(model).cpu().eval()
    most = min(LONGEST, model.config.max_positions or LONGEST)
    model.positions(torch.zeros(1, most, model.config.d_model))  # a table grows to it
    batch, n, m = Dim("batch"), Dim("n", max=most), Dim("m", max=most)
    source, target = torch.ones(2, 7).long(), torch.ones(2, 5).long()
    inputs = target, model.encode(source), source
    axes = {0: batch, 1: m}, {0: batch, 1: n}, {0: batch, 1: n}
    return {
        "encoder": torch.export.export(
            EncoderProgram(model), inputs[2:], dynamic_shapes=axes[2:]
        ),
        "decoder": torch.export.export(
            DecoderProgram(model), inputs, dynamic_shapes=axes
        ),
    }


def write_programs(
    model: EncoderDecoder, vocabulary: Vocabulary, folder: Path | str
) -> None:
    """Write encoder.pt2, decoder.pt2 and vocabulary.model to a new folder.

    Raises
    ------
    InputError
        If it is there already, or cannot be written, or the model is no Transformer.
    """
    programs = export_programs(model)
    with new_folder(Path(folder)) as part:
        for name, program in programs.items():
            torch.export.save(program, part / f"{name}.pt2")
        vocabulary.save(part / "vocabulary.model")
