"""What every head looks at, and the picture of it: numbers, HTML, and what a browser
makes of them.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any

import lxml.html
import pytest
import torch

from aiayn.analysis import attention_of
from aiayn.analysis.attention_maps import KINDS, MAX_PIECES, MODULE_PATHS, Head, side
from aiayn.data import Vocabulary, make_batch, train_vocabulary
from aiayn.decoding import SearchConfig
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig
from aiayn.model.recording import recorded_attention
from aiayn.synthetic import sample
from aiayn.synthetic.corpus import SPLITS
from aiayn.translation import Translator
from aiayn.visualization import attention_view, write_page
from aiayn.visualization.page import MAX_SENTENCES, AttentionView, write_attention

SOURCE = "The animal's friends did not cross the street because it was too tired."
TARGET = "Die Freunde des Tieres überquerten die Straße nicht."
HOSTILE = (
    'The </script><script>alert("1")</script>'
    " <img src=x onerror=alert(2)> & <!-- 'street'."
)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary(
        [text for pair in sample(100) for text in (pair.source, pair.target)], 350
    )


def random_model(vocabulary: Vocabulary, **changes: Any) -> Translator:
    """A model that knows nothing."""
    torch.manual_seed(1)
    shape = {"N": 2, "d_model": 16, "d_ff": 16, "h": 4, "dropout": 0.0} | changes
    model = Transformer(TransformerConfig(vocabulary_size=len(vocabulary), **shape))
    return Translator(model, vocabulary, SearchConfig(beam=1, extra_length=5))


@pytest.fixture(scope="module")
def translator(vocabulary: Vocabulary) -> Translator:
    return random_model(vocabulary)


@pytest.mark.parametrize("split", SPLITS)
def test_pieces_become_the_words_of_the_synthetic_corpus(
    vocabulary: Vocabulary, split: str
) -> None:
    for pair in sample(12, seed=3, split=split):
        for text, words in (
            (pair.source, pair.source_tokens),
            (pair.target, pair.target_tokens),
        ):
            found = side(vocabulary.processor.EncodeAsPieces(text))
            assert found.words == words
            assert list(found.word_of) == sorted(found.word_of)


def test_a_piece_that_holds_two_words_is_one_word() -> None:
    assert side(["▁a", ".'", "b"]).words == ("a", ".'", "b")


def test_spaces_belong_to_what_follows_them() -> None:
    found = side(["▁", "⚀", "▁", "tired", "▁"], before=["‹"], after=["›"])
    assert (found.words, found.word_of) == (
        ("‹", "⚀", "tired", "›"),
        (0, 1, 1, 2, 2, 2, 3),
    )


def test_the_weights_are_those_of_one_pass(translator: Translator) -> None:
    vocabulary, found = translator.vocabulary, attention_of(translator, SOURCE, TARGET)
    batch = make_batch([tuple(vocabulary.encode([SOURCE, TARGET]))])
    with recorded_attention(translator.model) as recorded, torch.no_grad():
        translator.model(batch.source, batch.target)
    for kind in KINDS:
        for layer in range(2):
            assert torch.equal(
                found.weights[kind][layer],
                recorded[MODULE_PATHS[kind].format(layer)][0],
            )


def test_words_get_the_sum_of_their_pieces_and_the_mean_of_their_own(
    translator: Translator,
) -> None:
    found = attention_of(translator, SOURCE, TARGET)
    for kind in KINDS:
        queries, keys = found.sides(kind)
        # Else there would be nothing to join.
        assert len(queries.pieces) > len(queries.words)
        expected = torch.zeros(2, 4, len(queries.words), len(keys.words))
        for i, query in enumerate(queries.word_of):
            for j, key in enumerate(keys.word_of):
                expected[:, :, query, key] += found.weights[kind][
                    :, :, i, j
                ] / queries.word_of.count(query)
        torch.testing.assert_close(found.words(kind), expected)
        torch.testing.assert_close(
            expected.sum(dim=-1), torch.ones(expected.shape[:-1])
        )


def test_no_word_looks_at_what_is_not_written_yet(translator: Translator) -> None:
    assert (
        attention_of(translator, SOURCE, TARGET)
        .weights["decoder"]
        .triu(1)
        .count_nonzero()
        == 0
    )


def test_without_a_translation_the_model_makes_one(translator: Translator) -> None:
    found = attention_of(translator, SOURCE)
    tokens = translator.n_best([SOURCE], 1)[0][0].tokens
    written = [token for token in tokens if token != 3]
    assert list(found.writes.pieces[:-1]) == translator.vocabulary.pieces(written)
    assert found.reads.pieces[1:] == found.writes.pieces[:-1]


def test_a_model_and_its_vocabulary_will_do(translator: Translator) -> None:
    both = (translator.model, translator.vocabulary)
    found, same = (
        attention_of(both, SOURCE, TARGET),
        attention_of(translator, SOURCE, TARGET),
    )
    assert torch.equal(found.weights["cross"], same.weights["cross"])


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "relative"},
        {"score": "additive"},
        {"norm": "pre"},
        {"h": 1, "N": 1},
    ],
)
def test_every_kind_of_model_can_be_looked_into(
    vocabulary: Vocabulary, changes: dict[str, Any]
) -> None:
    translator = random_model(vocabulary, **changes)
    found = attention_of(translator, SOURCE)
    shape = translator.model.config
    assert all(found.weights[kind].shape[:2] == (shape.N, shape.h) for kind in KINDS)
    assert "<table>" in AttentionView(found, Head("encoder", 0, 0))._repr_html_()


def test_unknown_letters_are_named(translator: Translator) -> None:
    found = attention_of(translator, "The ⚀ saw a ⚁⚁ and a ⚀.", "Das ⚂.")
    assert found.unknown == ("⚀", "⚁⚁", "⚂")
    assert "⚁⚁" in attention_view(translator, "The ⚁⚁.")._repr_html_()


def test_a_long_sentence_is_refused(translator: Translator) -> None:
    with pytest.raises(InputError, match=f"room for {MAX_PIECES}"):
        attention_of(translator, "tired " * 10_000)


@pytest.mark.parametrize(
    ("head", "word", "says"),
    [
        (("encoder", 2, 0), None, "encoder, layer 3, head 1: there are 2 layers of 4"),
        (("encoder", 0, 0), "wide", "no word 'wide'; there are The animal 's friends"),
        (("encoder", 0, 0), -1, "no word -1; there are The animal 's friends"),
        *(
            (
                wrong,
                None,
                "head .*: give .kind, layer, head.; 'encoder', 'decoder', 'cr",
            )
            for wrong in ((1, 2), ("cross",), ("crossed", 0, 0), [1, 2], "cross", 1)
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_head_or_a_word_that_there_is_not(
    translator: Translator, head: Any, word: Any, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        attention_view(translator, SOURCE, head=head, word=word)


@pytest.mark.usefixtures("unchecked")
def test_a_head_may_be_a_tuple(translator: Translator) -> None:
    wanted: Any = ("encoder", 1, 2)
    found = attention_view(translator, SOURCE, head=wanted)
    assert found.head == Head(*wanted) and "layer 2, head 3" in repr(found)


def test_a_picture_shows_what_the_translator_reads(translator: Translator) -> None:
    found = attention_of(
        translator, f"\ufeff{SOURCE}\u200b".replace(" ", "\u00a0"), TARGET
    )
    assert found.source == attention_of(translator, SOURCE, TARGET).source
    for nothing in ("\u200b", "\ufeff \u3164", "", "\n\t"):
        for texts in ([nothing], [SOURCE, nothing]):
            with pytest.raises(InputError, match="an empty sentence"):
                attention_of(translator, *texts)


def data_of(page: str) -> dict[str, Any]:
    """What the script is given to draw."""
    (script,) = lxml.html.fromstring(page).xpath("//script[@type='application/json']")
    return json.loads(script.text)


def test_the_picture_holds_the_weights(translator: Translator) -> None:
    found = attention_of(translator, SOURCE, TARGET)
    data = data_of(AttentionView(found, Head("cross", 1, 0))._repr_html_())
    for kind in KINDS:
        queries, keys, layers, heads, packed = data["kinds"][kind]
        shape = (
            layers,
            heads,
            *(len(data["sides"][name][1]) for name in (queries, keys)),
        )
        weights = torch.tensor(list(base64.b64decode(packed))).view(shape) / 255
        assert (weights - found.weights[kind]).abs().max() <= 0.5 / 255 + 1e-6
    assert [tuple(data["sides"]["source"][0]), tuple(data["sides"]["reads"][0])] == [
        found.source.words,
        found.reads.words,
    ]


def test_it_is_shown_as_asked(translator: Translator) -> None:
    view = attention_view(
        translator, SOURCE, head=Head("encoder", 0, 3), word="it", every=True
    )
    show = data_of(view._repr_html_())["show"]
    assert show == {"kind": "encoder", "layer": 0, "head": 3, "word": 10, "every": True}
    by_place = attention_view(
        translator, SOURCE, head=Head("encoder", 0, 3), word=10, every=True
    )
    assert by_place._repr_html_() == view._repr_html_()
    assert repr(view) == f"AttentionView({SOURCE!r}; encoder, layer 1, head 4)"


def test_the_same_picture_is_the_same_bytes(translator: Translator) -> None:
    pages = {attention_view(translator, SOURCE)._repr_html_() for _ in range(2)}
    assert len(pages) == 1


def test_text_cannot_break_out(translator: Translator) -> None:
    page = attention_view(translator, HOSTILE, HOSTILE)._repr_html_()
    assert re.findall(r"<(?:script|img|!--)[^>]*>", page) == [
        '<script type="application/json">',
        "<script>",
    ]
    words = lxml.html.fromstring(page).xpath("//th/text()")
    assert "".join(words[:-1]) == HOSTILE.replace(" ", "")
    assert "".join(data_of(page)["sides"]["source"][0][:-1]) == HOSTILE.replace(" ", "")


def test_it_needs_no_network(translator: Translator) -> None:
    page = attention_view(translator, SOURCE)._repr_html_()
    # The names of SVG and HTML.
    assert set(re.findall(r"https?://[\w.]+", page)) == {"http://www.w3.org"}
    assert not re.search(r"\b(?:src|href|@import|url)\b", page)
    assert len(page) < 60_000  # a vocabulary so small makes many pieces


def test_without_a_script_there_is_a_table(translator: Translator) -> None:
    view = attention_view(translator, SOURCE, TARGET, head=Head("cross", 0, 1))
    weights = view.attention.words("cross")[0, 1]
    table = lxml.html.fromstring(view._repr_html_()).find(".//table")
    assert table.findtext("caption") == "Where the words look: cross, layer 1, head 2"
    for row, (word, looks) in enumerate(
        zip(view.attention.writes.words, weights, strict=True)
    ):
        cells = [cell.text_content() for cell in table.findall("tr")[row]]
        assert cells[0] == word
        assert cells[1].startswith(
            f"{view.attention.source.words[looks.argmax()]} {looks.max():.0%}"
        )


def test_pages_are_written_whole(translator: Translator, tmp_path: Path) -> None:
    views = [attention_view(translator, SOURCE), attention_view(translator, HOSTILE)]
    write_page(tmp_path / "two.html", views)
    page = lxml.html.parse(
        tmp_path / "two.html", lxml.html.HTMLParser(encoding="utf-8")
    ).getroot()
    assert [title.text_content() for title in page.findall(".//summary")] == [
        SOURCE,
        HOSTILE,
    ]
    assert len(page.xpath("//script")) == 3 and len(page.xpath("//style")) == 2
    views[0].save(tmp_path / "one.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "two.html"]
    with pytest.raises(InputError, match="cannot be written"):
        views[0].save(tmp_path / "one.html" / "two.html")


def titles(path: Path) -> list[str]:
    page = lxml.html.parse(path, lxml.html.HTMLParser(encoding="utf-8")).getroot()
    return [title.text_content() for title in page.findall(".//summary")]


def test_a_page_leaves_out_what_cannot_be_drawn_and_says_so(
    translator: Translator, tmp_path: Path
) -> None:
    sources = [SOURCE, "", " \t", "tired " * 1000, "The ⚀.", "It was tired."]
    targets = [TARGET, "", "Ja.", "müde", "", "müde " * 1000]
    left_out = write_attention(tmp_path / "page.html", translator, sources, targets)
    empty = "an empty sentence: there is nothing to look at"
    assert left_out[:2] == [f"sentence 2: {empty}", f"sentence 3: {empty}"]
    assert re.fullmatch(
        rf"sentence 4: a sentence of [\d,]+ pieces: .* room for {MAX_PIECES}; .*",
        left_out[2],
    )
    assert left_out[3] == "sentence 5: it has no translation"
    assert left_out[4].startswith("sentence 6: a sentence of ") and len(left_out) == 5
    assert titles(tmp_path / "page.html") == [SOURCE]


def test_a_page_has_room_for_so_many(translator: Translator, tmp_path: Path) -> None:
    lines = [f"{number}." for number in range(1, MAX_SENTENCES + 3)]
    left_out = write_attention(
        tmp_path / "page.html", translator, ["", *lines], ["", *lines]
    )
    assert left_out[1:] == [
        f"sentences {MAX_SENTENCES + 2} to {MAX_SENTENCES + 3}:"
        f" a page has room for {MAX_SENTENCES}"
    ]
    assert titles(tmp_path / "page.html") == lines[:MAX_SENTENCES]


def test_a_page_of_nothing_says_so(translator: Translator, tmp_path: Path) -> None:
    assert write_attention(tmp_path / "page.html", translator, [], []) == []
    assert "no sentence to show" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page_file(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with a view of a hostile sentence, and one more."""
    path = tmp_path_factory.mktemp("page") / "attention.html"
    write_page(
        path,
        [
            attention_view(translator, HOSTILE, HOSTILE),
            attention_view(translator, SOURCE),
        ],
    )
    return path.as_uri()


