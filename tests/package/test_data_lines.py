"""Text that a program hands over: every public door refuses the same, in the same
words.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from aiayn.data import train_vocabulary
from aiayn.data.trees import linearise, read_tree, tree_tokens
from aiayn.decoding import SearchConfig
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig
from aiayn.parsing import Parser
from aiayn.translation import Translator
from aiayn.visualization import attention_view
from aiayn.visualization.attention_steps import trace_attention

TREE = linearise(read_tree("(S (NP (DT The) (NN cat)) (VP (VBD slept)) (. .))"))
DOORS = {
    "encode": lambda tr: tr.vocabulary.encode,
    "learn": lambda tr: partial(train_vocabulary, size=30),
    "learn, as it passes": lambda tr: lambda text: train_vocabulary(iter(text), 30),
    "translate": lambda tr: tr,
    "n_best": lambda tr: lambda text: tr.n_best(text, 1),
    "score": lambda tr: lambda text: tr.score(text, ["The cat", "the dog"]),
    "score them": lambda tr: partial(tr.score, ["The cat", "the dog"]),
    "parse": Parser,
    "parse n_best": lambda tr: lambda text: Parser(tr).n_best(text, 1),
    "view": lambda tr: partial(attention_view, tr),
    "view of target": lambda tr: partial(attention_view, tr, "The cat"),
    "steps": lambda tr: partial(trace_attention, tr, layer=0),
}
pytestmark = pytest.mark.usefixtures("unchecked")
TAKES_TEXT = {"encode", "n_best", "parse", "translate"}  # and a list; the rest: a list
ONE_TEXT = {"view", "view of target", "steps"}


@pytest.fixture(scope="module")
def translator() -> Translator:
    """Untrained; a parser as well."""
    symbols = tree_tokens([TREE], "trees")
    vocabulary = train_vocabulary(["The cat slept .", "the dog"], 40, symbols)
    torch.manual_seed(0)
    shape = {"N": 2, "d_model": 16, "d_ff": 16, "h": 2, "dropout": 0.0}
    network = Transformer(TransformerConfig(vocabulary_size=len(vocabulary), **shape))
    return Translator(network, vocabulary, SearchConfig(beam=1, extra_length=6))


def asked(door: str, translator: Translator) -> Callable[[Any], Any]:
    return DOORS[door](translator)


LINES = [
    (["The cat", None], "2: None is no text; give a string"),
    (["The cat", 3], "2: 3 is no text; give a string"),
    (["The cat", b"dog"], "2: b'dog' is no text; give a string"),
    (["The cat", "a\0b"], "2: a NUL byte, as in UTF-16; decode the text anew"),
    (["The cat", "a \ud83d"], "2: half of a character, a surrogate; decode the text"),
]


@pytest.mark.parametrize("door", sorted(DOORS.keys() - ONE_TEXT))
@pytest.mark.parametrize(("text", "says"), LINES, ids=ascii)
def test_a_line_that_is_no_text_is_named(
    translator: Translator, door: str, text: Any, says: str
) -> None:
    with pytest.raises(InputError, match=rf"^(sentence|source|target) {says}") as found:
        asked(door, translator)(text)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("door", "text", "says"),
    [
        (door, text, says)
        for door in sorted(ONE_TEXT)
        for text, says in [(text[-1], says[1:]) for text, says in LINES]
        + [(["x"], r": \['x'\] is no text")]
        # Without a target the model translates.
        if (door, text) != ("view of target", None)
    ],
    ids=ascii,
)
def test_one_text_that_is_none_is_refused(
    translator: Translator, door: str, text: Any, says: str
) -> None:
    with pytest.raises(InputError, match=f"^sentence 1{says}"):
        asked(door, translator)(text)


@pytest.mark.parametrize(
    "door", sorted(DOORS.keys() - ONE_TEXT - {"learn, as it passes"})
)
@pytest.mark.parametrize("text", [{"The": 1}, {"The", "cat"}, b"The", 3, None, "The"])
def test_what_is_no_list_is_not_taken_for_one(
    translator: Translator, door: str, text: Any
) -> None:
    if isinstance(text, str) and door in TAKES_TEXT:
        asked(door, translator)(text)
        return
    kind = type(text).__name__
    with pytest.raises(TypeError, match=f"^a {kind} is no list of sentences: put them"):
        asked(door, translator)(text)


def test_words_of_a_sentence_are_texts(translator: Translator) -> None:
    said = "^sentence 12, word 2: None is no text"
    with pytest.raises(InputError, match=said):
        Parser(translator).n_best([["The", "cat"], ["The", None]], 1, before=10)


def test_what_reading_raises_is_what_one_sees() -> None:
    def interrupted() -> Any:
        yield "The cat"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_vocabulary(interrupted(), 30)


@pytest.mark.parametrize("layer", [2, -1])
def test_a_layer_that_is_not_there(translator: Translator, layer: int) -> None:
    with pytest.raises(InputError, match=f"^layer {layer}: there are 2, from 0 on$"):
        trace_attention(translator, "The cat", layer)
