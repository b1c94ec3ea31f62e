// What the page shows of a sentence: its pieces, its translation, and where the heads
// look.
"use strict";
Playground.part((Playground) => {
  const { EOS, UNK } = Playground;
  const MOST = 60; // pieces: a picture of more cannot be read
  const KINDS = ["encoder", "decoder", "cross"];

  // Every head of a model, as "cross 1 2".
  Playground.allHeads = ({ N, h }) =>
    KINDS.flatMap((kind) =>
      Array.from({ length: N * h }, (_, i) => `${kind} ${Math.floor(i / h)} ${i % h}`),
    );

  Playground.Answerer = class Answerer {
    // `pause` is awaited after each step; it throws when nobody waits for the answer any
    // more.
    constructor({ model, vocabulary, longest }) {
      const pause = () => {};
      Object.assign(this, { model, vocabulary, longest, pause, whole: {} });
    }

    // Translate with some heads off. `tell` hears of each step of the search.
    async answer(sentence, silent, tell) {
      const { model, vocabulary } = this;
      const endless = sentence.length > 20 * MOST;
      const source = endless ? [] : vocabulary.encode(sentence);
      if (source.length === 1) return { refused: "empty" };
      if (endless || source.length > MOST + 1) return { refused: "long" };
      const whole = silent.length ? await this.translate(sentence, source) : null;
      const [best] = await this.search(source, silent, 4, tell);
      const text = vocabulary.decode(best.tokens);
      const words = vocabulary.wordsOf(sentence);
      return {
        sentence,
        text,
        whole: whole ?? text,
        steps: best.tokens.length,
        ended: best.tokens.at(-1) === EOS,
        source: this.pieces(source),
        written: this.pieces(best.tokens),
        looks: model.attentionOf(source, best.tokens),
        unknownWords: vocabulary.unknownWords(sentence),
        unknownCharacters: vocabulary.unknownCharacters(sentence),
        longest: words.length > this.longest ? this.longest : null,
      };
    }

    // Each head off, and it alone. `tell` hears what then becomes of the translation.
    async inTurn(sentence, tell) {
      const source = this.vocabulary.encode(sentence);
      const whole = await this.translate(sentence, source);
      for (const head of Playground.allHeads(this.model)) {
        const [best] = await this.search(source, [head], 1);
        tell({ head, text: this.vocabulary.decode(best.tokens), whole });
      }
    }

    // The translation with all heads on; the last one is kept.
    async translate(sentence, source) {
      if (this.whole.sentence !== sentence) {
        const [best] = await this.search(source, [], 1);
        this.whole = { sentence, text: this.vocabulary.decode(best.tokens) };
      }
      return this.whole.text;
    }

    async search(source, silent, nBest, tell) {
      this.model.silent = new Set(silent);
      const steps = Playground.searchSteps(this.model, source, { nBest });
      for (;;) {
        const { done, value } = steps.next();
        if (done) return value;
        const text = ({ tokens, ...rest }) => ({
          text: this.vocabulary.decode(tokens),
          ...rest,
        });
        tell?.({ beam: value.beam.map(text), finished: value.finished.map(text) });
        await this.pause();
      }
    }

    // The pieces of tokens, without the end.
    pieces(tokens) {
      return tokens
        .filter((id) => id !== EOS)
        .map((id) => (id === UNK ? "⁇" : this.vocabulary.pieces[id]));
    }
  };
});
