"""Answers to the exercises of "Sentences"."""

from aiayn.synthetic.grammar.meaning import pronoun_of


# %% exercise 1, right: two genders in a set
def clear_in_german(first, second):
    return len({first.gender, second.gender}) == 2


# %% exercise 1, wrong: not clear
def clear_in_german(first, second):
    return first.gender == second.gender


# %% exercise 1, wrong: two animals are always told apart
def clear_in_german(first, second):
    return first.singular != second.singular


# %% exercise 1, wrong: one has to be feminine
def clear_in_german(first, second):
    return (first.gender == "f") != (second.gender == "f")


# %% exercise 1, wrong: the English pronoun
def clear_in_german(first, second):
    return pronoun_of(the(first.singular)) != pronoun_of(the(second.singular))


# %% exercise 2, right: by the German row of the pronoun
def tells_apart(seed):
    said = set()
    for means_second in (False, True):
        pair = Draft(pronoun_sentence(Draw(seed), means_second)).pair()
        pronoun = pair.coreference[0][0]
        (german,) = [j for i, j in pair.alignment if i == pronoun]
        said.add(pair.target_tokens[german].casefold())
    return len(said) == 2


# %% exercise 2, wrong: whole sentences
def tells_apart(seed):
    first, second = (
        Draft(pronoun_sentence(Draw(seed), which)).pair() for which in (False, True)
    )
    return first.target != second.target


# %% exercise 2, wrong: the English pronoun
def tells_apart(seed):
    pronouns = []
    for means_second in (False, True):
        pair = Draft(pronoun_sentence(Draw(seed), means_second)).pair()
        pronouns.append(pair.source_tokens[pair.coreference[0][0]].lower())
    return pronouns[0] != pronouns[1]


# %% exercise 2, wrong: the nouns that are meant
def tells_apart(seed):
    nouns = []
    for means_second in (False, True):
        pair = Draft(pronoun_sentence(Draw(seed), means_second)).pair()
        ((_, noun),) = pair.coreference
        nouns.append({pair.target_tokens[j] for i, j in pair.alignment if i == noun})
    return nouns[0] != nouns[1]


# %% exercise 3, right: other words, and compares the patterns
DOOR = read_pattern(
    verb="öffnen",
    first="child",
    second="gate door",
    of_first="hungry weak",
    of_second="heavy",
)


class OnlyDoors(Draw):
    def pick(self, items):
        if items == PATTERNS:
            return DOOR
        return Draw.pick(self, items)


# %% exercise 3, wrong: a pattern that is there already
DOOR = PATTERNS[0]


class OnlyDoors(Draw):
    def pick(self, items):
        return DOOR if items is PATTERNS else super().pick(items)


# %% exercise 3, wrong: the adjectives the wrong way round
DOOR = read_pattern(
    verb="öffnen",
    first="child",
    second="door window gate",
    of_first="heavy big",
    of_second="weak tired young",
)


class OnlyDoors(Draw):
    def pick(self, items):
        return DOOR if items is PATTERNS else super().pick(items)


# %% exercise 3, wrong: the nouns the wrong way round
DOOR = read_pattern(
    verb="öffnen",
    first="door window gate",
    second="child",
    of_first="weak tired young",
    of_second="heavy big",
)


class OnlyDoors(Draw):
    def pick(self, items):
        return DOOR if items is PATTERNS else super().pick(items)


# %% exercise 3, wrong: picks as before
DOOR = read_pattern(
    verb="öffnen",
    first="child",
    second="door window gate",
    of_first="weak tired young",
    of_second="heavy big",
)


class OnlyDoors(Draw):
    def pick(self, items):
        return super().pick(items)


# %% exercise 3, wrong: another verb
DOOR = read_pattern(
    verb="zeichnen",
    first="child",
    second="door window gate",
    of_first="weak tired young",
    of_second="heavy big",
)


class OnlyDoors(Draw):
    def pick(self, items):
        return DOOR if items is PATTERNS else super().pick(items)


# %% exercise 3, wrong: picks the pattern whatever it is asked (AttributeError)
DOOR = read_pattern(
    verb="öffnen",
    first="child",
    second="door window gate",
    of_first="weak tired young",
    of_second="heavy big",
)


class OnlyDoors(Draw):
    def pick(self, items):
        return DOOR


# %% exercise 4, right: sorts by random numbers
def shuffled(draw, items):
    numbered = [(draw.random(), place, item) for place, item in enumerate(items)]
    return [item for *_, item in sorted(numbered)]


# %% exercise 4, right: exchanges from the end
def shuffled(draw, items):
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        other = draw.pick(range(last + 1))
        order[last], order[other] = order[other], order[last]
    return order


# %% exercise 4, wrong: exchanges each with any
def shuffled(draw, items):
    order = list(items)
    for place in range(len(order)):
        other = draw.pick(range(len(order)))
        order[place], order[other] = order[other], order[place]
    return order


# %% exercise 4, wrong: leaves what it has drawn
def shuffled(draw, items):
    return [draw.pick(list(items)) for _ in items]


# %% exercise 4, wrong: Python's own dice
def shuffled(draw, items):
    import random

    order = list(items)
    random.shuffle(order)
    return order


# %% exercise 4, wrong: begins anywhere and goes round
def shuffled(draw, items):
    start = draw.pick(range(len(items)))
    return [*items[start:], *items[:start]]


# %% exercise 4, wrong: exchanges two
def shuffled(draw, items):
    order = list(items)
    one, other = draw.pick(range(len(order))), draw.pick(range(len(order)))
    order[one], order[other] = order[other], order[one]
    return order
