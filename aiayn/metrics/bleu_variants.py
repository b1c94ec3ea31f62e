# Made by `make export` from book/3-workshop/07-beam-search-and-bleu.ipynb
"""BLEU in each of the variants that papers quote."""

# book/3-workshop/07-beam-search-and-bleu.ipynb, cell split-hyphens
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import sacrebleu

from aiayn.data.corpora import Pairs
from aiayn.errors import InputError
from aiayn.metrics.bleu import (
    MetricResult,
    bootstrap_result,
    bootstrap_scores,
    check_lines,
    corpus_bleu,
)


def split_hyphens(line: str) -> str:
    """a-b becomes a ##AT##-##AT## b as in the paper's script: no byte is used twice."""
    return re.sub(rb"(\S)-(\S)", rb"\1 ##AT##-##AT## \2", line.encode()).decode()


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell preparing
# The Moses script leaves these as they are.
GERMAN_QUOTES = str.maketrans({"„": '"', "‚": "'", "‘": "'"})


def tokenize_like_paper(lines: Sequence[str], language: str) -> list[str]:
    """Tokens as in the paper's script: plain punctuation, Moses, split hyphens."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    plain, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
    texts = [
        plain.replace_unicode_punct(line.translate(GERMAN_QUOTES)) for line in lines
    ]
    return [split_hyphens(tokenizer.tokenize(text, return_str=True)) for text in texts]


def tokenize_like_multi30k(lines: Sequence[str], language: str) -> list[str]:
    """Tokens as in Multi30k: lower-cased first, punctuation normalised, then Moses."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    plain = MosesPunctNormalizer(language, perl_parity=True)
    tokenizer = MosesTokenizer(language)
    # The Perl script sees the end of the line, too, and moves a full stop behind a
    # quote that stands there.
    texts = [plain.normalize(line.lower() + "\n") for line in lines]
    return [tokenizer.tokenize(text, return_str=True) for text in texts]


def moses_languages() -> set[str]:
    """Those that the Moses tokenizer has rules for, by their two letters."""
    from sacremoses.corpus import NonbreakingPrefixes

    return set(NonbreakingPrefixes().available_langs.values())


def check_language(language: str) -> None:
    """Raise an InputError if Moses has no rules for a language (two letters: `de`)."""
    if language not in moses_languages():
        languages = ", ".join(sorted(moses_languages()))
        raise InputError(
            f"language {language!r}: the Moses tokenizer is for one of {languages};"
            " leave out the variants"
        )


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell score
@dataclass(frozen=True)
class BleuScore:
    """One variant of BLEU; compare it only with scores of the same variant."""

    variant: str  # `sacrebleu`, `sacrebleu-intl`, `paper` or `tokenised-lowercased`
    value: float  # from 0 to 100
    signature: str  # what was done to the text, then sacreBLEU's own signature


def tokenized_bleu(
    translations: Sequence[str],
    references: Sequence[str],
    variant: str,
    prepared: str,
    lowercase: bool = False,
) -> BleuScore:
    """BLEU over what stands between spaces, unsmoothed, as in `multi-bleu.perl`."""
    metric = sacrebleu.metrics.BLEU(
        lowercase, force=True, tokenize="none", smooth_method="none"
    )
    value = float(metric.corpus_score(translations, [references]).score)
    return BleuScore(variant, value, f"{prepared}|{metric.get_signature()}")


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell every-variant
def moses_signature(language: str) -> str:
    """By which version of the Moses tokenizer text becomes tokens."""
    return f"tok:moses-{language}-sacremoses-{version('sacremoses')}"


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell all-variants
def bleu_by_variant(
    translations: Sequence[str], references: Sequence[str], language: str
) -> dict[str, BleuScore]:
    """The same translations, scored by each variant that people quote.

    Parameters
    ----------
    translations, references : sequence of str
        Plain text, not tokenised.
    language : str
        Into which it was translated, by its two letters: `de`, `fr`.

    Returns
    -------
    dict of str to BleuScore
        By variant: `sacrebleu` (13a, cased), `sacrebleu-intl`, `paper` (section 6.1:
        plain punctuation, Moses tokenizer, hyphens split) and `tokenised-lowercased`
        (Multi30k: Wu et al. 2021). `check_lines` and `check_language` raise errors.
    """
    check_lines(translations, references)
    check_language(language)
    intl = sacrebleu.metrics.BLEU(tokenize="intl", force=True)
    value = float(intl.corpus_score(translations, [references]).score)
    moses = moses_signature(language)

    def both(tokenize: Callable[..., list[str]]) -> tuple[list[str], list[str]]:
        return tokenize(translations, language), tokenize(references, language)

    paper, multi30k = both(tokenize_like_paper), both(tokenize_like_multi30k)
    scores = [
        BleuScore("sacrebleu", *corpus_bleu(translations, references)),
        BleuScore("sacrebleu-intl", value, str(intl.get_signature())),
        tokenized_bleu(*paper, "paper", f"punct:plain|{moses}|hyphens:split"),
        tokenized_bleu(
            *multi30k,
            "tokenised-lowercased",
            f"lc:first|punct:normalised|{moses}",
            lowercase=True,
        ),
    ]
    return {score.variant: score for score in scores}


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell with-paper
def scores_with_paper(
    translations: Sequence[str],
    references: Sequence[str],
    language: str | None,
    baseline: Sequence[str] | None = None,
) -> dict[str, MetricResult]:
    """`bootstrap_scores`, and the paper's form of BLEU if Moses has the language."""
    results = bootstrap_scores(translations, references, baseline)
    if language not in moses_languages():
        return results
    ours, right, theirs = (
        tokenize_like_paper(lines, str(language))
        for lines in (translations, references, baseline or ())
    )
    metric = sacrebleu.metrics.BLEU(force=True, tokenize="none", smooth_method="none")
    name = "BLEU (paper)"
    found = bootstrap_result(name, metric, ours, right, theirs if baseline else None)
    prepared = f"punct:plain|{moses_signature(str(language))}|hyphens:split"
    signature = f"{prepared}|{found.signature}"
    return {**results, name: replace(found, signature=signature)}


# book/3-workshop/07-beam-search-and-bleu.ipynb, cell newstest2014
def filtered_lines(full: Pairs, filtered: Pairs) -> list[int]:
    """Each pair of `wmt14` (2,737) as its line in `wmt14/full` (3,003), from 0.

    Raises
    ------
    InputError
        If one of them is not there.
    """
    places = {
        pair: place
        for place, pair in enumerate(zip(full.source, full.target, strict=True))
    }
    lines = []
    pairs = zip(filtered.source, filtered.target, strict=True)
    for number, pair in enumerate(pairs, start=1):
        if pair not in places:
            raise InputError(
                f"{filtered.source_name}, line {number}: {full.source_name} has no such"
                " pair of sentences; the one must be a part of the other,"
                " as sacreBLEU's wmt14 is of wmt14/full"
            )
        lines.append(places[pair])
    return lines


def newstest2014_bleu(
    translations: Sequence[str], full: Pairs, filtered: Pairs, language: str
) -> dict[str, dict[str, BleuScore]]:
    """`bleu_by_variant` on all lines of `full`, and on those of `filtered`."""
    scores = {"wmt14/full": bleu_by_variant(translations, full.target, language)}
    part = [translations[line] for line in filtered_lines(full, filtered)]
    return scores | {"wmt14": bleu_by_variant(part, filtered.target, language)}
