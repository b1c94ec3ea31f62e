"""Ask the heads of several trainings what chapter 8 asks; book/runs/heads.json.

python bench/heads.py [--seeds 1 2 3 4 5] [--steps 4400] [--again]

The recipe is `synthetic`, all of its 4,400 steps: 10 to 15 minutes of one core. A model
that is in the cache is not trained again, and a seed that is in the record is left out
unless it is asked for with --again: the script may be stopped at any time. The far end
of a verb is found if the most attended word is any of its words; an earlier version
asked for the first one, and the five models were scored again.
"""

import argparse
import json
from dataclasses import replace
from typing import Any, NamedTuple

import records
import torch
from filelock import FileLock

from aiayn.analysis.attention_maps import AttentionKind, Head
from aiayn.analysis.head_roles import agreement, assign_roles
from aiayn.analysis.probes import (
    DISTANCES,
    DISTANT_RELATIONS,
    AttentionExample,
    accuracy_by_distance,
    antecedent,
    best_head,
    chance,
    distant_dependency,
    entropy,
    from_target,
    head_accuracy,
    nearest_baseline,
    nouns,
    pair_batch,
    pronoun_position,
    read_examples,
    relation_cases,
)
from aiayn.analysis.pruning import (
    all_heads,
    mean_ablation,
    mean_head_outputs,
    zero_ablation,
)
from aiayn.data import Vocabulary
from aiayn.data.io import cache_folder
from aiayn.device import keep_heap
from aiayn.metrics.bleu import corpus_bleu
from aiayn.model import Transformer
from aiayn.shipped import cached_model
from aiayn.synthetic import Pair, sample
from aiayn.training import recipe
from aiayn.translation import Translator

TASKS, FAR, PRONOUNS = 500, 30, 200  # sentences to choose by, and as many to score on
TRANSLATED = 300
STEPS = 4400  # of the recipe: all


def tasks(model: Translator) -> dict[str, Any]:
    """What the heads of the encoder do, and cross-attention heads; whether they
    differ.
    """
    choose, score = (
        read_examples(model, sample(TASKS, 5, split)) for split in ("valid", "test")
    )
    found: dict[str, Any] = {"asked": {}, "agreement": {}}
    for kind in ("encoder", "cross"):
        found["agreement"][kind] = round(agreement(score, kind), 4)
        found["asked"][kind] = [
            {
                "head": [task.head.layer, task.head.head],
                "name": task.name,
                "related": round(task.related, 4),
                "alike": round(task.alike, 4),
                "done": task.done,
            }
            for task in assign_roles(choose, score, kind)
        ]
    return found


def best_fixed_distance(
    by_distance: dict[int, list[AttentionExample]], name: str
) -> float:
    """What share a head gets right that always looks at the same, best distance."""
    spans = [
        relation_cases(examples, distant_dependency(name, span))
        for span, examples in by_distance.items()
    ]
    asked = [cases for cases in spans if cases]
    distances = {
        p - case.query for cases in asked for case in cases for p in case.right
    }
    return max(
        sum(
            sum(case.query + away in case.right for case in cases) / len(cases)
            for cases in asked
        )
        / len(asked)
        for away in distances
    )


class Far(NamedTuple):
    """Which heads of the encoder attend to the far end of a verb."""

    layer: int  # with most of them, on the sentences for choosing
    attend: int  # so many of its heads, on the others
    best: Head  # on the sentences for choosing
    share: float  # of the far ends that it finds, on the others
    others: float  # what it finds from the other words
    rule: float  # what the best fixed distance finds


def attending(
    choose: dict[int, list[AttentionExample]],
    score: dict[int, list[AttentionExample]],
    name: str,
    untrained: float = 0.0,
) -> Far:
    """From the verb; `untrained` is the share of an untrained model's best head."""
    means, clear = [], []
    for found in (choose, score):
        each = accuracy_by_distance(found, name)
        share = torch.stack([*each.values()]).mean(dim=0)
        others = torch.stack(
            [*accuracy_by_distance(found, name, others=True).values()]
        ).mean(dim=0)
        means.append((share, others))
        rule = best_fixed_distance(found, name)
        clear.append(share - others.clamp(min=max(untrained, rule)) >= 0.1)
    layer = int((clear[0].sum(dim=1) + means[0][0].mean(dim=1)).argmax())
    best = best_head(means[0][0], "encoder")
    found_share, found_others = (float(mean[best[1:]]) for mean in means[1])
    return Far(
        layer,
        int(clear[1][layer].sum()),
        best,
        found_share,
        found_others,
        rule,
    )


def far(model: Translator, untrained: dict[str, Any] | None) -> dict[str, Any]:
    """Which heads attend to the far end, and how often the best finds it, both ways."""
    choose, score = (
        {span: read_examples(model, sample(FAR, 1, split, span)) for span in DISTANCES}
        for split in ("valid", "test")
    )
    found: dict[str, Any] = {}
    for name in ("complement", "particle"):
        floor = untrained[name]["share"] if untrained else 0.0
        seen = attending(choose, score, name, floor)
        rounded = {
            field: round(getattr(seen, field), 4)
            for field in ("share", "others", "rule")
        }
        found[name] = {
            "layer": seen.layer,
            "attend": seen.attend,
            "best": list(seen.best[1:]),
            **rounded,
        }
    for way, (name, back) in DISTANT_RELATIONS.items():
        means = [
            torch.stack([*accuracy_by_distance(some, name, back).values()]).mean(dim=0)
            for some in (choose, score)
        ]
        found[way] = round(float(means[1][best_head(means[0], "encoder")[1:]]), 4)
    return found


