// The tour "One word decides": shows one card at a time. The cards, their pictures for
// both sentences and their numbers come ready from the page (site/extensions/tour.py);
// which picture and which state of it is seen, tour.css says by the attributes set here.
(() => {
  const tour = document.querySelector(".aiayn-tour");
  const all = (selector) => [...tour.querySelectorAll(selector)];
  const stored = tour.querySelector('script[type="application/json"]');
  const { sentences, decider } = JSON.parse(stored.textContent);
  const cards = all(".tour-card");
  const dots = all(".tour-dots button");
  const list = tour.querySelector(".tour-cards");
  const live = tour.querySelector("[aria-live]");
  const said = tour.querySelector(".tour-said");
  const headSwitch = tour.querySelector('[role="switch"]');
  const [back, next] = all("[data-go]");
  // What “it” is, in German and in English.
  const MEANT = { tired: ["es", "animal"], wide: ["sie", "street"] };
  const SWIPE = 40; // pixels that a finger moves at least
  let place = 0;

  const sentence = () => sentences[tour.dataset.word];
  const percent = (share) => `${(100 * share).toFixed(share < 0.01 ? 1 : 0)}%`;

  // A reader who does not see the card hears it.
  function announce() {
    const shown = [...cards[place].querySelectorAll("h3, .tour-says")];
    const texts = shown.filter((node) => node.checkVisibility());
    const words = texts.map((node) => node.textContent.trim());
    live.textContent = [`${place + 1} of ${cards.length}`, ...words].join(". ");
  }

  function go(to) {
    const left = cards[place].contains(document.activeElement);
    const onDots = dots.includes(document.activeElement);
    place = Math.max(0, Math.min(cards.length - 1, to));
    for (const [number, card] of cards.entries())
      card.toggleAttribute("data-current", number === place);
    for (const [number, dot] of dots.entries()) {
      if (number === place) dot.setAttribute("aria-current", "step");
      else dot.removeAttribute("aria-current");
      dot.tabIndex = number === place ? 0 : -1; // one stop, as arrow keys turn cards
    }
    const last = place === cards.length - 1;
    back.setAttribute("aria-disabled", place === 0);
    next.textContent = last ? "Again" : "Next";
    // What had the focus is gone with its card; keys should go on to work.
    if (left) next.focus({ preventScroll: true });
    if (onDots) dots[place].focus({ preventScroll: true });
    announce();
  }

  function guess(pronoun) {
    tour.dataset.guess = pronoun;
    for (const button of all("[data-guess]:not(section)"))
      button.setAttribute("aria-pressed", button.dataset.guess === pronoun);
    said.replaceChildren();
    if (!pronoun) return;
    const german = (text) => {
      const word = document.createElement("em");
      word.lang = "de";
      word.textContent = text;
      return word;
    };
    const { pronoun: model, chances } = sentence();
    const right = pronoun === model ? ". So does the model: " : ". The model says ";
    const { word } = tour.dataset;
    const [meant, noun] = MEANT[word];
    const who = pronoun === model ? "Both are" : pronoun === meant ? "You are" : "The model is";
    const is = [pronoun, model].includes(meant) ? who : "Neither is";
    const tail = `, with a probability of ${percent(chances[model])}. `;
    said.append("You say ", german(pronoun), right, german(model), tail);
    said.append(`${is} right: it is the ${noun} that was too ${word}.`);
    live.textContent = said.textContent;
  }

  function turn(on) {
    tour.dataset.head = on ? "on" : "off";
    headSwitch.setAttribute("aria-checked", on);
    headSwitch.textContent = on ? "The head is on" : "The head is off";
  }

  function choose(word) {
    tour.dataset.word = word;
    for (const button of all("[data-choose]"))
      button.setAttribute("aria-pressed", button.dataset.choose === word);
    guess("");
    announce();
  }

  for (const [number, dot] of dots.entries()) dot.onclick = () => go(number);
  back.onclick = () => go(place - 1);
  next.onclick = () => go((place + 1) % cards.length);
  for (const button of all("[data-choose]"))
    button.onclick = () => choose(button.dataset.choose);
  for (const button of all("[data-guess]:not(section)"))
    button.onclick = () => guess(button.dataset.guess);
  headSwitch.onclick = () => {
    turn(tour.dataset.head === "off");
    const { german, off } = sentence();
    live.textContent = tour.dataset.head === "on" ? german : off[decider.head].german;
  };

  const KEYS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  tour.addEventListener("keydown", (event) => {
    const held = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
    if (held || !(event.key in KEYS)) return;
    event.preventDefault();
    go(place + KEYS[event.key]);
  });

  let touched;
  list.addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "mouse" ? undefined : event;
  });
  list.addEventListener("pointercancel", () => (touched = undefined));
  list.addEventListener("pointerup", (event) => {
    if (!touched) return;
    const across = event.clientX - touched.clientX;
    const down = event.clientY - touched.clientY;
    touched = undefined;
    if (Math.abs(across) < Math.max(SWIPE, 1.5 * Math.abs(down))) return;
    go(place - Math.sign(across));
  });
  back.setAttribute("aria-disabled", true);
  turn(true);
})();
