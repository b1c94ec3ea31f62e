// Two sentences and their translations: the word in which these part, and what becomes of
// it when the output of a head is copied from one run into the other.
"use strict";
Playground.part((Playground) => {
  const { softmax, vectors, EOS } = Playground;

  Playground.Pair = class Pair {
    // Sources and translations are tokens with their ends. They are compared at the first
    // place where they differ, or where their `pronouns` (a set of tokens) do.
    constructor(model, sources, targets, pronouns = new Set()) {
      const [first, second] = targets;
      const differs = first.map((token, i) => token !== second[i]);
      const pronoun = first.findIndex(
        (token, i) => differs[i] && pronouns.has(token) && pronouns.has(second[i]),
      );
      const at = pronoun >= 0 ? pronoun : differs.indexOf(true);
      const parts = at >= 0; // else they are the same: each has its end
      const prefixes = targets.map((target) => target.slice(0, at));
      const words = targets.map((target) => target[at]);
      Object.assign(this, { model, sources, at, parts, prefixes, words });
    }

    // Run 0 or 1: how probable both words are after the prefix, and which is likeliest.
    run(which, outputs) {
      const { model, prefixes, words } = this;
      const xs = model.read(this.sources[which], [...prefixes[which], EOS], { outputs });
      const [scores] = model.score(vectors(xs, model.d_model).at(-1));
      softmax(scores);
      const likeliest = scores.indexOf(Math.max(...scores));
      const probabilities = words.map((word) => scores[word]);
      return { probabilities, likeliest, probability: scores[likeliest] };
    }

    // Whether a head of the encoder can be copied: its sources have as many pieces.
    get alike() {
      const [first, second] = this.sources;
      return first.length === second.length;
    }

    // Run 1 with the output of a head as it is in run 0: of a decoder's head only at one
    // position of the target, if that is named.
    copied(head, position) {
      const [kind, layer, number] = head.split(" ");
      const place = `${kind} ${layer}`;
      this.kept ??= this.keep();
      const { d_model, h } = this.model;
      const width = d_model / h;
      return this.run(1, (ofKind, ofLayer, outputs) => {
        if (`${ofKind} ${ofLayer}` !== place) return;
        const others = this.kept.get(place);
        for (let row = 0; row * d_model < outputs.length; row++) {
          if (kind !== "encoder" && (position ?? row) !== row) continue;
          const from = row * d_model + number * width;
          outputs.set(others.subarray(from, from + width), from);
        }
      });
    }

    // The outputs of all heads in run 0.
    keep() {
      const kept = new Map();
      this.run(0, (kind, layer, outputs) => kept.set(`${kind} ${layer}`, outputs.slice()));
      return kept;
    }
  };
});
