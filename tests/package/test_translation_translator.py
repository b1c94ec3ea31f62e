"""Search, Translator and BLEU of section 6.1, beyond what the chapter checks.

The searches, by a fast decoder and by the model itself, are compared with literal ones,
which use no cache and no batch and never stop before the limit, on models that are
tiny, random and in double precision, so that no two hypotheses tie.
"""

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from aiayn.data import Vocabulary, train_vocabulary
from aiayn.data.batching import pad
from aiayn.data.vocabulary import BOS_ID, EOS_ID
from aiayn.decoding import SearchConfig, beam_search
from aiayn.decoding.beam_search import BLOCK_SIZE, expand, length_penalty
from aiayn.decoding.fast_decoder import fast_decoder_for
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig
from aiayn.model.encoder_decoder import IncrementalDecoder
from aiayn.training.checkpoint import save_checkpoint
from aiayn.training.checkpoint_metadata import Description
from aiayn.training.recipes import CheckpointConfig, TrainingConfig
from aiayn.translation import Translator
from aiayn.translation.translator import (
    CutOff,
    Hypothesis,
    TooLong,
    UnknownLetters,
)

TEXT = "the cat sat on a small old mat and the dog saw it while two big horses ran home"
WORDS = TEXT.split()
SENTENCES = [
    " ".join(WORDS[i : i + n]) for i in range(len(WORDS)) for n in (1, 3, 5, 9)
]
SOURCES = [
    [4, EOS_ID],
    [5, 4, 5, 5, 4, 4, 5, EOS_ID],
    [5, 4, EOS_ID],
    [4, 4, 4, 5, EOS_ID],
]


def tiny(seed: int, vocabulary_size: int = 6, **changes: Any) -> Transformer:
    """A random model, more decided than fresh ones are."""
    torch.manual_seed(seed)
    shape = {"N": 1, "d_model": 16, "d_ff": 32, "h": 2} | changes
    model = (
        Transformer(TransformerConfig(vocabulary_size=vocabulary_size, **shape))
        .double()
        .eval()
    )
    with torch.no_grad():
        model.target_embeddings.weight.mul_(3)
    return model


Through = Callable[[Transformer], IncrementalDecoder]


@pytest.fixture(params=[True, False], ids=["fast", "plain"])
def through(request: pytest.FixtureRequest) -> Through:
    """What decodes with a model: the fast decoder, or the model itself."""
    return fast_decoder_for if request.param else lambda model: model


def that_always_says(token: int, vocabulary_size: int = 30) -> Transformer:
    """A model that has one word for everything."""
    model = tiny(0, vocabulary_size)
    with torch.no_grad():
        weight = model.target_embeddings.weight
        model.decoder.layers[-1].residuals[-1].norm.weight.zero_()
        model.decoder.layers[-1].residuals[-1].norm.bias.copy_(weight[token])
        others = torch.arange(len(weight)) != token
        weight[others] = 0.1 * torch.randn(int(others.sum()), 16, dtype=torch.float64)
        if token != EOS_ID:
            weight[EOS_ID] = -weight[token]
    return model


@torch.inference_mode()
def log_probabilities(
    model: Transformer, source: list[int], prefix: tuple[int, ...]
) -> list[float]:
    """Of each token after this prefix: everything computed anew."""
    logits = model(torch.tensor([source]), torch.tensor([[BOS_ID, *prefix]]))
    return logits[0, -1].log_softmax(-1).tolist()


def every_translation(
    model: Transformer,
    source: list[int],
    limit: int,
    prefix: tuple[int, ...] = (),
    total: float = 0.0,
) -> Iterator[tuple[tuple[int, ...], float]]:
    for token, log_p in enumerate(log_probabilities(model, source, prefix)):
        if token == EOS_ID:
            yield (*prefix, token), total + log_p
        elif len(prefix) + 1 < limit:
            yield from every_translation(
                model, source, limit, (*prefix, token), total + log_p
            )


