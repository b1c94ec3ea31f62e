"""The arithmetic of section 5.2 against PyTorch's own counter, the table of GPUs, and
the planner.
"""

import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from aiayn.complexity import estimate_table
from aiayn.complexity.flops import (
    ACCELERATORS,
    PAPER_RUNS,
    UTILISATIONS,
    PlannedRun,
    batch_flops,
    estimate_training,
    find_accelerator,
    measured_peak,
    peak_flops,
    step_flops,
    training_flops,
)
from aiayn.device import training_dtype
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig, config


def counted(
    config: TransformerConfig, n: int, m: int, batch: int = 1
) -> tuple[int, int]:
    """What PyTorch counts: forward, and forward and backward together."""
    with torch.device("meta"):
        model = Transformer(config)
        source, target = (
            torch.ones(batch, length, dtype=torch.long) for length in (n, m)
        )
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        logits = model(source, target)
        forward = counter.get_total_flops()
        logits.sum().backward()
    return forward, counter.get_total_flops()


def agrees(config: TransformerConfig, n: int, m: int) -> bool:
    return counted(config, n, m) == (
        config.forward_flops(n, m),
        training_flops(config, n, m),
    )


CHANGES: list[dict[str, Any]] = [
    {},
    {"d_k": 3, "d_v": 5},
    {"d_k": 16},
    {"d_model": 20, "h": 3, "d_k": 7, "d_v": 2},
    {"share_embeddings": False},
    {"attention_bias": True},
    {"norm": "pre"},
    {"positions": "learned"},
    {"positions": "none"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("score", ["scaled", "unscaled", "general", "additive"])
@pytest.mark.parametrize("relative", [False, True])
def test_every_variant_is_counted_as_torch_counts_it(
    change: dict[str, Any], score: str, relative: bool
):
    shape = {
        "vocabulary_size": 50,
        "N": 2,
        "d_model": 24,
        "d_ff": 40,
        "h": 4,
        **change,
        "score": score,
    }
    if relative:
        shape["positions"] = "relative"
    assert agrees(TransformerConfig(**shape), 11, 7)


@settings(max_examples=25, deadline=None)
@given(
    shape=st.tuples(*(st.integers(1, high) for high in (60, 3, 30, 50, 4, 9, 9))),
    n=st.integers(1, 40),
    m=st.integers(1, 40),
)
def test_any_shape_is_counted_as_torch_counts_it(
    shape: tuple[int, ...], n: int, m: int
):
    names = ("vocabulary_size", "N", "d_model", "d_ff", "h", "d_k", "d_v")
    assert agrees(TransformerConfig(**dict(zip(names, shape, strict=True))), n, m)


def test_a_batch_of_one_length_is_counted_as_torch_counts_it():
    _, total = counted(config("small"), 12, 9, batch=6)
    assert batch_flops(config("small"), np.array([[12, 9]] * 6)) == total


def test_a_batch_costs_what_its_pairs_cost_and_padding_nothing():
    lengths = np.random.default_rng(0).integers(1, 80, (50, 2))
    one_by_one = sum(training_flops(config("big"), int(n), int(m)) for n, m in lengths)
    assert batch_flops(config("big"), lengths) == one_by_one
    assert batch_flops(config("big"), lengths[:0]) == 0


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32])
def test_lengths_in_few_bits_do_not_overflow(kind: type):
    assert batch_flops(
        config("big"), np.full((300, 2), 200, dtype=kind)
    ) == 300 * training_flops(config("big"), 200, 200)


NAMES = {
    "Tesla P100-SXM2-16GB": 10.6,
    "Tesla P100-PCIE-16GB": 9.3,
    "Tesla V100-SXM2-32GB": 125,
    "Tesla V100-PCIE-16GB": 112,
    "Tesla T4": 65,
    "NVIDIA A10": 125,
    "NVIDIA A100-SXM4-80GB": 312,
    "NVIDIA A100 80GB PCIe": 312,
    "NVIDIA L4": 121,
    "NVIDIA L40S": 362,
    "NVIDIA GeForce RTX 3090": 71,
    "NVIDIA GeForce RTX 4090": 165,
    "NVIDIA H100 80GB HBM3": 989,
    "NVIDIA H100 PCIe": 756,
    "NVIDIA H100 NVL": 835,
    "NVIDIA H200": 989,
    "NVIDIA H200 NVL": 835,
    "NVIDIA B200": 2250,
}


