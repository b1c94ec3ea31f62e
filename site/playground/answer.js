// What the page shows of a sentence: its pieces, its translation, and where the heads
// look.
"use strict";
Playground.part((Playground) => {
  const { EOS, UNK } = Playground;
  const MOST = 60; // pieces: a picture of more cannot be read
  const KINDS = ["encoder", "decoder", "cross"];
  const PRONOUNS = ["er", "sie", "es", "ihn", "ihm"];

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
      const { source, refused } = this.read(sentence);
      if (refused) return { refused };
      const whole = silent.length ? await this.translate(sentence, source) : null;
      const [best] = await this.search(source, silent, 4, tell);
      this.last = [source, best.tokens];
      const described = this.describe(sentence, source, best.tokens);
      return {
        ...described,
        whole: whole ?? described.text,
        looks: this.model.attentionOf(source, best.tokens),
      };
    }

    // What would be written after each layer of the decoder where the last answer is
    // written; the end is no piece.
    async lens() {
      const layers = await Playground.lens(this.model, ...this.last, () => this.pause());
      const piece = ([token, probability]) => [this.pieces([token])[0], probability];
      return layers.map((places) => places.map((best) => best.map(piece)));
    }

    // The tokens of a sentence, or why it is refused.
    read(sentence) {
      const endless = sentence.length > 20 * MOST;
      const source = endless ? [] : this.vocabulary.encode(sentence);
      if (source.length === 1) return { refused: "empty" };
      if (endless || source.length > MOST + 1) return { refused: "long" };
      return { source };
    }

    // A sentence and its translation in words and pieces, and what is odd about them.
    describe(sentence, source, target) {
      const { vocabulary } = this;
      const words = vocabulary.wordsOf(sentence);
      return {
        sentence,
        text: vocabulary.decode(target),
        ended: target.at(-1) === EOS,
        source: this.pieces(source),
        written: this.pieces(target),
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

    // Two sentences, and the word in which their translations part.
    async compare(sentences, silent) {
      const sides = [];
      for (const sentence of sentences) {
        const { source, refused } = this.read(sentence);
        if (refused) return { refused };
        const [{ tokens }] = await this.search(source, silent, 1);
        sides.push({ source, tokens, answer: this.describe(sentence, source, tokens) });
      }
      const [sources, targets] = ["source", "tokens"].map((key) =>
        sides.map((side) => side[key]),
      );
      const { pieces } = this.vocabulary;
      const pronouns = new Set(PRONOUNS.map((word) => pieces.indexOf(`▁${word}`)));
      const pair = new Playground.Pair(this.model, sources, targets, pronouns);
      Object.assign(this, { pair, pairSilent: silent });
      const answers = sides.map(({ answer }) => answer);
      if (!pair.parts) return { answers };
      const { at, alike } = pair;
      return { answers, at, alike, runs: [0, 1].map((which) => this.named(pair.run(which))) };
    }

    // The second of the two with a head's output copied from the first.
    copy(head, position) {
      this.model.silent = new Set(this.pairSilent);
      return this.named(this.pair.copied(head, position));
    }

    // The same with each head in turn. `tell` hears what becomes of the word.
    async copyInTurn(position, tell) {
      for (const head of Playground.allHeads(this.model)) {
        if (head.startsWith("encoder") && !this.pair.alike) continue;
        await this.pause();
        tell({ head, run: this.copy(head, position) });
      }
      tell({ done: true });
    }

    // A run of a pair with the likeliest token as a piece; the end is none.
    named({ likeliest, ...run }) {
      return { ...run, likeliest: this.pieces([likeliest])[0] };
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