def literal_search(
    model: Transformer, source: list[int], search: SearchConfig
) -> list[Hypothesis]:
    """Beam search to the limit, whatever has been found."""
    limit = len(source) - 1 + search.extra_length
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    finished = []
    for _ in range(limit):
        longer = [
            ((*prefix, token), total + log_p)
            for prefix, total in live
            for token, log_p in enumerate(log_probabilities(model, source, prefix))
        ]
        best = sorted(longer, key=lambda item: -item[1])[: 2 * search.beam]
        finished += [item for item in best if item[0][-1] == EOS_ID]
        live = [item for item in best if item[0][-1] != EOS_ID][: search.beam]
    scored = [
        Hypothesis(
            list(tokens), total, total / length_penalty(len(tokens), search.alpha)
        )
        for tokens, total in finished or live
    ]
    return sorted(scored, key=lambda hypothesis: -hypothesis.score)[: search.n_best]


def greedy(model: Transformer, source: list[int], limit: int) -> list[int]:
    tokens: list[int] = []
    while len(tokens) < limit and EOS_ID not in tokens:
        log_p = log_probabilities(model, source, tuple(tokens))
        tokens.append(max(range(len(log_p)), key=log_p.__getitem__))
    return tokens


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [hypothesis.tokens for hypothesis in found] == [
        hypothesis.tokens for hypothesis in expected
    ]
    for a, b in zip(found, expected, strict=True):
        assert math.isclose(a.log_probability, b.log_probability, abs_tol=1e-9)
        assert math.isclose(a.score, b.score, abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_beam_that_holds_every_prefix_finds_the_best_of_all_translations(seed: int):
    model, source = tiny(seed), [4, 5, EOS_ID]
    listed = list(every_translation(model, source, limit=4))
    assert len(listed) == 1 + 5 + 25 + 125
    for alpha in (0.0, 0.6, 1.0, 2.0):
        scored = sorted(
            (total / length_penalty(len(tokens), alpha), tokens)
            for tokens, total in listed
        )
        search = SearchConfig(beam=400, alpha=alpha, extra_length=2, n_best=5)
        found = beam_search(fast_decoder_for(model), torch.tensor([source]), search)[0]
        for hypothesis, (score, tokens) in zip(
            found, reversed(scored[-5:]), strict=True
        ):
            assert hypothesis.tokens == list(tokens)
            assert math.isclose(hypothesis.score, score, abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_beam_of_one_is_greedy_search(through: Through, seed: int):
    model, extra = tiny(seed), 8
    found = beam_search(
        through(model), pad(SOURCES), SearchConfig(beam=1, extra_length=extra)
    )
    for source, hypotheses in zip(SOURCES, found, strict=True):
        assert hypotheses[0].tokens == greedy(model, source, len(source) - 1 + extra)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 3.0])
@pytest.mark.parametrize(("beam", "n_best"), [(2, 1), (3, 3), (4, 1), (4, 4), (5, 2)])
def test_a_search_with_cache_batch_and_early_stop_finds_what_the_literal_one_does(
    beam: int, n_best: int, alpha: float
):
    search = SearchConfig(beam, alpha, extra_length=3, n_best=n_best)
    model = tiny(10 * beam + n_best)
    quick, plain = (
        beam_search(each, pad(SOURCES), search)
        for each in (fast_decoder_for(model), model)
    )
    for source, by_decoder, by_model in zip(SOURCES, quick, plain, strict=True):
        literal = literal_search(model, source, search)
        assert_same(by_decoder, literal)
        assert_same(by_model, literal)


@pytest.mark.parametrize("beam", [3, 4, 16, 60])
def test_a_vocabulary_smaller_than_twice_the_beam(through: Through, beam: int):
    model = tiny(3, vocabulary_size=5)
    search = SearchConfig(beam, extra_length=2, n_best=3)
    assert_same(
        beam_search(through(model), torch.tensor([[4, 4, EOS_ID]]), search)[0],
        literal_search(model, [4, 4, EOS_ID], search),
    )


