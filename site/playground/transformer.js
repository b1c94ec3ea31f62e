// The Transformer in plain JavaScript: aiayn.model.transformer for one sentence.
//
// Tensors have the names of the book's checkpoints. The model has the paper's form
// (chapter 3): sums are normalised after each sub-layer, positions are sinusoids, and one
// matrix serves both languages and the softmax.
"use strict";
Playground.part((Playground) => {
  const { linear, vectors, addAndNormalise, softmax } = Playground;
  const range = (n) => Array.from({ length: n }, (_, i) => i);

  // max(0, x W_1 + b_1) W_2 + b_2 (section 3.3).
  function feedForward({ W_1, W_2 }, xs) {
    const hidden = linear(W_1.weight, xs, W_1.bias);
    for (let i = 0; i < hidden.length; i++) if (hidden[i] < 0) hidden[i] = 0;
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
        const [Q, K, V] = vectors(data, d_model ** 2).map((third) => ({
          shape: [d_model, d_model],
          data: third,
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
            network: {
              W_1: parts(`${place}.feed_forward.W_1`),
              W_2: parts(`${place}.feed_forward.W_2`),
            },
            norms: range(stack === "encoder" ? 2 : 3).map((sublayer) =>
              parts(`${place}.residuals.${sublayer}.norm`),
            ),
          };
        });
      Object.assign(this, { N, h, d_model, sinusoids: [] });
      this.embeddings = tensors["target_embeddings.weight"];
      this.encoder = layers("encoder");
      this.decoder = layers("decoder");
      // Heads that are off, as "cross 1 2": kind, layer and head, from 0 on.
      this.silent = new Set();
    }

    // The sinusoids of a position (section 3.5).
    sinusoid(position) {
      return (this.sinusoids[position] ??= Float32Array.from(range(this.d_model), (i) => {
        const angle = position * 10000 ** (-(i - (i % 2)) / this.d_model);
        return i % 2 ? Math.cos(angle) : Math.sin(angle);
      }));
    }

    // Tokens' vectors times sqrt(d_model), plus their positions' sinusoids (section 3.4).
    // The first has position `from`, and each next one the next, or all have the same.
    embed(tokens, from, together = false) {
      const { d_model, embeddings } = this;
      const scale = Math.sqrt(d_model);
      const xs = new Float32Array(tokens.length * d_model);
      tokens.forEach((token, row) => {
        const position = this.sinusoid(together ? from : from + row);
        for (let i = 0; i < d_model; i++)
          xs[row * d_model + i] =
            embeddings.data[token * d_model + i] * scale + position[i];
      });
      return xs;
    }

    // Keys and values, one vector for each of xs.
    project({ K, V }, xs) {
      return {
        keys: vectors(linear(K, xs), this.d_model),
        values: vectors(linear(V, xs), this.d_model),
      };
    }

    // Multi-head attention: where each of xs looks, among those whose keys and values it
    // sees, and what it gets (section 3.2). Of what a silent head gets nothing is passed
    // on. Whoever watches hears where the heads look, of each of xs in turn, and then gets
    // their outputs, and may change them.
    attend({ kind, layer, Q, O }, xs, seen, watch) {
      const { h, d_model, silent } = this;
      const d_k = d_model / h;
      const queries = linear(Q, xs);
      const results = new Float32Array(xs.length); // of the heads, side by side
      seen.forEach(({ keys, values }, row) => {
        const looks = range(h).map((head) => {
          const [from, at] = [head * d_k, row * d_model + head * d_k];
          const weights = new Float32Array(keys.length);
          for (let j = 0; j < keys.length; j++) {
            let product = 0;
            for (let i = 0; i < d_k; i++)
              product += queries[at + i] * keys[j][from + i];
            weights[j] = product / Math.sqrt(d_k);
          }
          softmax(weights);
          if (!silent.has(`${kind} ${layer} ${head}`))
            for (let j = 0; j < values.length; j++)
              for (let i = 0; i < d_k; i++)
                results[at + i] += weights[j] * values[j][from + i];
          return weights;
        });
        watch.looks?.(kind, layer, looks);
      });
      watch.outputs?.(kind, layer, results);
      return linear(O, results);
    }

    // Read the source. What the decoder needs are the memory's keys and values in each
    // layer.
    encode(source, watch = {}) {
      const xs = this.embed(source, 0);
      for (const { own, network, norms } of this.encoder) {
        const all = this.project(own, xs);
        const seen = source.map(() => all);
        addAndNormalise(norms[0], xs, this.attend(own, xs, seen, watch));
        addAndNormalise(norms[1], xs, feedForward(network, xs));
      }
      return this.decoder.map(({ cross }) => this.project(cross, xs));
    }

    // The decoder's layers. `see` says, given the layer and the keys and values of xs,
    // which ones each of xs may look at. Whoever watches hears of xs after each layer.
    decode(xs, see, memory, watch = {}) {
      this.decoder.forEach(({ own, cross, network, norms }, layer) => {
        const seen = see(layer, this.project(own, xs));
        addAndNormalise(norms[0], xs, this.attend(own, xs, seen, watch));
        const source = seen.map(() => memory[layer]);
        addAndNormalise(norms[1], xs, this.attend(cross, xs, source, watch));
        addAndNormalise(norms[2], xs, feedForward(network, xs));
        watch.states?.(xs);
      });
    }

    // What the decoder knows before its first step: no keys, no values.
    start() {
      return this.decoder.map(() => ({ keys: [], values: [] }));
    }

    // Take one more token for each of several targets of the same length, and score what
    // may follow. The past of a target is the keys and values of its tokens so far. It is
    // not changed but given back longer: targets may share it.
    step(tokens, pasts, memory) {
      const xs = this.embed(tokens, pasts[0][0].keys.length, true);
      const longer = tokens.map(() => []);
      const see = (layer, latest) =>
        pasts.map((past, row) => {
          const { keys, values } = past[layer];
          return (longer[row][layer] = {
            keys: [...keys, latest.keys[row]],
            values: [...values, latest.values[row]],
          });
        });
      this.decode(xs, see, memory);
      return { logits: this.score(xs), pasts: longer };
    }

    // Score what may follow each of xs.
    score(xs) {
      return vectors(linear(this.embeddings, xs), this.embeddings.shape[0]);
    }

    // Read a source and a whole target, which ends with the token that is written last.
    // Gives the decoder's last states, one for each token of the target: it begins with
    // the start token, and so it writes each token one place before it reads it.
    read(source, target, watch) {
      const memory = this.encode(source, watch);
      const see = (_, { keys, values }) =>
        keys.map((_key, row) => ({
          keys: keys.slice(0, row + 1),
          values: values.slice(0, row + 1),
        }));
      const xs = this.embed([Playground.BOS, ...target.slice(0, -1)], 0);
      this.decode(xs, see, memory, watch);
      return xs;
    }

    // Where every head looks while the model reads a source and writes that target: for
    // each kind and layer, each position that looks, and each head, a weight for each
    // position that is looked at.
    attentionOf(source, target) {
      const all = { encoder: [], decoder: [], cross: [] };
      const looks = (kind, layer, weights) => (all[kind][layer] ??= []).push(weights);
      this.read(source, target, { looks });
      return all;
    }
  };
});
