"""CTranslate2, for bench/decoding.py: a process that never imports PyTorch, whose
threads slow CTranslate2 down.

python bench/decoding_ctranslate2.py MODEL float32|int8 THREADS
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ctranslate2
import sentencepiece
from programs import serve


def main() -> None:
    """Load the converted model and translate what is asked for."""
    folder, compute, threads = sys.argv[1:]
    program = ctranslate2.Translator(
        folder, compute_type=compute, intra_threads=int(threads)
    )
    pieces = json.loads(Path(folder, "shared_vocabulary.json").read_text("utf-8"))
    cut = sentencepiece.SentencePieceProcessor(
        model_file=str(Path(folder, "vocabulary.model"))
    )

    def prepare(
        beam: int,
        batches: list[list[list[int]]] | None = None,
        length: int = 0,
        lines: list[str] | None = None,
        batch_tokens: int = 0,
    ) -> Callable[[], Any]:
        how = {"beam_size": beam, "length_penalty": 0}
        if lines is not None:
            sized = {"max_batch_size": batch_tokens, "batch_type": "tokens"}
            found = {"min_decoding_length": 0, "return_scores": True}
            return lambda: [
                (cut.DecodePieces(each.hypotheses[0]), each.scores[0])
                for each in program.translate_batch(
                    cut.EncodeAsPieces(lines), **how, **sized, **found
                )
            ]
        # It adds the end to a source itself.
        named = [
            [[pieces[token] for token in row[:-1]] for row in batch]
            for batch in batches or []
        ]
        limits = {"min_decoding_length": length, "max_decoding_length": length}
        return lambda: [
            each.hypotheses[0]
            for batch in named
            for each in program.translate_batch(batch, **how, **limits)
        ]

    def checked(**request: Any) -> Callable[[], Any]:
        assert "torch" not in sys.modules, "PyTorch slows CTranslate2: keep it out"
        return prepare(**request)

    serve(checked)


if __name__ == "__main__":
    main()