@pytest.mark.parametrize("beam", [1, 2, 4])
@pytest.mark.parametrize(
    "changes",
    [{}, *[{"positions": p} for p in ("relative", "learned")], {"d_k": 5}, {"N": 3}],
    ids=str,
)
def test_what_else_is_in_the_batch_changes_nothing(
    through: Through, changes: dict[str, Any], beam: int
):
    model = tiny(4, vocabulary_size=30, **changes)
    generator = torch.Generator().manual_seed(1)
    sources = [
        [*torch.randint(4, 30, (length,), generator=generator).tolist(), EOS_ID]
        for length in (1, 9, 2, 17, 4, 4, 30, 1)
    ]
    search = SearchConfig(beam, extra_length=6, n_best=beam)
    together = beam_search(through(model), pad(sources), search)
    # Some leave the batch early.
    assert len({len(hypotheses[0].tokens) for hypotheses in together}) > 1
    for source, hypotheses in zip(sources, together, strict=True):
        assert_same(
            hypotheses, beam_search(through(model), torch.tensor([source]), search)[0]
        )


def test_where_nothing_ends_the_limit_is_source_and_fifty(through: Through):
    found = beam_search(through(that_always_says(4)), pad(SOURCES))
    for source, hypotheses in zip(SOURCES, found, strict=True):
        assert len(hypotheses) == 1
        assert hypotheses[0].tokens == [4] * (len(source) - 1 + 50)


def test_where_everything_ends_at_once_there_is_only_the_end(through: Through):
    for hypotheses in beam_search(through(that_always_says(EOS_ID)), pad(SOURCES)):
        assert hypotheses[0].tokens == [EOS_ID]


@pytest.mark.parametrize("extra", [0, 1])
def test_a_source_without_words_does_not_depend_on_the_batch_either(
    through: Through, extra: int
):
    model, search = tiny(1), SearchConfig(extra_length=extra)
    alone = beam_search(through(model), torch.tensor([[EOS_ID]]), search)
    together = beam_search(through(model), pad([[EOS_ID], *SOURCES]), search)
    assert len(alone[0]) == 1 and len(alone[0][0].tokens) == 1
    assert_same(together[0], alone[0])


def test_the_search_stops_as_soon_as_it_may(monkeypatch: pytest.MonkeyPatch):
    steps = []
    step = Transformer.step

    def counted(*arguments: Any) -> Tensor:
        steps.append(1)
        return step(*arguments)

    monkeypatch.setattr(Transformer, "step", counted)
    beam_search(that_always_says(EOS_ID), pad(SOURCES))
    assert len(steps) < 10


@pytest.mark.parametrize(
    "vocabulary_size",
    [
        1,
        5,
        BLOCK_SIZE - 1,
        BLOCK_SIZE,
        BLOCK_SIZE + 1,
        3 * BLOCK_SIZE,
        8 * BLOCK_SIZE + 7,
    ],
)
@pytest.mark.parametrize("masked", [False, True])
def test_searching_by_blocks_finds_what_sorting_everything_does(
    vocabulary_size: int, masked: bool
):
    batch, beams, width = 3, 4, 8
    generator = torch.Generator().manual_seed(vocabulary_size)
    logits = 5 * torch.randn(
        batch * beams, vocabulary_size, generator=generator, dtype=torch.float64
    )
    live = torch.randn(batch, beams, generator=generator, dtype=torch.float64)
    live[1, 2:] = -torch.inf
    allowed = torch.rand(logits.shape, generator=generator) < 0.2 if masked else None
    log_p = logits.log_softmax(-1)
    if allowed is not None:
        log_p = log_p.masked_fill(~allowed, -torch.inf)
    totals = live.view(-1, 1) + log_p
    best, row, token = expand(logits, live, width, allowed)
    assert best.shape == row.shape == token.shape
    for sentence in range(batch):
        mine = slice(beams * sentence, beams * (sentence + 1))
        expected = totals[mine].flatten().sort(descending=True).values[:width]
        expected = expected[expected.isfinite()]
        assert best[sentence, : len(expected)].tolist() == expected.tolist()
        assert not best[sentence, len(expected) :].isfinite().any()
        assert (
            totals[row[sentence], token[sentence]][: len(expected)].tolist()
            == expected.tolist()
        )
        assert ((row[sentence] >= mine.start) & (row[sentence] < mine.stop)).all()
    assert ((token >= 0) & (token < vocabulary_size)).all()


