// Pieces of sentences, as people read them.
"use strict";
{
  // A dot stands before a piece that continues a word.
  Playground.forPeople = (piece) => {
    if (piece.startsWith("▁")) return piece.slice(1) || "␣";
    return /^[\p{L}\p{N}]/u.test(piece) ? `·${piece}` : piece;
  };

  // The pieces of an answer: the source, what the decoder reads, and what it writes at
  // the same places.
  Playground.sidesOf = ({ source, written, ended }) => {
    const pieces = written.map(Playground.forPeople);
    const writes = ended ? [...pieces, "‹end›"] : pieces;
    return {
      source: [...source.map(Playground.forPeople), "‹end›"],
      reads: ["‹start›", ...writes.slice(0, -1)],
      writes,
    };
  };
}
