# Made by `make export` from book/3-workshop/11-trees-and-parsing.ipynb
"""A trained model as a constituency parser."""

# book/3-workshop/11-trees-and-parsing.ipynb, cell imports
import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiayn.data.corpora import Pairs, load_pairs, trees_of
from aiayn.data.lines import check_list, normalize_line, sentence_list
from aiayn.data.trees import IllFormed, Tree, delinearise, plain
from aiayn.data.vocabulary import EOS_ID, Vocabulary
from aiayn.decoding.batched import batched_beam_search, tokenize_lines
from aiayn.decoding.beam_search import Hypothesis, SearchConfig
from aiayn.errors import InputError
from aiayn.metrics.evalb import bracket_scores, strict_bracket_scores
from aiayn.parsing.well_formed import TreeConstraint, TreeVocabulary
from aiayn.training.trained_run import TrainedRun
from aiayn.translation.translator import Translator

BATCH_TOKENS = 1000  # of sentences; their trees are longer, and there are 21 of them


# book/3-workshop/11-trees-and-parsing.ipynb, cell parsing-search
PARSING_SEARCH = SearchConfig(beam=21, alpha=0.3, extra_length=300)


# book/3-workshop/11-trees-and-parsing.ipynb, cell tokenise
BRACKET_NAMES = {"(": "-LRB-", ")": "-RRB-"}
TOKEN = (
    r"-[LR]RB-|\w+?(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b"
    r"|\d+(?:[.,]\d+)+(?:-\w+)*|\w+(?:-\w+)*|\S"
)


def treebank_tokenize(text: str) -> list[str]:
    """Words and marks, about as in the treebank: did n't, Jan 's, a . by itself."""
    return [BRACKET_NAMES.get(word, word) for word in re.findall(TOKEN, text)]


def sentence_words(
    sentence: str | Sequence[str], vocabulary: Vocabulary, before: int = 0
) -> list[str]:
    """The words of a text, without what does not show; or those of a list."""
    if isinstance(sentence, Iterable) and not isinstance(sentence, str | bytes):
        return sentence_list(sentence, f"sentence {before + 1}, word")
    (text,) = sentence_list([sentence], "sentence", before)
    return treebank_tokenize(vocabulary.normalize(normalize_line(text)))


# book/3-workshop/11-trees-and-parsing.ipynb, cell parse
@dataclass(frozen=True)
class Parse:
    """What a parser made of a sentence."""

    # None if the tokens are not those of a tree over the sentence's words
    tree: Tree | None
    text: str  # the tokens
    score: float  # their log probability, divided by the length penalty
    log_probability: float  # natural logarithm, given the sentence


def to_parse(hypothesis: Hypothesis, vocabulary: Vocabulary, words: list[str]) -> Parse:
    """A hypothesis as a tree over these words, if it is one."""
    (text,) = vocabulary.decode([hypothesis.tokens])
    tree = None
    with contextlib.suppress(IllFormed):
        tree = delinearise(text, words) if hypothesis.tokens[-1] == EOS_ID else None
    return Parse(tree, text, hypothesis.score, hypothesis.log_probability)