def test_prefixes_that_cannot_be_are_not_given_back(through: Through):
    def only_five(going: list[int], prefixes: Tensor) -> Tensor:
        may = torch.zeros(len(going) * prefixes.shape[1], 6, dtype=torch.bool)
        may[:, 5] = True
        return may

    search = SearchConfig(beam=4, extra_length=1, n_best=4)
    for source, found in zip(
        SOURCES,
        beam_search(through(tiny(1)), pad(SOURCES), search, only_five),
        strict=True,
    ):
        assert [hypothesis.tokens for hypothesis in found] == [[5] * len(source)]
        assert math.isfinite(found[0].score)


OUTSIDE: dict[str, list[float]] = {"beam": [0, 1001], "n_best": [0], "max_length": [0]}
OUTSIDE |= {"alpha": [-0.1, math.nan, 1e9], "extra_length": [-1]}


def test_searches_that_cannot_be_are_refused():
    for name, values in OUTSIDE.items():
        for value in values:
            with pytest.raises(InputError, match=f"{name}={value}: should be"):
                SearchConfig(**{name: value})
    with pytest.raises(InputError, match="n_best=3, beam=2: wanted is n_best <= beam"):
        SearchConfig(beam=2, n_best=3)


def test_length_penalty_is_that_of_wu_and_others():
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 1.0) == 2
    assert length_penalty(19, 0.5) == 2
    assert length_penalty(40, 0.0) == 1


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary(SENTENCES, 60)


@pytest.fixture
def translator(vocabulary: Vocabulary) -> Translator:
    return Translator(
        tiny(7, len(vocabulary)), vocabulary, SearchConfig(extra_length=8)
    )


def test_lines_keep_their_order_and_empty_ones_stay_empty(translator: Translator):
    lines = ["a small old mat", "", "the cat", "   ", *SENTENCES[::7], "\t"]
    found = translator(lines)
    assert len(found) == len(lines)
    for line, translated in zip(lines, found, strict=True):
        assert translated == translator(line)
        assert line.strip() or translated == ""
    assert len(set(found)) > 3


def test_batches_of_any_size_give_the_same(translator: Translator):
    lines = SENTENCES[::5]
    found = translator(iter(lines))
    assert translator(lines, batch_tokens=1) == found
    assert translator(lines, batch_tokens=40) == found == translator(lines)


def test_a_sentence_of_one_token_is_translated_like_any_other(
    translator: Translator, vocabulary: Vocabulary
):
    # The word and the end.
    word = next(word for word in WORDS if len(vocabulary.encode([word])[0]) == 2)
    best = beam_search(
        translator.model, torch.tensor(vocabulary.encode([word])), translator.search
    )[0][0]
    assert translator(word) == vocabulary.decode([best.tokens])[0] != ""


@pytest.mark.parametrize(
    "sign", ["", "  ", *"\ufeff\u200b\u2060\xad\u200e\u3164\u2800\u00a0▁"]
)
def test_nothing_gives_nothing(translator: Translator, sign: str):
    assert translator([sign, f" {sign}{sign}"]) == ["", ""]
    assert translator(sign) == "" and translator([]) == []


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Ωμέγα 漢字 🐈", "'Ω' (U+03A9)"),
        ("the 你好 cat", "'你' (U+4F60)"),
        ("the cat 3", "'3' (U+0033)"),
        ("the\x01cat", "U+0001"),
        ("…", "'…' (U+2026)"),
    ],
)
def test_letters_never_seen_are_named(translator: Translator, text: str, letter: str):
    said = f"sentence 2 has a letter unknown to the model, {letter}; so have 1 more"
    with pytest.warns(UnknownLetters, match=f"^{re.escape(said)}$") as caught:
        found = translator(["the cat", text, "the dog", text])
    assert list(caught[0].message.letters) == [2, 4] and found[1] == found[3]
    with pytest.warns(UnknownLetters, match="^sentence 12 has [^;]*$"):
        translator.n_best([text], 1, before=11)
    for sides in (
        (["the cat", text], ["the cat", "the dog"]),
        (["the cat"] * 2, ["the", text]),
    ):
        with pytest.warns(UnknownLetters, match="^sentence 2 has [^;]*$"):
            translator.score(*sides)


