"""Models in CTranslate2: the same translations as here, and what it cannot take."""

from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

from aiayn.data import Vocabulary, train_vocabulary
from aiayn.data.vocabulary import EOS_ID
from aiayn.decoding import SearchConfig, beam_search
from aiayn.errors import InputError
from aiayn.model import Transformer, TransformerConfig
from aiayn.translation import Translator
from aiayn.translation.ctranslate2 import write_ctranslate2

ctranslate2 = pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")

TEXT = """
the cat sat on a small old mat and the dog saw it while two big horses ran home
""".split()
SENTENCES = [" ".join(TEXT[i : i + n]) for i in range(len(TEXT)) for n in (1, 3, 5, 9)]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabulary(SENTENCES, 60)


def model_of(changes: dict[str, Any], vocabulary: Vocabulary) -> Transformer:
    """A random model, more decided than fresh ones are."""
    shape = {"N": 2, "d_model": 32, "d_ff": 64, "h": 4} | changes
    model = Transformer(
        TransformerConfig(vocabulary_size=len(vocabulary), **shape)
    ).eval()
    with torch.no_grad():
        model.target_embeddings.weight.mul_(3)
    return model


def converted(model: Transformer, vocabulary: Vocabulary, folder: Path) -> Any:
    """The model as CTranslate2 loads it."""
    write_ctranslate2(model, vocabulary, folder)
    return ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre"},
        {"positions": "learned", "max_length": 300},
        {"positions": "none"},
        {"attention_bias": True},
        {"share_embeddings": False},
        {"d_k": 16, "d_v": 16},
    ],
    ids=str,
)
def test_it_translates_as_we_do(
    changes: dict[str, Any], vocabulary: Vocabulary, tmp_path: Path
) -> None:
    model = model_of(changes, vocabulary)
    other = converted(model, vocabulary, tmp_path / "converted")
    ours = Translator(model, vocabulary, SearchConfig(beam=1, extra_length=10))
    for sentence in SENTENCES[::5]:
        ((best,),) = ours.n_best([sentence], 1)
        pieces = vocabulary.pieces(vocabulary.encode([sentence])[0][:-1])
        limit = len(pieces) + 10
        (found,) = other.translate_batch(
            [pieces],
            beam_size=1,
            max_decoding_length=limit,
            length_penalty=0,
            return_scores=True,
        )
        written = vocabulary.pieces(best.tokens)
        assert found.hypotheses[0] == [piece for piece in written if piece != "</s>"]
        # its exponential is an approximation, which a random model's large scores show
        assert found.scores[0] == pytest.approx(best.log_probability, rel=0.01)


@pytest.mark.filterwarnings("ignore:sentence")  # that not all letters are known
@pytest.mark.parametrize("kind", ["shared", "separate", "relu", "unequal", "untied"])
def test_a_marian_model_translates_as_here(kind: str, tmp_path: Path) -> None:
    folders = pytest.importorskip("marian_folders", reason="transformers is missing")
    folders.write_folder(tmp_path / "marian", folders.KINDS[kind], end=3.0)
    ours = Translator.load(tmp_path / "marian", beam=1, device="cpu")
    write_ctranslate2(ours.model, ours.vocabulary, tmp_path / "converted")
    other: Any = ctranslate2.Translator(str(tmp_path / "converted"), intra_threads=1)
    cut, join = (
        sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / path))
        for path in ("converted/source.spm", "converted/target.spm")
    )
    lines = folders.SENTENCES[::5]
    pieces = cut.encode(lines, out_type=str)
    how = {"min_decoding_length": 0, "max_decoding_length": 18}
    found = other.translate_batch(pieces, beam_size=1, disable_unk=False, **how)
    theirs = [join.decode(each.hypotheses[0]) for each in found]
    complete = [each[0].complete for each in ours.n_best(lines, 1)]
    assert sum(complete) > len(lines) / 2
    for line, whole, their in zip(ours(lines), complete, theirs, strict=True):
        assert line == their or not whole


