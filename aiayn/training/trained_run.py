# Made by `make export` from book/3-workshop/04-checkpoints-and-resuming.ipynb
"""A finished run as those who use it read it: model, vocabulary and settings."""

# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell test-sets
import logging
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import torch

from aiayn.data.vocabulary import Vocabulary
from aiayn.device import find_device
from aiayn.errors import InputError, did_you_mean
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.training.checkpoint import load_checkpoint, select_checkpoints
from aiayn.training.checkpoint_metadata import Description, Kind

# Models that ship with the package: a checkpoint under the name of each.
SHIPPED = Path(str(files("aiayn"))) / "weights"
# Of other corpora it is `test`.
TEST_SETS = {"wmt14": "newstest2014", "multi30k": "test_2016_flickr", "craft": "test"}


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell test-split
# Of `load_pairs`.
CORPORA = ("tatoeba", "multi30k", "wmt14", "synthetic", "ptb", "craft")


def test_split(data: str) -> str:
    """The split that models are scored on: a corpus's test set; `val` without one."""
    splits: set[str] = set()
    if data not in CORPORA:
        splits = {path.name.split(".")[0] for path in Path(data).glob("*.*")}
    if "val" not in splits or "test" in splits:
        return TEST_SETS.get(data, "test")
    message = "aiayn: %s has no test.*; scored on its val"
    logging.getLogger("aiayn").warning(message, data)
    return "val"


# book/3-workshop/04-checkpoints-and-resuming.ipynb, cell trained-run
def shipped_models() -> list[str]:
    """The names of the models that ship with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/config.json"))


@dataclass(frozen=True)
class TrainedRun:
    """The folder of a run that has trained a model, or one checkpoint, read once."""

    folder: Path
    checkpoints: list[Path]  # those that are averaged, oldest first
    description: Description  # what the last of them says

    @classmethod
    def read(cls, folder: Path | str, average: int | None = None) -> "TrainedRun":
        """A run in a folder, with as many checkpoints as its recipe or `average` says.

        A name such as `en-de`, if there is no such folder, is that of a model that
        ships with the package.

        Raises
        ------
        InputError
            If there is no model, a damaged one, or fewer checkpoints than `average`.
        """
        folder = Path(folder)
        if not folder.exists() and str(folder) in shipped_models():
            folder = SHIPPED / folder
        if not folder.exists():
            others = did_you_mean(str(folder), shipped_models())
            raise InputError(f"{folder}: no such folder or model that ships; {others}")
        return cls(folder, *select_checkpoints(folder, average))

    @property
    def kind(self) -> Kind:
        """Whether its model translates or parses."""
        return self.description.kind

    def load(
        self, device: torch.device | str | None = None
    ) -> tuple[EncoderDecoder, Vocabulary]:
        """The mean of the checkpoints and its vocabulary, on a GPU if there is one."""
        chosen = find_device(device)
        model, vocabulary = load_checkpoint(self.checkpoints, self.description)
        return model.to(chosen), vocabulary

    # book/3-workshop/04-checkpoints-and-resuming.ipynb, cell trained-on
    def trained_on(
        self, data: str | None = None, pair: str | None = None
    ) -> tuple[str, str]:
        """Corpus and languages of the training, or those that are given instead.

        Raises
        ------
        InputError
            If neither the run says it nor the call.
        """
        data, pair = data or self.description.data, pair or self.description.pair
        if not (data and pair):
            fault = "names no test set to score it on"
            advice = "give --source and --reference, two files, or --data and --pair"
            raise InputError(f"{self.folder}: {fault}; {advice}")
        return data, pair
