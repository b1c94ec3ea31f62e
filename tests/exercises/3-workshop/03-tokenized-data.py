"""Answers to the exercises of "Tokenized data"."""


# %% exercise 1, right: from arrays
def file_sizes(lengths, vocabulary_size, max_length):
    table = np.asarray(lengths)
    kinds = [
        "uint16" if most <= 65_535 else "uint32"
        for most in (vocabulary_size - 1, max_length)
    ]
    token, length = (np.dtype(kind).itemsize for kind in kinds)
    return {
        "starts": len(table) * 8,
        "lengths": table.size * length,
        "tokens": int(table.sum()) * token,
    }


# %% exercise 1, wrong: two bytes whatever comes
def file_sizes(lengths, vocabulary_size, max_length):
    tokens = sum(map(sum, lengths))
    return {
        "tokens": 2 * tokens,
        "lengths": 4 * len(lengths),
        "starts": 8 * len(lengths),
    }


# %% exercise 1, wrong: a length for each pair
def file_sizes(lengths, vocabulary_size, max_length):
    token = 2 if vocabulary_size <= 1 << 16 else 4
    length = 2 if max_length < 1 << 16 else 4
    n = len(lengths)
    return {
        "tokens": token * sum(map(sum, lengths)),
        "lengths": length * n,
        "starts": 8 * n,
    }


# %% exercise 1, wrong: the source alone
def file_sizes(lengths, vocabulary_size, max_length):
    token = 2 if vocabulary_size <= 1 << 16 else 4
    length = 2 if max_length < 1 << 16 else 4
    tokens = sum(source for source, _ in lengths)
    return {
        "tokens": token * tokens,
        "lengths": 2 * length * len(lengths),
        "starts": 8 * len(lengths),
    }


# %% exercise 1, wrong: with padding
def file_sizes(lengths, vocabulary_size, max_length):
    token = 2 if vocabulary_size <= 1 << 16 else 4
    length = 2 if max_length < 1 << 16 else 4
    n = len(lengths)
    widest = max(map(max, lengths))
    return {
        "tokens": token * 2 * n * widest,
        "lengths": 2 * length * n,
        "starts": 8 * n,
    }


# %% exercise 1, wrong: four bytes one entry too early
def file_sizes(lengths, vocabulary_size, max_length):
    token = 2 if vocabulary_size < 1 << 16 else 4
    length = 2 if max_length < 1 << 16 else 4
    n = len(lengths)
    return {
        "tokens": token * sum(map(sum, lengths)),
        "lengths": 2 * length * n,
        "starts": 8 * n,
    }


# %% exercise 1, wrong: two bytes for a length of 65,536
def file_sizes(lengths, vocabulary_size, max_length):
    token = 2 if vocabulary_size <= 1 << 16 else 4
    length = 2 if max_length <= 1 << 16 else 4
    n = len(lengths)
    return {
        "tokens": token * sum(map(sum, lengths)),
        "lengths": 2 * length * n,
        "starts": 8 * n,
    }


# %% exercise 1, wrong: starts as small as tokens
def file_sizes(lengths, vocabulary_size, max_length):
    token = 2 if vocabulary_size <= 1 << 16 else 4
    length = 2 if max_length < 1 << 16 else 4
    n = len(lengths)
    return {
        "tokens": token * sum(map(sum, lengths)),
        "lengths": 2 * length * n,
        "starts": 2 * n,
    }


# %% exercise 2, right: from a checksum of checksums
def key(source, target, settings):
    parts = [repr(settings), *source, *target]
    digests = [hashlib.sha256(part.encode()).digest() for part in parts]
    return hashlib.sha256(b"".join(digests)).hexdigest()


# %% exercise 2, wrong: joins lines without a mark
def key(source, target, settings):
    return hashlib.blake2b(
        (str(settings) + "".join([*source, *target])).encode()
    ).hexdigest()


# %% exercise 2, wrong: joins lines with spaces
def key(source, target, settings):
    return hashlib.blake2b(
        " ".join([str(settings), *source, *target]).encode()
    ).hexdigest()


# %% exercise 2, wrong: forgets the settings
def key(source, target, settings):
    return hashlib.blake2b("\n".join([*source, *target]).encode()).hexdigest()


# %% exercise 2, wrong: forgets the target
def key(source, target, settings):
    return hashlib.blake2b("\n".join([str(settings), *source]).encode()).hexdigest()


# %% exercise 2, wrong: the lines in order of the alphabet
def key(source, target, settings):
    lines = sorted([*source, *target])
    return hashlib.blake2b("\n".join([str(settings), *lines]).encode()).hexdigest()


# %% exercise 2, wrong: small letters alone
def key(source, target, settings):
    lines = "\n".join([str(settings), *source, *target]).lower()
    return hashlib.blake2b(lines.encode()).hexdigest()


# %% exercise 2, wrong: a number of Python's own
def key(source, target, settings):
    return hash((tuple(source), tuple(target), settings))


# %% exercise 2, wrong: another at each call
def key(source, target, settings):
    import secrets

    return secrets.token_hex(20)


# %% exercise 2, wrong: the greatest length alone
def key(source, target, settings):
    return hashlib.blake2b(
        "\n".join([str(settings[:1]), *source, *target]).encode()
    ).hexdigest()
