"""This package, for bench/usage.py: `python bench/usage_aiayn.py COMPUTE THREADS`."""

import sys
from collections.abc import Callable
from typing import Any, get_args

import torch
from programs import serve, timed

import aiayn
from aiayn.decoding import SearchConfig
from aiayn.decoding.quantization import Compute
from aiayn.device import keep_heap
from aiayn.translation import Translator


def main() -> None:
    """Translate what is asked for with the model that ships."""
    compute, threads = sys.argv[1:]
    assert compute in get_args(Compute)
    torch.set_num_threads(int(threads))
    keep_heap()
    parts = aiayn.pretrained("en-de")

    def prepare(
        lines: list[str], beam: int, calls: int, batch_tokens: int
    ) -> Callable[[], Any]:
        how: dict[str, Any] = {"compute": compute}
        translator = Translator(*parts, SearchConfig(beam=beam), **how)
        return lambda: timed(translator, lines, calls)

    serve(prepare)


if __name__ == "__main__":
    main()
