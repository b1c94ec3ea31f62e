"""Answers to the exercises of "Distributed training"."""


# %% exercise 1, right: token by token
def to_backward(losses, total, workers):
    return sum((loss / total * workers for loss in losses), start=0 * losses.sum())


# %% exercise 1, wrong: the mean over its own tokens (nan without any)
def to_backward(losses, total, workers):
    return losses.mean()


# %% exercise 1, wrong: as if gradients were added up
def to_backward(losses, total, workers):
    return losses.sum() / total


# %% exercise 1, wrong: divides by the workers, which the mean does already
def to_backward(losses, total, workers):
    return losses.sum() / total / workers


# %% exercise 1, wrong: the sum
def to_backward(losses, total, workers):
    return losses.sum()


# %% exercise 1, wrong: the workers are always two
def to_backward(losses, total, workers):
    return 2 * losses.sum() / total


# %% exercise 2, right: what each of them sends, piece by piece
def exchange_seconds(parameters, gpus, bytes_per_second):
    piece = 4 * parameters / gpus
    return sum(piece for _ in range(2 * (gpus - 1))) / bytes_per_second


# %% exercise 2, wrong: forgets the bytes
def exchange_seconds(parameters, gpus, bytes_per_second):
    return 2 * (gpus - 1) / gpus * parameters / bytes_per_second


# %% exercise 2, wrong: once around
def exchange_seconds(parameters, gpus, bytes_per_second):
    return (gpus - 1) / gpus * 4 * parameters / bytes_per_second


# %% exercise 2, wrong: to each of the others
def exchange_seconds(parameters, gpus, bytes_per_second):
    return 2 * (gpus - 1) * 4 * parameters / bytes_per_second


# %% exercise 2, wrong: as if there were no end of GPUs
def exchange_seconds(parameters, gpus, bytes_per_second):
    return 2 * 4 * parameters / bytes_per_second
