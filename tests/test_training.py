"""Training and checkpoints: it learns, twice the same, and what it leaves behind is whole or is refused."""

import json
import math
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch.nn.functional import cross_entropy

import aiayn.checkpoint
import aiayn.training
from aiayn.batching import Batch, Example, endless_batches, make_batch
from aiayn.checkpoint import (
    list_checkpoints,
    load_checkpoint,
    read_description,
    read_weights,
    save_checkpoint,
)
from aiayn.data import InputError
from aiayn.model import Transformer, TransformerConfig, config
from aiayn.optimizer import make_optimizer
from aiayn.training import (
    Run,
    TrainingConfig,
    batch_loss,
    recipe,
    summary,
    train,
    training_step,
    validation_loss,
)
from aiayn.translation import SearchConfig, Translator
from aiayn.vocabulary import BOS_ID, EOS_ID, PAD_ID, Vocabulary, train_vocabulary

TINY = TransformerConfig(vocabulary_size=60, N=1, d_model=16, d_ff=32, h=2, dropout=0.1)
QUICK = TrainingConfig(TINY, steps=6, batch_tokens=60, warmup=4, checkpoint_minutes=1000.0, average=2)
NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]


def complaint(action: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """What an action says of its input: always one line."""
    with pytest.raises(InputError) as caught:
        action(*arguments, **named)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of counted things: three to five number words and their translations."""
    folder, draw = tmp_path_factory.mktemp("corpus"), random.Random(0)
    for split, size in (("train", 60), ("val", 10)):
        rows = [[draw.randrange(10) for _ in range(draw.randint(3, 5))] for _ in range(size)]
        for language, words in (("en", NUMBERS), ("de", ZAHLEN)):
            lines = [" ".join(words[k] for k in row) + "\n" for row in rows]
            (folder / f"{split}.{language}").write_text("".join(lines), encoding="utf-8")
    return str(folder)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary([" ".join(NUMBERS), " ".join(ZAHLEN)], TINY.vocabulary_size)


def lines(out: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(list_checkpoints(out)[-1] / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def random_batch(seed: int = 0, size: int = 5) -> Batch:
    draw = random.Random(seed)
    sides = [[draw.randrange(4, 60) for _ in range(draw.randint(1, 9))] + [EOS_ID] for _ in range(2 * size)]
    return make_batch(list(zip(sides[:size], sides[size:], strict=True)))


# Learning


def copies(number: int, seed: int) -> list[Example]:
    """Random sequences that are to be repeated."""
    draw = random.Random(seed)
    rows = [[draw.randrange(4, 14) for _ in range(draw.randint(2, 6))] + [EOS_ID] for _ in range(number)]
    return [(row, row) for row in rows]


def test_it_learns_to_copy_what_it_has_never_seen() -> None:
    """Only through attention: which token comes next cannot be told from the target's beginning."""
    torch.set_num_threads(1)  # such small products only lose by being shared out
    shape = TransformerConfig(vocabulary_size=14, N=1, d_model=32, d_ff=64, h=4, dropout=0.0)
    how = TrainingConfig(shape, batch_tokens=500, warmup=100, rate_factor=0.3, label_smoothing=0.0)
    model = Transformer(shape)
    optimizer = make_optimizer(model)
    batches = endless_batches(copies(2000, seed=1), how.batch_tokens, how.seed)
    for step, batch in enumerate(islice(batches, 400), start=1):
        training_step(model, optimizer, batch, step, how)
    assert math.exp(validation_loss(model, [make_batch(copies(200, seed=2))])) < 1.05


def test_it_learns_a_few_pairs_by_heart(corpus: str, tmp_path: Path) -> None:
    text = {
        language: (Path(corpus) / f"train.{language}").read_text().splitlines()[:8]
        for language in ("en", "de")
    }
    for split in ("train", "val"):
        for language, sentences in text.items():
            (tmp_path / f"{split}.{language}").write_text("\n".join(sentences))
    shape = replace(TINY, d_model=32, dropout=0.0, vocabulary_size=50)
    how = replace(
        QUICK, model=shape, steps=150, batch_tokens=400, warmup=30, rate_factor=0.4, label_smoothing=0.0
    )
    train(how, str(tmp_path), "en-de", tmp_path / "run")
    assert lines(tmp_path / "run")[-1]["validation_perplexity"] < 1.05
    translator = Translator.load(tmp_path / "run", search=SearchConfig(beam=1))
    assert translator(text["en"]) == text["de"]


def test_two_runs_with_one_seed_are_the_same(corpus: str, tmp_path: Path) -> None:
    """Also if other parts of the program draw random numbers."""
    for name, seed, noise in (("first", 1, 0), ("again", 1, 17), ("other", 2, 0)):
        torch.manual_seed(noise)
        train(replace(QUICK, seed=seed), corpus, "en-de", tmp_path / name)
    first, again, other = (weights(tmp_path / name) for name in ("first", "again", "other"))
    assert same(first, again) and not same(first, other)

    def timeless(name: str) -> list[dict[str, float]]:
        clocks = {"minutes", "tokens_per_second"}
        return [{k: v for k, v in line.items() if k not in clocks} for line in lines(tmp_path / name)]

    assert timeless("first") == timeless("again") != timeless("other")


def test_dropout_depends_on_the_step_alone() -> None:
    results = []
    for before in (0, 1):
        torch.manual_seed(0)
        model = Transformer(TINY)
        torch.rand(before * 10)
        optimizer = make_optimizer(model)
        results.append(training_step(model, optimizer, random_batch(), 3, QUICK))
    assert results[0] == results[1]
    assert training_step(model, optimizer, random_batch(), 4, QUICK)["loss"] != results[0]["loss"]


def test_the_loss_is_that_of_the_words_alone() -> None:
    model, batch = Transformer(TINY).eval(), random_batch()
    loss, nll = batch_loss(model, batch, 0.0)
    logits = model(batch.source, batch.target)
    wanted = cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD_ID, reduction="sum")
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(nll, wanted.detach())
    smoothed, plain = batch_loss(model, batch, 0.1)
    assert torch.equal(plain, nll) and smoothed > 0 and not plain.requires_grad


