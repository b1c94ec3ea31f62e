# Made by `make export` from book/5-launch/1-launch.ipynb
"""The verbs info, models and convert: what a run is, and what ships."""

# book/5-launch/1-launch.ipynb, cell models-imports
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

from aiayn.base_config import settings
from aiayn.cli.inference import RunArgument
from aiayn.errors import InputError
from aiayn.model.registry import build
from aiayn.training.metrics_log import Metrics
from aiayn.training.recipes import read_json
from aiayn.training.trained_run import SHIPPED, TrainedRun, shipped_models
from aiayn.translation.ctranslate2 import write_ctranslate2
from aiayn.translation.huggingface import read_run
from aiayn.translation.huggingface_export import write_huggingface
from aiayn.translation.torch_export import write_programs


# book/5-launch/1-launch.ipynb, cell models-verbs
def parameter_count(run: TrainedRun) -> int:
    """How many numbers a run has learned."""
    with torch.device("meta"):
        model = build(run.description.model)
    return sum(weight.numel() for weight in model.parameters())


def run_scores(run: TrainedRun) -> Iterator[str]:
    """What is known of how good a run is."""
    if run.description.score is not None:
        metric = "F1" if run.kind == "parsing" else "BLEU"
        on = f" ({run.description.scored_on})" if run.description.scored_on else ""
        yield f"{metric} {run.description.score:.1f}{on}"
    with suppress(InputError, OSError):  # a model alone has none
        for step, perplexity in [*Metrics(run.folder).validations().items()][-1:]:
            yield f"validation perplexity {perplexity:.2f} at step {step:,}"
    with suppress(InputError, KeyError, TypeError):  # what `aiayn launch` leaves
        for name, each in read_json(run.folder / "bleu.json")["measured"].items():
            yield f"{name} {each['value']:.2f} (bleu.json)"


# book/5-launch/1-launch.ipynb, cell info-verb
def info(run: RunArgument) -> None:
    """Print what a run is: its shape, its training, its scores, and a command for it.

    Parameters
    ----------
    run : Path
        A folder that `aiayn train` left, or of a Marian model, or a model that ships.
    """
    found = read_run(run)
    its = found.description
    shape = ", ".join(f"{name} {value}" for name, value in settings(its.model).items())
    facts = {
        "model": f"{parameter_count(found):,} parameters: {shape}",
        "data": its.data or its.texts,
        "languages": its.pair,
        "pairs": f"{its.pairs:,}" if its.pairs else "",
        "began with": its.init,
        "steps": f"{its.step:,}" if its.step else "",
        "minutes": f"{its.minutes:.1f}" if its.minutes else "",
        "checkpoints": ", ".join(path.name for path in found.checkpoints),
        "scores": "; ".join(run_scores(found)),
        "versions": ", ".join(map(" ".join, (its.versions or {}).items())),
    }
    facts["started by"] = its.command or ""
    if its.training and its.data and not its.command:
        recipe = found.checkpoints[-1] / "config.json"
        words = ["aiayn", "train", "--recipe", str(recipe), "--data", its.data]
        words += ["--pair", its.pair] if its.pair else []
        facts["again by"] = shlex.join([*words, "--out", "NEW"])
    for name, value in facts.items():
        if value:
            print(f"{name:12} {value}")


def models() -> None:
    """List the models that ship with the package, with size, languages and score."""
    for name in shipped_models():
        run = TrainedRun.read(name)
        size = sum(path.stat().st_size for path in (SHIPPED / name).iterdir()) / 1e6
        facts = f"{parameter_count(run):,} parameters, {size:.1f} MB"
        languages, scores = run.description.pair or "", "; ".join(run_scores(run))
        print(f"{name:20} {languages:10} {facts:32} {scores}")


# book/5-launch/1-launch.ipynb, cell convert-command
LOADED_BY = {
    "ctranslate2": "ctranslate2.Translator('{}')",
    "huggingface": "transformers.AutoModelForSeq2SeqLM.from_pretrained('{}')",
    "torch": "torch.export.load('{}/encoder.pt2'), and the decoder",
    "onnx": "onnxruntime.InferenceSession('{}/encoder.onnx'), and the decoder",
}


def convert(
    run: RunArgument,
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")],
    to: Literal["ctranslate2", "huggingface", "torch", "onnx"] = "ctranslate2",
    average: int | None = None,
) -> None:
    """Write a model for another program, to a new folder.

    Parameters
    ----------
    run : Path
        A folder that `aiayn train` left, or of a Marian model; or a model that ships.
    out : Path
        The new folder.
    to : str
        CTranslate2, transformers of Hugging Face, programs of torch.export, or ONNX.
    average : int, optional
        How many of the last checkpoints; the recipe's number unless given.
    """
    trained = read_run(run, average)
    model, vocabulary = trained.load("cpu")
    if to == "huggingface":
        write_huggingface(model, vocabulary, out, trained.description)
    elif to == "ctranslate2":
        write_ctranslate2(model, vocabulary, out)
    else:
        write_programs(model, vocabulary, out, to)
    print(f"{out}: written; Python loads it by {LOADED_BY[to].format(out)}")
