"""The tour on the playground's page: what it says of the shipped model is so."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from aiayn.analysis import attention_of
from aiayn.analysis.attention_maps import Head
from aiayn.analysis.pruning import all_heads, patch_heads, zero_ablation
from aiayn.data.batching import Batch, make_batch
from aiayn.model.transformer import Transformer
from aiayn.shipped import pretrained
from aiayn.training.trained_run import SHIPPED
from aiayn.translation import Translator

PAGE = Path(__file__).parents[2] / "book" / "0-start" / "2-playground.md"
SENTENCE = "The animal did not cross the street because it was too {}."
RIGHT = {
    "tired": "Das Tier überquerte die Straße nicht, weil es zu müde war.",
    "wide": "Das Tier überquerte die Straße nicht, weil sie zu breit war.",
}
NOUN, ADJECTIVE = Head("cross", 1, 2), Head("cross", 0, 1)  # counted from 0


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator(*pretrained("synthetic-en-de"))


@pytest.fixture(scope="module")
def model(translator: Translator) -> Transformer:
    assert isinstance(translator.model, Transformer)
    return translator.model


@pytest.mark.parametrize(
    ("adjective", "silent", "expected"),
    [
        ("tired", None, RIGHT["tired"]),
        ("wide", None, RIGHT["wide"]),
        ("tired", NOUN, "Die Tier überquerte die Straße nicht, weil er zu müde war."),
        ("wide", NOUN, "Die Tier überquerte die Straße nicht, weil sie zu breit war."),
        ("wide", ADJECTIVE, RIGHT["wide"].replace(" sie ", " es ")),
    ],
)
def test_translations(
    translator: Translator,
    model: Transformer,
    adjective: str,
    silent: Head | None,
    expected: str,
) -> None:
    with zero_ablation(model, [silent] if silent else []):
        assert translator(SENTENCE.format(adjective)) == expected


def test_one_head_alone_decides_the_pronoun(
    translator: Translator, model: Transformer
) -> None:
    sentence, deciding = SENTENCE.format("wide"), []
    for head in all_heads(model):
        with zero_ablation(model, [head]):
            if " sie " not in translator(sentence):
                deciding.append(head)
    assert deciding == [ADJECTIVE]


def test_three_heads_can_each_change_the_pronoun(
    translator: Translator, model: Transformer
) -> None:
    """Copied from the run on "tired", their output makes "wide" go on with "es"."""
    vocabulary, kept = translator.vocabulary, dict[Any, torch.Tensor]()
    sentences = [SENTENCE.format(adjective) for adjective in RIGHT]
    (target,) = vocabulary.target.encode([RIGHT["tired"].split(" es ")[0]])
    tired, wide = (
        make_batch([(source, target)]) for source in vocabulary.encode(sentences)
    )

    def next_piece(batch: Batch) -> str:
        with torch.inference_mode():
            best = model(batch.source, batch.target)[0, -1].argmax()
        return vocabulary.target.pieces([int(best)])[0]

    def keep(place: Any, outputs: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        kept[place] = outputs.clone()
        return outputs

    with patch_heads(model, all_heads(model), keep):
        assert next_piece(tired) == "▁es"
    assert next_piece(wide) == "▁sie"
    changing = []
    for head in all_heads(model):

        def copy(
            place: Any, outputs: torch.Tensor, _: torch.Tensor, which: int = head.head
        ) -> torch.Tensor:
            outputs[:, which] = kept[place][:, which]
            return outputs

        with patch_heads(model, [head], copy):
            if next_piece(wide) == "▁es":
                changing.append(head)
    assert changing == [Head("cross", 0, 0), ADJECTIVE, NOUN]


def test_what_stands_after_layer_1(translator: Translator, model: Transformer) -> None:
    english, states = SENTENCE.format("tired"), list[torch.Tensor]()
    (source,) = translator.vocabulary.encode([english])
    target = translator.n_best([english], 1)[0][0].tokens
    batch = make_batch([(source, target)])
    hook = model.decoder.layers[0].register_forward_hook(
        lambda *call: states.append(call[-1])
    )
    with torch.inference_mode():
        last = model(batch.source, batch.target)[0].softmax(dim=-1)
        scores = states[0][0] @ model.target_embeddings.weight.T
    hook.remove()
    best = scores.softmax(dim=-1).max(dim=-1)
    pieces = translator.vocabulary.target.pieces
    right = [
        place for place, token in enumerate(target) if best.indices[place] == token
    ]
    assert [pieces([target[place]])[0] for place in right] == ["▁es", "▁zu", "."]
    assert len(target) == 14
    assert f"{best.values[right[0]]:.0%}" == "3%"
    assert f"{last[right[0]].max():.0%}" == "91%"


@pytest.mark.parametrize(
    ("adjective", "pronoun", "head", "noun"),
    [
        ("tired", "es", NOUN, "animal"),
        ("wide", "sie", NOUN, "street"),
        ("wide", "sie", ADJECTIVE, "wide"),
    ],
)
def test_where_a_head_looks(
    translator: Translator, adjective: str, pronoun: str, head: Head, noun: str
) -> None:
    attention = attention_of(translator, SENTENCE.format(adjective))
    german, english = attention.sides("cross")
    weights = attention.words("cross")[head.layer, head.head]
    row = weights[german.words.index(pronoun)]
    assert english.words[int(row.argmax())] == noun and row.max() > 0.9


def page() -> str:
    return re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8"))


def test_the_page_has_these_sentences_and_the_size(model: Transformer) -> None:
    assert all(SENTENCE.format(adjective) in page() for adjective in RIGHT)
    assert RIGHT["tired"].removesuffix(".") in page()
    size = sum(weight.numel() for weight in model.parameters())
    assert f"{round(size, -4):,} parameters" in page()


EVERYDAY = {
    "He couldn't answer the question because he hadn't read the text.": (
        "Er konnte die Frage nicht beantworten, weil er den Text nicht gelesen hatte."
    ),
    SENTENCE.format(
        "wide"
    ): "Das Tier überquerte nicht die Straße, weil es zu breit war.",
    "I like the bag, but it is too expensive.": (
        "Ich mag die Tasche, aber es ist zu teuer."
    ),
    "The window is dirty and needs to be cleaned.": (
        "Das Fenster ist schmutzig und muss sauber werden."
    ),
}


@pytest.fixture(scope="module")
def everyday() -> Translator:
    return Translator(*pretrained("en-de"))


def test_everyday_sentences(everyday: Translator) -> None:
    assert everyday(list(EVERYDAY)) == list(EVERYDAY.values())
    for english, german in EVERYDAY.items():
        assert english in page() and german.removesuffix(".") in page()
    size = sum(weight.numel() for weight in everyday.model.parameters())
    assert f"{size / 1e6:.1f} million parameters" in page()


def test_the_everyday_model_writes_es_for_every_it(everyday: Translator) -> None:
    for noun in ("bag", "table"):
        assert " es ist " in everyday(f"I like the {noun}, but it is too expensive.")
    assert " es ist " in everyday("The soup is good, but it is too hot.")


def test_one_everyday_head_matters(everyday: Translator) -> None:
    sentence, changed = next(iter(EVERYDAY)), {}
    assert isinstance(everyday.model, Transformer)
    for head in all_heads(everyday.model):
        with zero_ablation(everyday.model, [head]):
            text = everyday(sentence)
        if text != EVERYDAY[sentence]:
            changed[head] = text
    without = EVERYDAY[sentence].replace(" nicht gelesen", " gelesen")
    assert changed == {Head("cross", 1, 1): without}


def test_the_card_has_the_numbers() -> None:
    card = (SHIPPED / "en-de" / "README.md").read_text(encoding="utf-8")
    for number in ("84 minutes", "35.5", "17,565"):
        assert number in card and number in page()


def test_where_an_everyday_head_looks(everyday: Translator) -> None:
    attention = attention_of(everyday, next(iter(EVERYDAY)))
    german, english = attention.sides("cross")
    row = attention.words("cross")[2, 1][german.words.index("er")]
    assert int(row.argmax()) == english.words.index("he") and row.max() > 0.9