@pytest.mark.parametrize(
    "text",
    [
        "  the cat sat ",
        "\ufeffthe cat sat",
        "the\u00a0cat sat",
        "the\tcat\u2028sat",
        "th\u00ade cat sat\u200b",
        "\ufeff\u2060 the cat\u3000 sat",
    ],
)
def test_what_does_not_show_does_not_count(translator: Translator, text: str):
    assert translator(text) == translator("the cat sat") != ""


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "parts", [(torch.nn.Linear(1, 1), None), (None, None), ("runs/first", None)]
)
def test_a_translator_of_something_else_is_refused(vocabulary: Vocabulary, parts: Any):
    with pytest.raises(InputError, match="needs EncoderDecoder, not"):
        Translator(*parts)
    with pytest.raises(InputError, match="needs Vocabulary, not NoneType"):
        Translator(tiny(3, len(vocabulary)).float(), parts[1])


def test_a_translation_without_an_end_is_named(vocabulary: Vocabulary):
    model = tiny(3, len(vocabulary)).float()
    model.target_embeddings.weight.data[EOS_ID] = -1e3  # so the end is never likely
    translator = Translator(model, vocabulary, SearchConfig(extra_length=3))
    said = "the translation of sentence 2 is cut off at its limit of tokens, and 1 more"
    with pytest.warns(CutOff, match=f"^{said}$") as caught:
        translator(["", "the cat", "the dog"])
    assert caught[0].message.sentences == [2, 3]
    ((found,),) = translator.n_best(["the cat"], 1)
    assert not found.complete and len(found.text) == len(found.tokens)


HARD = [
    "▅▅",
    " \t ",
    "the cat " * 5000,
    "the\x01cat\x07sat\x1b[31m on",
    "a small\u2028old\x85mat",
    "",
    "\ud7ff\ufffe\U0010ffff",
]


def test_hard_lines_neither_stop_the_others_nor_shift_them(translator: Translator):
    usual = SENTENCES[: len(HARD)]
    lines = [line for pair in zip(HARD, usual, strict=True) for line in pair]
    said = r"sentence 5 has [\d,]+ tokens, more than 1,000: .*; split it"
    with pytest.warns(UnknownLetters), pytest.warns(TooLong, match=said):
        found = translator.n_best(lines, 2)
    assert len(found) == len(lines)
    assert [each[0].text for each in found[1::2]] == translator(usual)
    assert [
        len(found[2 * HARD.index(line)]) for line in (" \t ", "the cat " * 5000, "")
    ] == [0, 0, 0]


@pytest.mark.parametrize("factor", [1e30, math.nan])
@pytest.mark.parametrize("beam", [1, 4])
def test_a_model_that_computes_no_numbers_is_refused(
    vocabulary: Vocabulary, factor: float, beam: int
):
    model = tiny(7, len(vocabulary)).float()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= factor
    broken = Translator(model, vocabulary, SearchConfig(beam=beam))
    for action in (
        lambda: broken(SENTENCES[:3]),
        lambda: broken.score(SENTENCES[:3], SENTENCES[:3]),
    ):
        with pytest.raises(InputError, match="the model computes no numbers"):
            action()


