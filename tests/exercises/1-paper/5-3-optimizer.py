"""Answers to the exercises of chapter 5.3."""


# %% exercise 1, right: divides by the peak of factor 1, and rounds
def factor_for(peak, d_model, warmup):
    return round(peak / learning_rate(warmup, d_model, warmup), 4)


# %% exercise 1, wrong: the factor's inverse
def factor_for(peak, d_model, warmup):
    return (d_model * warmup) ** -0.5 / peak


# %% exercise 1, wrong: forgets the root
def factor_for(peak, d_model, warmup):
    return peak * d_model * warmup


# %% exercise 1, wrong: forgets the warm-up
def factor_for(peak, d_model, warmup):
    return peak * d_model**0.5


# %% exercise 1, wrong: the answer for the small recipe alone
def factor_for(peak, d_model, warmup):
    return 1.28


# %% exercise 2, right: the ratio squared, not a whole number
def passes_again(step, warmup):
    return warmup * (warmup / step) ** 2


# %% exercise 2, wrong: squares the warm-up where it needs the cube
def passes_again(step, warmup):
    return warmup**2 // step


# %% exercise 2, wrong: the same distance on the other side
def passes_again(step, warmup):
    return 2 * warmup - step


# %% exercise 2, wrong: the step of the way up
def passes_again(step, warmup):
    return step


# %% exercise 2, wrong: only for a warm-up of 4000
def passes_again(step, warmup):
    return 4000**3 // step**2


# %% exercise 3, right: counts steps
def half_life(beta):
    steps = 0
    while beta**steps > 0.5:
        steps += 1
    return round(math.log2(0.5) / math.log2(beta)) if steps else 0


# %% exercise 3, wrong: the memory of 1 / (1 - beta)
def half_life(beta):
    return 1 / (1 - beta)


# %% exercise 3, wrong: the logarithms the wrong way round
def half_life(beta):
    return math.log(beta) / math.log(0.5)


# %% exercise 3, wrong: loses the sign
def half_life(beta):
    return math.log(2) / math.log(beta)


# %% exercise 3, wrong: takes a half of what 1 - beta leaves
def half_life(beta):
    return 0.5 / (1 - beta)


# %% exercise 4, right: adds up the series
def longest_step(beta_1, beta_2):
    series = sum((beta_1**2 / beta_2) ** i for i in range(1000))
    return round((1 - beta_1) * (series / (1 - beta_2)) ** 0.5, 3)


# %% exercise 4, wrong: a single large gradient
def longest_step(beta_1, beta_2):
    return (1 - beta_1) / (1 - beta_2) ** 0.5


# %% exercise 4, wrong: always the rate
def longest_step(beta_1, beta_2):
    return 1.0


# %% exercise 4, wrong: forgets that beta_1 is squared in the series
def longest_step(beta_1, beta_2):
    return (1 - beta_1) / ((1 - beta_2) * (1 - beta_1 / beta_2)) ** 0.5


# %% exercise 4, wrong: forgets the root
def longest_step(beta_1, beta_2):
    return (1 - beta_1) ** 2 / ((1 - beta_2) * (1 - beta_1**2 / beta_2))
