"""What heads are asked, how they are scored, and what is lost without them."""

from typing import Any

import pytest
import torch
from heads import attending
from torch import Tensor

from aiayn.analysis.attention_maps import Head
from aiayn.analysis.head_roles import (
    agreement,
    assign_roles,
    relation_effect,
    word_pairs,
)
from aiayn.analysis.probes import (
    AttentionExample,
    Case,
    alignment_error_rate,
    antecedent,
    best_head,
    chance,
    dependency,
    distant_dependency,
    entropy,
    from_other_words,
    from_target,
    gold_alignment,
    head_accuracy,
    nearest_baseline,
    nouns,
    predicted_alignment,
    read_examples,
    relation_cases,
    word_classes,
)
from aiayn.analysis.pruning import (
    all_heads,
    attention_at,
    mean_ablation,
    mean_head_outputs,
    zero_ablation,
)
from aiayn.data import Batch, Vocabulary, make_batch, train_vocabulary
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig
from aiayn.synthetic import Pair, sample
from aiayn.synthetic.corpus import SPLITS
from aiayn.translation import Translator

PAIRS = sample(40, seed=3)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary(
        [text for pair in PAIRS for text in (pair.source, pair.target)], 300
    )


def random_model(vocabulary: Vocabulary, **changes: Any) -> Transformer:
    """A model that knows nothing, in double precision."""
    torch.manual_seed(1)
    shape = {"N": 2, "d_model": 16, "d_ff": 16, "h": 4, "dropout": 0.0} | changes
    return (
        Transformer(TransformerConfig(vocabulary_size=len(vocabulary), **shape))
        .double()
        .eval()
    )


@pytest.fixture
def model(vocabulary: Vocabulary) -> Transformer:
    return random_model(vocabulary)


def batch_of(vocabulary: Vocabulary, pairs: list[Pair]) -> Batch:
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return make_batch(list(zip(*map(vocabulary.encode, sides), strict=True)))


@pytest.fixture(scope="module")
def batch(vocabulary: Vocabulary) -> Batch:
    return batch_of(vocabulary, PAIRS[:6])


def looking(pair: Pair, place: int) -> AttentionExample:
    """An example in which every head always looks at one English word."""
    n, m = len(pair.source_tokens) + 1, len(pair.target_tokens) + 1
    weights = torch.zeros(2, 4, max(n, m), n)
    weights[..., place] = 1
    return AttentionExample(
        pair, {"encoder": weights[:, :, :n], "cross": weights[:, :, :m]}
    )


# Alignment


def test_error_rates_worked_by_hand() -> None:
    gold = torch.tensor([[1, 1, 0], [0, 0, 1]]).bool()
    for found, rate in (
        ([[1, 1, 0], [0, 0, 1]], 0.0),
        ([[0, 0, 1], [1, 1, 0]], 1.0),
        ([[1, 0, 0], [0, 0, 1]], 1 - 2 * 2 / 5),
        ([[1, 1, 1], [1, 1, 1]], 1 - 2 * 3 / 9),
        ([[0, 0, 0], [0, 0, 0]], 1.0),
    ):
        assert alignment_error_rate(
            [torch.tensor(found).bool()], [gold]
        ) == pytest.approx(rate)


def test_sentences_are_added_up_and_heads_kept_apart() -> None:
    gold = [torch.eye(2).bool(), torch.eye(3).bool()]
    right, wrong = (
        [torch.stack([g, ~g]) for g in gold],
        [torch.stack([~g, g]) for g in gold],
    )
    mixed = alignment_error_rate([right[0], wrong[1]], gold)
    assert mixed.tolist() == pytest.approx(
        [1 - 2 * 2 / (2 + 6 + 5), 1 - 2 * 3 / (2 + 3 + 5)]
    )


def test_the_end_of_the_sentence_is_no_link() -> None:
    weights = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    assert predicted_alignment(weights).tolist() == [[True, False], [False, False]]
    assert predicted_alignment(weights, 0.15).tolist() == [[True, True], [False, True]]


