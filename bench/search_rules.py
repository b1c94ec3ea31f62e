"""How far the two rules of search are apart, and write book/runs/search-rules.json.

python bench/search_rules.py        # minutes on one thread

The translator that ships translates every sixth line of Tatoeba's test set by the
paper's rule, and by that of Hugging Face's `generate` at two strengths of its length
penalty.
"""

from dataclasses import asdict

import records
import torch

import aiayn
from aiayn.decoding.huggingface_search import HuggingFaceSearch
from aiayn.metrics.bleu import bootstrap_scores

EVERY, ALPHAS = 6, [0.6, 1.0]


def main() -> None:
    """Translate, and write the record."""
    torch.set_num_threads(1)
    test = aiayn.load_pairs("tatoeba", "en-de", "test")
    sources, references = test.source[::EVERY], test.target[::EVERY]
    parts = aiayn.pretrained("en-de")
    paper = aiayn.Translator(*parts)(sources)
    scores = bootstrap_scores(paper, references)
    rules = []
    for alpha in ALPHAS:
        search = HuggingFaceSearch(alpha=alpha)
        theirs = aiayn.Translator(*parts, search)(sources)
        differences = bootstrap_scores(theirs, references, paper)
        rules.append(
            {
                "alpha": alpha,
                "different": sum(map(str.__ne__, theirs, paper)),
                "difference": asdict(differences["BLEU"]),
            }
        )
    found = {"lines": len(sources), "paper": asdict(scores["BLEU"]), "rules": rules}
    records.write("search-rules", {"data": test.source_name} | found)


if __name__ == "__main__":
    main()
