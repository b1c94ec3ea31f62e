// A translator in a worker of its own, so that the page never waits for it: its file is
// fetched once, and then it answers the latest request and forgets those before.
"use strict";
{
  // The files that came, by name (site/extensions/playground_models.py).
  Playground.arrived = new Map();

  Playground.Engine = class Engine {
    constructor(addresses) {
      Object.assign(this, { addresses, ready: false, loading: null, request: 0 });
      this.waiting = new Map();
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
      this.worker.onmessage = ({ data }) => {
        const { id, hear } = this.waiting.get(data.channel);
        if (data.id === id) hear(data);
      };
      this.ready = true;
    }

    // Send the worker a request; it gives up the one before on the same channel. `hear`
    // gets its messages.
    ask(request, hear, channel = "sentence") {
      const id = ++this.request;
      this.waiting.set(channel, { id, hear });
      this.worker.postMessage({ ...request, id, channel });
    }

    // Give up what was asked for on a channel.
    cancel(channel) {
      if (this.ready) this.ask({}, () => {}, channel);
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
    const latest = new Map(); // on each channel
    let [heard, answerer, queue] = [0, null, Promise.resolve()];

    async function pause({ id, channel }) {
      if (performance.now() - heard > PATIENCE) {
        await new Promise((resolve) => setTimeout(resolve));
        heard = performance.now();
      }
      if (id !== latest.get(channel)) throw STALE;
    }

    async function answer(request) {
      const { id, channel, task, sentence, silent } = request;
      answerer.pause = () => pause(request);
      await answerer.pause();
      const tell = (news) => postMessage({ id, channel, ...news });
      if (task === "translate") {
        const step = (each) => tell({ step: each });
        const found = await answerer.answer(sentence, silent, step);
        tell({ answer: found });
        if (!found.refused) tell({ layers: await answerer.lens() });
      }
      if (task === "in turn") await answerer.inTurn(sentence, tell);
      if (task === "compare") tell(await answerer.compare(request.sentences, silent));
      if (task === "copy") tell({ run: answerer.copy(request.head, request.position) });
      if (task === "copy in turn") await answerer.copyInTurn(request.position, tell);
    }

    globalThis.onmessage = ({ data }) => {
      if (data.weights) {
        const base64 = data.weights.join("");
        answerer = new Playground.Answerer(Playground.unpack(data.settings, base64));
        return postMessage({ ready: true });
      }
      latest.set(data.channel, data.id);
      // One at a time: the model has only one set of heads that are off.
      queue = queue
        .then(() => answer(data))
        .catch((error) => {
          if (error !== STALE) reportError(error);
        });
    };
  }
}
