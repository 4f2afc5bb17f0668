// The search field: an id, or a part of one where ids are names; proposals come while one writes (ARIA combobox).

import { asker } from "./asking.js";
import { find, make } from "./dom.js";

export class Finder {
  #proposed = [];
  #chosen = -1;

  /** tell: { query(id), refused(text) } */
  constructor(root, tell) {
    this.tell = tell;
    this.input = find("#find", root);
    this.list = find("#find-list", root);
    this.form = find("#find-form", root);
    this.ask = asker(
      (text, signal) => this.collection.find(text, signal),
      (ids) => this.#propose(ids),
      () => this.#propose([]),
    );
    this.input.addEventListener("input", () =>
      this.input.value.trim() ? this.ask(this.input.value.trim()) : this.#propose([]),
    );
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.input.addEventListener("blur", () => setTimeout(() => this.#propose([]), 150));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#go(this.#proposed[this.#chosen] ?? this.input.value.trim());
    });
  }

  open(collection) {
    this.collection = collection;
    this.input.value = "";
    this.input.placeholder = collection.info.id_kind === "int" ? "Number of an item" : "Name of an item";
    this.#propose([]);
  }

  #propose(ids) {
    const active = document.activeElement === this.input && this.input.value.trim();
    this.#proposed = active ? ids.map(String) : [];
    this.#chosen = -1;
    this.list.replaceChildren(
      ...this.#proposed.map((id, i) =>
        make(
          "li",
          {
            role: "option",
            id: `find-${i}`,
            "aria-selected": "false",
            onpointerdown: (event) => event.preventDefault(),
            onclick: () => this.#go(id),
          },
          id,
        ),
      ),
    );
    this.list.hidden = !this.#proposed.length;
    this.input.setAttribute("aria-expanded", String(this.#proposed.length > 0));
    this.input.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && this.#proposed.length) this.#propose([]);
    else if (step && this.#proposed.length)
      this.#choose((this.#chosen + step + this.#proposed.length) % this.#proposed.length);
    else return;
    event.preventDefault();
  }

  #choose(place) {
    this.#chosen = place;
    [...this.list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === place)));
    this.input.setAttribute("aria-activedescendant", `find-${place}`);
  }

  #go(id) {
    if (!id) return;
    if (this.collection.info.id_kind === "int" && !/^-?\d+$/.test(id)) {
      this.tell.refused(`Items of this collection have numbers: “${id}” is none.`);
      return;
    }
    this.input.value = "";
    this.#propose([]);
    this.tell.query(id);
  }
}
