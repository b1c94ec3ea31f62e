// Pieces of sentences, as people read them.
"use strict";
{
  // A dot stands before a piece that continues a word. None is the end.
  Playground.forPeople = (piece = "‹end›") => {
    if (piece.startsWith("▁")) return piece.slice(1) || "␣";
    return /^[\p{L}\p{N}]/u.test(piece) ? `·${piece}` : piece;
  };

  // The piece that an answer writes at a place; dots stand for the rest of its word.
  Playground.labelOf = ({ written }, at) => {
    if (at >= written.length) return "‹end›";
    const next = Playground.forPeople(written[at + 1] ?? "");
    return Playground.forPeople(written[at]) + (next.startsWith("·") ? "…" : "");
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
