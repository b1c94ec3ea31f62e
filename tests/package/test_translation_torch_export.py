"""Programs of torch.export and ONNX compute what the model does, step by step, for
every batch and length.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sentencepiece import SentencePieceProcessor
from small_models import TRANSFORMER, TRANSFORMERS, V, moved, sentences
from torch import Tensor

from aiayn.base_config import changed
from aiayn.data.vocabulary import BOS_ID, EOS_ID
from aiayn.errors import InputError
from aiayn.model.baselines.recurrent import RecurrentConfig
from aiayn.model.registry import build
from aiayn.model.transformer import Transformer
from aiayn.translation import Translator
from aiayn.translation.torch_export import export_programs, onnx_names, save_onnx

Command = Callable[..., tuple[int, str, str]]
Programs = tuple[Callable[..., Any], Callable[..., Any]]  # encoder and decoder
pytestmark = pytest.mark.usefixtures("unchecked")  # a traced length is no int

LINES = [
    "Where is the nearest station?",
    "Tom has lost his keys again.",
    "The children are playing in the garden.",
    "I don't know.",
]


def in_onnxruntime(folder: Path, layers: int) -> Programs:
    """Both programs in a folder, with tensors in and out."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

    def program(name: str) -> Callable[..., Any]:
        place, providers = str(folder / f"{name}.onnx"), ["CPUExecutionProvider"]
        session = runtime.InferenceSession(place, providers=providers)
        inputs, outputs = onnx_names(layers)[name]
        assert [each.name for each in session.get_inputs()] == inputs
        assert [each.name for each in session.get_outputs()] == outputs

        def run(*tensors: Any) -> list[Tensor]:
            flat = [
                t for each in tensors for t in (each if type(each) is list else [each])
            ]
            given = dict(zip(inputs, (each.numpy() for each in flat), strict=True))
            return [torch.from_numpy(each) for each in session.run(None, given)]

        return run

    decoder = program("decoder")

    def step(*tensors: Any) -> tuple[Tensor, list[Tensor]]:
        logits, *past = decoder(*tensors)
        return logits, past

    return program("encoder"), step


def compare(model: Transformer, programs: Programs) -> None:
    """Log probabilities of every step, from the first."""
    encoder, decoder = programs
    for lengths, m in (([1], 2), ([9, 4, 1], 12), ([2] * 5, 60), ([300, 3], 3)):
        source = sentences(*lengths)
        target = sentences(*[m] * len(lengths))
        memory, state = encoder(source), model.start(source)
        past = [each[:, :, :0] for each in memory]
        for tokens in target.split(1, dim=1):
            logits, past = decoder(tokens, source, memory, past)
            wanted = model.step(tokens, state).log_softmax(dim=-1)
            found = logits.log_softmax(dim=-1)
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-4)
        whole = model.logits(model.decode(target, model.encode(source), source))[:, -1]
        torch.testing.assert_close(logits, whole, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["paper", "learned", "relative"])
@torch.no_grad()
def test_batch_and_lengths_are_free(kind: str) -> None:
    model: Any = moved(changed(TRANSFORMER, **TRANSFORMERS[kind]))
    encoder, decoder = (each.module() for each in export_programs(model).values())
    compare(model, (encoder, decoder))


@pytest.mark.parametrize("kind", ["paper", "pre"])
@torch.no_grad()
def test_onnx_computes_the_same(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    model: Any = moved(changed(TRANSFORMER, N=1, **TRANSFORMERS[kind]))
    for name, program in export_programs(model).items():
        save_onnx(name, program, tmp_path / f"{name}.onnx")
    compare(model, in_onnxruntime(tmp_path, layers=1))


def greedy(programs: Programs, source: Tensor) -> list[int]:
    """What the programs write, an end last."""
    encoder, decoder = programs
    memory, written = encoder(source), [BOS_ID]
    past = [each[:, :, :0] for each in memory]
    while written[-1] != EOS_ID:
        tokens = torch.tensor([written[-1:]])
        logits, past = decoder(tokens, source, memory, past)
        written.append(int(logits.argmax()))
    return written[1:]


@pytest.mark.parametrize(
    "to", ["torch", pytest.param("onnx", marks=pytest.mark.nightly)]
)
@torch.no_grad()
def test_files_translate_without_the_package(
    to: str, aiayn: Command, tmp_path: Path
) -> None:
    """Of the translator that ships; as ONNX nightly, since PyTorch takes its time."""
    folder = tmp_path / "programs"
    status, said, _ = aiayn("convert", "en-de", folder, "--to", to)
    assert status == 0 and said.startswith(f"{folder}: written; Python loads it by ")
    ending = "pt2" if to == "torch" else "onnx"
    names = {f"encoder.{ending}", f"decoder.{ending}", "vocabulary.model"}
    assert {path.name for path in folder.iterdir()} == names
    translator = Translator.load("en-de", beam=1, device="cpu")
    if to == "torch":
        files = (folder / f"{name}.pt2" for name in ("encoder", "decoder"))
        encoder, decoder = (torch.export.load(path).module() for path in files)
        programs: Programs = encoder, decoder
    else:
        model: Any = translator.model
        programs = in_onnxruntime(folder, len(model.decoder.layers))
        compare(model, programs)
    cut = SentencePieceProcessor(model_file=str(folder / "vocabulary.model"))
    for line in LINES:
        (best,) = translator.n_best(line, 1)
        source = torch.tensor([[*cut.encode(line), EOS_ID]])
        assert greedy(programs, source) == best.tokens
    code, _, errors = aiayn("convert", "en-de", folder, "--to", to)
    assert code == 2 and "is there already" in errors


def test_without_onnx_a_line_names_the_extra(
    aiayn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    code, _, errors = aiayn("convert", "en-de", tmp_path / "new", "--to", "onnx")
    assert code == 2 and errors.strip().endswith("pip install 'aiayn[onnx]'")
    assert not list(tmp_path.iterdir())


def test_what_is_no_transformer_is_refused() -> None:
    shape: Any = RecurrentConfig(V, d_model=16, d_state=24)
    with pytest.raises(InputError, match=r"no program of torch\.export for a Recurr"):
        export_programs(build(shape))
