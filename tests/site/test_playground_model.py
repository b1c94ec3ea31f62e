"""The playground's translators are the package's: same pieces, same tokens, same
probabilities, same attention.
"""

import base64
import random
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from playground_page import (
    NAMES,
    ROOT,
    TIRED,
    models_of_page,
    translator,
    with_site,
)
from playwright.sync_api import Page

from aiayn.analysis import attention_of
from aiayn.analysis.attention_maps import KINDS
from aiayn.analysis.pruning import all_heads, zero_ablation
from aiayn.data import make_batch
from aiayn.data.vocabulary import EOS_ID
from aiayn.model import Transformer
from aiayn.shipped import pretrained
from aiayn.synthetic import sample
from aiayn.translation import Translator

pytestmark = [pytest.mark.browser, with_site]

TRIED = ("test", "novel", "long", "pronouns")
ODD = [
    "",
    "   ",
    "\tThe dog\n",
    "The  dog   sleeps",
    "▁The ▁▁ dog▁",
    "Zoë ñandú 日本語 👍🏽 z",
    "x" * 50,
    "...",
    "<s> </s> <unk> <pad>",
    "ÄÖÜß",
    "e\u0301",
    "The\u00a0dog",
    "\ufeffThe dog",
    "\u2003The dog\u3000",
    "he’s",
    "don't!!! #@$%",
    "\x1cThe dog\x85",
    "1234567890",
    "The\tdog",
    "a\u200bb",
    "😀😀The",
    "<img src=x>",
]
SEARCH = """([name, sentences, options, silent]) => {
  const { model, vocabulary } = window.loaded[name];
  model.silent = new Set(silent);
  const found = sentences.map((sentence) => {
    const finished = Playground.search(model, vocabulary.encode(sentence), options);
    return finished.map(({ tokens, logProbability }) => [tokens, logProbability]);
  });
  model.silent = new Set();
  return found;
}"""
LOGITS = """([name, examples]) => examples.map(([source, target]) => {
  const { model } = window.loaded[name];
  const memory = model.encode(source);
  const rows = [];
  let pasts = [model.start()], logits;
  for (const token of [Playground.BOS, ...target.slice(0, -1)]) {
    ({ logits: [logits], pasts } = model.step([token], pasts, memory));
    const bytes = new Uint8Array(Float32Array.from(logits).buffer);
    rows.push(btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), "")));
  }
  return rows;
})"""
LOOKS = """(looks) => JSON.parse(JSON.stringify(looks, (_, value) =>
  value instanceof Float32Array ? [...value] : value))"""
ATTENTION = f"""([name, source, target]) =>
  ({LOOKS})(window.loaded[name].model.attentionOf(source, target))"""
ANSWER = f"""async ([name, sentence]) => {{
  const answerer = new Playground.Answerer(window.loaded[name]);
  const answer = await answerer.answer(sentence, []);
  return {{ ...answer, looks: ({LOOKS})(answer.looks) }};
}}"""


@cache
def examples(split: str) -> list[str]:
    """Sentences of the synthetic corpus."""
    return [pair.source for pair in sample(125, seed=3, split=split)]


def some(n: int) -> list[str]:
    """So many sentences of every split on which the small model is tried."""
    return [sentence for split in TRIED for sentence in examples(split)[:n]]


def everyday() -> list[str]:
    """A hundred everyday sentences, and as many short ones of the synthetic corpus."""
    table = (ROOT / "bench" / "everyday.tsv").read_text(encoding="utf-8")
    written = [line.split("\t")[0] for line in table.splitlines()[1:]]
    short = sorted(dict.fromkeys(some(125)), key=len)[:100]
    return [*written, *short]


@pytest.mark.parametrize(
    ("name", "sentences"), [(NAMES[0], some(50)), (NAMES[1], everyday())], ids=NAMES
)
def test_same_translations(models: Page, name: str, sentences: list[str]) -> None:
    """On 200 sentences the search finds the same tokens, and the same probability."""
    assert len(sentences) == 200
    expected = [each[0] for each in translator(name).n_best(sentences, 1)]
    found = [each[0] for each in models.evaluate(SEARCH, [name, sentences, {}, []])]
    assert [tokens for tokens, _ in found] == [each.tokens for each in expected]
    worst = max(
        abs(log_p - best.log_probability)
        for (_, log_p), best in zip(found, expected, strict=True)
    )
    print(f"largest difference between log probabilities: {worst:.1e}")
    assert worst < 1e-3