def at_pronouns(
    kind: AttentionKind, choose: list[AttentionExample], score: list[AttentionExample]
) -> tuple[Head, dict[str, Any]]:
    """What the best head of that kind looks at where the pronoun is read or written."""
    relation = antecedent if kind == "encoder" else from_target(antecedent)
    head = best_head(head_accuracy(relation_cases(choose, relation, kind, nouns)), kind)
    asked, everywhere = (
        relation_cases(score, relation, kind, nouns),
        relation_cases(score, relation, kind),
    )
    bits = torch.stack([entropy(case.weights[head[1:]]) for case in everywhere]).mean()
    found = {
        "head": list(head[1:]),
        "nouns": round(float(head_accuracy(asked)[head[1:]]), 4),
        "words": round(float(head_accuracy(everywhere)[head[1:]]), 4),
        "bits": round(float(bits), 4),
    }
    return head, found


def right(model: Transformer, vocabulary: Vocabulary, pairs: list[Pair]) -> float:
    """The share of pronouns that are written right, the words before them given."""
    batch, places = (
        pair_batch(vocabulary, pairs),
        [pronoun_position(vocabulary, pair) for pair in pairs],
    )
    with torch.no_grad():
        guesses = model(batch.source, batch.target).argmax(dim=-1)
    rows = range(len(places))
    return round(
        float((guesses[rows, places] == batch.labels[rows, places]).float().mean()), 4
    )


def pronouns(model: Translator) -> dict[str, Any]:
    """Who finds the noun; and how many pronouns are right without it, by both
    ablations.
    """
    network, vocabulary = model.model, model.vocabulary
    assert isinstance(network, Transformer)
    choose, score = (
        read_examples(model, sample(PRONOUNS, seed, "pronouns")) for seed in (6, 7)
    )
    cases = relation_cases(score, antecedent, candidates=nouns)
    found: dict[str, Any] = {
        "chance": round(chance(cases), 4),
        "nearest": round(nearest_baseline(cases), 4),
    }
    _, found["encoder"] = at_pronouns("encoder", choose, score)
    finder, found["cross"] = at_pronouns("cross", choose, score)
    pairs = [example.pair for example in score]
    means = mean_head_outputs(network, pair_batch(vocabulary, sample(200, 5, "valid")))
    encoder = [head for head in all_heads(network) if head.kind == "encoder"]
    found["right"] = {"whole": right(network, vocabulary, pairs)}
    for name, heads in (("finder", [finder]), ("encoder", encoder)):
        with zero_ablation(network, heads):
            found["right"][f"{name} zero"] = right(network, vocabulary, pairs)
        with mean_ablation(network, heads, means):
            found["right"][f"{name} mean"] = right(network, vocabulary, pairs)
    return found


def measured(
    model: Translator, untrained: dict[str, Any] | None = None
) -> dict[str, Any]:
    """All figures of one model."""
    there = untrained["far"] if untrained else None
    return {
        "tasks": tasks(model),
        "far": far(model, there),
        "pronouns": pronouns(model),
    }


def run(seed: int, steps: int) -> dict[str, Any]:
    """A training and an untrained model of the same shape."""
    network, vocabulary = cached_model(
        replace(recipe("synthetic", seed=seed), steps=steps), "en-de"
    )
    assert isinstance(network, Transformer)
    translator = Translator(network, vocabulary)
    pairs = sample(TRANSLATED, split="test")
    score = corpus_bleu(
        translator([pair.source for pair in pairs]), [pair.target for pair in pairs]
    )[0]
    torch.manual_seed(seed)
    twin = measured(Translator(Transformer(network.config).eval(), vocabulary))
    return {
        "seed": seed,
        "steps": steps,
        "bleu": round(score, 2),
        "untrained": twin,
        "trained": measured(translator, twin),
    }


def recorded() -> list[dict[str, Any]]:
    """The runs in the record."""
    path = records.RUNS / "heads.json"
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    return [each for each in runs if "trained" in each]


def main() -> None:
    """Add to the record what is not in it, run by run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--steps", type=int, default=STEPS, help="of each training")
    parser.add_argument(
        "--again", action="store_true", help="those, too, that are in the record"
    )
    arguments = parser.parse_args()
    keep_heap()
    for seed in arguments.seeds:
        if arguments.again or seed not in [each["seed"] for each in recorded()]:
            found = run(seed, arguments.steps)
            with FileLock(cache_folder() / "heads.lock"):
                runs = [each for each in recorded() if each["seed"] != seed] + [found]
                runs.sort(key=lambda each: each["seed"])
                sentences = {
                    "tasks": TASKS,
                    "far": FAR,
                    "pronouns": PRONOUNS,
                    "translated": TRANSLATED,
                }
                records.write("heads", {"sentences": sentences, "runs": runs})


if __name__ == "__main__":
    main()
