# Made by `make export` from book/3-workshop/13-training-api.ipynb
"""The progress bar of a training run, and a line for each checkpoint."""

# book/3-workshop/13-training-api.ipynb, cell progress-imports
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from tqdm import TqdmWarning, tqdm

from aiayn.data.vocabulary import Vocabulary
from aiayn.model.encoder_decoder import EncoderDecoder

# Gets the step, the metrics and the model, and ends the training by giving True.
Callback = Callable[[int, dict[str, float], EncoderDecoder], Any]


# book/3-workshop/13-training-api.ipynb, cell progress
class Progress:
    """What a run says of itself on standard error.

    Parameters
    ----------
    shown : bool
        Whether it says anything.
    example : callable, optional
        What is to be shown at a checkpoint, of a model, its vocabulary and the tokens
        of a sentence.
    """

    def __init__(
        self,
        shown: bool = True,
        example: Callable[[EncoderDecoder, Vocabulary, Tensor], str] | None = None,
    ) -> None:
        self.shown, self.example = shown, example
        ipython = sys.modules.get("IPython")
        notebook = ipython is not None and hasattr(ipython.get_ipython(), "kernel")
        self.live = shown and (notebook or sys.stderr.isatty())
        self.validated, self.spoke = "", -math.inf

    def say(self, text: str) -> None:
        """Print a line, above the bar."""
        if self.shown and text:
            tqdm.write(text, file=sys.stderr)
            self.spoke = time.monotonic()

    # book/3-workshop/13-training-api.ipynb, cell progress-bar
    @contextmanager
    def bar(self, step: int, steps: int) -> Iterator[None]:
        """Within it, there is a bar: for a run that has taken `step` of its `steps`."""
        # It warns in a notebook without ipywidgets.
        with warnings.catch_warnings(action="ignore", category=TqdmWarning):
            from tqdm.auto import tqdm as fitting
        form = "{desc}{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
        with fitting(
            total=1.0, initial=step / steps, bar_format=form, disable=not self.live
        ) as self._bar:
            self._steps, self._limit, self.spoke = steps, 0.0, -math.inf
            self._began = time.monotonic(), step / steps
            yield

    def step(self, step: int, line: dict[str, float], minutes: float) -> None:
        """Move the bar after a step, with the meter's line and the `minutes` left."""
        self._limit = self._limit or max(minutes, 1e-9)
        waited = 1 - max(0.0, minutes) / self._limit if math.isfinite(minutes) else 0.0
        text = f"loss {line['loss']:.2f} ppl {line['perplexity']:.1f}{self.validated}"
        text += f" {line['tokens_per_second']:,.0f} tok/s"
        done, (began, before) = max(step / self._steps, waited), self._began
        if not self.live and time.monotonic() - self.spoke > 60:
            pace = (time.monotonic() - began) / 60 / max(done - before, 1e-9)
            left = max(0.0, min(minutes, pace * (1 - done)))
            self.say(f"step {step:,}: {text}, about {left:,.0f} min to go")
        self._bar.set_description_str(f"step {step:,}: ", refresh=False)
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(done - self._bar.n)

    # book/3-workshop/13-training-api.ipynb, cell progress-checkpoint
    def checkpoint(
        self,
        step: int,
        minutes: float,
        perplexity: float,
        model: EncoderDecoder,
        vocabulary: Vocabulary,
        source: Tensor,
    ) -> None:
        """Say how good a checkpoint is, and what the model makes of a sentence."""
        self.validated = f" val {perplexity:.1f}"
        if self.shown and self.example:
            shown = self.example(model, vocabulary, source)
            self.say(
                f"step {step:,}, {minutes:.1f} min,"
                f" validation perplexity {perplexity:.1f}: {shown}"
            )
