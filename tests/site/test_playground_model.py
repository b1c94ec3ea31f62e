"""The playground's translators are the package's: same pieces, same tokens, same
probabilities, same attention.
"""

import base64
import json
import os
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page

from aiayn.analysis import attention_of
from aiayn.analysis.attention_maps import KINDS, Head
from aiayn.analysis.pruning import all_heads, patch_heads, zero_ablation
from aiayn.data import make_batch
from aiayn.data.vocabulary import EOS_ID
from aiayn.model import Transformer
from aiayn.shipped import pretrained
from aiayn.synthetic import sample
from aiayn.translation import Translator

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("AIAYN_SITE", ROOT / "_build" / "html"))
PAGE = SITE.resolve() / "book" / "0-start" / "2-playground.html"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGE.exists(), reason=f"no site in {SITE}: run `make book`"),
]

NAMES = ("synthetic-en-de", "en-de")
TRIED = ("test", "novel", "long", "pronouns")
TIRED = "The animal did not cross the street because it was too tired."
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
# The model's scripts are there; where the page would start a worker, the test makes the
# model in the page.
LOAD = """([name, files]) => {
  const [settings, ...weights] = files.map((file) => Playground.arrived.get(file));
  window.loaded ??= {};
  window.loaded[name] = Playground.unpack(settings, weights.join(""));
}"""
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
LENS = """([name, source, target]) => {
  const { model } = window.loaded[name];
  return Playground.lens(model, source, target);
}"""
COPIED = """([name, sentences, targets, heads]) => {
  const { model, vocabulary } = window.loaded[name];
  const sources = sentences.map((sentence) => vocabulary.encode(sentence));
  const pair = new Playground.Pair(model, sources, targets);
  const copied = heads.map(([head, position]) => pair.copied(head, position));
  return { at: pair.at, runs: [pair.run(0), pair.run(1), ...copied] };
}"""
ANSWER = f"""async ([name, sentence]) => {{
  const answerer = new Playground.Answerer(window.loaded[name]);
  const answer = await answerer.answer(sentence, []);
  return {{ ...answer, looks: ({LOOKS})(answer.looks) }};
}}"""


def data_of(page: Path) -> list[dict[str, Any]]:
    """What the page has of its models."""
    text = page.read_text(encoding="utf-8")
    place = text[text.index('class="aiayn-playground"') :]
    found = re.search(r'<script type="application/json">(.*?)</script>', place, re.S)
    assert found
    return list(json.loads(found[1]))


