# Made by `make export` from book/3-workshop/10-attention-scores.ipynb
"""The models that the paper compares itself with."""

# book/3-workshop/10-attention-scores.ipynb, cell baselines-front
from aiayn.model.baselines.conv_seq2seq import (
    ConvolutionalConfig as ConvolutionalConfig,
)
from aiayn.model.baselines.conv_seq2seq import ConvolutionalModel as ConvolutionalModel
from aiayn.model.baselines.recurrent import RecurrentConfig as RecurrentConfig
from aiayn.model.baselines.recurrent import RecurrentModel as RecurrentModel
