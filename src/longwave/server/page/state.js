// What is asked, as one value that never changes in place; the address of the page is that value, written out.

export const START = Object.freeze({
  collection: null,
  ids: [], // examples of what is wanted, as text
  not: [], // and of what is not
  text: null, // a question in words
  upload: null, // token of a picture that was dropped
  box: null, // [x0, y0, x1, y1] in its pixels
  filter: null, // null: the collection's own
  neighbors: null,
  blend: null,
  k: 24,
  where: [], // [{ column, operator, value }]
  area: null, // [[x, y], …] drawn on the map
  columns: null, // metadata shown; null: the page chooses
  why: null, // the item that is explained
  view: "results",
});

const LISTS = { ids: "id", not: "not" };
const NUMBERS = ["neighbors", "blend", "k"];
const TEXTS = ["collection", "text", "upload", "filter", "why", "view"];
const VALUES = ["box", "where", "area", "columns"];
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** State to the part of an address behind #. What is as at the start is left out. */
export function write(state) {
  const parts = new URLSearchParams();
  const changed = (name) => !same(state[name], START[name]);
  for (const name of TEXTS) if (changed(name)) parts.set(name, state[name]);
  for (const [name, short] of Object.entries(LISTS)) for (const id of state[name]) parts.append(short, id);
  for (const name of NUMBERS) if (changed(name)) parts.set(name, String(state[name]));
  for (const name of VALUES) if (changed(name)) parts.set(name, JSON.stringify(state[name]));
  return parts.toString();
}

/** The part behind # to state. What cannot be read is left out. */
export function read(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...START };
  for (const name of TEXTS) if (parts.has(name)) state[name] = parts.get(name);
  for (const [name, short] of Object.entries(LISTS)) state[name] = parts.getAll(short);
  for (const name of NUMBERS)
    if (Number.isFinite(Number(parts.get(name) || "?"))) state[name] = Number(parts.get(name));
  for (const name of VALUES) {
    try {
      if (parts.has(name)) state[name] = JSON.parse(parts.get(name));
    } catch {
      continue;
    }
  }
  return state;
}

/** What was asked, without how: two states with the same are one query. */
export const queryOf = ({ ids, not, text, upload, box }) => ({ ids, not, text, upload, box });

export const hasQuery = (state) => state.ids.length > 0 || state.text !== null || state.upload !== null;

const QUESTION = [
  "collection",
  "ids",
  "not",
  "text",
  "upload",
  "box",
  "filter",
  "neighbors",
  "blend",
  "k",
  "where",
  "area",
  "columns",
];

/** Whether the hits must be asked for again. */
export const asksAnew = (state, before) => QUESTION.some((name) => !same(state[name], before[name]));

/**
 * The one place where the state lives. `change(patch)` tells all subscribers; with `step` it is a step that the back
 * button takes back. `moving`: a slider is on its way, more will follow; a change that `settles` is the last of them.
 */
export class Store {
  #state;
  #told = [];
  #timer = null;
  #moving = false;

  constructor() {
    this.#state = read(location.hash);
    addEventListener("popstate", () => this.#replace(read(location.hash), { moving: false, settles: false }));
  }

  get state() {
    return this.#state;
  }

  /** How many steps lead back to where this page was opened. */
  get depth() {
    return history.state?.depth ?? 0;
  }

  subscribe(tell) {
    this.#told.push(tell);
  }

  change(patch, { step = false, moving = false } = {}) {
    const next = { ...this.#state, ...patch };
    const settles = this.#moving && !moving;
    if (same(next, this.#state) && !settles) return;
    this.#moving = moving;
    if (step) {
      this.#write();
      history.pushState({ depth: this.depth + 1 }, "", `#${write(next)}`);
    } else {
      clearTimeout(this.#timer); // browsers refuse many changes of the address in a second
      this.#timer = setTimeout(() => this.#write(), 250);
    }
    this.#replace(next, { moving, settles });
  }

  /** The address is that of the state, now. */
  flush() {
    this.#write();
  }

  #replace(next, how) {
    const before = this.#state;
    this.#state = next;
    for (const tell of this.#told) tell(next, before, how);
  }

  #write() {
    clearTimeout(this.#timer);
    history.replaceState({ depth: this.depth }, "", `#${write(this.#state)}`);
  }
}