def test_the_right_links_have_no_error() -> None:
    gold = [gold_alignment(pair) for pair in PAIRS]
    assert alignment_error_rate(gold, gold) == 0
    for pair, table in zip(PAIRS, gold, strict=True):
        assert sorted((i, j) for j, i in table.nonzero().tolist()) == sorted(
            pair.alignment
        )


# Questions and scores


def test_a_share_worked_by_hand() -> None:
    weights = torch.tensor([[[0.1, 0.7, 0.2], [0.8, 0.1, 0.1]]])  # a layer of two heads
    cases = [
        Case(weights, 0, (1,), range(3)),
        Case(weights, 2, (0,), [0, 2]),
        Case(weights, 2, (2,), [0, 2]),
    ]
    assert head_accuracy(cases).tolist() == [
        [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    ]
    assert chance(cases) == pytest.approx((1 / 3 + 1 / 2 + 1 / 2) / 3)
    assert best_head(head_accuracy(cases), "cross") == Head("cross", 0, 0)


def test_no_cases_no_share() -> None:
    with pytest.raises(ValueError, match="draw more"):
        head_accuracy([])


def test_relations_are_asked_both_ways() -> None:
    for pair in PAIRS:
        down = [(a, b) for name, a, b in pair.relations if name == "subject"]
        assert list(dependency("subject")(pair)) == down
        assert list(dependency("subject", to_head=True)(pair)) == [
            (b, a) for a, b in down
        ]


def test_the_pronoun_and_its_nouns() -> None:
    for pair in sample(20, seed=2, split="pronouns"):
        words = pair.source_tokens
        ((pronoun, noun),) = antecedent(pair)
        assert words[pronoun].lower() in ("it", "they") and noun in nouns(pair)
        ((german, same),) = from_target(antecedent)(pair)
        assert pair.target_tokens[german].lower() in ("er", "sie", "es")
        assert same == noun
        right, wrong = relation_cases(
            [looking(pair, noun), looking(pair, pronoun)], antecedent, candidates=nouns
        )
        assert head_accuracy([right]).eq(1).all()
        assert right.candidates == nouns(pair) == wrong.candidates


@pytest.mark.parametrize("split", SPLITS)
def test_every_noun_is_a_word_of_the_sentence(split: str) -> None:
    for pair in sample(12, seed=4, split=split):
        tags = pair.tree.replace("(", " ( ").split()
        assert len(nouns(pair)) == sum(tag in ("NN", "NNS", "NNP") for tag in tags)
        assert all(pair.source_tokens[i].isalnum() for i in nouns(pair))


def test_entropies() -> None:
    assert entropy(
        torch.tensor([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4])
    ).tolist() == [0, 1, 2]


def test_examples_carry_words(vocabulary: Vocabulary, model: Transformer) -> None:
    for pair, example in zip(
        PAIRS[:5], read_examples((model.float(), vocabulary), PAIRS[:5]), strict=True
    ):
        n, m = len(pair.source_tokens) + 1, len(pair.target_tokens) + 1
        shapes = [
            tuple(example.words[kind].shape) for kind in ("encoder", "decoder", "cross")
        ]
        assert shapes == [(2, 4, n, n), (2, 4, m, m), (2, 4, m, n)]


def test_a_vocabulary_that_joins_words_is_refused(
    model: Transformer, vocabulary: Vocabulary
) -> None:
    pair = PAIRS[0]
    odd = Pair(
        pair.source + "x",
        pair.target,
        pair.source_tokens,
        pair.target_tokens,
        pair.alignment,
        "",
        (),
        (),
    )
    with pytest.raises(InputError, match="not cut into the corpus's words"):
        read_examples(Translator(model.float(), vocabulary), [odd])


# What is placed alike

MANY = sample(400, seed=9)


def choosing(pair: Pair, place: dict[int, int]) -> AttentionExample:
    """Every head of the encoder looks from a word where `place` says, else at the first
    word.
    """
    n = len(pair.source_tokens) + 1
    weights = torch.zeros(1, 2, n, n)
    for query in range(n):
        weights[..., query, place.get(query, 0)] = 1
    return AttentionExample(pair, {"encoder": weights})


def objects(pair: Pair) -> dict[int, int]:
    return {verb: noun for name, verb, noun in pair.relations if name == "object"}


def test_following_a_relation_is_told_from_going_by_place_and_class() -> None:
    def second_noun(pair: Pair) -> dict[int, int]:
        """From any verb to what stands two further if it is a noun."""
        classes = word_classes(pair)
        return {
            i: i + 2
            for i in range(len(classes) - 2)
            if classes[i][:2] == "VB" and classes[i + 2] == "NN"
        }

    found = {}
    for name, rule in (("relation", objects), ("place", second_noun)):
        examples = [choosing(pair, rule(pair)) for pair in MANY]
        found[name] = relation_effect(
            examples, word_pairs(examples, "encoder"), dependency("object")
        )
    assert found["relation"].related.eq(1).all()
    assert found["relation"].alike.lt(0.01).all()
    assert (found["place"].related - found["place"].alike).abs().max() < 0.01
    assert found["place"].related.gt(0.3).all()
    assert found["relation"].cases >= 100 and found["relation"].covered > 0.5


def test_a_task_is_chosen_on_some_sentences_and_scored_on_others() -> None:
    follow = [choosing(pair, objects(pair)) for pair in MANY]
    idle = [choosing(pair, {}) for pair in MANY]
    (task, _), (chance_only, _) = (
        assign_roles(follow, follow, "encoder"),
        assign_roles(follow, idle, "encoder"),
    )
    assert task.done and task.name == chance_only.name == "object, from its head"
    assert not chance_only.done
    assert agreement(follow, "encoder") == 1


def test_who_looks_at_the_far_end_from_everywhere_does_not_follow_the_verb() -> None:
    def seen(everywhere: bool) -> dict[int, list[AttentionExample]]:
        found: dict[int, list[AttentionExample]] = {}
        for span in (2, 4):
            found[span] = []
            for pair in sample(12, seed=1, span=span):
                cases = [*distant_dependency("particle", span)(pair)]
                ends = {
                    q: right[0]
                    for verb, right in cases
                    for q in (range(right[0]) if everywhere else [verb])
                }
                found[span].append(choosing(pair, ends))
        return found

    by_verb, by_all = seen(False), seen(True)
    assert attending(by_verb, by_verb, "particle")[1:] == (
        2,
        Head("encoder", 0, 0),
        1.0,
        0.0,
        0.5,
    )
    assert attending(by_all, by_all, "particle").attend == 0
    assert attending(by_verb, by_verb, "particle", untrained=0.95).attend == 0
    relation = from_other_words(distant_dependency("particle", 2))
    assert all(
        query < right[0]
        for pair in sample(5, span=2)
        for query, right in relation(pair)
    )


def test_any_word_of_the_far_end_will_do() -> None:
    pairs, sizes = sample(60, seed=1, span=3), set[int]()
    for pair in pairs:
        for verb, far_end in distant_dependency("complement", 3)(pair):
            words = pair.source_tokens[far_end[0] : far_end[-1] + 1]
            sizes.add(len(words))
            assert (words[0] == "more") == (len(words) == 2)
            weights = torch.zeros(1, len(far_end), len(pair.source_tokens))
            for head, place in enumerate(far_end):
                weights[0, head, place] = 1
            case = Case(weights, verb, far_end, range(len(pair.source_tokens)))
            assert head_accuracy([case]).eq(1).all()
    assert sizes == {1, 2}


def test_the_nearest_candidate_before() -> None:
    weights = torch.ones(1, 1, 5)
    cases = [Case(weights, 3, (right,), [0, 2, 4]) for right in (0, 2, 4)] + [
        Case(weights, 0, (2,), [2, 4])
    ]
    assert nearest_baseline(cases) == 0.5


# Silence


def logits(model: Transformer, batch: Batch) -> Tensor:
    with torch.no_grad():
        return model(batch.source, batch.target)


def test_heads_are_counted_in_order(model: Transformer) -> None:
    heads = all_heads(model)
    assert len(set(heads)) == 24
    assert [str(heads[0]), str(heads[-1])] == [
        "encoder, layer 1, head 1",
        "cross, layer 2, head 4",
    ]


@pytest.mark.parametrize(
    "head", [Head("encoder", 0, 1), Head("decoder", 1, 3), Head("cross", 1, 0)]
)
def test_a_silent_head_gives_out_nothing(
    model: Transformer, batch: Batch, head: Head
) -> None:
    """The same comes out as with values that are zero."""
    before, module = logits(model, batch), attention_at(model, head.kind, head.layer)
    with zero_ablation(model, [head]):
        silent = logits(model, batch)
    start = 2 * 16 + head.head * module.d_v  # behind queries and keys of width 16
    with torch.no_grad():
        module.projections.weight[start : start + module.d_v] = 0
    torch.testing.assert_close(silent, logits(model, batch), atol=1e-12, rtol=0)
    assert not torch.allclose(silent, before)


def test_what_was_silent_speaks_again(model: Transformer, batch: Batch) -> None:
    before = logits(model, batch)
    with (
        pytest.raises(RuntimeError, match="stop"),
        zero_ablation(model, all_heads(model)),
    ):
        assert not torch.equal(logits(model, batch), before)
        with zero_ablation(model, all_heads(model)[:3]):
            pass
        raise RuntimeError("stop")
    assert torch.equal(logits(model, batch), before)


def test_without_any_head_across_the_source_does_not_matter(
    model: Transformer, vocabulary: Vocabulary
) -> None:
    first, other = (batch_of(vocabulary, PAIRS[k : k + 1]) for k in (0, 1))
    with (
        zero_ablation(
            model, [head for head in all_heads(model) if head.kind == "cross"]
        ),
        torch.no_grad(),
    ):
        assert torch.equal(
            model(first.source, first.target), model(other.source, first.target)
        )


def test_the_mean_of_what_a_head_gives_out_takes_its_place(
    model: Transformer, batch: Batch
) -> None:
    """Zero and the mean are the same where the mean is zero; else the mean is what the
    head gave out.
    """
    means, before, head = (
        mean_head_outputs(model, batch),
        logits(model, batch),
        Head("cross", 1, 2),
    )
    with mean_ablation(
        model, [head], {place: torch.zeros_like(mean) for place, mean in means.items()}
    ):
        nothing = logits(model, batch)
    with zero_ablation(model, [head]):
        torch.testing.assert_close(nothing, logits(model, batch))
    with mean_ablation(model, [head], means):
        seen = mean_head_outputs(model, batch)
        assert not torch.allclose(logits(model, batch), nothing)
    torch.testing.assert_close(seen["cross", 1], means["cross", 1])
    assert torch.equal(logits(model, batch), before)


def test_a_mean_leaves_out_the_padding(
    model: Transformer, vocabulary: Vocabulary
) -> None:
    """So that of two sentences is the mean over the words of each."""
    alone = [
        mean_head_outputs(model, batch_of(vocabulary, [pair])) for pair in PAIRS[:2]
    ]
    together = mean_head_outputs(model, batch_of(vocabulary, PAIRS[:2]))
    words = [len(vocabulary.encode([pair.source])[0]) for pair in PAIRS[:2]]
    expected = sum(
        n * each["encoder", 0] for n, each in zip(words, alone, strict=True)
    ) / sum(words)
    torch.testing.assert_close(together["encoder", 0], expected)
