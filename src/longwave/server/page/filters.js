// Which items may be found: a form that makes conditions on metadata, the chips of those that hold, columns to show.

import { find, make, signButton } from "./dom.js";
import { kindOf, operatorsOf, sentence, valueOf } from "./where.js";
import { plural } from "./words.js";

export class Filters {
  constructor(root, store) {
    this.store = store;
    this.form = find("#where-form", root);
    this.chips = find("#chips", root);
    this.note = find("#where-note", root);
    this.shown = find("#columns-shown", root);
    this.known = new Map();
    this.column = find("#where-column", root);
    this.operator = find("#where-operator", root);
    this.value = find("#where-value", root);
    this.values = find("#where-values", root);
    this.column.addEventListener("change", () => this.#suit());
    this.operator.addEventListener("change", () => this.#suit(false));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add();
    });
  }

  open({ info }) {
    this.info = info;
    this.known.clear();
    this.form.hidden = !info.columns.length;
    find("#where-none").hidden = info.columns.length > 0;
    this.column.replaceChildren(...info.columns.map(({ name }) => make("option", { value: name }, name)));
    if (info.columns.length) this.#suit();
    find("#columns-choice").hidden = !info.columns.length;
  }

  /** Values seen in hits are proposed. columns: { name: [values] } */
  learn(columns) {
    for (const [name, values] of Object.entries(columns)) {
      const known = this.known.get(name) ?? this.known.set(name, new Set()).get(name);
      for (const value of values.flat()) if (value !== null && known.size < 200) known.add(String(value));
    }
    this.#propose();
  }

  show(state, selected) {
    const chips = state.where.map((condition, i) =>
      this.#chip(sentence(condition), () =>
        this.store.change({ where: state.where.filter((_, j) => j !== i) }, { step: true }),
      ),
    );
    if (state.area) {
      const count = selected === null ? "a selection" : plural(selected, "item");
      chips.push(this.#chip(`${count} on the map`, () => this.store.change({ area: null }, { step: true })));
    }
    this.chips.replaceChildren(...chips);
    const chosen = shownColumns(this.info, state);
    this.shown.replaceChildren(
      ...this.info.columns.map(({ name }) => {
        const box = make("input", {
          type: "checkbox",
          checked: chosen.includes(name),
          onchange: () => this.#choose(name, box.checked),
        });
        return make("label", { class: "check" }, box, name);
      }),
    );
  }

  #chip(text, drop) {
    return make("li", { class: "chip" }, text, signButton("×", `Remove: ${text}`, drop));
  }

  #choose(name, yes) {
    const chosen = shownColumns(this.info, this.store.state).filter((other) => other !== name);
    this.store.change({ columns: yes ? [...chosen, name] : chosen });
    for (const label of this.shown.children) if (label.textContent === name) find("input", label).focus();
  }

  get #type() {
    return this.info.columns.find(({ name }) => name === this.column.value)?.type ?? "string";
  }

  #suit(anew = true) {
    const kind = kindOf(this.#type);
    if (anew)
      this.operator.replaceChildren(...operatorsOf(this.#type).map(([value, sign]) => make("option", { value }, sign)));
    const several = this.operator.value === "$in";
    this.value.type = kind === "date" && !several ? "date" : "text";
    this.value.inputMode = kind === "number" && !several ? "decimal" : "text";
    this.value.placeholder = several ? "a, b, c" : kind === "bool" ? "true or false" : "";
    this.value.hidden = this.operator.value === "$exists";
    this.#propose();
  }

  #propose() {
    const known =
      kindOf(this.#type) === "bool" ? ["true", "false"] : [...(this.known.get(this.column.value) ?? [])].sort();
    this.values.replaceChildren(...known.map((value) => make("option", { value })));
  }

  #add() {
    try {
      const value = valueOf(this.value.value.trim(), this.#type, this.operator.value);
      this.note.textContent = "";
      const added = { column: this.column.value, operator: this.operator.value, value };
      this.store.change({ where: [...this.store.state.where, added] }, { step: true });
      this.value.value = "";
    } catch (error) {
      this.note.textContent = error.message;
      this.value.focus();
    }
  }
}

/** Metadata shown with every hit: what was chosen; by default the first three columns where there is no picture. */
export function shownColumns(info, state) {
  const names = info.columns.map(({ name }) => name);
  if (state.columns) return state.columns.filter((name) => names.includes(name));
  return info.pictures || info.draw ? [] : names.slice(0, 3);
}
