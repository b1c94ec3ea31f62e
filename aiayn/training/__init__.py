"""Training: recipes, the loss, the optimizer, checkpoints, and the loop over them.

From "Many workers" (paper, section 5):
https://github.com/OWNER/aiayn/blob/main/book/11-7-many-workers.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
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
