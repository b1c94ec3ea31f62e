// The trained model, fetched when a reader asks for it.
//
// It comes as a script, made by site/extensions/playground.py: a script also loads from a
// page that was opened from disk, where fetch() is forbidden. Inside are the pieces,
// the words, and the weights as a safetensors file in base64.
"use strict";
globalThis.Playground ??= {};
{
  // Gives { model, vocabulary, longest }; asked twice, it loads once.
  Playground.load = (address) =>
    (loading ??= fetchScript(address).then(unpack).catch(forget));
  let loading = null;

  function fetchScript(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const wrong = () => reject(new Error("What came is not the model."));
      script.onload = () => (Playground.file ? resolve(Playground.file) : wrong());
      script.onerror = () => reject(new Error("The model could not be loaded."));
      script.src = address;
      document.head.append(script);
    });
  }

  function forget(error) {
    loading = null; // the next click tries again
    throw error;
  }

  function unpack({ config, pieces, words, longest, weights }) {
    const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
    delete Playground.file; // two megabytes that nobody needs any more
    const vocabulary = new Playground.Vocabulary(pieces, words);
    const model = new Playground.Transformer(config, readSafetensors(bytes.buffer));
    return { model, vocabulary, longest };
  }

  // Eight bytes with the length of the header; the header, which says what lies where;
  // the numbers.
  function readSafetensors(buffer) {
    const length = Number(new DataView(buffer).getBigUint64(0, true));
    const text = new TextDecoder().decode(new Uint8Array(buffer, 8, length));
    const header = JSON.parse(text);
    delete header.__metadata__;
    return Object.fromEntries(
      Object.entries(header).map(([name, { shape, data_offsets: [from, to] }]) => {
        const data = new Float32Array(buffer.slice(8 + length + from, 8 + length + to));
        return [name, { shape, data }];
      }),
    );
  }
}
