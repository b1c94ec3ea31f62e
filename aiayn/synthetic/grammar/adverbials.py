# Made by `make export` from book/4-synthetic-corpus/3-sentences.ipynb
"""Adverbials of place, time and manner."""

# book/4-synthetic-corpus/3-sentences.ipynb, cell adverbials-imports
from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

from aiayn.synthetic.grammar.lexicon import NOUNS, grouped, read_table, select
from aiayn.synthetic.grammar.meaning import Adverb, Preposition

# book/4-synthetic-corpus/3-sentences.ipynb, cell draw
Item = TypeVar("Item")


class Draw:
    """Chance, from a seed.

    Only `random()` is used: of no other method does Python promise that it stays so.
    """

    def __init__(self, seed: str) -> None:
        self.random = Random(seed).random

    def chance(self, share: float) -> bool:
        """True in that share of cases."""
        return self.random() < share

    def pick(self, items: Sequence[Item]) -> Item:
        """One of them, all alike."""
        return items[int(self.random() * len(items))]

    def weighted(self, weights: Mapping[Item, float]) -> Item:
        """One of the keys, by weights that sum to one."""
        point, items = self.random(), list(weights)
        for item in items:
            point -= weights[item]
            if point < 0:
                return item
        return items[-1]


# book/4-synthetic-corpus/3-sentences.ipynb, cell weights
def read_weight(table: str, choice: str, weight: str) -> tuple[str, tuple[str, float]]:
    """A row of the file, with the table to which it belongs."""
    return table, (choice, float(weight))


WEIGHTS = {
    table: dict(choices)
    for table, choices in grouped(read_table("weights.tsv", read_weight)).items()
}


# book/4-synthetic-corpus/3-sentences.ipynb, cell adverbs
def read_adverb(group: str, english: str, german: str) -> tuple[str, Adverb]:
    """A row of the table, such as next/JJ week/NN and nächste Woche, with its group."""
    words = (word.split("/") for word in english.split())
    return group, Adverb(tuple((text, tag) for text, tag in words), (*german.split(),))


ADVERBS = grouped(read_table("adverbs.tsv", read_adverb))


# book/4-synthetic-corpus/3-sentences.ipynb, cell times
PAST, PRESENT, FUTURE = ADVERBS["past"], ADVERBS["present"], ADVERBS["future"]
HABIT, OFTEN, MANNER = ADVERBS["habit"], ADVERBS["often"], ADVERBS["manner"]
SOON = FUTURE[1]
(ALREADY,) = ADVERBS["already"]
TIMES = {
    "past": PAST + ADVERBS["day"] + ADVERBS["part"],
    "present": PRESENT,
    "future": FUTURE + ADVERBS["day"],
}
# what can be done quietly, slowly, quickly, carefully or secretly
MANNERED = set(
    """eat read write carry wash clean repair draw open close cook bake push pull walk
    run go climb put""".split()
)


# book/4-synthetic-corpus/3-sentences.ipynb, cell prepositions
# nine German prepositions take the dative for rest and the accusative for motion; six
# of them are here
IN = Preposition("in", "in", "dat")
ON = Preposition("on", "auf", "dat")
UNDER = Preposition("under", "unter", "dat")
BEHIND = Preposition("behind", "hinter", "dat")
NEXT_TO = Preposition("next to", "neben", "dat")
IN_FRONT_OF = Preposition("in front of", "vor", "dat")
INTO = Preposition("into", "in", "acc")
ONTO = Preposition("onto", "auf", "acc")
PUT_ON = Preposition("on", "auf", "acc")
PUT_UNDER = Preposition("under", "unter", "acc")
TO = Preposition("to", "zu", "dat")
TO_CITY = Preposition("to", "nach", "dat")
OUT_OF = Preposition("out of", "aus", "dat")
THROUGH = Preposition("through", "durch", "acc")
WITH = Preposition("with", "mit", "dat")
WITHOUT = Preposition("without", "ohne", "acc")
BECAUSE_OF = Preposition("because of", "wegen", "gen")
DURING = Preposition("during", "während", "gen")


# book/4-synthetic-corpus/3-sentences.ipynb, cell places
FIELD, STATION = Preposition("in", "auf", "dat"), Preposition("at", "an", "dat")
RIVER, BEACH = Preposition("by", "an", "dat"), Preposition("on", "an", "dat")
MARKET = Preposition("at", "auf", "dat")
# where German does not say in as one does of a room
AT_SPOT = {
    **dict.fromkeys(select("street bridge island"), ON),
    **dict.fromkeys(select("field square"), FIELD),
    **dict.fromkeys(select("river lake"), RIVER),
    NOUNS["station"]: STATION,
    NOUNS["market"]: MARKET,
    NOUNS["beach"]: BEACH,
    NOUNS["tree"]: UNDER,
}
OUTDOORS = select(
    "house garden forest park barn village open beach lake tree island market"
)
ROOMS, SPOTS = select("room"), select("room open spot")
SURFACES = select("table chair bed bench sofa desk shelf")
SEATS = select("chair bed bench sofa table")
