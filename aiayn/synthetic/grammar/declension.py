# Made by `make export` from book/4-synthetic-corpus/2-two-grammars.ipynb
"""German endings, articles and pronouns, by case and gender."""

# book/4-synthetic-corpus/2-two-grammars.ipynb, cell declension-imports
from aiayn.synthetic.grammar.meaning import Thing, pronoun_of

# book/4-synthetic-corpus/2-two-grammars.ipynb, cell endings
CASES = ("nom", "acc", "dat", "gen")
GENDERS = "mfnp"


Endings = dict[str, list[str]]  # by case


def by_case(table: str) -> Endings:
    """Four rows, one a case; in each masculine, feminine, neuter and plural."""
    rows = (row.split() for row in table.split(","))
    return dict(zip(CASES, rows, strict=True))


ARTICLE = by_case("der die das die, den die das die, dem der dem den, des der des der")
STRONG = by_case("er e es e, en e es e, em er em en, es er es er")
MIXED = by_case("- e - e, en e - e, em er em en, es er es er")
ADJECTIVE_WEAK = by_case("e e e en, en e e en, en en en en, en en en en")
ADJECTIVE_MIXED = by_case("er e es en, en e es en, en en en en, en en en en")
ADJECTIVE_STRONG = by_case("er e es e, en e es e, em er em en, en er en er")


def ending(table: Endings, case: str, gender: str) -> str:
    """The cell of a table for a case, and m, f, n, or p for plural."""
    return table[case][GENDERS.index(gender)].strip("-")


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell determiners
STEMS = {"this": "dies", "every": "jed", "all": "all", "some": "einig", "many": "viel"}
MIXED_STEMS = {"a": "ein", "no": "kein", "my": "mein", "our": "unser"}
PRONOUNS = {  # nominative, accusative, dative
    "I": ("ich", "mich", "mir"),
    "we": ("wir", "uns", "uns"),
    "p": ("sie", "sie", "ihnen"),
    "m": ("er", "ihn", "ihm"),
    "f": ("sie", "sie", "ihr"),
    "n": ("es", "es", "ihm"),
}
RELATIVE_DATIVE_PLURAL = "denen"
NUMBERS = dict(
    zip(
        "two three four five six seven eight nine ten eleven twelve".split(),
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(),
        strict=True,
    )
)


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell determiner
def gender_of(thing: Thing) -> str:
    """m, f or n, or p for the plural."""
    return "p" if thing.many else thing.german_gender


def determiner(thing: Thing, case: str, negated: bool) -> tuple[str, Endings]:
    """The determiner's form, and the table of the adjective endings that go with it."""
    gender, owner = gender_of(thing), thing.owner
    if owner and owner.name:
        return "", ADJECTIVE_STRONG  # Annas alter Hund
    if owner and owner.pronoun:
        stem = "ihr" if owner.plural or owner.german_gender == "f" else "sein"
        return stem + ending(MIXED, case, gender), ADJECTIVE_MIXED
    if negated:
        return "kein" + ending(MIXED, case, gender), ADJECTIVE_MIXED
    if owner or thing.determiner == "the":
        return ending(ARTICLE, case, gender), ADJECTIVE_WEAK
    if thing.determiner in MIXED_STEMS:
        form = MIXED_STEMS[thing.determiner] + ending(MIXED, case, gender)
        return form, ADJECTIVE_MIXED
    if thing.determiner in STEMS:
        weak = thing.determiner in ("this", "every", "all")
        form = STEMS[thing.determiner] + ending(STRONG, case, gender)
        return form, ADJECTIVE_WEAK if weak else ADJECTIVE_STRONG
    return "", ADJECTIVE_STRONG


# book/4-synthetic-corpus/2-two-grammars.ipynb, cell german-pronoun
def pronoun(thing: Thing, case: str) -> str:
    """A personal, relative or question pronoun."""
    if thing.pronoun == "who":
        return {"nom": "wer", "acc": "wen", "dat": "wem"}[case]
    if thing.pronoun == "what":
        return "was"
    gender = gender_of(thing)
    if thing.pronoun == "relative" and (case, gender) == ("dat", "p"):
        return RELATIVE_DATIVE_PLURAL
    if thing.pronoun == "relative":
        return ending(ARTICLE, case, gender)
    key = pronoun_of(thing) if thing.person == 1 else gender
    return PRONOUNS[key][CASES.index(case)]
