"""The share of right pronouns, as the record of the synthetic models has it."""

from synthetic_models import pronouns_right

from aiayn import synthetic


def test_pronouns_are_looked_for_behind_weil() -> None:
    pairs = synthetic.sample(40, split="pronouns")
    targets = [pair.target for pair in pairs]
    assert pronouns_right(targets, pairs) == 1
    swapped = [each for k in range(0, 40, 2) for each in (targets[k + 1], targets[k])]
    assert pronouns_right(swapped, pairs) < 0.5
    for wrong in ([""] * 40, ["Weil", *["weil"] * 39]):
        assert pronouns_right(wrong, pairs) == 0
