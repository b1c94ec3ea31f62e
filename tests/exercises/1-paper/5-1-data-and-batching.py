"""Answers to the exercises of chapter 5.1."""


# %% exercise 1, right: by a stable sort for each key
def straight(examples):
    lengths = [(len(source), len(target)) for source, target in examples]
    order = sorted(range(len(examples)), key=lambda i: lengths[i][0] - lengths[i][1])
    return sorted(order, key=lambda i: max(lengths[i]))


# %% exercise 1, wrong: by the source alone
def straight(examples):
    return sorted(range(len(examples)), key=lambda i: len(examples[i][0]))


# %% exercise 1, wrong: no second key
def straight(examples):
    return sorted(range(len(examples)), key=lambda i: max(map(len, examples[i])))


# %% exercise 1, wrong: target minus source
def straight(examples):
    def key(index):
        source, target = map(len, examples[index])
        return max(source, target), target - source

    return sorted(range(len(examples)), key=key)


# %% exercise 1, wrong: the turn is still in it
def straight(examples):
    def key(index):
        source, target = map(len, examples[index])
        longer = max(source, target)
        return longer, (source - target) * (-1) ** longer

    return sorted(range(len(examples)), key=key)


# %% exercise 1, wrong: falling
def straight(examples):
    def key(index):
        source, target = map(len, examples[index])
        return max(source, target), source - target

    return sorted(range(len(examples)), key=key, reverse=True)


# %% exercise 1, wrong: the pairs and not their indices
def straight(examples):
    def key(pair):
        source, target = map(len, pair)
        return max(source, target), source - target

    return sorted([list(pair) for pair in examples], key=key)


# %% exercise 2, right: with array_split's cuts, and a stable argsort
def by_count(examples, number):
    order = np.argsort([len(source) for source, _ in examples], kind="stable")
    return [
        group.tolist() for group in np.split(order, range(number, len(order), number))
    ]


# %% exercise 2, wrong: drops the last group
def by_count(examples, number):
    order = sorted(range(len(examples)), key=lambda index: len(examples[index][0]))
    return [order[k * number : (k + 1) * number] for k in range(len(order) // number)]


# %% exercise 2, wrong: not sorted
def by_count(examples, number):
    return [
        list(range(len(examples)))[k : k + number]
        for k in range(0, len(examples), number)
    ]


# %% exercise 2, wrong: by the longer side
def by_count(examples, number):
    order = sorted(
        range(len(examples)), key=lambda index: max(map(len, examples[index]))
    )
    return [order[start : start + number] for start in range(0, len(order), number)]


# %% exercise 2, wrong: by the target
def by_count(examples, number):
    order = sorted(range(len(examples)), key=lambda index: len(examples[index][1]))
    return [order[start : start + number] for start in range(0, len(order), number)]


# %% exercise 2, wrong: so many groups
def by_count(examples, number):
    order = sorted(range(len(examples)), key=lambda index: len(examples[index][0]))
    return [group.tolist() for group in np.array_split(order, number)]


# %% exercise 2, wrong: 64 whatever the number
def by_count(examples, number):
    order = sorted(range(len(examples)), key=lambda index: len(examples[index][0]))
    return [order[start : start + 64] for start in range(0, len(order), 64)]


# %% exercise 2, wrong: sorts within the groups
def by_count(examples, number):
    order = list(range(len(examples)))
    groups = [order[start : start + number] for start in range(0, len(order), number)]
    return [
        sorted(group, key=lambda index: len(examples[index][0])) for group in groups
    ]


# %% exercise 3, right: deals pair by pair, and adds up in a loop
def dealt(group):
    hands = [[] for _ in range(min(8, len(group)))]
    for place, pair in enumerate(group):
        hands[place % 8].append(pair)
    return hands


def work(groups, cut):
    total = busiest = 0
    for group in groups:
        most = 0
        for piece in cut(group):
            widest = lengths[piece].max(axis=0)
            most = max(most, int(widest.sum()) * len(piece))
            total += int(widest.sum()) * len(piece)
        busiest += most
    return total, busiest


# %% exercise 3, wrong: eight in a row
def dealt(group):
    return [group[start : start + 8] for start in range(0, len(group), 8)]


def work(groups, cut):
    positions = [
        [padded_positions(lengths[piece], 1) for piece in cut(group)]
        for group in groups
    ]
    return sum(map(sum, positions)), sum(map(max, positions))


# %% exercise 3, wrong: empty pieces
def dealt(group):
    return [group[k::8] for k in range(8)]


def work(groups, cut):
    positions = [
        [padded_positions(lengths[p], 1) for p in cut(group) if len(p)]
        for group in groups
    ]
    return sum(map(sum, positions)), sum(map(max, positions))


# %% exercise 3, wrong: the busiest of all groups
def dealt(group):
    return [group[k::8] for k in range(min(8, len(group)))]


def work(groups, cut):
    positions = [
        padded_positions(lengths[piece], 1) for group in groups for piece in cut(group)
    ]
    return sum(positions), max(positions)


# %% exercise 3, wrong: the whole group, not its pieces
def dealt(group):
    return [group[k::8] for k in range(min(8, len(group)))]


def work(groups, cut):
    positions = [padded_positions(lengths[group], 1) for group in groups]
    return sum(positions), sum(positions)


# %% exercise 3, wrong: fills up to eights
def dealt(group):
    return [group[k::8] for k in range(min(8, len(group)))]


def work(groups, cut):
    positions = [
        [padded_positions(lengths[piece], 8) for piece in cut(group)]
        for group in groups
    ]
    return sum(map(sum, positions)), sum(map(max, positions))


# %% exercise 3, wrong: counts no padding
def dealt(group):
    return [group[k::8] for k in range(min(8, len(group)))]


def work(groups, cut):
    positions = [
        [int(lengths[piece].sum()) for piece in cut(group)] for group in groups
    ]
    return sum(map(sum, positions)), sum(map(max, positions))


# %% exercise 3, wrong: the source alone
def dealt(group):
    return [group[k::8] for k in range(min(8, len(group)))]


def work(groups, cut):
    positions = [
        [len(p) * int(lengths[p][:, 0].max()) for p in cut(group)] for group in groups
    ]
    return sum(map(sum, positions)), sum(map(max, positions))


# %% exercise 3, wrong: the last piece is the busiest
def dealt(group):
    return [group[k::8] for k in range(min(8, len(group)))]


def work(groups, cut):
    positions = [
        [padded_positions(lengths[piece], 1) for piece in cut(group)]
        for group in groups
    ]
    return sum(map(sum, positions)), sum(row[-1] for row in positions)


# %% exercise 3, wrong: cuts into runs whatever it is told
def dealt(group):
    return [group[k::8] for k in range(min(8, len(group)))]


def work(groups, cut):
    positions = [
        [padded_positions(lengths[piece], 1) for piece in runs(group)]
        for group in groups
    ]
    return sum(map(sum, positions)), sum(map(max, positions))
