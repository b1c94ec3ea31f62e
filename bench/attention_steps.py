"""The vectors that chapter 3.2 draws: one sentence, one layer of the model
of the synthetic corpus.

python bench/attention_steps.py
"""

import records

from aiayn.shipped import pretrained
from aiayn.visualization.attention_steps import trace_attention

SENTENCE, LAYER = "The animal did not cross the street because it was too tired.", 1


def main() -> None:
    """Write the record, and print it."""
    steps = trace_attention(pretrained("synthetic-en-de"), SENTENCE, LAYER)
    vectors = {"words": steps.words, "Q": steps.Q, "K": steps.K, "V": steps.V}
    records.write(
        "attention-steps", {"sentence": SENTENCE, "layer": LAYER, "steps": vectors}
    )


if __name__ == "__main__":
    main()
