// A sentence beside another, with the words marked that differ.
"use strict";
globalThis.Playground ??= {};
{
  const { make } = aiayn;

  // Append a sentence, its words marked where they are not among those of another: what
  // both have in the same order is the longest common sequence, and the rest is what
  // differs.
  Playground.writeMarked = (parent, sentence, other) => {
    const [a, b] = [sentence.split(" "), other.split(" ")];
    const zeros = () => Array.from({ length: b.length + 1 }, () => 0);
    const common = Array.from({ length: a.length + 1 }, zeros);
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        common[i][j] =
          a[i] === b[j]
            ? common[i + 1][j + 1] + 1
            : Math.max(common[i + 1][j], common[i][j + 1]);
    for (let i = 0, j = 0; i < a.length; i++) {
      while (j < b.length && a[i] !== b[j] && common[i][j + 1] >= common[i + 1][j]) j++;
      const same = j < b.length && a[i] === b[j];
      if (same) j++;
      if (i) parent.append(" ");
      if (same) parent.append(a[i]);
      else make(parent, "mark", {}, a[i]);
    }
  };
}