@pytest.mark.browser
@pytest.mark.parametrize("shown", ["light", "dark"], indirect=True)
def test_a_browser_draws_it_on_a_phone(shown: Any) -> None:
    shown.locator("summary").nth(1).click()
    shown.wait_for_function("!document.querySelector('.aiayn-attention table')")
    assert shown.locator(".at-grid button").count() == 16
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    assert not shown.locator("img").count()


@pytest.mark.browser
def test_what_is_folded_is_drawn_when_it_is_opened(shown: Any) -> None:
    assert shown.locator(".at-grid").count() == 1
    shown.locator("summary").nth(1).press("Enter")
    shown.locator(".at-grid").nth(1).wait_for()
    for _ in range(2):  # folded and opened again, it is as it was
        shown.locator("summary").nth(1).press("Enter")
    assert shown.locator(".at-grid").count() == 2
    assert shown.locator("table").count() == 0


@pytest.mark.browser
def test_it_is_worked_with_the_keyboard(shown: Any, translator: Translator) -> None:
    shown.locator("summary").nth(1).click()
    view = shown.locator(".aiayn-attention").nth(1)
    view.get_by_role("button", name="encoder").press("Enter")
    view.get_by_role("button", name="layer 1, head 2").press("Enter")
    view.get_by_role("option").nth(0).focus()
    for key in (*["ArrowDown"] * 2, *["ArrowUp"] * 3, "End", "ArrowDown", "Home"):
        shown.keyboard.press(key)
    assert view.get_by_role("option", selected=True).all_text_contents() == ["The"]
    looks = attention_of(translator, SOURCE).words("encoder")[0, 1, 0]
    best = attention_of(translator, SOURCE).source.words[looks.argmax()]
    said = view.locator(".ai-say").text_content()
    assert said.startswith(
        f"encoder (source → source), layer 1, head 2. “The” looks at {best} "
    )
    assert view.locator("path").count() == int(
        (looks.mul(255).round().div(255) >= 0.03).sum()
    )
    shown.keyboard.press("Escape")
    assert "Choose a word" in view.locator(".ai-say").text_content()


