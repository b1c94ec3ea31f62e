# Made by `make export` from book/4-synthetic-corpus/4-corpus.ipynb
"""Models that ship with the package; others of the synthetic corpus, trained once."""

# book/4-synthetic-corpus/4-corpus.ipynb, cell model-imports
import hashlib
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock

from aiayn.data.io import cache_folder
from aiayn.data.vocabulary import Vocabulary
from aiayn.errors import InputError
from aiayn.model.encoder_decoder import EncoderDecoder
from aiayn.training.progress import Progress
from aiayn.training.recipes import TrainingConfig
from aiayn.training.trained_run import TrainedRun, shipped_models
from aiayn.training.trainer import train_model
from aiayn.translation.huggingface import from_hub, read_huggingface, read_run


# book/4-synthetic-corpus/4-corpus.ipynb, cell cached-model
def cached_model(
    config: TrainingConfig, pair: str
) -> tuple[EncoderDecoder, Vocabulary]:
    """A model of the synthetic corpus: trained now, or read from the cache.

    Parameters
    ----------
    config : TrainingConfig
        How it is trained.
    pair : str
        What it learns: `en-de`, or `en-trees`.

    Returns
    -------
    EncoderDecoder, Vocabulary
        The mean of the last checkpoints of the run.

    Raises
    ------
    InputError
        If the cache cannot be written to.
    """
    settings = hashlib.sha256(repr(config).encode()).hexdigest()[:16]
    folder = cache_folder() / "synthetic" / f"{pair}-{version('aiayn')}-{settings}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            try:
                return TrainedRun.read(folder).load("cpu")
            except InputError:  # not there yet, or damaged
                shutil.rmtree(folder, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as part:
                run = Path(part, "run")
                made = train_model(config, "synthetic", pair, run, progress=Progress())
                if not made.ended:
                    raise KeyboardInterrupt  # a signal ended the training
                run.rename(folder)
            return TrainedRun.read(folder).load("cpu")
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error}); set AIAYN_CACHE to another folder"
        ) from None


# book/4-synthetic-corpus/4-corpus.ipynb, cell pretrained
def pretrained(name: str) -> tuple[EncoderDecoder, Vocabulary]:
    """A trained model and its vocabulary; `Translator` takes the two.

    Parameters
    ----------
    name : str
        A folder of `aiayn train`, or of Hugging Face's for Marian; a model that ships
        with the package: `en-de` translates everyday English into German,
        `synthetic-en-de` translates the synthetic corpus, `synthetic-en-trees` parses
        its English sentences; or OWNER/MODEL@REVISION on Hugging Face's hub.

    Returns
    -------
    EncoderDecoder, Vocabulary
        On the processor.

    Raises
    ------
    InputError
        If there is no such model, or its files are damaged.
    """
    if Path(name).is_dir() or name in (names := shipped_models()):
        return read_run(name).load("cpu")
    if name.count("/") == 1:
        return read_huggingface(from_hub(name))
    raise InputError(
        f"model {name!r}: choose one of {', '.join(names)}, name a folder, or give"
        " OWNER/MODEL of Hugging Face's hub"
    )
