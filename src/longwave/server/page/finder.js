// The search field: an id, or a part of one where ids are names; proposals come while one writes (ARIA combobox). Where
// a collection has texts and the server their encoder, what is no id is a question.

import { asker } from "./asking.js";
import { find, make } from "./dom.js";

// Characters of an id that the server looks for.
const LONGEST = 1000;

export class Finder {
  #proposed = [];
  #chosen = -1;
  #asked = null;
  #questions = false;

  /** tell: { query(id), ask(text), unknown(id), refused(text), failed(error) } */
  constructor(root, tell) {
    this.tell = tell;
    this.input = find("#find", root);
    this.list = find("#find-list", root);
    this.form = find("#find-form", root);
    this.label = find("label", this.form);
    this.button = find("#find-ask", root);
    this.note = find("#find-note");
    this.ask = asker(
      (text, signal) => this.collection.find(text, signal),
      (ids) => this.#propose(ids),
      () => this.#propose([]),
    );
    this.input.addEventListener("input", () =>
      this.input.value.trim() ? this.ask(this.input.value.trim().slice(0, LONGEST)) : this.#propose([]),
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
    this.#asked = null;
    this.#propose([]);
    this.#allow(false);
    this.note.hidden = true;
    if (collection.info.texts) this.#prepare(collection);
  }

  /** Offer questions when the server is ready for them; say so where it will not be. */
  async #prepare(collection) {
    const { possible, detail } = await collection.questions().catch(({ message }) => ({ detail: message }));
    if (this.collection !== collection) return;
    this.#allow(possible ?? false);
    this.note.hidden = possible ?? false;
    this.note.title = detail;
  }

  #allow(questions) {
    this.#questions = questions;
    const name = this.collection.info.id_kind === "int" ? "Number of an item" : "Name of an item";
    this.input.placeholder = questions ? "Ask a question, or name an item" : name;
    this.label.textContent = questions ? "Ask a question, or search by id" : "Search by id";
    this.button.hidden = !questions;
    this.form.classList.toggle("asks", questions);
  }

  /** The field has the question that is answered. */
  show({ text }) {
    if (text === this.#asked) return;
    this.#asked = text;
    this.input.value = text ?? "";
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

  /** Search with the item of this name; what is the name of none is a question, or refused. */
  async #go(text) {
    if (!text) return;
    const { collection } = this;
    if (collection.info.id_kind === "int" && !this.#questions && !/^-?\d+$/.test(text)) {
      this.tell.refused(`Items of this collection have numbers: “${text}” is none.`);
      return;
    }
    try {
      const ids = (await collection.find(text.slice(0, LONGEST))).map(String);
      if (this.collection !== collection) return;
      if (ids.includes(text)) this.#search(text);
      else if (this.#questions) this.#question(text);
      else this.tell.unknown(text);
    } catch (error) {
      this.tell.failed(error);
    }
  }

  #search(id) {
    this.input.value = "";
    this.#propose([]);
    this.tell.query(id);
  }

  #question(text) {
    this.ask.stop();
    this.#propose([]);
    this.tell.ask(text);
  }
}