def test_validation_does_not_depend_on_the_batches_and_restores_the_mode() -> None:
    model, batch = Transformer(TINY), random_batch(size=8)
    alone = [
        make_batch([(list(filter(None, source.tolist())), list(filter(None, labels.tolist())))])
        for source, labels in zip(batch.source, batch.labels, strict=True)
    ]
    assert validation_loss(model, [batch]) == pytest.approx(validation_loss(model, alone), rel=1e-5)
    assert validation_loss(model, [batch]) == validation_loss(model, [batch])  # no dropout
    assert model.training and all(parameter.grad is None for parameter in model.parameters())


def test_a_loss_that_is_no_number_ends_the_run() -> None:
    model = Transformer(TINY)
    with torch.no_grad():
        model.target_embeddings.weight.fill_(math.nan)
    message = complaint(training_step, model, make_optimizer(model), random_batch(), 7, QUICK)
    assert message == "step 7: the loss is nan; lower rate_factor or raise warmup"


def test_summary_weighs_words_not_steps() -> None:
    steps = [
        {"loss": 30.0, "nll": 10 * math.log(2), "words": 10.0, "tokens": 25.0},
        {"loss": 0.0, "nll": 0.0, "words": 20.0, "tokens": 35.0},
    ]
    line = summary(steps, 2.0)
    assert line == pytest.approx({"loss": 1.0, "perplexity": 2 ** (1 / 3), "tokens_per_second": 30.0})


# Configurations


def test_recipes_are_the_papers() -> None:
    base, big = recipe("base"), recipe("big")
    assert (base.steps, base.batch_tokens, base.warmup, base.label_smoothing) == (100_000, 25_000, 4000, 0.1)
    assert (base.average, base.checkpoint_minutes, base.rate_factor) == (5, 10, 1.0)
    assert (big.steps, big.average, big.checkpoint_minutes) == (300_000, 20, 10)
    assert base.model == config("base") and big.model == config("big")
    assert recipe("small", steps=7, seed=3).steps == 7 and recipe("laboratory").model == config("laboratory")


@pytest.mark.parametrize(("name", "hint"), [("bsae", "did you mean 'base'?"), ("xyz", "there are base, big")])
def test_an_unknown_configuration(name: str, hint: str) -> None:
    message = complaint(recipe, name)
    assert f"unknown configuration {name!r}" in message and hint in message


@pytest.mark.parametrize("name", ["steps", "batch_tokens", "warmup", "max_length", "average"])
def test_configurations_that_cannot_be_trained(name: str) -> None:
    assert f"{name}=0: must be at least 1" in complaint(recipe, "small", **{name: 0})


# Runs


