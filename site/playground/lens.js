// What the model would write if its decoder stopped after a layer (the logit lens): the
// output matrix is applied to the states there, as it is to the last ones. Each layer ends
// with a normalisation, and none stands after the last, so none is added.
"use strict";
Playground.part((Playground) => {
  const { softmax } = Playground;
  const SHOWN = 3;

  // For each layer of the decoder, and each token of the target, the likeliest tokens
  // there: [token, probability], best first. `pause` is awaited between the layers.
  Playground.lens = async (model, source, target, pause = () => {}) => {
    const states = [];
    model.read(source, target, { states: (xs) => states.push(xs.slice()) });
    const layers = [];
    for (const xs of states) {
      await pause();
      layers.push(model.score(xs).map(likeliest));
    }
    return layers;
  };

  function likeliest(scores) {
    softmax(scores);
    const best = [];
    scores.forEach((probability, token) => {
      if (best.length === SHOWN && probability <= best.at(-1)[1]) return;
      const place = best.findIndex(([, other]) => other < probability);
      best.splice(place < 0 ? best.length : place, 0, [token, probability]);
      if (best.length > SHOWN) best.pop();
    });
    return best;
  }
});