# book/3-workshop/11-trees-and-parsing.ipynb, cell parser
class Parser:
    """A model that was trained on trees, as a parser (section 6.3).

    Parameters
    ----------
    translator : Translator
        Model, vocabulary, and how to search: `PARSING_SEARCH` is the paper's way.
    constrained : bool
        Whether the search is constrained, so that all it finds are trees. Otherwise it
        is the paper's.
    """

    def __init__(self, translator: Translator, constrained: bool = True) -> None:
        if not isinstance(translator, Translator):
            fault = f"a Parser needs a Translator, not {type(translator).__name__}"
            raise InputError(f"{fault}: Parser.load('synthetic-en-trees')")
        if constrained and translator.search.extra_length < 3:
            raise InputError(
                "a tree has at least 3 tokens more than its sentence:"
                " extra_length is too small"
            )
        self.translator, self.constrained = translator, constrained
        self.trees = TreeVocabulary(translator.vocabulary)

    @classmethod
    def load(
        cls,
        folder: Path | str,
        average: int | None = None,
        search: SearchConfig = PARSING_SEARCH,
        device: str | None = None,
        constrained: bool = True,
    ) -> "Parser":
        """A run's parser; for arguments and errors see `Translator.load`, `Parser`."""
        return cls(Translator.load(folder, average, search, device), constrained)

    def __call__(
        self, sentence: str | Sequence[str | Sequence[str]], progress: bool = False
    ) -> Any:
        """A sentence's tree, or a list's trees; None where there is none (`n_best`)."""
        sentences = [sentence] if isinstance(sentence, str) else sentence
        results = self.n_best(sentences, 1, progress)
        best = [parses[0].tree if parses else None for parses in results]
        return best[0] if isinstance(sentence, str) else best

    # book/3-workshop/11-trees-and-parsing.ipynb, cell parse-sentences
    def n_best(
        self,
        sentences: Sequence[str | Sequence[str]],
        n: int,
        progress: bool = False,
        before: int = 0,
    ) -> list[list[Parse]]:
        """Each sentence's `n` best parses, best first; none if it is empty or too long.

        A sentence is a text or a list of words; warnings count those `before`, too.
        """
        model, vocabulary = self.translator.model, self.translator.vocabulary
        check_list(sentences)
        numbered = enumerate(sentences, start=before)
        texts = [sentence_words(each, vocabulary, number) for number, each in numbered]
        longest = (search := replace(self.translator.search, n_best=n)).max_length
        # A tree has three tokens more, at least; learned positions have to suffice.
        if model.config.max_positions is not None:
            longest = min(longest, model.config.max_positions - 3)
        lines = [" ".join(map(plain, words)) for words in texts]
        sources = tokenize_lines(vocabulary, lines, before)

        def trees(rows: list[int]) -> TreeConstraint:
            limits = [len(sources[row]) - 1 + search.extra_length for row in rows]
            most = model.config.max_positions or max(limits)
            limits = [min(limit, most) for limit in limits]
            return TreeConstraint(self.trees, [len(texts[row]) for row in rows], limits)

        tokens = int(BATCH_TOKENS / max(1, search.beam / PARSING_SEARCH.beam))
        results = batched_beam_search(
            model,
            sources,
            search,
            tokens,
            longest,
            allowed_tokens=trees if self.constrained else lambda _: None,
            decoder=self.translator.decoder,
            progress=progress,
            before=before,
        )
        return [
            [to_parse(each, vocabulary, words) for each in hypotheses]
            for hypotheses, words in zip(results, texts, strict=True)
        ]


# book/3-workshop/11-trees-and-parsing.ipynb, cell gold-trees
def gold_trees(pairs: Pairs) -> list[Tree]:
    """The trees of a corpus of sentences and trees.

    Raises
    ------
    InputError
        If a line of its target is not the tree of the same line of its source, or there
        is none.
    """
    if not len(pairs):
        raise InputError(
            f"{pairs.target_name}: no tree to compare with;"
            " choose another split or corpus"
        )
    return list(trees_of(pairs))


# book/3-workshop/11-trees-and-parsing.ipynb, cell evaluate
def evaluate_parser(
    run: TrainedRun,
    search: SearchConfig = PARSING_SEARCH,
    data: str | None = None,
    split: str = "test",
    constrained: bool = True,
    progress: bool = False,
    device: str | None = None,
) -> dict[str, Any]:
    """Score a run's parser (Table 4), on the corpus of its training or another.

    `search`, `constrained` and `device` are as for `Parser.load`, `data` and `split` as
    for `load_pairs`.
    """
    data, pair = run.trained_on(data)
    trees = gold_trees(load_pairs(data, pair, split))
    parser = Parser(Translator(*run.load(device), search), constrained)
    parses = parser([tree.words() for tree in trees], progress=progress)
    scores = bracket_scores(trees, parses)
    names = "f1", "precision", "recall", "complete_match", "average_crossing"
    return {
        "run": str(run.folder),
        "data": data,
        "split": split,
        "beam": search.beam,
        "alpha": search.alpha,
        "constrained": constrained,
        "minutes": run.description.minutes,
        **{name: getattr(scores, name) for name in names},
        "sentences": scores.sentences,
        "skipped": scores.skipped,
        "strict_f1": strict_bracket_scores(trees, parses).f1,
        "well_formed": 100 * sum(parse is not None for parse in parses) / len(parses),
    }