def test_a_wide_beam_takes_fewer_sentences_at_a_time(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
):
    """Rows of a batch are sentences times beams, each with a score for every word of
    the vocabulary.
    """
    sizes: list[int] = []

    def search(model: Any, source: Tensor, *rest: Any) -> Any:
        sizes.append(len(source))
        return beam_search(model, source, *rest)

    monkeypatch.setattr("aiayn.decoding.batched.beam_search", search)
    for beam in (8, 1000):
        Translator(
            tiny(7, len(vocabulary)), vocabulary, SearchConfig(beam, extra_length=1)
        )(SENTENCES[:6])
    assert sizes[0] == 6 == sum(sizes[1:]) and max(sizes[1:]) < 6


def test_more_translations_than_the_beam_holds_are_refused(translator: Translator):
    with pytest.raises(InputError, match=r"n_best=5, beam=4: .* \(--beam 5\)"):
        translator.n_best(["the cat"], 5)


def test_a_model_with_learned_positions_leaves_out_what_it_has_none_for(
    vocabulary: Vocabulary,
):
    model = tiny(7, len(vocabulary), positions="learned", max_length=30)
    translator = Translator(model, vocabulary, SearchConfig(extra_length=8))
    with pytest.warns(TooLong, match="sentence 2 has"):
        found = translator(["the cat", f"{TEXT} {TEXT}", "the dog"])
    assert found[1] == "" and [found[0], found[2]] == translator(["the cat", "the dog"])


def test_no_translation_is_longer_than_the_learned_positions(vocabulary: Vocabulary):
    model = tiny(7, len(vocabulary), positions="learned", max_length=10)
    found = Translator(model, vocabulary, SearchConfig(beam=2, n_best=2)).n_best(
        ["the cat", "a dog"], 2
    )
    assert all(
        len(each.tokens) <= 10 for translations in found for each in translations
    )


def test_a_given_translation_scores_what_its_tokens_do_one_by_one(
    translator: Translator, vocabulary: Vocabulary
):
    sources, targets = SENTENCES[:12], SENTENCES[12:24]
    encoded = zip(vocabulary.encode(sources), vocabulary.encode(targets), strict=True)
    for (source, target), scored in zip(
        encoded, translator.score(sources, targets), strict=True
    ):
        steps = [
            log_probabilities(translator.model, source, tuple(target[:i]))
            for i in range(len(target))
        ]
        total = sum(log_p[token] for log_p, token in zip(steps, target, strict=True))
        assert scored.tokens == target
        assert math.isclose(scored.log_probability, total, abs_tol=1e-9)
        assert math.isclose(
            scored.score, total / length_penalty(len(target), 0.6), abs_tol=1e-9
        )


def test_scores_of_pairs_that_are_none_are_refused(translator: Translator):
    with pytest.raises(InputError, match="2 sources, but 1 targets"):
        translator.score(["the cat", "the dog"], ["the mat"])
    assert translator.score([], []) == []


def test_one_call_may_search_in_another_way(translator: Translator):
    lines = SENTENCES[:9]
    greedy = Translator(
        translator.model, translator.vocabulary, SearchConfig(beam=1, extra_length=8)
    )
    assert translator(lines, beam=1) == greedy(lines) != translator(lines)
    assert greedy(lines, beam=4) == translator(lines)
    with pytest.raises(InputError, match="beam"):
        translator(lines, beam=0)


def test_a_translation_begins_with_a_forced_prefix(translator: Translator):
    lines = SENTENCES[:9]
    for prefix in ("the", "the small old horses", "mat"):
        found = translator(lines, prefix=prefix)
        assert all(text.startswith(prefix) for text in found)
        (best,) = translator.n_best(lines[3], 1, prefix=prefix)
        assert best.text == found[3]
    assert translator(lines, prefix="") == translator(lines)


def test_one_sentence_has_one_answer(translator: Translator):
    (best, *others) = translator.n_best(SENTENCES[3], 3)
    assert best.text == translator(SENTENCES[3]) and len(others) <= 2
    assert [best, *others] == translator.n_best(SENTENCES[3:4], 3)[0]
    (listed,) = translator.score([SENTENCES[3]], [SENTENCES[4]])
    assert translator.score(SENTENCES[3], SENTENCES[4]) == listed


