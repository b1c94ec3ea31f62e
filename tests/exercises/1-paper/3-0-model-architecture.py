"""Answers to the exercises of chapter 3."""


# %% exercise 1, right: layer by layer, as sums of matrices, biases, gains
def count_parameters(config):
    d, d_k, d_v = config.d_model, config.d_k, config.d_v
    d_k = d // config.h if d_k is None else d_k
    d_v = d // config.h if d_v is None else d_v
    attention = sum(
        [d * config.h * d_k, d * config.h * d_k, d * config.h * d_v, config.h * d_v * d]
    )
    network = sum([d * config.d_ff, config.d_ff, config.d_ff * d, d])
    norm = d + d
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    return config.N * encoder + config.N * decoder + d * config.vocabulary_size


# %% exercise 1, wrong: three matrices an attention
def count_parameters(config):
    d = config.d_model
    width = (
        config.h * (config.d_k or d // config.h),
        config.h * (config.d_v or d // config.h),
    )
    attention = 2 * d * width[0] + d * width[1]
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    return config.vocabulary_size * d + config.N * (
        3 * attention + 2 * feed_forward + 10 * d
    )


# %% exercise 1, wrong: a feed-forward network without biases
def count_parameters(config):
    d, h = config.d_model, config.h
    attention = 2 * d * h * ((config.d_k or d // h) + (config.d_v or d // h))
    return config.vocabulary_size * d + config.N * (
        3 * attention + 4 * d * config.d_ff + 10 * d
    )


# %% exercise 1, wrong: one attention in the decoder
def count_parameters(config):
    d, h = config.d_model, config.h
    attention = 2 * d * h * ((config.d_k or d // h) + (config.d_v or d // h))
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    return config.vocabulary_size * d + config.N * (
        2 * attention + 2 * feed_forward + 8 * d
    )


# %% exercise 1, wrong: an embedding on each side
def count_parameters(config):
    d, h = config.d_model, config.h
    attention = 2 * d * h * ((config.d_k or d // h) + (config.d_v or d // h))
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    return 2 * config.vocabulary_size * d + config.N * (
        3 * attention + 2 * feed_forward + 10 * d
    )


# %% exercise 1, wrong: four square matrices whatever d_k and d_v are
def count_parameters(config):
    d = config.d_model
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    return config.vocabulary_size * d + config.N * (
        12 * d**2 + 2 * feed_forward + 10 * d
    )


# %% exercise 1, wrong: the base model's vocabulary for all
def count_parameters(config):
    d, h = config.d_model, config.h
    attention = 2 * d * h * ((config.d_k or d // h) + (config.d_v or d // h))
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    return 37000 * d + config.N * (3 * attention + 2 * feed_forward + 10 * d)


# %% exercise 2, right: the logarithm of each probability, picked by its index
def log_probability(source, target):
    y = tokens([f"<s> {target} </s>"])[0].tolist()
    probabilities = torch.softmax(
        model(tokens([source]), torch.tensor([y[:-1]])), dim=-1
    )[0]
    return sum(float(torch.log(probabilities[t, word])) for t, word in enumerate(y[1:]))


def log_probability_by_steps(source, target):
    state, total, newest = model.start(tokens([source])), 0.0, START
    for word in [*tokens([target])[0].tolist(), END]:
        scores = model.step(torch.tensor([[newest]]), state)[0]
        total += float(scores[word] - torch.logsumexp(scores, dim=0))
        newest = word
    return total


# %% exercise 2, wrong: leaves out the end of the sentence
def log_probability(source, target):
    y = tokens([f"<s> {target}"])
    logs = model(tokens([source]), y[:, :-1]).log_softmax(dim=-1)
    return logs.gather(-1, y[:, 1:, None]).sum().item()


def log_probability_by_steps(source, target):
    y, state, total = tokens([f"<s> {target}"])[0], model.start(tokens([source])), 0.0
    for t in range(len(y) - 1):
        total += (
            model.step(y[None, t : t + 1], state)
            .log_softmax(dim=-1)[0, y[t + 1]]
            .item()
        )
    return total


# %% exercise 2, wrong: scores a word by itself
def log_probability(source, target):
    y = tokens([f"<s> {target} </s>"])
    logs = model(tokens([source]), y).log_softmax(dim=-1)
    return logs.gather(-1, y[:, :, None]).sum().item()


def log_probability_by_steps(source, target):
    y, state, total = (
        tokens([f"<s> {target} </s>"])[0],
        model.start(tokens([source])),
        0.0,
    )
    for word in y:
        total += model.step(word[None, None], state).log_softmax(dim=-1)[0, word].item()
    return total


# %% exercise 2, wrong: the mean of a word
def log_probability(source, target):
    y = tokens([f"<s> {target} </s>"])
    return -F.cross_entropy(model(tokens([source]), y[:, :-1])[0], y[0, 1:]).item()


def log_probability_by_steps(source, target):
    y, state, total = (
        tokens([f"<s> {target} </s>"])[0],
        model.start(tokens([source])),
        0.0,
    )
    for t in range(len(y) - 1):
        total += (
            model.step(y[None, t : t + 1], state)
            .log_softmax(dim=-1)[0, y[t + 1]]
            .item()
        )
    return total / (len(y) - 1)


# %% exercise 2, wrong: sums the scores without a softmax
def log_probability(source, target):
    y = tokens([f"<s> {target} </s>"])
    return model(tokens([source]), y[:, :-1]).gather(-1, y[:, 1:, None]).sum().item()


def log_probability_by_steps(source, target):
    y, state, total = (
        tokens([f"<s> {target} </s>"])[0],
        model.start(tokens([source])),
        0.0,
    )
    for t in range(len(y) - 1):
        total += model.step(y[None, t : t + 1], state)[0, y[t + 1]].item()
    return total


# %% exercise 2, wrong: feeds all that is written at each step, on top of the cache
def log_probability(source, target):
    y = tokens([f"<s> {target} </s>"])
    logs = model(tokens([source]), y[:, :-1]).log_softmax(dim=-1)
    return logs.gather(-1, y[:, 1:, None]).sum().item()


def log_probability_by_steps(source, target):
    y, state, total = tokens([f"<s> {target} </s>"]), model.start(tokens([source])), 0.0
    for t in range(1, y.shape[1]):
        total += model.step(y[:, :t], state).log_softmax(dim=-1)[0, y[0, t]].item()
    return total


# %% exercise 2, wrong: by steps is the one pass again
def log_probability(source, target):
    y = tokens([f"<s> {target} </s>"])
    logs = model(tokens([source]), y[:, :-1]).log_softmax(dim=-1)
    return logs.gather(-1, y[:, 1:, None]).sum().item()


def log_probability_by_steps(source, target):
    return log_probability(source, target)


# %% exercise 2, wrong: a pass for each word, without the cache
def log_probability(source, target):
    y = tokens([f"<s> {target} </s>"])
    logs = model(tokens([source]), y[:, :-1]).log_softmax(dim=-1)
    return logs.gather(-1, y[:, 1:, None]).sum().item()


def log_probability_by_steps(source, target):
    y, total = tokens([f"<s> {target} </s>"]), 0.0
    for t in range(1, y.shape[1]):
        total += (
            model(tokens([source]), y[:, :t])[0, -1].log_softmax(dim=-1)[y[0, t]].item()
        )
    return total


# %% exercise 3, right: the beginning, too, word by word
def complete(source, beginning):
    state, words = model.start(tokens([source])), ["<s>", *beginning.split()]
    fed = 0
    while words[-1] != "</s>" and len(words) < 12:
        while fed < len(words):
            scores = model.step(torch.tensor([[NUMBER[words[fed]]]]), state)
            fed += 1
        words.append(WORDS[int(scores[0].argmax())])
    return " ".join(words)


# %% exercise 3, wrong: feeds only the beginning's last word
def complete(source, beginning):
    written = tokens([f"<s> {beginning}"])
    state, newest = model.start(tokens([source])), written[:, -1:]
    while newest[0, -1] != END and written.shape[1] < 12:
        newest = model.step(newest, state).argmax(dim=-1, keepdim=True)
        written = torch.cat([written, newest], dim=1)
    return " ".join(WORDS[number] for number in written[0].tolist())


# %% exercise 3, wrong: feeds the whole again at each step
def complete(source, beginning):
    written = tokens([f"<s> {beginning}"])
    state = model.start(tokens([source]))
    while written[0, -1] != END and written.shape[1] < 12:
        newest = model.step(written, state).argmax(dim=-1, keepdim=True)
        written = torch.cat([written, newest], dim=1)
    return " ".join(WORDS[number] for number in written[0].tolist())


# %% exercise 3, wrong: uses no cache
def complete(source, beginning):
    written = tokens([f"<s> {beginning}"])
    while written[0, -1] != END and written.shape[1] < 12:
        newest = model(tokens([source]), written)[:, -1].argmax(dim=-1, keepdim=True)
        written = torch.cat([written, newest], dim=1)
    return " ".join(WORDS[number] for number in written[0].tolist())


# %% exercise 3, wrong: knows no limit
def complete(source, beginning):
    written = tokens([f"<s> {beginning}"])
    state, newest = model.start(tokens([source])), written
    while newest[0, -1] != END:
        newest = model.step(newest, state).argmax(dim=-1, keepdim=True)
        written = torch.cat([written, newest], dim=1)
    return " ".join(WORDS[number] for number in written[0].tolist())


# %% exercise 3, wrong: twelve words more
def complete(source, beginning):
    written = tokens([f"<s> {beginning}"])
    state, newest = model.start(tokens([source])), written
    for _ in range(12):
        newest = model.step(newest, state).argmax(dim=-1, keepdim=True)
        written = torch.cat([written, newest], dim=1)
        if newest[0, -1] == END:
            break
    return " ".join(WORDS[number] for number in written[0].tolist())


# %% exercise 3, wrong: only what was added
def complete(source, beginning):
    added = []
    state, newest = model.start(tokens([source])), tokens([f"<s> {beginning}"])
    while newest[0, -1] != END and len(added) < 12:
        newest = model.step(newest, state).argmax(dim=-1, keepdim=True)
        added.append(WORDS[int(newest)])
    return " ".join(added)


# %% exercise 3, wrong: begins without the mark
def complete(source, beginning):
    written = tokens([beginning])
    state, newest = model.start(tokens([source])), written
    while newest[0, -1] != END and written.shape[1] < 12:
        newest = model.step(newest, state).argmax(dim=-1, keepdim=True)
        written = torch.cat([written, newest], dim=1)
    return " ".join(WORDS[number] for number in written[0].tolist())
