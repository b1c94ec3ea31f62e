# Made by `make export` from book/3-workshop/05-distributed-training.ipynb
"""Training: recipes, the loss, the optimizer, checkpoints, and the loop over them."""

# book/3-workshop/05-distributed-training.ipynb, cell training-front
from aiayn.training.checkpoint import load_checkpoint as load_checkpoint
from aiayn.training.preprocess import prepare_corpus as prepare_corpus
from aiayn.training.recipes import TrainingConfig as TrainingConfig
from aiayn.training.recipes import recipe as recipe
from aiayn.training.trainer import train_model as train_model
