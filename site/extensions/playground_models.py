"""The shipped translators as the playground has them: their files for the browser, what
is said of them, and answers that stand on the page before a file is fetched.

A file is cut into scripts, because a page that was opened from disk may load scripts
but not fetch files, and because a script says no sooner than at its end that it came:
with several, a bar can grow.
"""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache, cached_property

import torch

from aiayn.analysis.attention_maps import KINDS, Head, attention_of
from aiayn.data.corpora import load_pairs
from aiayn.data.io import cache_folder, write_atomically
from aiayn.data.vocabulary import EOS_ID, Vocabulary
from aiayn.model.transformer import Transformer
from aiayn.shipped import pretrained
from aiayn.synthetic.corpus import MAX_TRAIN_TOKENS
from aiayn.training.checkpoint_metadata import Description
from aiayn.training.trained_run import SHIPPED, TrainedRun
from aiayn.translation.translator import Translator

PART = 1 << 19  # letters of base64 in a script


WORD = r"'s\b|[\w-]+|[^\w\s]"


def known_words(vocabulary: Vocabulary) -> list[str]:
    """The words and marks of all training sentences. To draw these takes a while, so
    the words are kept, for the vocabulary that was learned from the same sentences.
    """
    learned = hashlib.sha256(vocabulary.model).hexdigest()[:16]
    path = cache_folder() / "synthetic" / f"words-{learned}.json"
    if not path.exists():
        lines = load_pairs("synthetic", "en-de", "train").source
        found = {word for line in lines for word in re.findall(WORD, line)}
        write_atomically(path, json.dumps(sorted(found)).encode())
    return list(json.loads(path.read_text(encoding="utf-8")))


def pieces_in_order(vocabulary: Vocabulary) -> list[str]:
    """All pieces; the browser takes their order for their scores, so the two must
    agree.
    """
    pieces = vocabulary.pieces(list(range(len(vocabulary))))
    score = vocabulary.processor.GetScore
    scores = [score(token) for token in range(EOS_ID + 1, len(pieces))]
    assert scores == sorted(scores, reverse=True), "pieces are not in learned order"
    return pieces


def compact(content: object) -> str:
    """As JSON, in as few bytes as it takes."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class BrowserModel:
    """A shipped translator of the paper's form, for the browser."""

    name: str

    @cached_property
    def model(self) -> Transformer:
        """The model in PyTorch; what the browser's program does not know is refused."""
        model, _ = pretrained(self.name)
        assert isinstance(model, Transformer)
        shape = model.config
        form = (shape.norm, shape.positions, shape.score)
        assert form == ("post", "sinusoidal", "scaled")
        assert shape.share_embeddings and not shape.attention_bias
        assert shape.d_k is None and shape.d_v is None
        return model

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Its pieces."""
        return pretrained(self.name)[1]

    @cached_property
    def translator(self) -> Translator:
        """Both, with the paper's search."""
        return Translator(self.model, self.vocabulary)

    @cached_property
    def description(self) -> Description:
        """What is written beside its weights."""
        return TrainedRun.read(SHIPPED / self.name).description

    @cached_property
    def known(self) -> list[str]:
        """The words of its training text, if that is the synthetic corpus: few."""
        synthetic = self.description.data == "synthetic"
        return known_words(self.vocabulary) if synthetic else []

    @cached_property
    def scripts(self) -> dict[str, str]:
        """The scripts that carry it, by the names of their files: settings and pieces,
        and the file of the weights as it is.
        """
        shape = self.model.config
        carried: dict[str, object] = {
            "config": {"N": shape.N, "h": shape.h, "d_model": shape.d_model},
            "pieces": pieces_in_order(self.vocabulary),
        }
        if self.known:
            carried |= {"words": self.known, "longest": MAX_TRAIN_TOKENS}
        file = (SHIPPED / self.name / "model.safetensors").read_bytes()
        weights = base64.b64encode(file).decode()
        cut = (weights[at : at + PART] for at in range(0, len(weights), PART))
        names = (f"{self.name}-{number}.js" for number in range(10**3))
        return {
            name: f"Playground.arrived.set({json.dumps(name)}, {compact(content)});\n"
            for name, content in zip(names, [carried, *cut], strict=False)
        }

    def addresses(self, folder: str) -> list[str]:
        """Where its scripts lie. Browsers keep files by their address: another model
        has other addresses.
        """
        content = "".join(self.scripts.values()).encode()
        version = hashlib.sha256(content).hexdigest()[:8]
        return [f"{folder}/{name}?v={version}" for name in self.scripts]

    @cached_property
    def facts(self) -> dict[str, str]:
        """Numbers of its card, for sentences about it."""
        size = sum(map(len, self.scripts.values()))
        numbers = sum(weight.numel() for weight in self.model.parameters())
        return {
            "size": f"{size / 1e6:.1f} MB",
            "parameters": f"{numbers / 1e6:#.2g} million",
            "score": f"{self.description.score:.0f}",
        }

    def answer(self, sentence: str) -> dict[str, object]:
        """What the page shows of a sentence, but for the search: pieces, translation,
        and attention in hundredths, a byte each (layers, queries, heads, keys).
        """
        seen = attention_of(self.translator, sentence)
        words = re.findall(WORD, sentence)
        unknown = [word for word in words if self.known and word not in self.known]
        looks = dict[str, str]()
        for kind in KINDS:
            hundredths = (seen.weights[kind] * 100).round().to(torch.uint8)
            rows = hundredths.transpose(1, 2).numpy().tobytes()
            looks[kind] = base64.b64encode(rows).decode()
        long = self.known and len(words) > MAX_TRAIN_TOKENS
        return {
            "sentence": sentence,
            "text": self.translator(sentence),
            "source": seen.source.pieces[:-1],
            "written": seen.writes.pieces[:-1],
            "unknownWords": unknown,
            "longest": MAX_TRAIN_TOKENS if long else None,
            "looks": looks,
        }


@cache
def browser_model(name: str) -> BrowserModel:
    """The model of that name, made once."""
    return BrowserModel(name)


def head_of(text: str) -> Head:
    """A head that is named as on the page, as in "cross 2 3": counted from 1."""
    kind, layer, number = text.split()
    (kind,) = (each for each in KINDS if each == kind)
    return Head(kind, int(layer) - 1, int(number) - 1)
