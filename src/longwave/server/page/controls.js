// The sliders: the filter and its parameter, neighbours, blend, k. Where nothing is chosen, the collection's own holds.

import { find, make, signButton } from "./dom.js";
import { placeOf, STEPS, valueAt } from "./scales.js";

const GREEK = { alpha: "α", time: "time", cutoff: "cut-off λ", steps: "steps" };
const TITLES = { lowpass: "Low pass", heat: "Heat", ideal: "Ideal", walk: "Walk" };

/** "walk:0.99,10" → { name: "walk", values: [0.99, 10] } */
export function parseFilter(text) {
  const [name, rest = ""] = text.split(":");
  return { name, values: rest.split(",").filter(Boolean).map(Number) };
}

export const filterText = ({ name, values }) => (values.length ? `${name}:${values.join(",")}` : name);

const parametersOf = (filter) => [filter, ...(filter.more ?? [])];

/** A slider with its name and value. tell(value, moving). */
class Slider {
  constructor(id, label, range, { tell, reset = null, hint = "" }) {
    this.range = range;
    this.input = make("input", {
      type: "range",
      id,
      min: 0,
      max: STEPS,
      step: 1,
      "aria-describedby": hint ? `${id}-hint` : null,
    });
    this.output = make("output", { for: id });
    this.input.addEventListener("input", () => tell(this.#value(), true));
    this.input.addEventListener("change", () => tell(this.#value(), false));
    this.reset = reset && signButton("own", `${label}: as the collection says`, reset, { class: "own" });
    this.element = make(
      "div",
      { class: "slider" },
      make("label", { for: id }, label),
      make("span", { class: "slider-value" }, this.output, this.reset),
      this.input,
      hint ? make("p", { class: "hint", id: `${id}-hint` }, hint) : null,
    );
  }

  #value() {
    return valueAt(this.input.value, this.range);
  }

  show(value, text, own) {
    if (document.activeElement !== this.input || this.#value() !== value) this.input.value = placeOf(value, this.range);
    this.output.textContent = text;
    this.input.setAttribute("aria-valuetext", text);
    this.input.style.setProperty("--share", `${(100 * this.input.value) / STEPS}%`);
    if (this.reset) this.reset.hidden = own;
  }
}

export class Controls {
  #sliders = [];
  #shape = "";

  constructor(root, store) {
    this.store = store;
    this.select = find("#filter-name", root);
    this.places = { filter: find("#filter-sliders", root), more: find("#more-sliders", root) };
    this.own = find("#filter-own", root);
    this.own.addEventListener("click", () => store.change({ filter: null }));
    this.select.addEventListener("change", () => this.#choose(this.select.value));
  }

  open({ info }) {
    this.info = info;
    const own = parseFilter(info.settings.filter).name; // may be one that only this collection knows
    const names = new Set([...info.filters.map(({ name }) => name), own]);
    this.select.replaceChildren(...[...names].map((name) => make("option", { value: name }, TITLES[name] ?? name)));
    this.#shape = "";
    const change = (name) => (value, moving) => this.store.change({ [name]: value }, { moving });
    const most = { neighbors: Math.min(100, info.items), k: Math.min(200, info.items) };
    const reset = (name) => () => this.store.change({ [name]: null });
    this.neighbors = new Slider(
      "neighbors",
      "Neighbours",
      { parameter: "neighbors", min: 1, max: most.neighbors },
      {
        tell: change("neighbors"),
        reset: reset("neighbors"),
        hint: "vectors that the search starts from",
      },
    );
    this.blend = new Slider(
      "blend",
      "Blend",
      { parameter: "blend", min: 0, max: 2 },
      {
        tell: change("blend"),
        reset: reset("blend"),
        hint: "what plain similarity adds",
      },
    );
    this.k = new Slider("k", "Hits", { parameter: "k", min: 1, max: most.k }, { tell: change("k") });
    this.places.more.replaceChildren(this.k.element, this.neighbors.element, this.blend.element);
  }

  /** The filter in use, as text. */
  filter(state) {
    return state.filter ?? this.info.settings.filter;
  }

  show(state) {
    const used = parseFilter(this.filter(state));
    const known = this.info.filters.find(({ name }) => name === used.name);
    if (this.#shape !== used.name) this.#build(used.name, known);
    this.select.value = used.name;
    this.own.hidden = state.filter === null || state.filter === this.info.settings.filter;
    this.#sliders.forEach((slider, i) => {
      const value = used.values[i] ?? slider.range.default;
      slider.show(value, String(value), true);
    });
    const { settings } = this.info;
    const neighbors = state.neighbors ?? settings.neighbors;
    this.neighbors.show(neighbors, String(neighbors), state.neighbors === null);
    const blend = state.blend ?? settings.blend;
    const weight = Number(blend);
    this.blend.show(Number.isFinite(weight) ? weight : 0.5, String(blend), state.blend === null);
    this.k.show(state.k, String(state.k), true);
  }

  #build(name, known) {
    this.#shape = name;
    const ranges = known ? parametersOf(known) : [];
    this.#sliders = ranges.map(
      (range, i) =>
        new Slider(`filter-${range.parameter}`, GREEK[range.parameter] ?? range.parameter, range, {
          tell: (value, moving) => this.#set(i, value, moving),
        }),
    );
    this.places.filter.replaceChildren(...this.#sliders.map(({ element }) => element));
  }

  #set(i, value, moving) {
    const used = parseFilter(this.filter(this.store.state));
    const values = this.#sliders.map((slider, j) => used.values[j] ?? slider.range.default);
    values[i] = value;
    this.store.change({ filter: filterText({ name: used.name, values }) }, { moving });
  }

  #choose(name) {
    const known = this.info.filters.find((filter) => filter.name === name);
    const values = known ? parametersOf(known).map((range) => range.default) : [];
    this.store.change({ filter: known ? filterText({ name, values }) : null });
  }
}
