// The Transformer in plain JavaScript: aiayn.model.transformer for one sentence, one
// position at a time.
//
// A vector is a Float32Array. A matrix is { shape: [rows, columns], data }, its rows
// one after another, and its name is that of the book's checkpoints. The model has the
// paper's form (chapter 3): sums are normalised after each sub-layer, positions are
// sinusoids, and one matrix serves both languages and the softmax.
"use strict";
globalThis.Playground ??= {};
{
  const range = (n) => Array.from({ length: n }, (_, i) => i);

  // W x, plus a bias where there is one.
  function linear({ shape: [rows, columns], data }, x, bias) {
    const y = new Float32Array(rows);
    for (let row = 0, at = 0; row < rows; row++) {
      let sum = bias ? bias.data[row] : 0;
      for (let column = 0; column < columns; column++, at++)
        sum += data[at] * x[column];
      y[row] = sum;
    }
    return y;
  }

  const plus = (x, y) => x.map((value, i) => value + y[i]);

  // Mean 0 and variance 1, then a gain and a bias that were learned (section 3.1).
  function layerNorm({ weight, bias }, x) {
    const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const scale = 1 / Math.sqrt(variance + 1e-5);
    return x.map((value, i) => (value - mean) * scale * weight.data[i] + bias.data[i]);
  }

  function softmax(scores) {
    const most = Math.max(...scores); // so that nothing overflows
    const exponentials = scores.map((score) => Math.exp(score - most));
    const sum = exponentials.reduce((a, b) => a + b, 0);
    return exponentials.map((value) => value / sum);
  }

  // max(0, x W_1 + b_1) W_2 + b_2 (section 3.3).
  function feedForward({ W_1, W_2 }, x) {
    const hidden = linear(W_1.weight, x, W_1.bias).map((value) => Math.max(0, value));
    return linear(W_2.weight, hidden, W_2.bias);
  }

  Playground.Transformer = class Transformer {
    constructor({ N, h, d_model }, tensors) {
      const parts = (place) => ({
        weight: tensors[`${place}.weight`],
        bias: tensors[`${place}.bias`],
      });
      const attention = (place, kind, layer) => {
        // W^Q, W^K and W^V, one below the other.
        const { data } = tensors[`${place}.projections.weight`];
        const [Q, K, V] = range(3).map((third) => ({
          shape: [d_model, d_model],
          data: data.subarray(third * d_model ** 2, (third + 1) * d_model ** 2),
        }));
        return { kind, layer, Q, K, V, O: tensors[`${place}.W_O.weight`] };
      };
      const layers = (stack) =>
        range(N).map((layer) => {
          const place = `${stack}.layers.${layer}`;
          return {
            own: attention(`${place}.self_attention`, stack, layer),
            cross:
              stack === "decoder" &&
              attention(`${place}.cross_attention`, "cross", layer),
            feedForward: {
              W_1: parts(`${place}.feed_forward.W_1`),
              W_2: parts(`${place}.feed_forward.W_2`),
            },
            norms: range(stack === "encoder" ? 2 : 3).map((sublayer) =>
              parts(`${place}.residuals.${sublayer}.norm`),
            ),
          };
        });
      const embeddings = tensors["target_embeddings.weight"];
      Object.assign(this, { N, h, d_model, embeddings });
      this.encoder = layers("encoder");
      this.decoder = layers("decoder");
      // Heads that are off, as "cross 1 2": kind, layer and head, from 0 on.
      this.silent = new Set();
    }

    // A token's vector times sqrt(d_model), plus its position's sinusoids (sections
    // 3.4, 3.5).
    embed(token, position) {
      const { d_model, embeddings } = this;
      const vector = embeddings.data.slice(token * d_model, (token + 1) * d_model);
      return vector.map((value, i) => {
        const angle = position * 10000 ** (-(i - (i % 2)) / d_model);
        return value * Math.sqrt(d_model) + (i % 2 ? Math.cos(angle) : Math.sin(angle));
      });
    }

    // Multi-head attention: where one position looks, among those whose keys and values
    // are given, and what it gets (section 3.2). Of what a silent head gets nothing is
    // passed on.
    attend({ kind, layer, Q, O }, x, { keys, values }, record) {
      const query = linear(Q, x);
      const d_k = this.d_model / this.h;
      const heads = new Float32Array(this.d_model); // side by side
      const looks = range(this.h).map((head) => {
        const [from, to] = [head * d_k, (head + 1) * d_k];
        const weights = softmax(
          keys.map((key) => {
            let product = 0;
            for (let i = from; i < to; i++) product += query[i] * key[i];
            return product / Math.sqrt(d_k);
          }),
        );
        if (!this.silent.has(`${kind} ${layer} ${head}`))
          for (let i = from; i < to; i++)
            heads[i] = values.reduce((sum, value, j) => sum + weights[j] * value[i], 0);
        return weights;
      });
      record?.(kind, layer, looks);
      return linear(O, heads);
    }

    // Read the source. What the decoder needs are the memory's keys and values in each
    // layer.
    encode(source, record) {
      let xs = source.map((token, position) => this.embed(token, position));
      for (const { own, feedForward: network, norms } of this.encoder) {
        const all = project(own, xs);
        xs = xs.map((x) => {
          const y = layerNorm(norms[0], plus(x, this.attend(own, x, all, record)));
          return layerNorm(norms[1], plus(y, feedForward(network, y)));
        });
      }
      return this.decoder.map(({ cross }) => project(cross, xs));
    }

    // What the decoder knows before its first step: no keys, no values.
    start() {
      return this.decoder.map(() => ({ keys: [], values: [] }));
    }

    // Take one more target token, and score what may follow. The past is the keys and
    // values of the target so far. It is not changed but given back longer: prefixes
    // may share it.
    step(token, past, memory, record) {
      let x = this.embed(token, past[0].keys.length);
      past = this.decoder.map(({ own, cross, feedForward: network, norms }, layer) => {
        const latest = project(own, [x]);
        const longer = {
          keys: [...past[layer].keys, ...latest.keys],
          values: [...past[layer].values, ...latest.values],
        };
        x = layerNorm(norms[0], plus(x, this.attend(own, x, longer, record)));
        x = layerNorm(norms[1], plus(x, this.attend(cross, x, memory[layer], record)));
        x = layerNorm(norms[2], plus(x, feedForward(network, x)));
        return longer;
      });
      return { logits: linear(this.embeddings, x), past };
    }

    // Where every head looks while the model reads a source and writes that target,
    // which ends with the end token: for each kind and layer, each position that looks,
    // and each head, a weight for each position that is looked at. The decoder begins
    // with the start token, and so it writes each token one place before it reads it.
    attentionOf(source, target) {
      const looks = { encoder: [], decoder: [], cross: [] };
      const record = (kind, layer, weights) =>
        (looks[kind][layer] ??= []).push(weights);
      const memory = this.encode(source, record);
      let past = this.start();
      for (const token of [Playground.BOS, ...target.slice(0, -1)])
        ({ past } = this.step(token, past, memory, record));
      return looks;
    }
  };

  const project = ({ K, V }, xs) => ({
    keys: xs.map((x) => linear(K, x)),
    values: xs.map((x) => linear(V, x)),
  });
}
