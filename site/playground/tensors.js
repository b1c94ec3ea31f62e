// The trained model, made of what its file holds: aiayn.training.tensor_files.
"use strict";
Playground.part((Playground) => {
  // Gives { model, vocabulary, longest }, of the settings, the pieces, perhaps the known
  // words and the most words of a training sentence, and a safetensors file in base64.
  Playground.unpack = ({ config, pieces, words, longest }, weights) => {
    const vocabulary = new Playground.Vocabulary(pieces, words);
    const tensors = readSafetensors(bytesOf(weights).buffer);
    return { model: new Playground.Transformer(config, tensors), vocabulary, longest };
  };

  function bytesOf(base64) {
    const letters = atob(base64);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
  }

  // Eight bytes with the length of the header; the header, which says what lies where;
  // the numbers. A matrix in eight bits has a scale for each row, by which it is
  // multiplied out.
  function readSafetensors(buffer) {
    const length = Number(new DataView(buffer).getBigUint64(0, true));
    const text = new TextDecoder().decode(new Uint8Array(buffer, 8, length));
    const tensors = {};
    for (const [name, entry] of Object.entries(JSON.parse(text))) {
      if (name === "__metadata__") continue;
      const [from, to] = entry.data_offsets.map((offset) => 8 + length + offset);
      const data = NUMBERS[entry.dtype](buffer.slice(from, to));
      tensors[name] = { shape: entry.shape, data };
    }
    for (const [name, { data: scales }] of Object.entries(tensors)) {
      if (!name.endsWith(SCALES)) continue;
      const { shape, data } = tensors[name.slice(0, -SCALES.length)];
      for (let i = 0; i < data.length; i++) data[i] *= scales[Math.floor(i / shape[1])];
      delete tensors[name];
    }
    return tensors;
  }

  const SCALES = "/scales";
  const NUMBERS = {
    F32: (buffer) => new Float32Array(buffer),
    I8: (buffer) => Float32Array.from(new Int8Array(buffer)),
    F16: (buffer) => Float32Array.from(new Uint16Array(buffer), half),
  };

  // A number of 16 bits: a sign, five bits of exponent, ten of fraction.
  function half(bits) {
    const [sign, exponent, fraction] = [bits >> 15, (bits >> 10) & 31, bits & 1023];
    const size = exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction / 2 ** 24;
    return sign ? -size : size;
  }
});
