// Answers that came with the page (site/extensions/playground_models.py): they stand
// there at once, before a model is fetched.
"use strict";
{
  // Of the weights there are only hundredths, a byte each: those of a layer after those
  // of another, and in it position by position that looks, head by head, and then a
  // weight for each position that is looked at.
  Playground.unpackAnswer = (stored, { N, h }) => {
    const [source, written] = [stored.source.length + 1, stored.written.length + 1];
    const sizes = {
      encoder: [source, source],
      decoder: [written, written],
      cross: [written, source],
    };
    const looks = {};
    for (const [kind, [queries, keys]] of Object.entries(sizes)) {
      const bytes = atob(stored.looks[kind]);
      let at = 0;
      const many = (n, make) => Array.from({ length: n }, make);
      const weight = () => bytes.charCodeAt(at++) / 100;
      const position = () => many(h, () => many(keys, weight));
      looks[kind] = many(N, () => many(queries, position));
    }
    return { ...stored, whole: stored.text, ended: true, unknownCharacters: [], looks };
  };
}