@pytest.mark.parametrize(
    ("name", "beam"), [(NAMES[0], 1), (NAMES[0], 4), (NAMES[1], 1)]
)
def test_same_alternatives(models: Page, name: str, beam: int) -> None:
    """Greedy search agrees too, and so do all translations that a beam of four ends
    with.
    """
    sentences, vocabulary = some(5), translator(name).vocabulary
    search = type(translator(name).search)(beam=beam)
    package = Translator(*pretrained(name), search)
    expected = [
        [each.text for each in found] for found in package.n_best(sentences, beam)
    ]
    options = {"beam": beam, "nBest": beam}
    found = models.evaluate(SEARCH, [name, sentences, options, []])
    texts = [vocabulary.decode([tokens for tokens, _ in each]) for each in found]
    assert [list(dict.fromkeys(each)) for each in texts] == expected


@pytest.mark.parametrize("name", NAMES)
def test_same_logits(models: Page, name: str) -> None:
    """Given the right words before, every logit of every step agrees."""
    package, pairs = translator(name), list[Any]()
    for split in ("test", "long"):
        pairs += sample(10 if name == NAMES[0] else 2, seed=4, split=split)
    sides = [[pair.source for pair in pairs], [pair.target for pair in pairs]]
    tokens = list(zip(*map(package.vocabulary.encode, sides), strict=True))
    batch = make_batch(tokens)
    with torch.inference_mode():
        expected = package.model(batch.source, batch.target).numpy()
    worst = 0.0
    for row, steps in enumerate(models.evaluate(LOGITS, [name, tokens])):
        found = np.stack(
            [np.frombuffer(base64.b64decode(step), dtype=np.float32) for step in steps]
        )
        worst = max(worst, float(np.abs(found - expected[row, : len(found)]).max()))
    print(f"largest difference between logits: {worst:.1e}")
    assert worst < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_same_attention(models: Page, name: str) -> None:
    """Every head looks where it looks in PyTorch."""
    attention = attention_of(translator(name), TIRED)
    processor = translator(name).vocabulary.processor
    tokens = [
        [*processor.PieceToId(list(side.pieces[:-1])), EOS_ID]
        for side in (attention.source, attention.writes)
    ]
    looks = models.evaluate(ATTENTION, [name, *tokens])
    for kind in KINDS:
        for layer, rows in enumerate(looks[kind]):
            for query, heads in enumerate(rows):
                found = torch.tensor(heads, dtype=torch.float32)
                expected = attention.weights[kind][layer, :, query, : found.shape[1]]
                assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_same_pieces(models: Page, name: str) -> None:
    """Synthetic sentences, odd ones, and letters drawn by lot are cut into the same
    pieces.
    """
    draw, letters = random.Random(1), "abcdeinst TheßÄü.,'?!▁ \u00a0é日1<>"
    noise = ["".join(draw.choices(letters, k=draw.randint(1, 40))) for _ in range(300)]
    lines = [*some(125), *(pair.target for pair in sample(200)), *ODD, *noise]
    vocabulary = translator(name).vocabulary
    expected = vocabulary.encode([line.strip() for line in lines])
    found = models.evaluate(
        "([name, lines]) =>"
        " lines.map((line) => window.loaded[name].vocabulary.encode(line))",
        [name, lines],
    )
    assert found == expected
    texts = models.evaluate(
        "([name, rows]) =>"
        " rows.map((row) => window.loaded[name].vocabulary.decode(row))",
        [name, expected],
    )
    assert texts == vocabulary.decode(expected)


@pytest.mark.parametrize("name", NAMES)
def test_same_without_a_head(models: Page, name: str) -> None:
    """A head that is off in the page is one that is ablated in PyTorch."""
    package = translator(name)
    network = package.model
    assert isinstance(network, Transformer)
    sentences = [TIRED, *some(1)[::3]] if name == NAMES[0] else ["The coffee is hot."]
    heads = all_heads(network)
    for head in heads if name == NAMES[0] else heads[::5]:
        with zero_ablation(network, [head]):
            expected = [each[0] for each in package.n_best(sentences, 1)]
        silent = [f"{head.kind} {head.layer} {head.head}"]
        found = models.evaluate(SEARCH, [name, sentences, {}, silent])
        assert [each[0][0] for each in found] == [each.tokens for each in expected], (
            head
        )
        log_p = [each.log_probability for each in expected]
        assert [each[0][1] for each in found] == pytest.approx(log_p, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_stored_answers(models: Page, name: str) -> None:
    """What stands on the page before the model is there, the model says as well."""
    (model,) = (each for each in models_of_page() if each["name"] == name)
    for stored in model["answers"]:
        found = models.evaluate(ANSWER, [name, stored["sentence"]])
        ready = models.evaluate(
            "([stored, model]) => Playground.unpackAnswer(stored, model)",
            [stored, model],
        )
        looks, expected = found.pop("looks"), ready.pop("looks")
        assert found == ready
        for kind in KINDS:
            for given, layer in zip(looks[kind], expected[kind], strict=True):
                for row, heads in zip(given, layer, strict=True):
                    seen = torch.tensor(heads, dtype=torch.float32)[:, : len(row[0])]
                    assert torch.allclose(seen, torch.tensor(row).float(), atol=0.0051)