@pytest.mark.browser
def test_pieces_and_all_heads_can_be_shown(shown: Any, translator: Translator) -> None:
    shown.locator("summary").nth(1).click()
    view = shown.locator(".aiayn-attention").nth(1)
    found = attention_of(translator, SOURCE)
    view.get_by_role("button", name="pieces").click()
    assert tuple(view.get_by_role("option").all_text_contents()) == found.writes.pieces
    view.get_by_role("button", name="all heads of the layer").click()
    view.get_by_role("option").nth(1).hover()
    assert view.locator(".ai-say").text_content().count("head ") == 4


@pytest.mark.browser
def test_another_kind_while_a_late_word_is_chosen(shown: Any) -> None:
    """The other side may have fewer words than the number of the one that was looked
    at.
    """
    shown.locator("summary").nth(1).click()
    view = shown.locator(".aiayn-attention").nth(1)
    kinds = [
        view.get_by_role("button", name=name, exact=True)
        for name in ("encoder", "decoder", "cross")
    ]
    for before in kinds:
        for after in kinds:
            before.click()
            view.get_by_role("option").last.hover()
            # The pointer is still over the word.
            after.evaluate("button => button.click()")
            view.get_by_role("option").last.focus()
            after.evaluate("button => button.click()")
    assert view.locator(".ai-say").text_content()


@pytest.mark.browser
def test_without_javascript_the_table_stays(browser: Any, page_file: str) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(page_file)
    page.locator("summary").nth(1).click()
    assert page.locator(".aiayn-attention table").nth(1).is_visible()
    page.close()
