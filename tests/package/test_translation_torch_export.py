"""Programs of torch.export compute what the model does, for every batch and length."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import TRANSFORMER, TRANSFORMERS, V, moved, sentences

from aiayn.base_config import changed
from aiayn.data.vocabulary import BOS_ID, EOS_ID
from aiayn.errors import InputError
from aiayn.model.baselines.recurrent import RecurrentConfig
from aiayn.model.registry import build
from aiayn.translation import Translator
from aiayn.translation.torch_export import export_programs

Command = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.usefixtures("unchecked")  # a traced length is no int


@pytest.mark.parametrize("kind", ["paper", "learned", "relative"])
@torch.no_grad()
def test_batch_and_lengths_are_free(kind: str) -> None:
    model = moved(changed(TRANSFORMER, **TRANSFORMERS[kind]))
    programs = {name: each.module() for name, each in export_programs(model).items()}
    for lengths, m in (([1], 1), ([9, 4, 1], 1), ([2] * 5, 300), ([300, 3], 7)):
        source = sentences(*lengths)
        target = torch.randint(1, V, (len(source), m))
        memory = programs["encoder"](source)
        assert torch.equal(memory, model.encode(source))
        wanted = model.logits(model.decode(target, memory, source)[:, -1])
        found = programs["decoder"](target, memory, source)
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)


@torch.no_grad()
def test_two_files_translate_without_the_package(
    aiayn: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "programs"
    assert aiayn("convert", "en-de", folder, "--to", "torch") == (0, "", "")
    names = {"encoder.pt2", "decoder.pt2", "vocabulary.model"}
    assert {path.name for path in folder.iterdir()} == names
    encoder, decoder = (
        torch.export.load(folder / f"{name}.pt2").module()
        for name in ("encoder", "decoder")
    )
    translator = Translator.load("en-de", beam=1, device="cpu")
    line = "Where is the nearest station?"
    source = torch.tensor([translator.vocabulary.encode(line)])
    memory, target = encoder(source), torch.tensor([[BOS_ID]])
    while target[0, -1] != EOS_ID:
        token = decoder(target, memory, source).argmax(dim=-1, keepdim=True)
        target = torch.cat([target, token], dim=1)
    assert translator.vocabulary.decode(target.tolist()) == [translator(line)]
    code, _, errors = aiayn("convert", "en-de", folder, "--to", "torch")
    assert code == 2 and "is there already" in errors


def test_what_is_no_transformer_is_refused() -> None:
    shape: Any = RecurrentConfig(V, d_model=16, d_state=24)
    with pytest.raises(InputError, match=r"no program of torch\.export for a Recurr"):
        export_programs(build(shape))
