// Where one came from: the last queries, to go back to.

import { find, make } from "./dom.js";
import { hasQuery, queryOf } from "./state.js";
import { pictureOf } from "./tile.js";
import { shortName } from "./words.js";

const MOST = 8;

export class Trail {
  #before = [];

  constructor(root, pictures, go) {
    this.list = find("#trail", root);
    this.pictures = pictures;
    this.go = go;
  }

  clear() {
    this.#before = [];
    this.list.replaceChildren();
  }

  /** The query that is left for another. */
  leave(collection, state) {
    if (!hasQuery(state)) return;
    const query = queryOf(state);
    const key = JSON.stringify(query);
    this.#before = [query, ...this.#before.filter((other) => JSON.stringify(other) !== key)].slice(0, MOST);
    this.list.replaceChildren(...this.#before.map((one) => make("li", {}, this.#entry(collection, one))));
  }

  #entry(collection, query) {
    const known = this.pictures.known(query.upload);
    const [first] = query.ids;
    const name = query.upload ? "your picture" : (query.text ?? `${first}`);
    const more = query.ids.length + query.not.length + (query.upload || query.text !== null ? 1 : 0) - 1;
    const image = known
      ? make("img", { src: known.url, alt: "" })
      : first !== undefined && collection.visible
        ? pictureOf(collection, first, { size: 128 })
        : null;
    const label = `Back to ${name}${more ? ` and ${more} more` : ""}`;
    return make(
      "button",
      { type: "button", class: image ? "mini" : "mini words", "aria-label": label, title: label, onclick: () => this.go(query) },
      image ?? (query.text === null ? shortName(name) : name),
    );
  }
}
