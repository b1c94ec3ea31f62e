// A translator in a worker of its own, so that the page never waits for it: its file is
// fetched once, and then it answers the latest request and forgets those before.
"use strict";
{
  // The files that came, by name (site/extensions/playground_models.py).
  Playground.arrived = new Map();

  Playground.Engine = class Engine {
    constructor(addresses) {
      Object.assign(this, { addresses, ready: false, loading: null, request: 0 });
    }

    // Fetch the model, once; after a failure the next call tries again. `tell` hears
    // which share has come.
    load(tell) {
      this.loading ??= this.start(tell).catch((error) => {
        this.loading = null;
        throw error;
      });
      return this.loading;
    }

    async start(tell) {
      let came = 0;
      this.share = 0;
      const fetched = this.addresses.map(async (address) => {
        const content = await fetchScript(address);
        tell((this.share = ++came / this.addresses.length));
        return content;
      });
      const [settings, ...weights] = await Promise.all(fetched);
      this.worker = Playground.startWorker(serve);
      await new Promise((resolve, reject) => {
        this.worker.onmessage = ({ data }) =>
          data.ready ? resolve() : reject(new Error(WRONG));
        this.worker.onerror = () => reject(new Error(WRONG));
        this.worker.postMessage({ settings, weights });
      });
      this.ready = true;
    }

    // Send the worker a request; it gives up the one before. `hear` gets its messages.
    ask(request, hear) {
      const id = ++this.request;
      this.worker.onmessage = ({ data }) => data.id === this.request && hear(data);
      this.worker.postMessage({ ...request, id });
    }

    // Give up what was asked for.
    cancel() {
      if (this.ready) this.ask({}, () => {});
    }
  };

  const WRONG = "What came is not the model.";

  // A script also loads from a page that was opened from disk, where fetch() is
  // forbidden. What it leaves is taken away: megabytes that nobody needs any more.
  function fetchScript(address) {
    const name = address.replace(/^.*\/|\?.*$/g, "");
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.onload = () => {
        const content = Playground.arrived.get(name);
        Playground.arrived.delete(name);
        script.remove();
        if (content) resolve(content);
        else reject(new Error(WRONG));
      };
      script.onerror = () => reject(new Error("The model could not be loaded."));
      script.src = address;
      document.head.append(script);
    });
  }

  // What the worker does: it knows the parts and nothing else of this page.
  function serve(Playground) {
    const STALE = new Error("a newer request is there");
    const PATIENCE = 30; // milliseconds between two looks at what else was asked for
    let [latest, heard, answerer] = [0, 0, null];

    async function pause(id) {
      if (performance.now() - heard > PATIENCE) {
        await new Promise((resolve) => setTimeout(resolve));
        heard = performance.now();
      }
      if (id !== latest) throw STALE;
    }

    async function answer({ id, task, sentence, silent }) {
      answerer.pause = () => pause(id);
      const tell = (news) => postMessage({ id, ...news });
      if (task === "translate") {
        const step = (each) => tell({ step: each });
        tell({ answer: await answerer.answer(sentence, silent, step) });
      }
      if (task === "in turn") await answerer.inTurn(sentence, tell);
    }

    globalThis.onmessage = ({ data }) => {
      if (data.weights) {
        const base64 = data.weights.join("");
        answerer = new Playground.Answerer(Playground.unpack(data.settings, base64));
        return postMessage({ ready: true });
      }
      latest = data.id;
      answer(data).catch((error) => {
        if (error !== STALE) throw error;
      });
    };
  }
}
