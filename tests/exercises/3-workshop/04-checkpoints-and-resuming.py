"""Answers to the exercises of "Checkpoints and resuming"."""


# %% exercise 1, right: of all the time, and by trying intervals
def wasted(interval, c, M):
    return c / (interval + c) + (interval + c) / (2 * M)


def best_interval(c, M):
    return min(
        (1.01**k for k in range(2000)), key=lambda interval: wasted(interval, c, M)
    )


# %% exercise 1, wrong: a failure costs a whole interval
def wasted(interval, c, M):
    return c / interval + interval / M


def best_interval(c, M):
    return math.sqrt(c * M)


# %% exercise 1, wrong: forgets the half in the share alone
def wasted(interval, c, M):
    return c / interval + interval / M


def best_interval(c, M):
    return math.sqrt(2 * c * M)


# %% exercise 1, wrong: saving costs nothing
def wasted(interval, c, M):
    return interval / 2 / M


def best_interval(c, M):
    return math.sqrt(2 * c * M)


# %% exercise 1, wrong: what is done twice costs nothing
def wasted(interval, c, M):
    return c / interval


def best_interval(c, M):
    return math.sqrt(2 * c * M)


# %% exercise 1, wrong: the paper's ten minutes
def wasted(interval, c, M):
    return c / interval + interval / 2 / M


def best_interval(c, M):
    return 600


# %% exercise 1, wrong: the best for one disk alone
def wasted(interval, c, M):
    return c / interval + interval / 2 / M


def best_interval(c, M):
    return 1859


# %% exercise 1, wrong: seconds in place of a share
def wasted(interval, c, M):
    return c + interval**2 / 2 / M


def best_interval(c, M):
    return math.sqrt(2 * c * M)


# %% exercise 2, right: a new name each time, and replace
def save(folder, content):
    part = Path(tempfile.mkdtemp(dir=folder.parent))
    for name in content:
        part.joinpath(name).write_bytes(content[name])
    part.replace(folder)


# %% exercise 2, wrong: writes to the folder itself
def save(folder, content):
    folder.mkdir()
    for name, data in content.items():
        (folder / name).write_bytes(data)


# %% exercise 2, wrong: stops at what an earlier call left (FileExistsError)
def save(folder, content):
    part = folder.with_name(f".{folder.name}.part")
    part.mkdir()
    for name, data in content.items():
        (part / name).write_bytes(data)
    os.rename(part, folder)


# %% exercise 2, wrong: mixes what an earlier call left with its own
def save(folder, content):
    part = folder.with_name(f".{folder.name}.part")
    part.mkdir(exist_ok=True)
    for name, data in content.items():
        (part / name).write_bytes(data)
    os.rename(part, folder)


# %% exercise 2, wrong: renames file by file
def save(folder, content):
    folder.mkdir(exist_ok=True)
    for name, data in content.items():
        part = folder / f".{name}.part"
        part.write_bytes(data)
        os.rename(part, folder / name)


# %% exercise 2, wrong: renames before the last file is written
def save(folder, content):
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    *first, last = content
    for name in first:
        (part / name).write_bytes(content[name])
    os.rename(part, folder)
    (folder / last).write_bytes(content[last])


# %% exercise 2, wrong: writes with calls that the check does not see
def save(folder, content):
    folder.mkdir()
    for name, data in content.items():
        with open(folder / name, "wb") as file:
            file.write(data)
