# Made by `make export` from book/5-launch/1-launch.ipynb
"""The flags of a training, and those that a run records."""

# book/5-launch/1-launch.ipynb, cell options-imports
import shlex
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import tyro

from aiayn.base_config import differences
from aiayn.cli.parser import split_imports, value_of, with_defaults
from aiayn.data.formats import HUB
from aiayn.errors import InputError
from aiayn.training.recipes import RECIPES, TrainingConfig, with_learning_rate
from aiayn.training.recipes import recipe as find_recipe
from aiayn.training.resume import newest_checkpoint, resumable_description

# book/5-launch/1-launch.ipynb, cell train-options
NAMES = (
    f"{', '.join(RECIPES)}; or the config.json of a checkpoint. The defaults shown are"
    " those of base, or with `--recipe NAME --help` those of NAME"
)


@dataclass(frozen=True, kw_only=True)
class RecipeOptions:
    """What is to be learned."""

    # tatoeba, multi30k, wmt14, synthetic, craft, ptb, or a folder: train.en, …
    data: str | None = None
    # or files of your own: a table (.tsv, .csv, .jsonl, .parquet), or two, source first
    train: tuple[str, ...] = ()
    # the same to validate on; unless given, a twentieth of the pairs is held out
    valid: tuple[str, ...] = ()
    # of a table: those of source and target, such as en,de or, counted, 1,2
    columns: str | None = None
    # leave out lines of these files with a fault, and count them
    skip_bad_lines: bool = False
    recipe: Annotated[str, tyro.conf.arg(help=NAMES)]
    # languages, source first; of a corpus en-de unless given, of files what they say
    pair: str | None = None
    # a sentencepiece model or a tokenizer.json; unless given, one is learned
    vocabulary: str | None = None
    # its peak, of which --init takes a tenth; what the recipe has unless given
    learning_rate: Annotated[float | None, tyro.conf.arg(aliases=["--lr"])] = None
    config: Annotated[TrainingConfig, tyro.conf.arg(name="")] = TrainingConfig()

    def __post_init__(self) -> None:
        """Bring the learning rate into the recipe."""
        if self.learning_rate is not None:
            config = with_learning_rate(self.config, self.learning_rate)
            object.__setattr__(self, "config", config)

    @classmethod
    def with_recipe_defaults(cls, words: list[str]) -> type:
        """This class, with the recipe that the words of a command name as default."""
        name = value_of("--recipe", words)
        if name is None:
            return cls
        return with_defaults(cls, recipe=name, config=find_recipe(name))

    # book/5-launch/1-launch.ipynb, cell flags-of-options
    def flags(self, kind: type["RecipeOptions"]) -> list[str]:
        """The words from which a verb that takes such options reads them back."""
        names = [each.name for each in fields(kind) if each.name != "config"]
        values = {name: getattr(self, name) for name in names}
        defaults = {each.name: each.default for each in fields(kind)}
        given = {name: v for name, v in values.items() if v != defaults[name]}
        changes = differences(find_recipe(self.recipe), self.config)
        modules, _ = split_imports(sys.argv[1:])
        words = [word for module in modules for word in ("--import", module)]
        given |= {name: value for name, (_, value) in changes.items()}
        for name, value in given.items():
            part, dot, last = name.replace("_", "-").rpartition(".")
            if isinstance(value, tuple):
                words += [f"--{part}{dot}{last}", *value]
            elif isinstance(value, bool):
                words += [f"--{part}{dot}{'' if value else 'no-'}{last}"]
            elif str(value).startswith("-"):  # or it would be a flag
                words += [f"--{part}{dot}{last}={value}"]
            else:
                words += [f"--{part}{dot}{last}", str(value)]
        return words


# book/5-launch/1-launch.ipynb, cell training
@dataclass(frozen=True, kw_only=True)
class TrainOptions(RecipeOptions):
    """What to train, and how."""

    out: Path  # a new folder, for metrics and checkpoints
    init: Path | None = None  # begin with the model of this run; a new one unless given
    device: str | None = None  # cpu, cuda, …; a GPU if there is one unless given
    # go on with the run in the folder; alone with --out, by what it records
    resume: bool = False
    tensorboard: bool = False  # write TensorBoard's files, too
    # have torch compile the layers: pays for wide models on a GPU
    compile: bool = False

    @classmethod
    def with_recipe_defaults(cls, words: list[str]) -> type:
        """As for any recipe; if none is named and a run goes on, with the run's own."""
        out = value_of("--out", words)
        if value_of("--recipe", words) or "--resume" not in words or not out:
            return super().with_recipe_defaults(words)
        return with_defaults(cls, **recorded_options(cls, Path(out), words))


# book/5-launch/1-launch.ipynb, cell recorded-options
def recorded_options(
    kind: type[TrainOptions], out: Path, words: list[str]
) -> dict[str, Any]:
    """The options of the run in a folder, except those that the words replace."""
    last = newest_checkpoint(out)
    if last is None:
        raise InputError(f"--resume: {out} holds no run; give --recipe, to begin one")
    was, config = resumable_description(last), str(last / "config.json")
    _, recorded = split_imports(shlex.split(was.command or "")[2:])
    if was.data and not recorded:  # it was begun from Python
        recorded = ["--data", was.data, "--pair", was.pair or "en-de"]
    other_text = "--data" in words or "--train" in words
    if not (recorded or other_text):
        fault = f"{out}: does not record how its text was read ({was.texts})"
        advice = "repeat --data, or --train with --valid, --columns and --pair"
        raise InputError(f"{fault}; {advice}")
    args = [*recorded, "--out", str(out), "--recipe", config]
    options: Any = tyro.cli(kind.with_recipe_defaults(args), args=args)
    values = {each.name: getattr(options, each.name) for each in fields(kind)}
    for name in ("data", "train", "valid", "columns") if other_text else ():
        del values[name]
    for file in (*values.get("train", ()), *values.get("valid", ())):
        if not (file.startswith(HUB) or Path(file).exists()):
            advice = f"{out} was begun in another folder; go there, or repeat --train"
            raise InputError(f"{file}: is not here: {advice}")
    values |= {"config": was.training, "learning_rate": None}  # which that has
    return values | {"recipe": value_of("--recipe", recorded) or config}
