"""The vectors that chapter 3.2 draws: one sentence, one layer of the laboratory's
model.

python bench/attention_steps.py
"""

import records

from aiayn.inside.steps import attention_steps
from aiayn.laboratory_model import laboratory_model

SENTENCE, LAYER = "The animal did not cross the street because it was too tired.", 1


def main() -> None:
    """Write the record, and print it."""
    steps = attention_steps(laboratory_model(), SENTENCE, LAYER)
    vectors = {"words": steps.words, "Q": steps.Q, "K": steps.K, "V": steps.V}
    records.write(
        "attention-steps", {"sentence": SENTENCE, "layer": LAYER, "steps": vectors}
    )


if __name__ == "__main__":
    main()
