# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Tatoeba: everyday sentences in English, German and French."""

# book/3-workshop/02-corpora.ipynb, cell tatoeba-files
import hashlib
import zipfile

from aiayn.data.download import published_file
from aiayn.errors import InputError

TwoSides = tuple[str, str]  # an English sentence, and its translation
GITHUB = "https://raw.githubusercontent.com"
OPUS_MT = (
    f"{GITHUB}/Helsinki-NLP/OPUS-MT-testsets/ac0f19c0be3cb4e0d9450fcb2d7a9847c4bdd180"
    "/datasets/helsinki_nlp/tatoeba/testsets"
)
_CHECKSUMS = """\
deu-eng.zip b7688f84f99fa33c17397c14d8bd9cef1fdeb2ee0bf50074767023aee8926e28
fra-eng.zip 161c93f18da3a7e6df611ed961426613260de8af06ccf8c79c977afe5135ac44
deu-eng.deu a06d3300c05158e83bb5c1709a0bf5aecc2e28c895e66f03b1c914a7fdd8c8c6
deu-eng.eng 5d0e3169914a5e3f4ca7bdec670880f2025385c5a7e29547d9cbd7992105e77f
eng-fra.eng 714a848bd6ab4421cafd1b9b09fd26328306fab1bc8006e820fa77a8cbe57636
eng-fra.fra 095313ff04016e5ddeff7557d1c5590f19724d239e424cab313b2d03ca66d365
"""
TATOEBA_SHA256 = dict(line.split() for line in _CHECKSUMS.splitlines())
ARCHIVES = {  # by the language beside English: where it is, and the text in it
    "de": (
        "rioyshky/translation/de48b7027f7318d77010a6e08ed928c10748c23d/deu-eng.zip",
        "deu.txt",
    ),
    "fr": (
        "modelexlab/data/adddaf33ac35572bcfeb421efec29435e7ea9332/fra-eng.zip",
        "fra-eng/fra.txt",
    ),
}
TEST_SETS = {"de": ("deu-eng", "deu"), "fr": ("eng-fra", "fra")}


# book/3-workshop/02-corpora.ipynb, cell tatoeba-archives
def tatoeba_archive(language: str) -> list[TwoSides]:
    """All pairs of English and another language that are published."""
    address, text = ARCHIVES[language]
    name = address.rpartition("/")[2]
    path = published_file(
        f"tatoeba/{name}", f"{GITHUB}/{address}", TATOEBA_SHA256[name]
    )
    with zipfile.ZipFile(path) as archive:
        rows = archive.read(text).decode("utf-8").rstrip("\n").split("\n")
    return [(a, b) for a, b, *_ in (row.split("\t") for row in rows)]


def tatoeba_test(language: str) -> list[TwoSides]:
    """The pairs of OPUS-MT's test set."""
    folder, other = TEST_SETS[language]
    sides = []
    for code in ("eng", other):
        name = f"{folder}/tatoeba-test-v2021-08-07.{code}"
        sha256 = TATOEBA_SHA256[f"{folder}.{code}"]
        path = published_file(f"tatoeba/{name}", f"{OPUS_MT}/{name}", sha256)
        sides.append(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    return list(zip(*sides, strict=True))


# book/3-workshop/02-corpora.ipynb, cell tatoeba-splits
HELD_OUT = 2000  # English sentences of `val`


def comparable(sentence: str) -> str:
    """A sentence without capitals, punctuation and spaces."""
    return "".join(filter(str.isalnum, sentence.casefold()))


def without_shared_sides(
    pairs: list[TwoSides], others: list[TwoSides]
) -> list[TwoSides]:
    """The pairs of which neither side is in the others, however it is written."""
    english, translated = ({comparable(each[k]) for each in others} for k in (0, 1))
    return [
        (a, b)
        for a, b in pairs
        if comparable(a) not in english and comparable(b) not in translated
    ]


def held_out(pairs: list[TwoSides]) -> list[TwoSides]:
    """All translations of `HELD_OUT` English sentences, which a checksum chooses."""
    english = {comparable(a) for a, _ in pairs}
    digest = {each: hashlib.sha256(each.encode()).digest() for each in english}
    chosen = set(sorted(english, key=digest.__getitem__)[:HELD_OUT])
    return [(a, b) for a, b in pairs if comparable(a) in chosen]


# book/3-workshop/02-corpora.ipynb, cell tatoeba-pairs
def tatoeba_pairs(pair: str, split: str) -> tuple[list[str], list[str]]:
    """Sources and targets of `train`, `val` or `test`, in any direction from or to en.

    Of `train`, no pair shares a side with one of `val` or `test`.

    Raises
    ------
    InputError
        If there is no such pair or split, or a file is not what was published.
    """
    languages = pair.split("-")
    other = languages[1] if languages[0] == "en" else languages[0]
    splits = ("train", "val", "test")
    if "en" not in languages or other not in ARCHIVES or split not in splits:
        available = f"en-de, de-en, en-fr, fr-en; splits {', '.join(splits)}"
        raise InputError(f"tatoeba has no {pair} {split}: pairs are {available}")
    pairs = tatoeba_test(other)
    if split != "test":
        usable = without_shared_sides(tatoeba_archive(other), pairs)
        pairs = held_out(usable)
        if split == "train":
            pairs = without_shared_sides(usable, pairs)
    english, translated = ([each[k] for each in pairs] for k in (0, 1))
    return (english, translated) if languages[0] == "en" else (translated, english)
