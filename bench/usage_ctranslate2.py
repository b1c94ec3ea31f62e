"""CTranslate2, for bench/usage.py: a process that never imports PyTorch.

python bench/usage_ctranslate2.py MODEL float32|int8 THREADS          # answers requests
python bench/usage_ctranslate2.py MODEL float32|int8 THREADS BEAM < LINES > TRANSLATIONS
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ctranslate2
import sentencepiece
from programs import serve, timed


def main() -> None:
    """Translate what is asked for, or what comes in."""
    folder, compute, threads, *beams = sys.argv[1:]
    program = ctranslate2.Translator(
        folder, compute_type=compute, intra_threads=int(threads)
    )
    pieces = sentencepiece.SentencePieceProcessor(
        model_file=str(Path(folder, "vocabulary.model"))
    )

    def translate(lines: list[str], beam: int, batch_tokens: int) -> list[str]:
        found = program.translate_batch(
            pieces.EncodeAsPieces(lines),
            beam_size=beam,
            max_batch_size=batch_tokens,  # 0, the default: all at once
            batch_type="tokens" if batch_tokens else "examples",
        )
        return [pieces.DecodePieces(each.hypotheses[0]) for each in found]

    def prepare(
        lines: list[str], beam: int, calls: int, batch_tokens: int
    ) -> Callable[[], Any]:
        assert "torch" not in sys.modules, "PyTorch slows CTranslate2: keep it out"
        return lambda: timed(
            lambda some: translate(some, beam, batch_tokens), lines, calls
        )

    if beams:
        lines = sys.stdin.read().splitlines()
        print(*translate(lines, int(beams[0]), 0), sep="\n")
    else:
        serve(prepare)


if __name__ == "__main__":
    main()
