// A sentence beside another, with the words marked that differ.
"use strict";
globalThis.Playground ??= {};
{
  const { make } = aiayn;

  // The words of a sentence, each with whether it is among those of another: what both
  // have in the same order is the longest common sequence, and the rest is what differs.
  function compare(sentence, other) {
    const [a, b] = [wordsOf(sentence), wordsOf(other)];
    const zeros = () => Array.from({ length: b.length + 1 }, () => 0);
    const common = Array.from({ length: a.length + 1 }, zeros);
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        common[i][j] =
          a[i] === b[j]
            ? common[i + 1][j + 1] + 1
            : Math.max(common[i + 1][j], common[i][j + 1]);
    let j = 0;
    return a.map((word, i) => {
      while (j < b.length && word !== b[j] && common[i][j + 1] >= common[i + 1][j]) j++;
      const same = j < b.length && word === b[j];
      if (same) j++;
      return [word, same];
    });
  }

  // Words, and what stands between them: marks that end a word are none of it.
  const MARKS = /([.,!?;:]+)(?=\s|$)/;
  const wordsOf = (sentence) =>
    sentence.split(" ").flatMap((word) => word.split(MARKS).filter(Boolean));

  // Append a sentence, its words marked where another has not the same.
  Playground.writeMarked = (parent, sentence, other) => {
    compare(sentence, other).forEach(([word, same], i) => {
      if (i && !MARKS.test(word)) parent.append(" ");
      if (same) parent.append(word);
      else make(parent, "mark", {}, word);
    });
  };

  // In a word, how a sentence differs from another: what it has instead or besides, or
  // else what it lacks, with a minus sign.
  Playground.changed = (sentence, other) => {
    const first = (one, two) => compare(one, two).find(([, same]) => !same)?.[0];
    return first(sentence, other) ?? `−${first(other, sentence)}`;
  };
}