def test_what_a_run_leaves_behind(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "run"
    train(replace(QUICK, steps=60), corpus, "en-de", out)
    assert sorted(path.name for path in out.iterdir()) == ["checkpoints", "metrics.jsonl"]
    assert [path.name for path in list_checkpoints(out)] == ["step-0000060"]
    last = lines(out)
    assert [line["step"] for line in last] == [50, 60, 60]
    for line in last[:2]:
        assert line["perplexity"] > 1 and line["loss"] > 0 and line["tokens_per_second"] > 0
    assert last[2].keys() == {"step", "minutes", "validation_perplexity"}
    training = read_description(list_checkpoints(out)[-1])["training"]
    assert (training["step"], training["data"], training["pair"]) == (60, corpus, "en-de")
    assert training["seed"] == 1 and training["average"] == 2
    assert capsys.readouterr().out == ""


def test_it_ends_when_the_minutes_are_over(corpus: str, tmp_path: Path) -> None:
    train(replace(QUICK, steps=10_000), corpus, "en-de", tmp_path / "run", minutes=0.0)
    assert [path.name for path in list_checkpoints(tmp_path / "run")] == ["step-0000001"]
    assert [line["step"] for line in lines(tmp_path / "run")] == [1, 1]


def test_the_last_checkpoints_are_kept_and_one_more(corpus: str, tmp_path: Path) -> None:
    train(replace(QUICK, checkpoint_minutes=0.0), corpus, "en-de", tmp_path / "run")
    kept = list_checkpoints(tmp_path / "run")
    assert [path.name for path in kept] == ["step-0000004", "step-0000005", "step-0000006"]
    validated = [line["step"] for line in lines(tmp_path / "run") if "validation_perplexity" in line]
    assert validated == [1, 2, 3, 4, 5, 6]
    used = dict(Translator.load(tmp_path / "run").model.named_parameters())
    wanted = dict(load_checkpoint(kept[-2:])[0].named_parameters())
    assert same(used, wanted)  # average=2


def test_speed_is_that_of_training_alone(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step takes a second here, and writing a checkpoint a minute: none of that minute is counted."""
    clock = 0.0

    def step(*_: Any) -> dict[str, float]:
        nonlocal clock
        clock += 1
        return {"loss": 1.0, "nll": 1.0, "words": 1.0, "tokens": 60.0}

    def save(*_: Any) -> None:
        nonlocal clock
        clock += 60

    monkeypatch.setattr("aiayn.training.time", SimpleNamespace(monotonic=lambda: clock))
    monkeypatch.setattr("aiayn.training.training_step", step)
    monkeypatch.setattr("aiayn.training.Run.save", save)
    train(replace(QUICK, steps=220, checkpoint_minutes=0.51), corpus, "en-de", tmp_path / "run")
    written = [line["step"] for line in lines(tmp_path / "run") if "validation_perplexity" in line]
    logged = [line for line in lines(tmp_path / "run") if "loss" in line]
    assert written == [31, 62, 93, 124, 155, 186, 217, 220]
    assert [line["step"] for line in logged] == [50, 100, 150, 200, 220]
    assert [line["tokens_per_second"] for line in logged] == pytest.approx([60.0] * 5)


def test_two_runs_do_not_share_a_folder(corpus: str, tmp_path: Path) -> None:
    train(QUICK, corpus, "en-de", tmp_path / "run")
    before = (tmp_path / "run" / "metrics.jsonl").read_text()
    message = complaint(train, QUICK, corpus, "en-de", tmp_path / "run")
    assert f"{tmp_path / 'run'}: holds a run already; choose another --out" in message
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == before


@pytest.mark.parametrize("below", ["", "run", "run/within"])
def test_a_folder_that_cannot_be_written_to(corpus: str, tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    out = tmp_path / "file" / below
    assert f"{out}: cannot be written to (" in complaint(train, QUICK, corpus, "en-de", out)
    assert os.listdir(tmp_path) == ["file"]


def test_bad_data_leaves_no_run(corpus: str, tmp_path: Path) -> None:
    """Whoever puts the data right can use the same command again."""
    copy = shutil.copytree(corpus, tmp_path / "corpus")
    good = (copy / "train.de").read_bytes()
    (copy / "train.de").write_bytes(good.replace(b"\n", b"\n\n", 1))
    out = tmp_path / "run"
    assert "train.de: 61 lines" in complaint(train, QUICK, str(copy), "en-de", out)
    assert not out.exists() or not os.listdir(out)
    (copy / "train.de").write_bytes(good)
    assert "max_length=3" in complaint(train, replace(QUICK, max_length=3), str(copy), "en-de", out)
    wide = replace(QUICK, model=replace(TINY, vocabulary_size=9999))
    assert "a vocabulary of 9999 cannot be learned" in complaint(train, wide, str(copy), "en-de", out)
    train(QUICK, str(copy), "en-de", out)
    assert len(lines(out)) == 2


def test_pairs_that_are_too_long_can_be_left_out(corpus: str, tmp_path: Path) -> None:
    how = replace(QUICK, max_length=12)
    message = complaint(train, how, corpus, "en-de", tmp_path / "run")
    assert ", line " in message and "max_length=12" in message and "--drop-too-long" in message
    train(how, corpus, "en-de", tmp_path / "run", drop_too_long=True)
    assert list_checkpoints(tmp_path / "run")


# Checkpoints


@pytest.fixture
def saved(tmp_path: Path, vocabulary: Vocabulary) -> tuple[Path, Transformer]:
    model = Transformer(TINY).eval()
    save_checkpoint(tmp_path / "saved", model, vocabulary, {"step": 1, "average": 1})
    return tmp_path / "saved", model


def test_a_checkpoint_gives_back_the_model(saved: tuple[Path, Transformer], vocabulary: Vocabulary) -> None:
    folder, model = saved
    again, words = load_checkpoint([folder])
    assert again.config == model.config and words.model == vocabulary.model and not again.training
    batch = random_batch()
    assert torch.equal(again(batch.source, batch.target), model(batch.source, batch.target))
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "vocabulary.model",
    ]
    assert list_checkpoints(folder) == [folder]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "relative", "none"])
@pytest.mark.parametrize("shared", [True, False])
def test_every_kind_of_model_can_be_kept(
    tmp_path: Path, vocabulary: Vocabulary, positions: Any, shared: bool
) -> None:
    model = Transformer(replace(TINY, positions=positions, share_embeddings=shared, score="additive", d_k=5))
    save_checkpoint(tmp_path / "saved", model, vocabulary, {})
    again, _ = load_checkpoint([tmp_path / "saved"])
    assert same(dict(again.named_parameters()), dict(model.named_parameters()))
    stored = weights(tmp_path / "saved")
    assert ("source_embeddings.weight" in stored) != shared  # a shared matrix is there once
    assert (again.source_embeddings.weight is again.target_embeddings.weight) == shared


@pytest.mark.parametrize("shared", [True, False])
def test_the_mean_is_that_of_every_tensor(tmp_path: Path, vocabulary: Vocabulary, shared: bool) -> None:
    models = [Transformer(replace(TINY, share_embeddings=shared)) for _ in range(5)]
    folders = [tmp_path / f"saved-{k}" for k in range(5)]
    for folder, model in zip(folders, models, strict=True):
        save_checkpoint(folder, model, vocabulary, {})
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
    tensors: dict[str, Any] = safetensors.torch.load_file(path) | changes
    safetensors.torch.save_file(
        {name: tensor for name, tensor in tensors.items() if tensor is not None}, path
    )


FIRST = "decoder.layers.0.feed_forward.W_1.bias"
FAULTS: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "cut short": (
        lambda folder: os.truncate(folder / "model.safetensors", 5000),
        ["model.safetensors: damaged or not there (", "use the checkpoint before it"],
    ),
    "empty": (lambda folder: os.truncate(folder / "model.safetensors", 0), ["model.safetensors: damaged"]),
    "junk": (
        lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 999),
        ["damaged or not there"],
    ),
    "a pickle": (lambda folder: torch.save({}, folder / "model.safetensors"), ["damaged or not there"]),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), ["damaged or not there"]),
    "no configuration": (
        lambda folder: (folder / "config.json").unlink(),
        ["config.json: not the configuration of an aiayn model ("],
    ),
    "cut configuration": (lambda folder: os.truncate(folder / "config.json", 50), ["not the configuration"]),
    "not UTF-8": (lambda folder: (folder / "config.json").write_bytes(b"\xff{}"), ["not the configuration"]),
    "a list": (lambda folder: (folder / "config.json").write_text("[1, 2]"), ["not the configuration"]),
    "another program's": (
        lambda folder: (folder / "config.json").write_text('{"model": {"hidden_size": 768}}'),
        ["config.json: not the configuration", "hidden_size"],
    ),
    "impossible": (lambda folder: change(folder, "h", 3), ["d_model=16 does not divide into h=3 heads"]),
    "another width": (
        lambda folder: change(folder, "d_ff", 64),
        [f"model.safetensors: {FIRST} is (32,), but the configuration wants (64,)"],
    ),
    "fewer layers": (
        lambda folder: change(folder, "N", 2),
        ["layers.1.", "is missing, but the configuration wants ("],
    ),
    "a tensor too many": (
        lambda folder: rewrite(folder, another=torch.zeros(2, 3)),
        ["another is (2, 3), but the configuration wants not to be there"],
    ),
    "a tensor too few": (
        lambda folder: rewrite(folder, **{FIRST: None}),
        [f"{FIRST} is missing, but the configuration wants (32,)"],
    ),
    "no vocabulary": (
        lambda folder: (folder / "vocabulary.model").unlink(),
        ["vocabulary.model: no vocabulary"],
    ),
    "junk vocabulary": (
        lambda folder: (folder / "vocabulary.model").write_bytes(b"junk"),
        ["vocabulary.model: no vocabulary"],
    ),
    "another vocabulary": (
        lambda folder: train_vocabulary([" ".join(NUMBERS)], 40).save(folder / "vocabulary.model"),
        ["a vocabulary of 40 pieces for a model of 60", "put back the vocabulary.model"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_checkpoints(saved: tuple[Path, Transformer], fault: str) -> None:
    folder, _ = saved
    damage, said = FAULTS[fault]
    damage(folder)
    message = complaint(load_checkpoint, [folder])
    assert message.startswith(str(folder)) and all(part in message for part in said)


def test_one_bad_checkpoint_among_several(saved: tuple[Path, Transformer], vocabulary: Vocabulary) -> None:
    folder, _ = saved
    narrow, cut = folder.with_name("narrow"), folder.with_name("cut")
    save_checkpoint(narrow, Transformer(replace(TINY, d_ff=8)), vocabulary, {})
    shutil.copytree(folder, cut)
    os.truncate(cut / "model.safetensors", 5000)
    message = complaint(load_checkpoint, [narrow, folder])
    assert message.startswith(f"{narrow / 'model.safetensors'}: {FIRST} is (8,)")
    assert complaint(load_checkpoint, [cut, folder]).startswith(f"{cut / 'model.safetensors'}: damaged")


def test_a_folder_without_models(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert f"{folder}: no model here (" in complaint(list_checkpoints, folder)
        assert "train one first" in complaint(Translator.load, folder)


def test_nothing_is_overwritten(saved: tuple[Path, Transformer], vocabulary: Vocabulary) -> None:
    folder, model = saved
    message = complaint(save_checkpoint, folder, Transformer(TINY), vocabulary, {})
    assert f"{folder}: cannot be written (" in message and "take another folder or make room" in message
    assert same(weights(folder), dict(model.named_parameters()))
    assert os.listdir(folder.parent) == ["saved"]


def test_a_checkpoint_below_a_file(tmp_path: Path, vocabulary: Vocabulary) -> None:
    (tmp_path / "file").write_text("not a folder")
    message = complaint(save_checkpoint, tmp_path / "file" / "saved", Transformer(TINY), vocabulary, {})
    assert "saved: cannot be written (" in message and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SafetensorError("No space left")])
@pytest.mark.parametrize("call", ["save_file", "os.rename"])
def test_a_full_disk_leaves_no_half_checkpoint(
    tmp_path: Path, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, error: Exception, call: str
) -> None:
    def full(*_: Any) -> None:
        raise error

    monkeypatch.setattr(f"aiayn.checkpoint.{call}", full)
    message = complaint(save_checkpoint, tmp_path / "saved", Transformer(TINY), vocabulary, {})
    assert "saved: cannot be written (" in message and "No space left" in message and not os.listdir(tmp_path)


def test_what_a_killed_program_left_is_no_checkpoint(tmp_path: Path, vocabulary: Vocabulary) -> None:
    run = Run(tmp_path, average=2)
    run.save(1, Transformer(TINY), vocabulary)
    left = tmp_path / "checkpoints" / ".step-0000002.part"
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"half")
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step-0000001"]
    run.save(2, Transformer(TINY), vocabulary)
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["step-0000001", "step-0000002"]
    load_checkpoint(list_checkpoints(tmp_path))


def test_old_checkpoints_go_only_when_the_new_one_is_there(
    tmp_path: Path, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, average=1)
    for step in (1, 2):
        run.save(step, Transformer(TINY), vocabulary)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(aiayn.checkpoint, "save_file", full)
    assert "step-0000003: cannot be written (" in complaint(run.save, 3, Transformer(TINY), vocabulary)
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["step-0000001", "step-0000002"]


def test_weights_are_read_without_running_anything(saved: tuple[Path, Transformer]) -> None:
    """The file is a header and numbers: nothing in it is a program."""
    folder, model = saved
    content = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    assert set(header) - {"__metadata__"} == {name for name, _ in model.named_parameters()}
    assert same(read_weights(folder, TINY), dict(model.named_parameters()))


def test_start_tokens_are_read_and_never_said() -> None:
    batch = random_batch()
    assert (batch.target[:, 0] == BOS_ID).all() and not (batch.labels == BOS_ID).any()
