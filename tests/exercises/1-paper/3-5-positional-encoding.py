"""Answers to the exercises of chapter 3.5."""


# %% exercise 1, right: turns row vectors, and fills a table
def table_by_turning(n, d_model):
    table = torch.zeros(n, d_model, dtype=torch.float64)
    table[0, 1::2] = 1
    turn = rotation(1, d_model).mT
    for pos in range(1, n):
        table[pos] = table[pos - 1] @ turn
    return table


# %% exercise 1, wrong: turns the other way
def table_by_turning(n, d_model):
    rows = [torch.tensor([0.0, 1.0] * (d_model // 2), dtype=torch.float64)]
    for _ in range(n - 1):
        rows.append(rows[-1] @ rotation(1, d_model))
    return torch.stack(rows)


# %% exercise 1, wrong: the cosine first
def table_by_turning(n, d_model):
    rows = [torch.tensor([1.0, 0.0] * (d_model // 2), dtype=torch.float64)]
    for _ in range(n - 1):
        rows.append(rotation(1, d_model) @ rows[-1])
    return torch.stack(rows)


# %% exercise 1, wrong: one row too many
def table_by_turning(n, d_model):
    rows = [torch.tensor([0.0, 1.0] * (d_model // 2), dtype=torch.float64)]
    for _ in range(n):
        rows.append(rotation(1, d_model) @ rows[-1])
    return torch.stack(rows)


# %% exercise 1, wrong: in float32
def table_by_turning(n, d_model):
    rows = [torch.tensor([0.0, 1.0] * (d_model // 2))]
    for _ in range(n - 1):
        rows.append(rotation(1, d_model).float() @ rows[-1])
    return torch.stack(rows)


# %% exercise 1, wrong: begins at position 1
def table_by_turning(n, d_model):
    rows = [
        rotation(1, d_model)
        @ torch.tensor([0.0, 1.0] * (d_model // 2), dtype=torch.float64)
    ]
    for _ in range(n - 1):
        rows.append(rotation(1, d_model) @ rows[-1])
    return torch.stack(rows)


# %% exercise 1, wrong: turns row 0 by the sine of every position
def table_by_turning(n, d_model):
    first = torch.tensor([0.0, 1.0] * (d_model // 2), dtype=torch.float64)
    return torch.stack([rotation(pos, d_model) @ first for pos in range(n)])


# %% exercise 1, wrong: the formula
def table_by_turning(n, d_model):
    return encoding_by_hand(n, d_model)


# %% exercise 1, wrong: the width of the model above
def table_by_turning(n, d_model):
    rows = [torch.tensor([0.0, 1.0] * 32, dtype=torch.float64)]
    for _ in range(n - 1):
        rows.append(rotation(1, 64) @ rows[-1])
    return torch.stack(rows)


# %% exercise 2, right: by the formula, one position after another
def nearest_to_zero(d_model):
    def distance(pos):
        angles = [pos / 10000 ** (2 * i / d_model) for i in range(d_model // 2)]
        return math.sqrt(
            sum(math.sin(angle) ** 2 + (math.cos(angle) - 1) ** 2 for angle in angles)
        )

    nearest = min(range(1, 1000), key=distance)
    return nearest, round(distance(nearest), 3)


# %% exercise 2, wrong: position 0 itself
def nearest_to_zero(d_model):
    table = sinusoidal_encoding(1000, d_model).double()
    distances = (table - table[0]).norm(dim=1)
    return int(distances.argmin()), distances.min().item()


# %% exercise 2, wrong: counts from 0
def nearest_to_zero(d_model):
    table = sinusoidal_encoding(1000, d_model).double()
    distances = (table[1:] - table[0]).norm(dim=1)
    return int(distances.argmin()), distances.min().item()


# %% exercise 2, wrong: the distance squared
def nearest_to_zero(d_model):
    table = sinusoidal_encoding(1000, d_model).double()
    distances = (table[1:] - table[0]).square().sum(dim=1)
    return int(distances.argmin()) + 1, distances.min().item()


# %% exercise 2, wrong: adds up the absolute differences
def nearest_to_zero(d_model):
    table = sinusoidal_encoding(1000, d_model).double()
    distances = (table[1:] - table[0]).abs().sum(dim=1)
    return int(distances.argmin()) + 1, distances.min().item()


# %% exercise 2, wrong: looks at the first hundred positions
def nearest_to_zero(d_model):
    table = sinusoidal_encoding(100, d_model).double()
    distances = (table[1:] - table[0]).norm(dim=1)
    return int(distances.argmin()) + 1, distances.min().item()


# %% exercise 2, wrong: the cosine of the angle between them
def nearest_to_zero(d_model):
    table = sinusoidal_encoding(1000, d_model).double()
    alike = torch.cosine_similarity(table[1:], table[:1])
    return int(alike.argmax()) + 1, 1 - alike.max().item()


# %% exercise 3, right: tries one distance after another
def smallest_max_distance(k):
    max_distance = 0
    while True:
        row = RelativePositions(8, 8, max_distance).distances(50, 50)[40].tolist()
        if row.count(row[40 - k]) == 1:
            return max_distance
        max_distance += 1


# %% exercise 3, wrong: the distance itself
def smallest_max_distance(k):
    return k


# %% exercise 3, wrong: one too many
def smallest_max_distance(k):
    return k + 2


# %% exercise 3, wrong: both sides
def smallest_max_distance(k):
    return 2 * k + 1


# %% exercise 3, wrong: the chapter's maximum
def smallest_max_distance(k):
    return 16


# %% exercise 3, wrong: two layers
def smallest_max_distance(k):
    return -(-k // 2) + 1
