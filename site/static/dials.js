// Numbers in sentences that drag: see site/extensions/dials.py.
"use strict";
{
  const STEP = 24; // pixels of a drag, from one value to the next

  // The next chart, its parameter with radio buttons, and the rows of its data.
  const chartOf = (dial) => {
    const chart = [...document.querySelectorAll(".aiayn-chart")]
      .find((each) => dial.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
    const { params, data } = JSON.parse(chart.querySelector(".aiayn-spec").textContent);
    const { name, bind } = params.find((each) => each.bind?.input === "radio");
    return { chart, name, options: bind.options, rows: data.values };
  };

  // What a number of the sentence is when the dial stands at a value.
  const shown = ({ shows, where }, dial, value, rows) => {
    if (shows === "root") return String(Math.round(100 * Math.sqrt(value)) / 100);
    const wanted = where.split(", ").map((each) => each.split("="));
    const row = rows.find((each) =>
      each[dial] === value && wanted.every(([field, is]) => String(each[field]) === is));
    return row[shows].toFixed(2);
  };

  for (const number of document.querySelectorAll("[data-dial]")) {
    const { chart, name, options, rows } = chartOf(number);
    const { dial } = number.dataset;
    const followers = number.parentNode.querySelectorAll("[data-shows]");
    const slider = document.createElement("input");
    const about = { type: "range", min: 0, max: options.length - 1, "aria-label": dial };
    for (const key in about) slider.setAttribute(key, about[key]);
    slider.value = options.indexOf(Number(number.textContent));
    const text = document.createElement("span");
    number.replaceChildren(text, slider);

    // A pointer drags the number; the slider, which is not seen, has the keys.
    let begin = null;
    number.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // no text is selected
      slider.focus();
      number.setPointerCapture(event.pointerId);
      begin = [event.clientX, Number(slider.value)];
    });
    const move = (place) => {
      const before = slider.value;
      slider.value = place;
      if (slider.value !== before) slider.dispatchEvent(new Event("input"));
    };
    number.addEventListener("pointermove", ({ clientX }) => {
      if (begin) move(begin[1] + Math.round((clientX - begin[0]) / STEP));
    });
    // One press on either side, where the arrows are, is one value less or more.
    number.addEventListener("pointerup", ({ clientX }) => {
      if (!begin || Math.abs(clientX - begin[0]) >= STEP / 2) return;
      const { left, width } = number.getBoundingClientRect();
      move(begin[1] + (clientX < left + width / 2 ? -1 : 1));
    });
    number.addEventListener("lostpointercapture", () => (begin = null));

    const show = () => {
      const value = options[slider.value];
      text.textContent = value;
      slider.setAttribute("aria-valuetext", value);
      for (const each of followers)
        each.textContent = shown(each.dataset, dial, value, rows);
    };
    slider.addEventListener("input", () => {
      show();
      chart.drawn?.view.signal(name, options[slider.value]).runAsync();
    });
    chart.addEventListener("input", ({ target }) => {
      slider.value = options.indexOf(Number(target.value));
      show();
    });
    show();
  }
}