@pytest.mark.parametrize(("name", "tflops"), NAMES.items())
def test_a_gpu_is_found_by_the_name_it_gives_itself(
    name: str, tflops: float, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    assert peak_flops(torch.device("cuda")) == tflops * 1e12


OTHERS = """NVIDIA A100-SXM4-40GB MIG 1g.5gb | NVIDIA GeForce RTX 3090 Ti
NVIDIA GH200 480GB | NVIDIA GB200 | NVIDIA GeForce RTX 4090 Laptop GPU
NVIDIA GeForce RTX 4090 D | NVIDIA A10G | NVIDIA H20
Tesla V100S-PCIE-32GB | AMD Instinct MI300X | NVIDIA GeForce GTX 1080
NVIDIA L40"""


@pytest.mark.parametrize("name", OTHERS.replace("\n", " | ").split(" | "))
def test_a_gpu_with_a_like_name_is_not_mistaken_for_another(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    assert peak_flops(torch.device("cuda")) is None


def test_a_processor_has_no_peak_in_the_table():
    assert peak_flops(torch.device("cpu")) is None


def test_every_listed_gpu_is_found_by_its_own_name_in_any_case():
    for entry in ACCELERATORS:
        assert (
            find_accelerator(entry.name)
            == find_accelerator(entry.name.lower())
            == entry
        )


def test_a_measured_peak_is_a_speed():
    assert 1e7 < measured_peak(size=256) < 1e14


@pytest.mark.parametrize(
    ("name", "seconds", "hours"), [("base", 0.4, 11.1), ("big", 1.0, 83.3)]
)
def test_the_planner_foretells_the_paper(name: str, seconds: float, hours: float):
    (run,) = (run for run in PAPER_RUNS if (run.model, run.pair) == (name, "en-de"))
    share = step_flops(run.shape) / seconds / 8 / 10.6e12
    p = estimate_training(run.shape, run.steps, 8, "P100", share)
    assert p.seconds == pytest.approx(seconds)
    assert p.hours == pytest.approx(hours, abs=0.05)
    assert p.kilowatt_hours == pytest.approx(8 * 0.3 * p.hours)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpu": "Abacus"}, "'Abacus': not listed; there are P100, .*B200"),
        (
            {"utilisation": 40.0},
            "utilisation=40.0: give a share of the peak between 0 and 1, such as 0.4",
        ),
        ({"utilisation": 0.0}, "utilisation=0.0"),
        ({"utilisation": math.nan}, "utilisation=nan"),
        ({"utilisation": 5e-324}, "utilisation=5e-324"),
        ({"gpus": 0}, "gpus=0: must be more than 0, and at most 1,000,000,000"),
        ({"gpus": 10**400}, "gpus=1000.*: must be more than 0, and at most"),
        ({"watts": 0.0}, "watts=0.0: must be more than 0"),
        ({"watts": math.nan}, "watts=nan: must be more than 0"),
        ({"watts": 1e308}, r"watts=1e\+308: must be more than 0"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(change: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        estimate_table(**{"gpus": 8, "gpu": "H100", "utilisation": 0.4, **change})


def test_the_table_has_a_row_for_each_training_of_table_2():
    title, header, *rows = estimate_table(8, "H100", 0.4).splitlines()
    assert title.startswith("8 x H100 ") and title.endswith("the paper, 8 x P100")
    assert [row.split()[:3] for row in rows] == [
        [model, pair, steps]
        for pair in ("en-de", "en-fr")
        for model, steps in (("base", "100,000"), ("big", "300,000"))
    ]
    assert {len(line) for line in (header, *rows)} == {len(header)}
    assert {row.split()[4] for row in rows} == {"40%"}
    assert [row.split()[-2] for row in rows] == ["12", "84", "12", "84"]


def test_where_nothing_was_measured_the_table_has_three_shares_of_the_peak():
    _, header, *rows = estimate_table(8, "H100").splitlines()
    assert len(rows) == 4 * len(UTILISATIONS) and len(header) < 90
    at = header.index("peak")
    assert [row[at : at + 4].strip() for row in rows] == ["20%", "30%", "40%"] * 4
    seconds = [float(row[at + 4 :].split()[0]) for row in rows]
    wanted = [
        estimate_training(run.shape, run.steps, 8, "H100", share).seconds
        for run in PAPER_RUNS
        for share in UTILISATIONS
    ]
    assert seconds == pytest.approx(wanted, abs=1e-5)


def test_the_chapter_says_what_share_one_gpu_reached_and_in_what_time():
    book = Path(__file__).parents[2] / "book"
    models = json.loads((book / "runs/gpu-step.json").read_text("utf-8"))["models"]
    told = (book / "1-paper/5-2-hardware-and-schedule.ipynb").read_text("utf-8")
    for each in models:
        rows = each["rows"]["aiayn"], each["rows"]["aiayn, compiled"]
        least, most = (f"{100 * row['utilisation']:.0f}" for row in rows)
        share = least if least == most else f"{least} to {most}"
        assert f"{share}% with {each['model']}" in told
    assert f"(measured: {models[0]['hours']:.1f} hours)" in told


def test_other_trainings_are_planned_without_the_papers_figures():
    mine = PlannedRun("my own shape", "", config("small"), 5000, tokens=2000)
    title, header, row = estimate_table(2, "T4", 0.25, 70.0, [mine]).splitlines()
    assert title == "2 x T4" and header.split()[-1] == "kWh"
    p = estimate_training(mine.shape, 5000, 2, "T4", 0.25, 70.0, tokens=2000)
    assert row.startswith("my own shape") and row.split()[-4:] == [
        "25%",
        f"{p.seconds:.5f}",
        f"{p.hours:.3f}",
        f"{p.kilowatt_hours:.2f}",
    ]


@pytest.mark.parametrize(
    ("native", "capability", "dtype"),
    [
        (True, (8, 0), torch.bfloat16),
        (False, (7, 5), torch.float16),
        (False, (7, 0), torch.float16),
        (False, (6, 0), torch.float32),
    ],
)
def test_training_takes_the_numbers_that_the_gpu_multiplies_itself(
    native: bool,
    capability: tuple[int, int],
    dtype: torch.dtype,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Emulated bfloat16, which is slow, does not count."""
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(
        torch.cuda,
        "is_bf16_supported",
        lambda including_emulation=True: including_emulation or native,
    )
    assert training_dtype(torch.device("cuda", 0)) == dtype


@pytest.mark.parametrize("wide", ["AVX512", "AVX2"])
@pytest.mark.parametrize("native", [True, False])
def test_a_processor_that_multiplies_bfloat16_itself_does_if_asked(
    wide: str, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: wide)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: native)
    assert training_dtype(torch.device("cpu")) == torch.float32
    found = training_dtype(torch.device("cpu"), bfloat16=True)
    assert (found == torch.bfloat16) is (wide == "AVX512" and native)
