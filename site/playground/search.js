// Beam search: aiayn.decoding.beam_search for one sentence. It also tells what the beam
// held at every step, to look at.
"use strict";
Playground.part((Playground) => {
  // The paper's (section 6.1).
  const PAPER = { beam: 4, alpha: 0.6, extraLength: 50, nBest: 1 };

  const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

  // By how much the logits exceed the log probabilities.
  function logSum(logits) {
    let [most, sum] = [-Infinity, 0];
    for (const logit of logits) if (logit > most) most = logit;
    for (const logit of logits) sum += Math.exp(logit - most);
    return most + Math.log(sum);
  }

  // The likeliest ways to lengthen a prefix of the beam by one token, best first.
  function expand(beam, width) {
    const best = [];
    for (const { tokens, logProbability, past, logits } of beam) {
      const start = logProbability - logSum(logits);
      for (let token = 0; token < logits.length; token++) {
        const total = start + logits[token];
        if (best.length === width && total <= best[width - 1].logProbability) continue;
        if (best.length === width) best.pop();
        const place = best.findIndex((other) => other.logProbability < total);
        const longer = { tokens: [...tokens, token], logProbability: total, past };
        best.splice(place < 0 ? best.length : place, 0, longer);
      }
    }
    return best;
  }

  // Yields a step at a time: the prefixes in the beam, and what is finished by then.
  // Gives the finished translations, best first. `source` is tokens with their end.
  Playground.searchSteps = function* searchSteps(model, source, options = {}) {
    const { beam: size, alpha, extraLength, nBest } = { ...PAPER, ...options };
    const limit = Math.max(1, source.length - 1 + extraLength);
    const memory = model.encode(source);
    let finished = [];
    let beam = [{ tokens: [], logProbability: 0, past: model.start() }];

    const finish = ({ tokens, logProbability }) => {
      const score = logProbability / lengthPenalty(tokens.length, alpha);
      finished = [...finished, { tokens, logProbability, score }];
      finished = finished.sort((a, b) => b.score - a.score).slice(0, size);
    };
    // A prefix only loses probability by growing, and no length divides it by more than
    // the limit does.
    const complete = () =>
      finished.length >= nBest &&
      finished[nBest - 1].score >= beam[0].logProbability / lengthPenalty(limit, alpha);

    for (let length = 1; length <= limit; length++) {
      const last = beam.map(({ tokens }) => tokens.at(-1) ?? Playground.BOS);
      const pasts = beam.map(({ past }) => past);
      const next = model.step(last, pasts, memory);
      beam.forEach((prefix, row) => {
        [prefix.logits, prefix.past] = [next.logits[row], next.pasts[row]];
      });
      const longer = expand(beam, size > 1 ? 2 * size : 1); // half of them may end here
      const ends = ({ tokens }) => tokens.at(-1) === Playground.EOS;
      longer.filter(ends).forEach(finish);
      beam = longer.filter((prefix) => !ends(prefix)).slice(0, size);
      const held = ({ tokens, logProbability }) => ({ tokens, logProbability });
      yield { beam: beam.map(held), finished };
      if (!beam.length || complete()) break;
    }
    // The limit is met with nothing finished: prefixes must do.
    if (!finished.length) beam.forEach(finish);
    return finished.slice(0, nBest);
  };

  // The same without stops: the finished translations.
  Playground.search = (model, source, options) => {
    const steps = Playground.searchSteps(model, source, options);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  };
});
