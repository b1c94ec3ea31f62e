"""Answers to the exercises of "Fast decoding"."""


# %% exercise 1, right: fills in a larger mask
def descend(ancestry, parents):
    beams, words = len(parents), ancestry.shape[1]
    mask = torch.zeros(beams, words + beams, dtype=torch.bool)
    for beam, parent in enumerate(parents.tolist()):
        mask[beam, :words] = ancestry[parent]
        mask[beam, words + beam] = True
    return mask


# %% exercise 1, wrong: forgets whose children they are
def descend(ancestry, parents):
    return torch.cat([ancestry[: len(parents)], torch.eye(len(parents)).bool()], dim=1)


# %% exercise 1, wrong: everybody sees the new words
def descend(ancestry, parents):
    return torch.cat(
        [ancestry[parents], torch.ones(len(parents), len(parents)).bool()], dim=1
    )


# %% exercise 1, wrong: the new words come first
def descend(ancestry, parents):
    return torch.cat([torch.eye(len(parents)).bool(), ancestry[parents]], dim=1)


# %% exercise 1, wrong: no word of its own
def descend(ancestry, parents):
    return ancestry[parents]


# %% exercise 2, right: goes back from the end
def alive(steps, beams, generator):
    parents = [
        torch.randint(beams, (beams,), generator=generator).tolist()
        for _ in range(steps - 1)
    ]
    seen, count = set(range(beams)), beams
    for chosen in reversed(parents):
        seen = {chosen[beam] for beam in seen}
        count += len(seen)
    return count


# %% exercise 2, wrong: a step too many
def alive(steps, beams, generator):
    ancestry = torch.eye(beams).bool()
    for _ in range(steps):
        ancestry = descend(
            ancestry, torch.randint(beams, (beams,), generator=generator)
        )
    return int(ancestry.any(dim=0).sum())


# %% exercise 2, wrong: only what all see
def alive(steps, beams, generator):
    ancestry = torch.eye(beams).bool()
    for _ in range(steps - 1):
        ancestry = descend(
            ancestry, torch.randint(beams, (beams,), generator=generator)
        )
    return int(ancestry.all(dim=0).sum())


# %% exercise 2, wrong: counts a word once for each beam that sees it
def alive(steps, beams, generator):
    ancestry = torch.eye(beams).bool()
    for _ in range(steps - 1):
        ancestry = descend(
            ancestry, torch.randint(beams, (beams,), generator=generator)
        )
    return int(ancestry.sum())


# %% exercise 2, wrong: all of them
def alive(steps, beams, generator):
    return steps * beams
