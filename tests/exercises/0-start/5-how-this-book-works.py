"""Answers to the exercises of the chapter on how this book works."""


# %% exercise 1, right: with the largest score taken off first
def softmax(scores: list[float]) -> list[float]:
    high = max(scores)
    total = sum(math.exp(score - high) for score in scores)
    return [math.exp(score - high) / total for score in scores]


# %% exercise 1, wrong: no exponentials
def softmax(scores: list[float]) -> list[float]:
    total = sum(scores) or 1
    return [score / total for score in scores]


# %% exercise 1, wrong: does not divide
def softmax(scores: list[float]) -> list[float]:
    return [math.exp(score) for score in scores]


# %% exercise 1, wrong: the largest first
def softmax(scores: list[float]) -> list[float]:
    exponentials = sorted(map(math.exp, scores), reverse=True)
    return [each / sum(exponentials) for each in exponentials]


# %% exercise 1, wrong: two scores only
def softmax(scores: list[float]) -> list[float]:
    first = 1 / (1 + math.exp(scores[1] - scores[0]))
    return [first, 1 - first]


# %% exercise 2, right: by parts
def report(loss: float, seconds: float) -> str:
    return " ".join(
        ["loss", format(loss, ".3f"), "in", "⟨" + format(seconds, ".1f") + "⟩", "s"]
    )


# %% exercise 2, wrong: no brackets
def report(loss: float, seconds: float) -> str:
    return f"loss {loss:.3f} in {seconds:.1f} s"


# %% exercise 2, wrong: the loss in brackets, too
def report(loss: float, seconds: float) -> str:
    return f"loss ⟨{loss:.3f}⟩ in ⟨{seconds:.1f}⟩ s"


# %% exercise 2, wrong: the loss in brackets and not the time
def report(loss: float, seconds: float) -> str:
    return f"loss ⟨{loss:.3f}⟩ in {seconds:.1f} s"


# %% exercise 2, wrong: the wrong brackets
def report(loss: float, seconds: float) -> str:
    return f"loss {loss:.3f} in <{seconds:.1f}> s"


# %% exercise 2, wrong: all digits
def report(loss: float, seconds: float) -> str:
    return f"loss {loss} in ⟨{seconds}⟩ s"