def test_another_device_needs_another_decoder(translator: Translator):
    before, found = translator.decoder, translator("the cat")
    assert translator.to("cpu") is translator
    assert translator.decoder is not before and translator("the cat") == found


def test_a_model_is_replaced_only_if_asked(translator: Translator, tmp_path: Path):
    translator.save(folder := tmp_path / "mine")
    translator.search = SearchConfig(beam=2)
    with pytest.raises(InputError, match="name a new folder, or overwrite=True"):
        translator.save(folder)
    translator.save(folder, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    loaded = Translator.load(folder, beam=2)
    assert loaded.search.beam == 2 and loaded("the cat") == translator("the cat")
    (other := tmp_path / "other").mkdir()
    (other / "letters").touch()
    with pytest.raises(InputError, match="name a new folder"):
        translator.save(other, overwrite=True)


def test_a_model_in_training_mode_translates_without_dropout(vocabulary: Vocabulary):
    model = tiny(7, len(vocabulary), dropout=0.9).train()
    translator = Translator(model, vocabulary, SearchConfig(extra_length=8))
    assert translator("the cat sat") == translator("the cat sat")


def test_a_model_that_has_translated_something_long_can_still_be_trained(
    translator: Translator,
):
    long = [*([5] * 300), EOS_ID]  # longer than the table of positions is at first
    beam_search(translator.model, torch.tensor([long]), SearchConfig(1, extra_length=0))
    translator.model(torch.tensor([long]), torch.tensor([long])).sum().backward()


Save = Callable[..., Path]


@pytest.fixture
def save(vocabulary: Vocabulary, tmp_path: Path) -> Save:
    """Leaves a run of some checkpoints, each with other weights."""

    def save(steps: list[int], average: int = 1) -> Path:
        for step in steps:
            model = tiny(step, len(vocabulary)).float()
            kept = CheckpointConfig(keep=5, average=average)
            training = TrainingConfig(model.config, checkpoints=kept)
            save_checkpoint(
                tmp_path / "run/checkpoints" / f"step-{step:07d}",
                model,
                vocabulary,
                Description(model.config, training),
            )
        return tmp_path / "run"

    return save


def mean_weight(seeds: list[int], size: int) -> Tensor:
    models = [tiny(seed, size).float() for seed in seeds]
    return torch.stack(
        [model.target_embeddings.weight.detach() for model in models]
    ).mean(dim=0)


@pytest.mark.parametrize(
    ("steps", "average", "used"),
    [
        ([10, 20, 30], None, [20, 30]),
        ([10, 20, 30], 1, [30]),
        ([10, 20, 30], 3, [10, 20, 30]),
        ([1], None, [1]),  # a run that ended early: of what there is
    ],
)
def test_a_run_is_loaded_as_the_mean_of_its_last_checkpoints(
    save: Save, vocabulary: Vocabulary, steps: list[int], average: Any, used: list[int]
):
    model = Translator.load(str(save(steps, average=2)), average).model
    mean = mean_weight(used, len(vocabulary))
    weight = model.target_embeddings.weight
    torch.testing.assert_close(weight, mean, rtol=0, atol=1e-6)
    assert not model.training


def test_one_checkpoint_is_loaded_by_its_own_folder(save: Save, vocabulary: Vocabulary):
    run = save([1, 2], average=2)
    search = SearchConfig(beam=2)
    translator = Translator.load(run / "checkpoints/step-0000001", search=search)
    weight = translator.model.target_embeddings.weight
    torch.testing.assert_close(weight, mean_weight([1], len(vocabulary)))
    assert translator.search is search


def test_what_was_loaded_translates_as_what_was_saved(
    save: Save, vocabulary: Vocabulary
):
    translator = Translator.load(save([3]))
    original = Translator(tiny(3, len(vocabulary)).float(), vocabulary)
    assert translator(SENTENCES[:6]) == original(SENTENCES[:6])
