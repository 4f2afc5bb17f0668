// One hit: a picture or a card, its rank, where it moved, its score, and what can be done with it.

import { make, signButton } from "./dom.js";
import { fold, isLong, passage } from "./passage.js";
import { move, score, shortName } from "./words.js";

/** An <img> of an item; what cannot be loaded shows its name instead. */
export function pictureOf(collection, id, { size = 256, alt = "" } = {}) {
  const drawn = collection.info.draw !== null && !collection.info.pictures;
  const image = make("img", {
    class: drawn ? "pixels" : "",
    alt,
    loading: "lazy",
    decoding: "async",
    draggable: "false",
  });
  image.addEventListener("error", () => image.replaceWith(make("span", { class: "no-picture" }, shortName(id))));
  collection.picture(id, size).then(
    (url) => (image.src = url),
    () => image.dispatchEvent(new Event("error")),
  );
  return image;
}

/** Name and value, for each column; a long text stands by itself. */
const facts = (columns, values) =>
  columns.map((name) =>
    isLong(values[name])
      ? make("span", { class: "long" }, passage(values[name]))
      : make("span", {}, make("span", { class: "term" }, name), make("span", {}, text(values[name]))),
  );

// Of a long text, so much is read aloud with its hit.
const READ = 300;

const text = (value) =>
  value === null || value === undefined ? "–" : Array.isArray(value) ? value.join(", ") : String(value);

/** A tile that is kept while hits come and go. `update` says what changed. */
export class Tile {
  constructor(collection, id, side, actions) {
    this.id = id;
    this.side = side;
    this.collection = collection;
    const act = (what) => () => actions[what](id);
    this.main = make("button", { type: "button", class: "hit-main", onclick: act("query") });
    this.rank = make("span", { class: "rank" });
    this.move = make("span", { class: "move" });
    this.score = make("span", { class: "score" });
    this.truth = make("span", { class: "truth" });
    this.name = make("span", { class: "name", title: String(id) }, shortName(id));
    this.facts = make("span", { class: "facts", "aria-hidden": "true" });
    this.tools = make(
      "div",
      { class: "hit-tools" },
      signButton("+", `More like ${id}`, act("more"), { tabindex: -1 }),
      signButton("−", `Less like ${id}`, act("less"), { tabindex: -1 }),
      signButton("?", `Why ${id}`, act("why"), { tabindex: -1, class: "ask-why" }),
    );
    const line = (...parts) => make("span", { class: "line", "aria-hidden": "true" }, ...parts);
    if (collection.visible) {
      const frame = make("span", { class: "frame" }, pictureOf(collection, id), this.truth);
      this.main.append(frame, line(this.rank, this.move), line(this.name, this.score), this.facts);
    } else {
      this.main.append(line(this.rank, this.move, this.name, this.truth, this.score), this.facts);
    }
    this.element = make("li", { class: "hit", "data-id": String(id) }, this.main);
    this.element.append(fold(this.element, id), this.tools);
  }

  update({ rank, other, score: value, relevant, columns, values }) {
    const moved = move(rank, other, this.side);
    this.rank.textContent = rank;
    this.score.textContent = score(value);
    this.move.textContent = moved.sign;
    this.move.className = `move ${moved.kind}`;
    this.move.title = moved.text;
    this.truth.textContent = relevant === undefined ? "" : relevant ? "✓" : "✗";
    this.truth.className = `truth ${relevant === undefined ? "" : relevant ? "right" : "wrong"}`;
    this.element.dataset.moved = moved.kind;
    this.facts.replaceChildren(...facts(columns, values));
    const read = columns.map((name) => values[name]).filter(isLong);
    if (read.length) this.main.setAttribute("aria-description", read.map((own) => own.slice(0, READ)).join(" "));
    const known = relevant === undefined ? "" : relevant ? ", right" : ", wrong";
    this.main.setAttribute(
      "aria-label",
      `${this.id}, rank ${rank}, score ${score(value)}, ${moved.text}${known}. Search with it`,
    );
  }

  /** Only one tile of a column is in the tab order; its tools come with it. */
  set reachable(yes) {
    for (const button of this.element.querySelectorAll("button")) button.tabIndex = yes ? 0 : -1;
  }
}
