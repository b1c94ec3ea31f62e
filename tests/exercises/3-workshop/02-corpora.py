"""Answers to the exercises of "Corpora"."""


# %% exercise 1, right: line by line from a stream of bytes
def lines_of(content):
    lines = []
    for number, line in enumerate(
        content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1
    ):
        lines.append((number, line.decode("utf-8").strip()))
    if content.endswith(b"\n"):
        del lines[-1]
    for number, line in lines:
        if line == "":
            raise ValueError(number)
    return [line for _, line in lines]


# %% exercise 1, wrong: cuts wherever Python does
def lines_of(content):
    lines = [line.strip() for line in content.decode("utf-8-sig").splitlines()]
    for number, line in enumerate(lines, start=1):
        if not line:
            raise ValueError(number)
    return lines


# %% exercise 1, wrong: keeps the byte order mark
def lines_of(content):
    lines = [
        line.strip() for line in content.decode("utf-8").removesuffix("\n").split("\n")
    ]
    for number, line in enumerate(lines, start=1):
        if not line:
            raise ValueError(number)
    return lines


# %% exercise 1, wrong: keeps carriage returns
def lines_of(content):
    text = content.decode("utf-8-sig").removesuffix("\n")
    lines = [line.strip(" ") for line in text.split("\n")]
    for number, line in enumerate(lines, start=1):
        if not line:
            raise ValueError(number)
    return lines


# %% exercise 1, wrong: takes the end of the text for a line
def lines_of(content):
    lines = [line.strip() for line in content.decode("utf-8-sig").split("\n")]
    for number, line in enumerate(lines, start=1):
        if not line:
            raise ValueError(number)
    return lines


# %% exercise 1, wrong: leaves blank lines out
def lines_of(content):
    lines = [line.strip() for line in content.decode("utf-8-sig").split("\n")]
    return [line for line in lines if line]


# %% exercise 1, wrong: lets blank lines at the end pass
def lines_of(content):
    lines = [
        line.strip() for line in content.decode("utf-8-sig").rstrip("\n").split("\n")
    ]
    for number, line in enumerate(lines, start=1):
        if not line:
            raise ValueError(number)
    return lines


# %% exercise 1, wrong: counts from zero
def lines_of(content):
    text = content.decode("utf-8-sig").removesuffix("\n")
    lines = [line.strip() for line in text.split("\n")]
    for number, line in enumerate(lines):
        if not line:
            raise ValueError(number)
    return lines


# %% exercise 1, wrong: takes Latin-1 for an answer
def lines_of(content):
    text = content.decode("latin-1").removesuffix("\n")
    lines = [line.strip() for line in text.split("\n")]
    for number, line in enumerate(lines, start=1):
        if not line:
            raise ValueError(number)
    return lines


# %% exercise 2, right: by reading whole blocks
def starts_of(file, stride):
    content = file.read()
    ends = [place + 1 for place, byte in enumerate(content) if byte == 10]
    return [0, *ends[:-1]][::stride]


def line_at(file, starts, stride, number):
    block, line = divmod(number, stride)
    end = starts[block + 1] if block + 1 < len(starts) else None
    file.seek(starts[block])
    content = file.read() if end is None else file.read(end - starts[block])
    return content.split(b"\n")[line]


# %% exercise 2, wrong: reads from the front
def starts_of(file, stride):
    starts, place = [], 0
    for number, line in enumerate(file):
        if number % stride == 0:
            starts.append(place)
        place += len(line)
    return starts


def line_at(file, starts, stride, number):
    for _ in range(number):
        file.readline()
    return file.readline().removesuffix(b"\n")


# %% exercise 2, wrong: keeps the line feed
def starts_of(file, stride):
    starts, place = [], 0
    for number, line in enumerate(file):
        if number % stride == 0:
            starts.append(place)
        place += len(line)
    return starts


def line_at(file, starts, stride, number):
    file.seek(starts[number // stride])
    for _ in range(number % stride):
        file.readline()
    return file.readline()


# %% exercise 2, wrong: forgets the line feeds in the places
def starts_of(file, stride):
    starts, place = [], 0
    for number, line in enumerate(file):
        if number % stride == 0:
            starts.append(place)
        place += len(line.rstrip(b"\n"))
    return starts


def line_at(file, starts, stride, number):
    file.seek(starts[number // stride])
    for _ in range(number % stride):
        file.readline()
    return file.readline().removesuffix(b"\n")


# %% exercise 2, wrong: where lines end
def starts_of(file, stride):
    starts, place = [], 0
    for number, line in enumerate(file):
        place += len(line)
        if number % stride == 0:
            starts.append(place)
    return starts


def line_at(file, starts, stride, number):
    file.seek(starts[number // stride])
    for _ in range(number % stride):
        file.readline()
    return file.readline().removesuffix(b"\n")


# %% exercise 2, wrong: the place of every line
def starts_of(file, stride):
    starts, place = [], 0
    for line in file:
        starts.append(place)
        place += len(line)
    return starts


def line_at(file, starts, stride, number):
    file.seek(starts[number // stride])
    for _ in range(number % stride):
        file.readline()
    return file.readline().removesuffix(b"\n")


# %% exercise 2, wrong: only the first line of a block
def starts_of(file, stride):
    starts, place = [], 0
    for number, line in enumerate(file):
        if number % stride == 0:
            starts.append(place)
        place += len(line)
    return starts


def line_at(file, starts, stride, number):
    file.seek(starts[number // stride])
    return file.readline().removesuffix(b"\n")


# %% exercise 2, wrong: one line too far
def starts_of(file, stride):
    starts, place = [], 0
    for number, line in enumerate(file):
        if number % stride == 0:
            starts.append(place)
        place += len(line)
    return starts


def line_at(file, starts, stride, number):
    file.seek(starts[number // stride])
    for _ in range(number % stride + 1):
        file.readline()
    return file.readline().removesuffix(b"\n")
