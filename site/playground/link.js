// A link that holds what a reader has set up. It stands behind the # of the address, a
// part that browsers send to nobody.
"use strict";
{
  const { make, button } = aiayn;

  // A head as the page names it, counted from 1: "cross 0 2" is cross-1-3.
  const nameIn = (head) => {
    const [kind, layer, number] = head.split(" ");
    return `${kind}-${Number(layer) + 1}-${Number(number) + 1}`;
  };

  // Of a state, what differs from nothing. Heads and lists of heads are written as above.
  function write(state) {
    const fields = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) {
      const heads = HEADS.includes(name) && [value ?? []].flat().map(nameIn).join(",");
      const text = heads === false ? String(value ?? "") : heads;
      if (text) fields.set(name, text);
    }
    return `#${fields}`;
  }

  // The state in the address; null if there is none. Heads that the model does not have
  // are left out.
  function read(models) {
    const fields = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const model = models.find(({ name }) => name === fields.model);
    if (!model) return null;
    const all = new Map(Playground.allHeads(model).map((head) => [nameIn(head), head]));
    const heads = (text = "") => text.split(",").flatMap((name) => all.get(name) ?? []);
    const number = (text) => (/^\d{1,3}$/.test(text) ? Number(text) : undefined);
    return {
      ...fields,
      model,
      off: heads(fields.off),
      head: heads(fields.head)[0],
      copy: heads(fields.copy)[0],
      row: number(fields.row),
      at: number(fields.at),
      layer: number(fields.layer),
      place: number(fields.place),
      step: number(fields.step),
    };
  }

  const HEADS = ["off", "head", "copy"];

  Playground.Link = class Link {
    // `state` gives what is to be kept; `restore` gets it back, now if the address holds
    // one, and whenever a reader opens another link on this page.
    constructor(place, { models, state, restore }) {
      Object.assign(this, { state });
      button(place, "Copy link", () => this.copy());
      const live = { class: "pg-copied", "aria-live": "polite" };
      this.said = make(place, "span", live);
      const open = () => {
        const kept = read(models);
        if (kept) restore(kept);
      };
      addEventListener("hashchange", open);
      this.kept = write(state());
      open();
    }

    // Keep what has changed in the address.
    keep() {
      const now = write(this.state());
      if (now === this.kept) return;
      this.said.textContent = "";
      this.kept = now;
      history.replaceState(null, "", now);
    }

    async copy() {
      this.keep();
      history.replaceState(null, "", this.kept);
      try {
        await navigator.clipboard.writeText(location.href);
        this.said.textContent = "Copied.";
      } catch {
        this.said.textContent = "Copy it from the address bar.";
      }
    }
  };
}
