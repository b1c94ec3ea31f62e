"""Adverbials of place, time and manner.

From "Sentences":
https://github.com/OWNER/aiayn/blob/main/book/4-synthetic-corpus/3-sentences.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/4-synthetic-corpus/3-sentences.ipynb, cell adverbials-imports
from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

from aiayn.synthetic.grammar.lexicon import NOUNS, select
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


# book/4-synthetic-corpus/3-sentences.ipynb, cell adverbs
def adverb(entry: str) -> Adverb:
    """Read `next/JJ week/NN = nächste Woche`."""
    english, german = entry.split(" = ")
    words = (word.split("/") for word in english.split())
    return Adverb(tuple((text, tag) for text, tag in words), tuple(german.split()))


def adverbs(table: str) -> tuple[Adverb, ...]:
    """Several, one in a line."""
    return tuple(adverb(line) for line in table.strip().splitlines())


PAST = adverbs("""
    yesterday/NN = gestern
    last/JJ week/NN = letzte Woche
    last/JJ month/NN = letzten Monat
    last/JJ year/NN = letztes Jahr
""")
FUTURE = adverbs("""
    tomorrow/NN = morgen
    soon/RB = bald
    next/JJ week/NN = nächste Woche
    next/JJ year/NN = nächstes Jahr
""")
SOON = FUTURE[1]
PARTS = adverbs("""
    in/IN the/DT morning/NN = am Morgen
    in/IN the/DT evening/NN = am Abend
    at/IN night/NN = nachts
""")


# book/4-synthetic-corpus/3-sentences.ipynb, cell times
DAYS = {
    "Monday": "Montag",
    "Tuesday": "Dienstag",
    "Wednesday": "Mittwoch",
    "Thursday": "Donnerstag",
    "Friday": "Freitag",
    "Saturday": "Samstag",
    "Sunday": "Sonntag",
}
ON_DAY = tuple(
    adverb(f"on/IN {english}/NNP = am {german}") for english, german in DAYS.items()
)
PRESENT = adverbs("""
    today/NN = heute
    now/RB = jetzt
    this/DT morning/NN = heute Morgen
""")
HABIT = adverbs("""
    every/DT day/NN = jeden Tag
    every/DT morning/NN = jeden Morgen
    every/DT week/NN = jede Woche
    every/DT year/NN = jedes Jahr
""")
TIMES = {"past": PAST + ON_DAY + PARTS, "present": PRESENT, "future": FUTURE + ON_DAY}
OFTEN = adverbs("""
    often/RB = oft
    always/RB = immer
    sometimes/RB = manchmal
    never/RB = nie
    rarely/RB = selten
""")
ALREADY = adverb("already/RB = schon")
MANNER = adverbs("""
    quietly/RB = leise
    slowly/RB = langsam
    quickly/RB = schnell
    carefully/RB = vorsichtig
    secretly/RB = heimlich
""")
# what can be done quietly, slowly, quickly, carefully or secretly
MANNERED = set(
    """eat read write carry wash clean repair draw open close cook bake push pull walk
    run go climb put""".split()
)


# book/4-synthetic-corpus/3-sentences.ipynb, cell prepositions
def prepositions(table: str) -> tuple[Preposition, ...]:
    """Read `in front of = vor dat`, one in a line."""
    sides = (line.strip().split(" = ") for line in table.strip().splitlines())
    return tuple(Preposition(english, *german.split()) for english, german in sides)


# nine German prepositions take the dative for rest and the accusative for motion; six
# of them are here
IN, ON, UNDER, BEHIND, NEXT_TO, IN_FRONT_OF = prepositions("""
    in = in dat
    on = auf dat
    under = unter dat
    behind = hinter dat
    next to = neben dat
    in front of = vor dat
""")
INTO, ONTO, PUT_ON, PUT_UNDER = prepositions("""
    into = in acc
    onto = auf acc
    on = auf acc
    under = unter acc
""")
TO, TO_CITY, OUT_OF, THROUGH, WITH, WITHOUT, BECAUSE_OF, DURING = prepositions("""
    to = zu dat
    to = nach dat
    out of = aus dat
    through = durch acc
    with = mit dat
    without = ohne acc
    because of = wegen gen
    during = während gen
""")


# book/4-synthetic-corpus/3-sentences.ipynb, cell places
FIELD, STATION, RIVER = prepositions("""
    in = auf dat
    at = an dat
    by = an dat
""")
MARKET, BEACH = prepositions("""
    at = auf dat
    on = an dat
""")
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
