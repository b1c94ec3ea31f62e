"""Checkpoints: what is saved comes back, half of it never appears, and what is damaged
is refused by name.
"""

import hashlib
import json
import math
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from small_runs import (
    NUMBERS,
    QUICK,
    TINY,
    ZAHLEN,
    complaint,
    kept,
    plan_of,
    same,
    tensors,
)

import aiayn.training.checkpoint
from aiayn.data import Batch, Batches, Vocabulary, make_batch, train_vocabulary
from aiayn.data.batching import lengths_of
from aiayn.data.vocabulary import EOS_ID
from aiayn.errors import InputError
from aiayn.model import Transformer
from aiayn.training import load_checkpoint
from aiayn.training.checkpoint import (
    list_checkpoints,
    save_checkpoint,
)
from aiayn.training.checkpoint_metadata import Description, read_description
from aiayn.training.optimizer import make_optimizer
from aiayn.training.resume import restore
from aiayn.training.run_folder import Run, prune_checkpoints
from aiayn.training.step import Objective, training_step
from aiayn.training.tensor_files import quantize_rows, read_tensors
from aiayn.translation import Translator


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary([" ".join(NUMBERS), " ".join(ZAHLEN)], TINY.vocabulary_size)


def random_batch(seed: int = 0, size: int = 5) -> Batch:
    draw = random.Random(seed)
    sides = [
        [draw.randrange(4, 60) for _ in range(draw.randint(1, 9))] + [EOS_ID]
        for _ in range(2 * size)
    ]
    return make_batch(list(zip(sides[:size], sides[size:], strict=True)))


@pytest.fixture
def saved(tmp_path: Path, vocabulary: Vocabulary) -> tuple[Path, Transformer]:
    model = Transformer(TINY).eval()
    description = Description(TINY, step=1)
    save_checkpoint(tmp_path / "saved", model, vocabulary, description)
    return tmp_path / "saved", model


def test_a_checkpoint_gives_back_the_model(
    saved: tuple[Path, Transformer], vocabulary: Vocabulary
) -> None:
    folder, model = saved
    again, words = load_checkpoint([folder])
    assert again.config == model.config and not again.training
    assert words.model == vocabulary.model
    batch = random_batch()
    found, wanted = (each(batch.source, batch.target) for each in (again, model))
    assert torch.equal(found, wanted)
    names = {"config.json", "model.safetensors", "vocabulary.model"}
    assert set(os.listdir(folder)) == names
    assert list_checkpoints(folder) == [folder]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "relative", "none"])
@pytest.mark.parametrize("shared", [True, False])
def test_every_kind_of_model_can_be_kept(
    tmp_path: Path, vocabulary: Vocabulary, positions: Any, shared: bool
) -> None:
    shape = replace(TINY, positions=positions, share_embeddings=shared, d_k=5)
    model = Transformer(replace(shape, score="additive"))
    save_checkpoint(tmp_path / "saved", model, vocabulary)
    again, _ = load_checkpoint([tmp_path / "saved"])
    assert same(dict(again.named_parameters()), dict(model.named_parameters()))
    stored = tensors(tmp_path / "saved")
    # A shared matrix is there once.
    assert ("source_embeddings.weight" in stored) != shared
    assert (again.source_embeddings.weight is again.target_embeddings.weight) == shared


@pytest.mark.parametrize("shared", [True, False])
def test_the_mean_is_that_of_every_tensor(
    tmp_path: Path, vocabulary: Vocabulary, shared: bool
) -> None:
    models = [Transformer(replace(TINY, share_embeddings=shared)) for _ in range(5)]
    folders = [tmp_path / f"saved-{k}" for k in range(5)]
    for folder, model in zip(folders, models, strict=True):
        save_checkpoint(folder, model, vocabulary)
    mean, _ = load_checkpoint(folders)
    for name, weight in mean.named_parameters():
        values = torch.stack([model.get_parameter(name) for model in models])
        assert torch.equal(weight, values.double().mean(dim=0).float())
    assert (mean.source_embeddings.weight is mean.target_embeddings.weight) == shared


def change(folder: Path, name: str, value: Any) -> None:
    path = folder / "config.json"
    description = json.loads(path.read_text())
    description["model"][name] = value
    path.write_text(json.dumps(description))


