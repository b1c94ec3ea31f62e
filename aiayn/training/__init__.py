"""Many workers (paper, section 5).

Generated from a chapter of the book: edit that, then run `make export`.
https://github.com/OWNER/aiayn/blob/main/book/11-7-many-workers.ipynb
"""

__all__ = [
    "load_checkpoint",
    "train_model",
    "prepare",
    "TrainingConfig",
    "recipe",
]


# book/11-7-many-workers.ipynb, cell training-front
from aiayn.training.checkpoint import load_checkpoint as load_checkpoint
from aiayn.training.loop import train_model as train_model
from aiayn.training.preparation import prepare as prepare
from aiayn.training.recipes import TrainingConfig as TrainingConfig
from aiayn.training.recipes import recipe as recipe
