// The parts of the translator in the browser: vocabulary, Transformer, search and what
// joins them.
//
// Each is a function. It is called here, and its text also runs in a worker: one that is
// made of text starts on a page that was opened from disk, too.
"use strict";
globalThis.Playground ??= {};
{
  const parts = [];

  Playground.part = (part) => {
    parts.push(part);
    part(Playground);
  };

  // A worker that has all parts, and does what `begin` does with them.
  Playground.startWorker = (begin) => {
    const text =
      `"use strict"; const Playground = {};\n` +
      `for (const part of [\n${parts.join(",\n")}\n]) part(Playground);\n` +
      `(${begin})(Playground);`;
    const script = new Blob([text], { type: "text/javascript" });
    return new Worker(URL.createObjectURL(script));
  };
}
