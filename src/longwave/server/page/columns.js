// Two columns beside each other, nearest neighbours and manifold. The same item lights up in both.

import { calm, find, make } from "./dom.js";
import { isLong } from "./passage.js";
import { Tile } from "./tile.js";
import { percent, plural } from "./words.js";

class Column {
  constructor(root, side, actions, link) {
    this.list = find(".hits", root);
    this.head = find(".column-facts", root);
    this.side = side;
    this.actions = actions;
    this.tiles = new Map();
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("focusin", (event) => this.#reach(event.target.closest(".hit")));
    const look = (event) => link.look(event.target.closest?.(".hit")?.dataset.id ?? null);
    for (const name of ["pointerover", "focusin"]) this.list.addEventListener(name, look);
    for (const name of ["pointerleave", "focusout"]) this.list.addEventListener(name, () => link.look(null));
    link.subscribe((id) => this.#light(id));
  }

  clear() {
    this.tiles.clear();
    this.list.replaceChildren();
    this.head.replaceChildren();
  }

  /** hits: { ids, scores, columns }; other: rank by id in the other column. */
  show(collection, hits, { other, truth, columns }) {
    const before = this.#places();
    const next = new Map();
    hits.ids.forEach((id, i) => {
      const key = String(id);
      const tile = this.tiles.get(key) ?? new Tile(collection, id, this.side, this.actions);
      const values = Object.fromEntries(columns.map((name) => [name, hits.columns?.[name]?.[i]]));
      tile.update({
        rank: i + 1,
        other: other.get(key),
        score: hits.scores[i],
        relevant: truth?.relevant[i],
        columns,
        values,
      });
      next.set(key, tile);
    });
    const active = document.activeElement?.closest?.(".hit");
    const held = this.list.contains(active) ? document.activeElement : null;
    this.tiles = next;
    this.list.replaceChildren(...[...next.values()].map((tile) => tile.element));
    this.list.classList.toggle("cards", !collection.visible);
    if (held?.isConnected) held.focus({ preventScroll: true });
    this.#reach(held?.isConnected ? active : this.list.firstElementChild);
    this.head.replaceChildren(...facts(hits, truth).map((text) => make("span", {}, text)));
    this.#glide(before);
  }

  #places() {
    return calm() ? null : new Map([...this.tiles].map(([key, { element }]) => [key, element.getBoundingClientRect()]));
  }

  /** Tiles glide from where they were; new ones fade in. */
  #glide(before) {
    if (!before?.size) return;
    const timing = { duration: 220, easing: "cubic-bezier(.2, .7, .2, 1)" };
    for (const [key, { element }] of this.tiles) {
      const old = before.get(key);
      if (!old) {
        element.animate([{ opacity: 0 }, { opacity: 1 }], timing);
        continue;
      }
      const now = element.getBoundingClientRect();
      const [x, y] = [old.left - now.left, old.top - now.top];
      if (x || y) element.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], timing);
    }
  }

  #light(id) {
    for (const [key, { element }] of this.tiles) element.classList.toggle("lit", key === id);
  }

  #reach(element) {
    if (!element) return;
    for (const tile of this.tiles.values()) tile.reachable = tile.element === element;
  }

  #key(event) {
    const tile = this.tiles.get(event.target.closest(".hit")?.dataset.id);
    if (!tile || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: this.#across(),
      ArrowUp: -this.#across(),
      Home: -Infinity,
      End: Infinity,
    }[event.key];
    const act = { "+": "more", "=": "more", "-": "less", w: "why", W: "why" }[event.key];
    if (step !== undefined) this.#go(tile.element, step);
    else if (act) this.actions[act](tile.id);
    else return;
    event.preventDefault();
  }

  #go(element, step) {
    const all = [...this.list.children];
    const place = Math.max(0, Math.min(all.length - 1, all.indexOf(element) + step));
    find(".hit-main", all[place]).focus();
  }

  /** Tiles in a row of the grid. */
  #across() {
    return getComputedStyle(this.list).gridTemplateColumns.split(" ").length;
  }
}

function facts(hits, truth) {
  if (!truth) return [plural(hits.ids.length, "hit")];
  const right = truth.relevant.filter(Boolean).length;
  return [`${right} of ${truth.relevant.length} right`, `AP ${percent(truth.ap)}`];
}

export class Columns {
  constructor(root, actions, link) {
    this.root = root;
    this.nearest = new Column(find("#nearest", root), "nearest", actions, link);
    this.manifold = new Column(find("#manifold", root), "manifold", actions, link);
    this.sides = root.querySelectorAll("[data-side-button]");
    for (const button of this.sides) button.addEventListener("click", () => this.#turn(button.dataset.sideButton));
    this.#turn("manifold");
  }

  /** Which column is seen where texts leave room for one. */
  #turn(side) {
    this.root.dataset.side = side;
    for (const button of this.sides)
      button.setAttribute("aria-pressed", String(button.dataset.sideButton === side));
  }

  clear() {
    this.nearest.clear();
    this.manifold.clear();
  }

  show(collection, answer, columns) {
    const ranks = ({ ids }) => new Map(ids.map((id, i) => [String(id), i + 1]));
    const { nearest, manifold, truth } = answer;
    this.nearest.show(collection, nearest, { other: ranks(manifold), truth: truth?.nearest, columns });
    this.manifold.show(collection, manifold, { other: ranks(nearest), truth: truth?.manifold, columns });
    const shown = [nearest, manifold].flatMap((hits) => columns.flatMap((name) => hits.columns?.[name] ?? []));
    document.body.classList.toggle("texts", !collection.visible && shown.some(isLong));
    this.root.classList.toggle("drawn", collection.info.draw !== null && !collection.info.pictures);
  }
}
