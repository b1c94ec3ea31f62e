# Made by `make export` from book/3-workshop/05-distributed-training.ipynb
"""What happens once before the first step: the vocabulary and the tokenized data."""

# book/3-workshop/05-distributed-training.ipynb, cell preparation-imports
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from aiayn.data.corpora import Pairs, corpus_warnings, load_pairs, trees_of
from aiayn.data.io import cache_folder, cache_lock
from aiayn.data.tokenized import Encoded, encode_corpus, text_key
from aiayn.data.trees import tree_tokens
from aiayn.data.vocabulary import (
    UNK_ID,
    Vocabulary,
    load_vocabulary,
    train_vocabulary,
)
from aiayn.errors import InputError
from aiayn.training.checkpoint_metadata import kind_of
from aiayn.training.recipes import TrainingConfig, VocabularyConfig

LOG = logging.getLogger(__name__)  # the command line shows what it says


@dataclass(frozen=True)
class Corpus:
    """What a model is trained on: tokens, and the vocabulary that numbers them."""

    vocabulary: Vocabulary  # of both languages together
    train: Encoded  # the split `train`
    valid: Encoded  # the split `val`


# book/3-workshop/05-distributed-training.ipynb, cell learned-vocabulary
def learn_vocabulary(
    pairs: Pairs,
    trees: bool,
    size: int,
    kind: VocabularyConfig = VocabularyConfig(),
) -> Vocabulary:
    """A text's vocabulary, learned once and cached; others wait for who learns it.

    Raises
    ------
    InputError
        As `train_vocabulary` does; if the cache cannot be used.
    """
    byte_fallback, lowercase = kind.byte_fallback, kind.lowercase
    marks = ["bytes"] * byte_fallback + ["lowercase"] * lowercase
    key = text_key(pairs, size, trees, *marks)
    path = cache_folder() / "vocabularies" / key / "vocabulary.model"
    subject = f"vocabulary of {size:,} pieces"
    with cache_lock(path.parent):
        if path.exists():
            LOG.info("%s: learned before, %s", subject, path)
            return load_vocabulary(path)
        LOG.info("%s: learned now, from %s pairs", subject, f"{len(pairs):,}")
        if trees:  # on the target side there are no words
            brackets = tree_tokens(pairs.target, pairs.target_name)
            vocabulary = train_vocabulary(pairs.source, size, brackets, byte_fallback)
        else:
            words = chain(pairs.source, pairs.target)
            vocabulary = train_vocabulary(words, size, (), byte_fallback, lowercase)
        vocabulary.save(path)
        return vocabulary


# book/3-workshop/05-distributed-training.ipynb, cell kinds-of
def vocabulary_config(vocabulary: Vocabulary) -> VocabularyConfig:
    """Whether a vocabulary spells letters by bytes, and makes all of them small."""
    return VocabularyConfig(
        byte_fallback=UNK_ID not in vocabulary.encode("\U0001242b"),  # in no text
        lowercase="A" not in vocabulary.normalize("A"),
    )


# book/3-workshop/05-distributed-training.ipynb, cell encode-texts
def encode_texts(
    vocabulary: Vocabulary,
    texts: Iterable[tuple[Pairs, float | None]],
    longest: int,
    skip_long: bool,
    progress: bool,
) -> Iterator[Encoded]:
    """Texts, each with its greatest ratio of lengths, as tokens; says what is left out.

    That is counted for each reason.
    """
    for pairs, max_ratio in texts:
        encoded = encode_corpus(
            vocabulary, pairs, longest, skip_long, progress, max_ratio
        )
        for left_out, why in (
            (encoded.dropped, f"a side has more than {longest} tokens"),
            (encoded.unequal, f"one side has more than {max_ratio} times the other's"),
        ):
            if left_out:
                counts = f"{left_out:,} of {len(pairs):,} pairs are left out"
                LOG.info("%s: %s, %s", pairs.source_name, counts, why)
        yield encoded


# book/3-workshop/05-distributed-training.ipynb, cell prepare
def prepare_corpus(
    config: TrainingConfig,
    data: str | tuple[Pairs, Pairs],
    pair: str | None,
    vocabulary: Vocabulary | Path | None = None,
    progress: bool = False,
) -> Corpus:
    """Read a corpus, learn a vocabulary of it unless there is one, and encode it.

    `data` may be pairs to learn from and pairs to validate on, instead of a name. What
    was done before is in the cache.

    Raises
    ------
    InputError
        As `load_pairs`, `train_vocabulary` and `encode_corpus` do.
    """
    if kind_of(pair) == "parsing" and config.vocabulary.lowercase:
        fault = "the names of brackets are capitals; leave it out"
        raise InputError(f"vocabulary.lowercase: {fault}")
    texts = (
        [load_pairs(data, str(pair), s) for s in ("train", "val")]
        if isinstance(data, str)
        else data
    )
    for message in corpus_warnings(*texts):
        LOG.warning("aiayn: warning: %s", message)
    trees, size = kind_of(pair) == "parsing", config.model.vocabulary_size
    for tree in chain(*map(trees_of, texts)) if trees else ():
        del tree  # each is one, or an error names its line
    learned = (
        load_vocabulary(vocabulary) if isinstance(vocabulary, Path) else vocabulary
    )
    learned = learned or learn_vocabulary(texts[0], trees, size, config.vocabulary)
    if len(learned) != size:
        raise InputError(
            f"{vocabulary}: {len(learned)} pieces, not {size}; go on as the run began,"
            " model.vocabulary_size and init included, or choose another folder (out)"
        )
    batches = config.batches
    ratios = zip(texts, (batches.max_ratio, None), strict=True)  # not of `val`
    encoded = encode_texts(learned, ratios, config.longest, batches.skip_long, progress)
    return Corpus(learned, *encoded)
