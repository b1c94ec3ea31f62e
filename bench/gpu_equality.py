"""Whether a device computes what the processor does: part (a) of bench/gpu.py.

The reference is float64 on the processor. A difference is relative, in the Euclidean
norm; `LIMITS` says how large it may be in each type.
"""

from copy import deepcopy

import gpu_steps
import numpy as np
import torch
from torch import Tensor, nn

from aiayn.data import load_pairs
from aiayn.model import Transformer, TransformerConfig
from aiayn.model.attention import Attention, causal_mask, padding_mask
from aiayn.model.positions import RelativeAttention, RelativePositions
from aiayn.model.scores import make_attention
from aiayn.shipped import pretrained
from aiayn.training import TrainingConfig
from aiayn.training.distributed import Workers
from aiayn.training.optimizer import make_optimizer
from aiayn.training.recipes import OptimizerConfig
from aiayn.training.step import (
    Objective,
    accumulate_gradients,
    gradient_scaler,
    training_step,
)
from aiayn.translation import Translator

# A unit in the last place is 1e-7 in float32, 8e-3 in bfloat16, 1e-3 in float16.
LIMITS = {torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}
BATCH, HEADS, QUERIES, KEYS, WIDTH = 3, 4, 40, 40, 64
STEP_SHAPE = TransformerConfig(
    vocabulary_size=1000, N=2, d_model=128, d_ff=512, h=4, dropout=0.0
)


def name_of(dtype: torch.dtype) -> str:
    """`bfloat16` of torch.bfloat16."""
    return str(dtype).removeprefix("torch.")


def difference(found: Tensor, expected: Tensor) -> float:
    """The norm of the difference over that of what is expected; NaN stays NaN."""
    found, expected = found.detach().cpu().double(), expected.detach().cpu().double()
    return float((found - expected).norm() / expected.norm())


def attention_functions() -> dict[str, Attention]:
    """Every way in which the package computes attention."""
    scores = ("unscaled", "general", "additive")
    found = {score: make_attention(score, HEADS, WIDTH) for score in scores}
    relative = RelativeAttention(RelativePositions(WIDTH, WIDTH))
    fused = make_attention("scaled", HEADS, WIDTH)
    return {"fused": fused, "written out": Attention(), **found, "relative": relative}


def masks() -> dict[str, tuple[Tensor | None, bool]]:
    """Masks by name: which keys are visible, and whether the causal flag is set."""
    lengths = torch.tensor([KEYS, KEYS // 2, 5])[:, None]
    words = padding_mask((torch.arange(KEYS) < lengths).long(), pad_id=0)
    return {
        "none": (None, False),
        "padding": (words, False),
        "causal": (None, True),
        "both": (words & causal_mask(QUERIES, KEYS), False),
    }


def attention_differences(device: torch.device, dtype: torch.dtype) -> dict[str, float]:
    """By function and mask, the largest difference of output and gradients."""
    generator = torch.Generator().manual_seed(1)
    shape = (BATCH, HEADS, QUERIES, WIDTH)
    inputs = [torch.randn(shape, generator=generator).to(dtype) for _ in range(3)]
    found = {}
    for function_name, attention_function in attention_functions().items():
        attention_function = attention_function.to(
            dtype
        )  # so that both sides have the same weights
        for mask_name, (mask, causal) in masks().items():
            results = []
            for where, kind in (("cpu", torch.float64), (device, dtype)):
                Q, K, V = (x.detach().to(where, kind).requires_grad_() for x in inputs)
                moved_mask = mask.to(where) if mask is not None else None
                heads = deepcopy(attention_function).to(where, kind)(
                    Q, K, V, moved_mask, causal
                )
                heads.square().sum().backward()
                results.append([heads, Q.grad, K.grad, V.grad])
            pairs = zip(results[1], results[0], strict=True)
            worst = max(difference(ours, expected) for ours, expected in pairs)
            found[f"{function_name}, {mask_name}"] = worst
    return found


def step_differences(device: torch.device, dtype: torch.dtype) -> dict[str, float]:
    """Of the gradient of one batch, and of the losses of five training steps."""
    config = TrainingConfig(
        STEP_SHAPE, optimizer=OptimizerConfig(warmup=10, rate_factor=0.5)
    )
    torch.manual_seed(1)
    first, results = Transformer(STEP_SHAPE), []
    pairs = gpu_steps.random_pairs(1000, 1000, np.random.default_rng(1))
    for where, kind in (("cpu", torch.float32), (device, dtype)):
        workers = Workers(device=torch.device(where))
        model = deepcopy(first).to(where)
        objective = Objective(model, config.label_smoothing)
        optimizer = make_optimizer(model)
        scaler = gradient_scaler(workers.device, kind)
        work = gpu_steps.global_batch(pairs, 1, workers.device)
        accumulate_gradients(objective, work, 1, config, workers, scaler, kind)
        scaler.unscale_(optimizer)
        gradient = nn.utils.parameters_to_vector(p.grad for p in model.parameters())
        scaler.update(scaler.get_scale())
        optimizer.zero_grad()
        given = config, workers, scaler
        losses = [
            training_step(objective, optimizer, work, n, *given, dtype=kind)
            for n in range(1, 6)
        ]
        results.append((gradient, torch.tensor([each["loss"] for each in losses])))
    gradients, losses = zip(*results, strict=True)
    return {"gradient": difference(*gradients[::-1]), "loss": difference(*losses[::-1])}


def translations(
    device: torch.device | str, dtype: torch.dtype, sentences: int
) -> list[str]:
    """What the small model that ships makes of the first sentences of its test set."""
    model, vocabulary = pretrained("synthetic-en-de")
    lines = load_pairs("synthetic", "en-de", "test").source[:sentences]
    return list(Translator(deepcopy(model).to(device, dtype), vocabulary)(lines))


def equality(device: torch.device, sentences: int) -> dict[str, object]:
    """All of it for each type, and whether every difference is within its limit."""
    types = {}
    expected = translations("cpu", torch.float32, sentences)
    for dtype, limit in LIMITS.items():
        attention = attention_differences(device, dtype)
        step = step_differences(device, dtype)
        worst = max([*attention.values(), *step.values()])
        lines = translations(device, dtype, sentences)
        changed = sum(a != b for a, b in zip(lines, expected, strict=True))
        types[name_of(dtype)] = {
            "limit": limit,
            "within": bool(worst <= limit),
            "attention": {name: float(f"{d:.2e}") for name, d in attention.items()},
            "step": {name: float(f"{d:.2e}") for name, d in step.items()},
            "translations_changed": changed,
        }
    return {"sentences": sentences, "types": types}
