"""What the playground copies from one run into another, and what it reads after each
layer, are the package's numbers.
"""

from typing import Any

import pytest
import torch
from playground_page import NAMES, TIRED, translator, with_site
from playwright.sync_api import Page

from aiayn.analysis.attention_maps import Head
from aiayn.analysis.pruning import all_heads, patch_heads
from aiayn.data import make_batch
from aiayn.data.vocabulary import EOS_ID
from aiayn.model import Transformer

pytestmark = [pytest.mark.browser, with_site]

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


PAIRS = {
    NAMES[0]: (TIRED, TIRED.replace("tired", "wide")),
    NAMES[1]: ("I know him.", "I know her."),
}


@pytest.mark.parametrize("name", NAMES)
def test_same_after_copying_a_head(models: Page, name: str) -> None:
    """A head's output that is copied from one run into another has the effect that it
    has in PyTorch: everywhere, or where the deciding word is written.
    """
    package = translator(name)
    network = package.model
    assert isinstance(network, Transformer)
    targets = [found[0].tokens for found in package.n_best(list(PAIRS[name]), 1)]
    heads = all_heads(network)
    if name != NAMES[0]:
        heads = heads[1::3]  # one that changes the word is among them
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
    found = models.evaluate(COPIED, [name, PAIRS[name], targets, asked])
    assert found["at"] == at
    for run, each in zip(found["runs"], expected, strict=True):
        assert run["probabilities"] == pytest.approx(each, abs=1e-3)
    changed = [each for each in expected[2:] if abs(each[0] - expected[1][0]) > 0.3]
    assert changed  # else nothing would have been tested


@pytest.mark.parametrize("name", NAMES)
def test_same_after_each_layer(models: Page, name: str) -> None:
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
    found = models.evaluate(LENS, [name, source, target])
    for best, places in zip(expected, found, strict=True):
        assert [[each[0] for each in three] for three in places] == best[1].tolist()
        shares = torch.tensor([[each[1] for each in three] for three in places])
        assert torch.allclose(shares, best[0], atol=1e-3)
