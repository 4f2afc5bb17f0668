// The item that someone looks at. Columns, map and panel tell it and light up what is the same.

export class Link {
  #id = null;
  #told = [];

  subscribe(tell) {
    this.#told.push(tell);
  }

  look(id) {
    if (id === this.#id) return;
    this.#id = id;
    for (const tell of this.#told) tell(id);
  }
}