@cache
def translator(name: str) -> Translator:
    """The model in PyTorch."""
    return Translator(*pretrained(name))


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A window with both models in JavaScript, its page opened from disk."""
    page = browser.new_page()
    page.goto(PAGE.as_uri())
    for model in data_of(PAGE):
        files = []
        for address in model["addresses"]:
            path = (PAGE.parent / address.split("?")[0]).resolve()
            page.add_script_tag(path=path)
            files.append(path.name)
        page.evaluate(LOAD, [model["name"], files])
    yield page
    page.close()


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
def test_same_translations(page: Page, name: str, sentences: list[str]) -> None:
    """On 200 sentences the search finds the same tokens, and the same probability."""
    assert len(sentences) == 200
    expected = [each[0] for each in translator(name).n_best(sentences, 1)]
    found = [each[0] for each in page.evaluate(SEARCH, [name, sentences, {}, []])]
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
def test_same_alternatives(page: Page, name: str, beam: int) -> None:
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
    found = page.evaluate(SEARCH, [name, sentences, options, []])
    texts = [vocabulary.decode([tokens for tokens, _ in each]) for each in found]
    assert [list(dict.fromkeys(each)) for each in texts] == expected


@pytest.mark.parametrize("name", NAMES)
def test_same_logits(page: Page, name: str) -> None:
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
    for row, steps in enumerate(page.evaluate(LOGITS, [name, tokens])):
        found = np.stack(
            [np.frombuffer(base64.b64decode(step), dtype=np.float32) for step in steps]
        )
        worst = max(worst, float(np.abs(found - expected[row, : len(found)]).max()))
    print(f"largest difference between logits: {worst:.1e}")
    assert worst < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_same_attention(page: Page, name: str) -> None:
    """Every head looks where it looks in PyTorch."""
    attention = attention_of(translator(name), TIRED)
    processor = translator(name).vocabulary.processor
    tokens = [
        [*processor.PieceToId(list(side.pieces[:-1])), EOS_ID]
        for side in (attention.source, attention.writes)
    ]
    looks = page.evaluate(ATTENTION, [name, *tokens])
    for kind in KINDS:
        for layer, rows in enumerate(looks[kind]):
            for query, heads in enumerate(rows):
                found = torch.tensor(heads, dtype=torch.float32)
                expected = attention.weights[kind][layer, :, query, : found.shape[1]]
                assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_same_pieces(page: Page, name: str) -> None:
    """Synthetic sentences, odd ones, and letters drawn by lot are cut into the same
    pieces.
    """
    draw, letters = random.Random(1), "abcdeinst TheßÄü.,'?!▁ \u00a0é日1<>"
    noise = ["".join(draw.choices(letters, k=draw.randint(1, 40))) for _ in range(300)]
    lines = [*some(125), *(pair.target for pair in sample(200)), *ODD, *noise]
    vocabulary = translator(name).vocabulary
    expected = vocabulary.encode([line.strip() for line in lines])
    found = page.evaluate(
        "([name, lines]) =>"
        " lines.map((line) => window.loaded[name].vocabulary.encode(line))",
        [name, lines],
    )
    assert found == expected
    texts = page.evaluate(
        "([name, rows]) =>"
        " rows.map((row) => window.loaded[name].vocabulary.decode(row))",
        [name, expected],
    )
    assert texts == vocabulary.decode(expected)


@pytest.mark.parametrize("name", NAMES)
def test_same_without_a_head(page: Page, name: str) -> None:
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
        found = page.evaluate(SEARCH, [name, sentences, {}, silent])
        assert [each[0][0] for each in found] == [each.tokens for each in expected], (
            head
        )
        log_p = [each.log_probability for each in expected]
        assert [each[0][1] for each in found] == pytest.approx(log_p, abs=1e-3)


PAIRS = {
    NAMES[0]: (TIRED, TIRED.replace("tired", "wide")),
    NAMES[1]: ("I know him.", "I know her."),
}


@pytest.mark.parametrize("name", NAMES)
def test_same_after_copying_a_head(page: Page, name: str) -> None:
    """A head's output that is copied from one run into another has the effect that it
    has in PyTorch: everywhere, or where the deciding word is written.
    """
    package = translator(name)
    network = package.model
    assert isinstance(network, Transformer)
    targets = [found[0].tokens for found in package.n_best(list(PAIRS[name]), 1)]
    heads = all_heads(network)[:: 1 if name == NAMES[0] else 3]
    at = next(
        i for i, pair in enumerate(zip(*targets, strict=False)) if len({*pair}) > 1
    )
    prefix, words = targets[0][:at], [target[at] for target in targets]
    batches = [
        make_batch([(source, [*prefix, EOS_ID])])
        for source in package.vocabulary.encode(list(PAIRS[name]))
    ]
    kept = dict[Any, torch.Tensor]()

    def probabilities(run: int) -> list[float]:
        with torch.inference_mode():
            scores = network(batches[run].source, batches[run].target)[0, -1]
        return [float(scores.softmax(dim=-1)[word]) for word in words]

    def keep(place: Any, outputs: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        kept[place] = outputs.clone()
        return outputs

    with patch_heads(network, heads, keep):
        expected = [probabilities(0)]
    expected.append(probabilities(1))
    asked = []
    for kind, layer, number in heads:
        for position in (None, at) if kind != "encoder" else (None,):
            rows = slice(position, None)

            def copy(
                place: Any,
                outputs: torch.Tensor,
                _: torch.Tensor,
                number: int = number,
                rows: slice = rows,
            ) -> torch.Tensor:
                outputs[:, number, rows] = kept[place][:, number, rows]
                return outputs

            with patch_heads(network, [Head(kind, layer, number)], copy):
                expected.append(probabilities(1))
            asked.append([f"{kind} {layer} {number}", position])
    found = page.evaluate(COPIED, [name, PAIRS[name], targets, asked])
    assert found["at"] == at
    for run, each in zip(found["runs"], expected, strict=True):
        assert run["probabilities"] == pytest.approx(each, abs=1e-3)
    changed = [each for each in expected[2:] if abs(each[0] - expected[1][0]) > 0.3]
    assert changed  # else nothing would have been tested


@pytest.mark.parametrize("name", NAMES)
def test_same_after_each_layer(page: Page, name: str) -> None:
    """The output matrix, applied after each layer, gives the same words in PyTorch."""
    package = translator(name)
    network = package.model
    assert isinstance(network, Transformer)
    (source,) = package.vocabulary.encode([TIRED])
    target = package.n_best([TIRED], 1)[0][0].tokens
    batch, states = make_batch([(source, target)]), list[torch.Tensor]()
    hooks = [
        layer.register_forward_hook(lambda *call: states.append(call[-1][0]))
        for layer in network.decoder.layers
    ]
    with torch.inference_mode():
        network(batch.source, batch.target)
        expected = [
            (state @ network.target_embeddings.weight.T).softmax(dim=-1).topk(3)
            for state in states
        ]
    for hook in hooks:
        hook.remove()
    found = page.evaluate(LENS, [name, source, target])
    for best, places in zip(expected, found, strict=True):
        assert [[each[0] for each in three] for three in places] == best[1].tolist()
        shares = torch.tensor([[each[1] for each in three] for three in places])
        assert torch.allclose(shares, best[0], atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_stored_answers(page: Page, name: str) -> None:
    """What stands on the page before the model is there, the model says as well."""
    (model,) = (each for each in data_of(PAGE) if each["name"] == name)
    for stored in model["answers"]:
        found = page.evaluate(ANSWER, [name, stored["sentence"]])
        ready = page.evaluate(
            "([stored, model]) => Playground.unpackAnswer(stored, model)",
            [stored, model],
        )
        looks, expected = found.pop("looks"), ready.pop("looks")
        del found["steps"]  # of the search
        assert found == ready
        for kind in KINDS:
            for given, layer in zip(looks[kind], expected[kind], strict=True):
                for row, heads in zip(given, layer, strict=True):
                    seen = torch.tensor(heads, dtype=torch.float32)[:, : len(row[0])]
                    assert torch.allclose(seen, torch.tensor(row).float(), atol=0.0051)
