// Sentences cut into pieces, and put together again, as sentencepiece does it for
// aiayn.data.vocabulary.
"use strict";
Playground.part((Playground) => {
  const [PAD, UNK, BOS, EOS] = [0, 1, 2, 3];
  const SPACE = "▁"; // sentencepiece writes a space so that it can be seen
  const MARGIN =
    "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680" +
    "\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
  // What shows as a space, and what does not show at all (aiayn.data.lines).
  const BLANK = new RegExp(MARGIN.replace("x20", "x1f").replace("]+", "\\u2800▁]"), "u");
  const HIDDEN =
    "\\xad|\\u034f|\\u061c|[\\u115f-\\u1160\\u17b4-\\u17b5]|[\\u180b-\\u180f]|" +
    "[\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f]|\\u3164|" +
    "[\\ufe00-\\ufe0f]|\\ufeff|\\uffa0";
  const UNSEEN = new RegExp(`${BLANK.source}|${HIDDEN}`, "gu");
  const WORD =
    /'s(?![\p{L}\p{N}])|[\p{L}\p{M}\p{N}]+(?:[-'’](?!s(?![\p{L}\p{N}]))\p{L}+)*|\S/gu;

  Playground.Vocabulary = class Vocabulary {
    // The pieces in the order of their numbers, which is the order in which they were
    // learned; and the words of the training sentences, if these are few.
    constructor(pieces, words) {
      this.pieces = pieces;
      this.ids = new Map(pieces.map((piece, id) => [piece, id]).slice(EOS + 1));
      this.known = words && new Set(words);
    }

    // Byte-pair encoding: begin with single characters, and join what was learned
    // first, as long as any two neighbours make a piece. The tokens end with the end of
    // the sentence.
    encode(sentence) {
      const parts = [...normalise(sentence, this.ids)];
      for (;;) {
        let [best, at] = [Infinity, -1];
        for (let i = 0; i + 1 < parts.length; i++) {
          const id = this.ids.get(parts[i] + parts[i + 1]);
          if (id < best) [best, at] = [id, i];
        }
        if (at < 0) break;
        parts.splice(at, 2, parts[at] + parts[at + 1]);
      }
      const tokens = parts.map((part) => this.ids.get(part) ?? UNK);
      // Unknown letters in a row are one unknown token.
      return [...tokens.filter((id, i) => id !== UNK || tokens[i - 1] !== UNK), EOS];
    }

    // Plain text again; special tokens vanish, and an unknown one is shown as
    // sentencepiece shows it.
    decode(tokens) {
      let text = "";
      for (const id of tokens) {
        if (id === PAD || id === BOS || id === EOS) continue;
        const piece = id === UNK ? " ⁇ " : this.pieces[id];
        text += (text ? piece : piece.replace(SPACE, "")).replaceAll(SPACE, " ");
      }
      return text;
    }

    // The words and marks of a sentence; the 's of a genitive counts as one, as it does
    // in the synthetic corpus.
    wordsOf(sentence) {
      return sentence.match(WORD) ?? [];
    }

    // The words of a sentence that no training sentence has, if those are listed.
    unknownWords(sentence) {
      const words = new Set(this.known && this.wordsOf(sentence));
      return [...words].filter((word) => !this.known.has(word));
    }

    // The characters of a sentence that are no piece: each is read as the unknown one.
    unknownCharacters(sentence) {
      const characters = new Set(normalise(sentence, this.ids));
      return [...characters].filter((character) => !this.ids.has(character));
    }
  };

  // What happens before pieces are looked at: letters are composed, what is no piece and
  // cannot be seen is left out, and there is one space between words, and one before the
  // first. The margins are cut as Python's strip() does it, which is not quite what
  // trim() does.
  function normalise(sentence, pieces) {
    const margins = new RegExp(`^${MARGIN}|${MARGIN}$`, "g");
    const seen = (sign) => (pieces.has(sign) ? sign : BLANK.test(sign) ? " " : "");
    const text = sentence
      .toWellFormed()
      .replace(margins, "")
      .normalize("NFC")
      .replace(UNSEEN, seen)
      .replace(/^ +| +$/g, "");
    return text && (SPACE + text.replace(/ +/g, SPACE)).replace(/▁+$/, "");
  }

  Object.assign(Playground, { PAD, UNK, BOS, EOS });
});