def rewrite(folder: Path, **changes: torch.Tensor | None) -> None:
    path = folder / "model.safetensors"
    found: dict[str, Any] = safetensors.torch.load_file(path) | changes
    left = {name: tensor for name, tensor in found.items() if tensor is not None}
    safetensors.torch.save_file(left, path)


Damage = Callable[[Path], Any]


def cut(name: str, size: int) -> Damage:
    return lambda folder: os.truncate(folder / name, size)


def filled(name: str, content: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content)


def gone(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def shape(name: str, value: Any) -> Damage:
    return lambda folder: change(folder, name, value)


def weight(values: torch.Tensor | None, name: str = "") -> Damage:
    return lambda folder: rewrite(folder, **{name or FIRST: values})


def flip_vocabulary(folder: Path) -> None:
    """One letter of a piece is another: still a vocabulary, of the same size."""
    path = folder / "vocabulary.model"
    words = Vocabulary(path.read_bytes())
    piece = max(words.pieces(list(range(4, len(words)))), key=len).encode()
    path.write_bytes(words.model.replace(piece, piece[:-1] + b"#"))


def other_vocabulary(folder: Path) -> None:
    train_vocabulary([" ".join(NUMBERS)], 40).save(folder / "vocabulary.model")


FIRST = "decoder.layers.0.feed_forward.W_1.bias"
MODEL, CONFIG = "model.safetensors", "config.json"
NO_MODEL, NO_CONFIG = f"{MODEL}: damaged or not there (", f"{CONFIG}: not a config"


FAULTS: dict[str, tuple[Damage, list[str]]] = {
    "cut short": (cut(MODEL, 5000), [NO_MODEL, "use the checkpoint before it"]),
    "empty": (cut(MODEL, 0), [NO_MODEL]),
    "a pickle": (lambda folder: torch.save({}, folder / MODEL), [NO_MODEL]),
    "no weights": (gone(MODEL), [NO_MODEL]),
    "no configuration": (gone(CONFIG), [NO_CONFIG]),
    "cut configuration": (cut(CONFIG, 50), [NO_CONFIG]),
    "not UTF-8": (filled(CONFIG, b"\xff{}"), [NO_CONFIG]),
    "a list": (filled(CONFIG, b"[1, 2]"), [NO_CONFIG]),
    "another program's": (
        filled(CONFIG, b'{"model": {"hidden_size": 768}}'),
        ["config.json: model.", "architecture"],
    ),
    "impossible": (shape("h", 3), ["d_model=16 does not divide into h=3 heads"]),
    "another width": (
        shape("d_ff", 64),
        [f"model.safetensors: {FIRST} is (32,), but the configuration wants (64,)"],
    ),
    "fewer layers": (
        shape("N", 2),
        ["layers.1.", "is missing, but the configuration wants ("],
    ),
    "a tensor too many": (
        weight(torch.zeros(2, 3), "another"),
        ["another is (2, 3), but the configuration wants not to be there"],
    ),
    "a tensor too few": (
        weight(None),
        [f"{FIRST} is missing, but the configuration wants (32,)"],
    ),
    "an escape": (shape("\x1b[2J\nN", 1), ["config.json: model.", "no such field"]),
    "another kind": (
        shape("architecture", ["transformer"]),
        ["config.json: model.architecture=['transformer']: is not known"],
    ),
    "nan": (
        weight(torch.tensor([0.0] * 31 + [math.nan])),
        [f"{FIRST} has numbers that are not finite; use another checkpoint"],
    ),
    "beyond float32": (
        weight(torch.full((32,), 1e300, dtype=torch.float64)),
        [f"the mean of {FIRST} is not finite"],
    ),
    "complex": (
        weight(torch.zeros(32, dtype=torch.complex64)),
        [f"{FIRST} is of type C64, not one of F16, BF16, F32, F64"],
    ),
    "whole numbers": (
        weight(torch.zeros(32, dtype=torch.int64)),
        [f"{FIRST} is of type I64"],
    ),
    "eight bits without scales": (
        weight(torch.zeros(32, dtype=torch.int8)),
        [f"{FIRST} is in eight bits, with scales of shape None"],
    ),
    "too few scales": (
        lambda folder: rewrite(
            folder,
            **{
                FIRST: torch.zeros(32, dtype=torch.int8),
                FIRST + "/scales": torch.zeros(31),
            },
        ),
        [f"{FIRST} is in eight bits, with scales of shape (31,)"],
    ),
    "scales of nothing": (
        lambda folder: rewrite(folder, **{FIRST + "/scales": torch.zeros(32)}),
        [f"{FIRST}/scales is (32,), but the configuration wants not to be there"],
    ),
    "a name of many lines": (
        weight(torch.zeros(1), "a\nb\x1b[2J"),
        ["a?b?[2J is (1,), but the configuration wants not to be there"],
    ),
    "a flipped bit": (
        flip_vocabulary,
        ["the vocabulary does not have the checksum in config.json"],
    ),
    "no vocabulary": (gone("vocabulary.model"), ["vocabulary.model: no vocabulary"]),
    "junk vocabulary": (
        filled("vocabulary.model", b"junk"),
        ["vocabulary.model: no vocabulary"],
    ),
    "another vocabulary": (
        other_vocabulary,
        [
            "a vocabulary of 40 pieces for a model of 60",
            "put back the vocabulary.model",
        ],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_checkpoints(saved: tuple[Path, Transformer], fault: str) -> None:
    folder, _ = saved
    damage, said = FAULTS[fault]
    damage(folder)
    message = complaint(load_checkpoint, [folder])
    assert message.startswith(str(folder)) and all(part in message for part in said)
    assert message.isprintable() and len(message) < 600


@pytest.mark.parametrize(
    ("name", "value"), [("dropout", 0), ("dropout", 1), ("d_k", 8), ("d_v", None)]
)
def test_a_configuration_that_somebody_wrote_by_hand(
    name: str, value: Any, saved: tuple[Path, Transformer]
) -> None:
    change(saved[0], name, value)
    load_checkpoint([saved[0]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_other_precision(
    dtype: torch.dtype, saved: tuple[Path, Transformer]
) -> None:
    folder, model = saved
    wanted = model.state_dict()
    rewrite(folder, **{n: w.to(dtype) for n, w in wanted.items() if "W_" in n})
    found = load_checkpoint([folder])[0].state_dict()
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2)


def test_matrices_in_eight_bits(
    tmp_path: Path, saved: tuple[Path, Transformer], vocabulary: Vocabulary
) -> None:
    _, model = saved
    save_checkpoint(tmp_path / "small", model, vocabulary, int8=True)
    stored = tensors(tmp_path / "small")
    found = dict(load_checkpoint([tmp_path / "small"])[0].named_parameters())
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            assert torch.equal(found[name], weight)
            continue
        assert stored[name].dtype == torch.int8
        scales = weight.abs().amax(dim=1, keepdim=True) / 127
        assert ((found[name] - weight).abs() <= 0.51 * scales).all()
    # Written again, they are the same.
    again = quantize_rows(found)
    for name, values in stored.items():
        torch.testing.assert_close(again[name], values)


WRONG: dict[str, list[Any]] = {
    "step": [-5, "3"],
    "minutes": [math.nan],
    "data": [5],
    "sums": [{"loss": None}],
    "training": ["text"],
    "anything else": [1],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_description_that_cannot_be(
    name: str, saved: tuple[Path, Transformer]
) -> None:
    path = saved[0] / "config.json"
    known = json.loads(path.read_text())
    for value in WRONG[name]:
        path.write_text(json.dumps(known | {name: value}))
        message = complaint(read_description, saved[0])
        assert message.startswith(f"{path}: {name}=") or "no such field" in message
        assert len(message) < len(str(path)) + 150


def test_a_recipe_in_a_description_is_checked_as_any(
    saved: tuple[Path, Transformer],
) -> None:
    path, training = saved[0] / "config.json", QUICK.to_dict()
    training["optimizer"]["warmup"] = 0
    path.write_text(json.dumps({"training": training}))
    message = complaint(read_description, saved[0])
    assert message.startswith(f"{path}: training.optimizer.warmup=0: should be")


def test_a_model_that_was_saved_by_other_means(saved: tuple[Path, Transformer]) -> None:
    path = saved[0] / "config.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps({"model": description["model"]}))  # without a checksum
    assert read_description(saved[0]) == Description(TINY)
    load_checkpoint([saved[0]])


def test_one_bad_checkpoint_among_several(
    saved: tuple[Path, Transformer], vocabulary: Vocabulary
) -> None:
    folder, _ = saved
    narrow, short = folder.with_name("narrow"), folder.with_name("short")
    save_checkpoint(narrow, Transformer(replace(TINY, d_ff=8)), vocabulary)
    shutil.copytree(folder, short)
    cut(MODEL, 5000)(short)
    for bad, said in ((narrow, f"{FIRST} is (8,)"), (short, "damaged")):
        message = complaint(load_checkpoint, [bad, folder])
        assert message.startswith(f"{bad / MODEL}: {said}")


def test_a_folder_without_models(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert f"{folder}: no model here (" in complaint(list_checkpoints, folder)
    assert "train one first" in complaint(Translator.load, tmp_path)
    assert "model that ships; there are" in complaint(Translator.load, folder)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (
            "model.bin",
            "CTranslate2.* the run's folder, perhaps with --engine ctranslate2$",
        ),
        ("encoder.pt2", "torch.export.* give the run's folder$"),
        ("encoder.onnx", "ONNX.* give the run's folder$"),
    ],
)
def test_a_folder_for_another_program(tmp_path: Path, file: str, said: str) -> None:
    (tmp_path / file).touch()
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=f"converted for {said}"):
        Translator.load(tmp_path)


def test_nothing_is_overwritten(
    saved: tuple[Path, Transformer], vocabulary: Vocabulary
) -> None:
    folder, model = saved
    message = complaint(save_checkpoint, folder, Transformer(TINY), vocabulary)
    wanted = "name a new folder, or"
    replaced = f"{wanted} overwrite=True replaces it"
    assert message == f"{folder}: holds a model already; {replaced}"
    assert same(tensors(folder), dict(model.named_parameters()))
    assert os.listdir(folder.parent) == ["saved"]
    message = complaint(save_checkpoint, Path("/"), Transformer(TINY), vocabulary)
    assert message == f"/: is there already; {wanted} remove this one"


@pytest.fixture
def run(tmp_path: Path, vocabulary: Vocabulary) -> Callable[..., None]:
    """Save a step of a run that keeps two checkpoints."""
    model = Transformer(TINY)
    run, optimizer = Run(tmp_path), learned(model)
    run.begin(model, optimizer, vocabulary, plan_of())
    return lambda step: run.save(step, 0.0, model, optimizer)


def test_what_a_killed_program_left_is_no_checkpoint(
    run: Callable[..., None], tmp_path: Path
) -> None:
    run(1)
    left = tmp_path / "checkpoints" / ".step-0000002.part"
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"half")
    assert kept(tmp_path) == [1]
    run(2)
    assert kept(tmp_path) == [1, 2] and len(os.listdir(left.parent)) == 2
    load_checkpoint(list_checkpoints(tmp_path))


def test_old_checkpoints_go_only_when_the_new_one_is_there(
    run: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (1, 2, 3):
        run(step)
    assert kept(tmp_path) == [2, 3]

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(aiayn.training.checkpoint, "save_file", full)
    assert "step-0000004: cannot be written (" in complaint(run, 4)
    assert kept(tmp_path) == [2, 3] and len(os.listdir(tmp_path / "checkpoints")) == 2


def test_a_step_that_is_saved_is_not_saved_again(
    run: Callable[..., None], tmp_path: Path
) -> None:
    """As when the loss of the step after a checkpoint is no number."""
    run(1)
    before = (tmp_path / "checkpoints" / "step-0000001").stat()
    run(1)
    assert (tmp_path / "checkpoints" / "step-0000001").stat() == before


@pytest.mark.parametrize(
    ("keep", "best", "stay"),
    [
        (3, None, [30, 40, 50]),
        (3, 10, [10, 30, 40, 50]),
        (3, 40, [30, 40, 50]),
        (3, 7, [30, 40, 50]),
        (1, 20, [20, 50]),
        (9, 20, [10, 20, 30, 40, 50]),
    ],
)
def test_which_checkpoints_stay(
    tmp_path: Path, keep: int, best: int | None, stay: list[int]
) -> None:
    for step in (10, 20, 30, 40, 50):
        folder = tmp_path / "checkpoints" / f"step-{step:07d}"
        folder.mkdir(parents=True)
        (folder / "optimizer.safetensors").touch()
    prune_checkpoints(tmp_path, keep, best)
    assert kept(tmp_path) == stay
    found = tmp_path.glob("checkpoints/*/optimizer.safetensors")
    assert {int(path.parent.name[5:]) for path in found} == {40, 50} & set(stay)


# Adam's state


EXAMPLES = [([5, 6, EOS_ID], [7, 8, 9, EOS_ID]), ([10, EOS_ID], [11, EOS_ID])]
SMALL = Batches(EXAMPLES, lengths_of(EXAMPLES), 100, seed=1)


def learned(model: Transformer, steps: int = 3) -> torch.optim.Optimizer:
    """An optimizer that has taken some steps."""
    optimizer = make_optimizer(model)
    for step in range(1, steps + 1):
        training_step(Objective(model, 0.1), optimizer, SMALL[step], step, QUICK)
    return optimizer


@pytest.mark.parametrize("shared", [True, False])
def test_a_checkpoint_gives_back_adams_state(
    tmp_path: Path, vocabulary: Vocabulary, shared: bool
) -> None:
    shape = replace(TINY, share_embeddings=shared)
    model, again = Transformer(shape), Transformer(shape)
    optimizer, other = learned(model), make_optimizer(again)
    folder = tmp_path / "step-0000003"
    now = Description(shape, replace(QUICK, model=shape))
    was = replace(now, step=3, minutes=1.5)
    save_checkpoint(folder, model, vocabulary, was, optimizer)
    found = restore(folder, again, other, now)
    assert replace(found, vocabulary_sha256=None) == was
    assert same(dict(again.named_parameters()), dict(model.named_parameters()))
    states = (each.state_dict()["state"].values() for each in (optimizer, other))
    assert all(same(one, two) for one, two in zip(*states, strict=True))
    # The step after it is the same, too.
    for network, adam in ((model, optimizer), (again, other)):
        training_step(Objective(network, 0.1), adam, SMALL[4], 4, QUICK)
    assert same(dict(again.named_parameters()), dict(model.named_parameters()))


def test_adams_state_is_stored_under_the_names_of_the_weights(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    model = Transformer(TINY)
    save_checkpoint(tmp_path / "saved", model, vocabulary, None, learned(model))
    stored = tensors(tmp_path / "saved", "optimizer")
    names = {name for name, _ in model.named_parameters()}
    assert stored.keys() == {
        f"{name}/{key}" for name in names for key in ("step", "exp_avg", "exp_avg_sq")
    }
    assert stored["target_embeddings.weight/step"] == 3


def test_checkpoints_are_listed_by_their_steps(tmp_path: Path) -> None:
    for step in (999, 100_000, 5, 1_000_000):
        (tmp_path / "checkpoints" / f"step-{step:07d}").mkdir(parents=True)
    (tmp_path / "checkpoints" / ".step-0000006.part").mkdir()
    assert kept(tmp_path) == [5, 999, 100_000, 1_000_000]


def test_a_checkpoint_says_what_it_is(saved: tuple[Path, Transformer]) -> None:
    folder, _ = saved
    checksum = hashlib.sha256((folder / "vocabulary.model").read_bytes()).hexdigest()
    found = read_description(folder)
    assert found == Description(TINY, vocabulary_sha256=checksum, step=1)


def test_weights_are_read_without_running_anything(
    saved: tuple[Path, Transformer],
) -> None:
    """The file is a header and numbers: nothing in it is a program."""
    folder, model = saved
    wanted = dict(model.named_parameters())
    content = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    assert header.keys() - {"__metadata__"} == wanted.keys()
    weights = read_tensors(
        folder / "model.safetensors", {name: w.shape for name, w in wanted.items()}
    )
    assert same(weights, wanted)
