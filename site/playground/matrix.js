// Numbers in rows: what the Transformer does to vectors.
//
// Vectors lie one after another in a Float32Array. A matrix is { shape: [rows, columns],
// data }, its rows one after another as well.
"use strict";
Playground.part((Playground) => {
  // W x, plus a bias where there is one, for each of several vectors x. Two rows of the
  // matrix meet four vectors at a time: each number is fetched once for all its products.
  // Where fewer are left, the last one is done again, to the same end.
  Playground.linear = ({ shape: [rows, columns], data }, xs, bias) => {
    const last = xs.length / columns - 1;
    const ys = new Float32Array((last + 1) * rows);
    const four = new Float64Array(4 * columns); // numbers of the same column side by side
    for (let first = 0; first <= last; first += 4) {
      const j = Math.min(first + 1, last);
      const k = Math.min(first + 2, last);
      const l = Math.min(first + 3, last);
      for (let column = 0; column < columns; column++) {
        four[4 * column] = xs[first * columns + column];
        four[4 * column + 1] = xs[j * columns + column];
        four[4 * column + 2] = xs[k * columns + column];
        four[4 * column + 3] = xs[l * columns + column];
      }
      for (let row = 0; row < rows; row += 2) {
        const next = Math.min(row + 1, rows - 1);
        let p = bias ? bias.data[row] : 0;
        let t = bias ? bias.data[next] : 0;
        let [q, r, s, u, v, w] = [p, p, p, t, t, t];
        let at = row * columns;
        let below = next * columns;
        for (let i = 0; i < four.length; i += 4) {
          const one = data[at++];
          const two = data[below++];
          p += one * four[i];
          q += one * four[i + 1];
          r += one * four[i + 2];
          s += one * four[i + 3];
          t += two * four[i];
          u += two * four[i + 1];
          v += two * four[i + 2];
          w += two * four[i + 3];
        }
        ys[first * rows + row] = p;
        ys[j * rows + row] = q;
        ys[k * rows + row] = r;
        ys[l * rows + row] = s;
        ys[first * rows + next] = t;
        ys[j * rows + next] = u;
        ys[k * rows + next] = v;
        ys[l * rows + next] = w;
      }
    }
    return ys;
  };

  // The vectors of so many numbers each, one by one. They share the numbers.
  Playground.vectors = (xs, width) =>
    Array.from({ length: xs.length / width }, (_, i) =>
      xs.subarray(i * width, (i + 1) * width),
    );

  // Add ys to xs and normalise each vector: mean 0 and variance 1, then a gain and a bias
  // that were learned (section 3.1). The result lies in xs.
  Playground.addAndNormalise = ({ weight, bias }, xs, ys) => {
    const width = weight.data.length;
    for (let from = 0; from < xs.length; from += width) {
      let [sum, squares] = [0, 0];
      for (let i = 0; i < width; i++) sum += xs[from + i] += ys[from + i];
      const mean = sum / width;
      for (let i = 0; i < width; i++) squares += (xs[from + i] - mean) ** 2;
      const scale = 1 / Math.sqrt(squares / width + 1e-5);
      for (let i = 0; i < width; i++)
        xs[from + i] = (xs[from + i] - mean) * scale * weight.data[i] + bias.data[i];
    }
  };

  // Scores become weights that sum to 1, in their place.
  Playground.softmax = (scores) => {
    let [most, sum] = [-Infinity, 0];
    for (const score of scores) if (score > most) most = score; // nothing overflows
    for (let i = 0; i < scores.length; i++)
      sum += scores[i] = Math.exp(scores[i] - most);
    for (let i = 0; i < scores.length; i++) scores[i] /= sum;
  };
});
