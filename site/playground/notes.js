// What a reader ought to know about a sentence and its translation.
"use strict";
{
  const REFUSALS = {
    empty: "There is no sentence yet. Type one, or choose an example.",
    long: "This sentence is too long: the page has room for 60 pieces. Try a shorter one.",
  };
  const CUT =
    "The search was stopped at its limit, the length of the sentence plus 50: " +
    "this is no whole translation.";

  Playground.ABOUT_HEADS = [
    "Press a picture to see it large; the arrow keys go to the next. Take the tick " +
      "away to switch the head off.",
    "The pictures of the decoder’s own attention stay within a triangle, because a " +
      "German word sees only the words before it: the causal mask hides the rest. " +
      "Their columns are shifted by one against the rows, because the decoder reads a " +
      "start token first, and then the words that it has written.",
  ];

  Playground.notesOn = ({ refused, unknownWords, unknownCharacters, ...answer }) => {
    if (refused) return [REFUSALS[refused]];
    const notes = [];
    if (unknownWords.length)
      notes.push(
        `The model has never seen: ${unknownWords.join(", ")}. ` +
          "It writes something all the same.",
      );
    else if (unknownCharacters.length)
      notes.push(
        `The vocabulary does not have: ${unknownCharacters.join(", ")}. ` +
          "The model cannot tell such characters apart.",
      );
    if (answer.longest)
      notes.push(
        "No sentence that it was trained on has more than " +
          `${answer.longest} words and marks.`,
      );
    if (!answer.ended) notes.push(CUT);
    return notes;
  };
}
