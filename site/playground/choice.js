// The choice between the models.
"use strict";
{
  const { make } = aiayn;

  Playground.Choice = class Choice {
    // `choose` is called with the model that a reader takes; the first one is taken.
    constructor(place, models, choose) {
      const choices = make(place, "fieldset", { class: "pg-models" });
      make(choices, "legend", {}, "A model that knows");
      this.nodes = new Map();
      models.forEach((model, i) => {
        const label = make(choices, "label");
        const radio = { type: "radio", name: "pg-model", value: model.name };
        const node = make(label, "input", i ? radio : { ...radio, checked: "" });
        node.onchange = () => choose(model);
        this.nodes.set(model, node);
        label.append(" ");
        make(label, "strong", {}, model.label);
        make(label, "span", {}, model.about);
      });
    }

    // Show that a model is taken.
    mark(model) {
      this.nodes.get(model).checked = true;
    }
  };
}
