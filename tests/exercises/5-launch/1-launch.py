"""Answers to the exercises of "Launch"."""


# %% exercise 1, right: in steps
def reach(seconds):
    apart = 600 / seconds
    places = [k * apart for k in range(5)]
    return round((places[-1] - places[0]) / 100_000, 5)


# %% exercise 1, wrong: five gaps
def reach(seconds):
    return 5 * 600 / seconds / 100_000


# %% exercise 1, wrong: minutes for seconds
def reach(seconds):
    return 4 * 10 / seconds / 100_000


# %% exercise 1, wrong: the share for the paper's step
def reach(seconds):
    return 0.06


# %% exercise 1, wrong: multiplies where it should divide
def reach(seconds):
    return 4 * 600 * seconds / 100_000


# %% exercise 1, wrong: no more than the whole
def reach(seconds):
    return min(1, 4 * 600 / seconds / 100_000)


# %% exercise 2, right: tries one after the other
def micro_batches(workers):
    number = 8
    while number % workers:
        number += 1
    return number


# %% exercise 2, wrong: eight for everybody
def micro_batches(workers):
    return 8


# %% exercise 2, wrong: rounds down
def micro_batches(workers):
    return max(1, 8 // workers) * workers


# %% exercise 2, wrong: eight for each
def micro_batches(workers):
    return 8 * workers


# %% exercise 2, wrong: one more than needed, where eight would do
def micro_batches(workers):
    return (8 // workers + 1) * workers