def test_it_has_a_position_for_every_token_that_we_write(
    vocabulary: Vocabulary, tmp_path: Path
) -> None:
    """Sources of 1,000 tokens, and translations of 50 more."""
    model = model_of({"N": 1, "max_length": 64}, vocabulary)
    model.target_embeddings.weight.data[EOS_ID] = -1e3  # so the end is never likely
    other = converted(model, vocabulary, tmp_path / "converted")
    tokens = [*vocabulary.encode(" ".join(SENTENCES * 9))[:999], EOS_ID]
    search = SearchConfig(beam=1)
    ((best,),) = beam_search(model, torch.tensor([tokens]), search)
    (found,) = other.translate_batch(
        [vocabulary.pieces(tokens[:-1])],
        beam_size=1,
        max_input_length=0,
        max_decoding_length=1050,
        disable_unk=False,
    )
    assert len(best.tokens) == 1049
    # It begins with a start token.
    assert len(found.hypotheses[0]) >= 1049
    assert found.hypotheses[0][:1049] == vocabulary.pieces(best.tokens)


def test_without_a_penalty_its_beams_find_what_ours_do(
    vocabulary: Vocabulary, tmp_path: Path
) -> None:
    torch.manual_seed(1)
    model = model_of({}, vocabulary)
    other = converted(model, vocabulary, tmp_path / "converted")
    ours = Translator(
        model, vocabulary, SearchConfig(beam=4, alpha=0.0, extra_length=10)
    )
    same = 0
    for sentence in SENTENCES[::3]:
        ((best,),) = ours.n_best([sentence], 1)
        pieces = vocabulary.pieces(vocabulary.encode([sentence])[0][:-1])
        (found,) = other.translate_batch(
            [pieces],
            beam_size=4,
            max_decoding_length=len(pieces) + 10,
            length_penalty=0,
        )
        same += found.hypotheses[0] == [
            piece for piece in vocabulary.pieces(best.tokens) if piece != "</s>"
        ]
    assert same >= 0.9 * len(SENTENCES[::3])


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "relative"},
        {"score": "additive"},
        {"score": "unscaled"},
        {"d_v": 4},
    ],
    ids=str,
)
def test_what_it_cannot_express_is_refused(
    changes: dict[str, Any], vocabulary: Vocabulary, tmp_path: Path
) -> None:
    (name,) = changes
    with pytest.raises(InputError, match=f"to CTranslate2 with .*{name}="):
        write_ctranslate2(
            model_of(changes, vocabulary), vocabulary, tmp_path / "converted"
        )
    assert not list(tmp_path.iterdir())


def test_what_stands_beside_the_folder_stays(
    vocabulary: Vocabulary, tmp_path: Path
) -> None:
    for name in (".converted.part", ".aiayn-mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / "plain").mkdir()
    write_ctranslate2(model_of({}, vocabulary), vocabulary, tmp_path / "converted")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(".aiayn-mine", ".converted.part", "converted", "plain")
    ]
    assert (tmp_path / ".converted.part" / "file").exists()
    assert (tmp_path / ".aiayn-mine" / "file").exists()
    assert (tmp_path / "converted").stat().st_mode == (
        tmp_path / "plain"
    ).stat().st_mode


@pytest.mark.parametrize("target", ["nowhere", "plain"])
def test_a_link_or_folder_is_left_alone(
    vocabulary: Vocabulary, tmp_path: Path, target: str
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / target)
    for place in ("link", "plain"):
        with pytest.raises(InputError, match="is there already; choose another folder"):
            write_ctranslate2(model_of({}, vocabulary), vocabulary, tmp_path / place)
    assert (tmp_path / "link").is_symlink() and not list((tmp_path / "plain").iterdir())


def test_a_place_that_cannot_be_written_is_named(
    vocabulary: Vocabulary, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "converted", tmp_path / ("n" * 256)):
        with pytest.raises(InputError, match="cannot be written"):
            write_ctranslate2(model_of({}, vocabulary), vocabulary, place)
    # Nothing is left half done.
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    write_ctranslate2(model_of({}, vocabulary), vocabulary, tmp_path / ("n" * 255))
