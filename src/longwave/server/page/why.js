// Why this hit: the way from the query to it as pictures, what every neighbour of the query adds, the graph around.

import { draw, find, make } from "./dom.js";
import { drawGraph } from "./graph.js";
import { pictureOf } from "./tile.js";
import { plural, score, shortName } from "./words.js";

const MOST_BARS = 12;

export class Why {
  /** tell: { query(id), close() } */
  constructor(panel, link, tell) {
    this.panel = panel;
    this.body = find("#why-body", panel);
    this.title = find("#why-title", panel);
    this.link = link;
    this.tell = tell;
    find("#why-close", panel).addEventListener("click", () => tell.close());
    panel.addEventListener("cancel", (event) => {
      event.preventDefault();
      tell.close();
    });
    panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      tell.close();
    });
    const look = (event) => link.look(event.target.closest?.("[data-id]")?.dataset.id ?? null);
    for (const name of ["pointerover", "focusin"]) this.body.addEventListener(name, look);
  }

  open(id) {
    this.title.textContent = `Why ${shortName(id)}?`;
    if (this.panel.open) return;
    this.opener = document.activeElement;
    if (matchMedia("(max-width: 760px)").matches) this.panel.showModal();
    else this.panel.show();
    this.title.focus();
  }

  close() {
    if (!this.panel.open) return;
    this.panel.close();
    if (this.opener?.isConnected) this.opener.focus({ preventScroll: true });
  }

  wait() {
    this.body.replaceChildren(make("p", { class: "empty" }, "Looking along the graph …"));
  }

  fail(text) {
    this.body.replaceChildren(make("p", { class: "empty" }, text));
  }

  /** face: what the query looks like, an element. */
  show(collection, answer, face) {
    const item = (id) => this.#item(collection, id);
    this.body.replaceChildren(
      make("p", { class: "why-sum" }, sentence(answer)),
      section("The way", this.#path(answer.path, item, face)),
      section("What each neighbour of the query adds", this.#bars(answer.neighbors, item)),
      section("The graph around it", ...this.#graph(answer)),
    );
  }

  #item(collection, id) {
    const face = collection.visible
      ? pictureOf(collection, id, { size: 128 })
      : make("span", { class: "name" }, shortName(id));
    const button = make(
      "button",
      {
        type: "button",
        class: "mini",
        "data-id": String(id),
        "aria-label": `Search with ${id}`,
        title: String(id),
        onclick: () => this.tell.query(id),
      },
      face,
    );
    return button;
  }

  #path(path, item, face) {
    if (!path.length)
      return make(
        "p",
        { class: "hint" },
        "No chain of neighbours leads from the query to it: it was found by its similarity alone.",
      );
    return make(
      "ol",
      { class: "way" },
      make("li", { class: "way-start" }, face),
      ...path.map((id, i) => make("li", { class: i === path.length - 1 ? "way-end" : "" }, item(id))),
    );
  }

  #bars(neighbors, item) {
    const shown = neighbors.slice(0, MOST_BARS);
    const most = Math.max(1e-12, ...shown.map(({ contribution }) => Math.abs(contribution)));
    const rows = shown.map(({ id, weight, contribution }) => {
      const bar = make("span", { class: contribution < 0 ? "bar against" : "bar" });
      bar.style.width = `${(100 * Math.abs(contribution)) / most}%`;
      return make(
        "li",
        { "data-id": String(id) },
        item(id),
        make("span", { class: "bar-track" }, bar),
        make("span", { class: "bar-value", title: `weight ${score(weight)}` }, score(contribution)),
      );
    });
    return make("ol", { class: "bars" }, ...rows);
  }

  #graph({ graph, path }) {
    const svg = draw("svg", { class: "screen graph", role: "img" });
    drawGraph(svg, graph, path, { link: this.link, query: this.tell.query });
    return [
      svg,
      make(
        "p",
        { class: "hint" },
        "Size: how much the query saw of it (y). Colour: how much the wave brought (x). The bright line is the way.",
      ),
    ];
  }
}

const section = (title, ...content) => make("section", {}, make("h3", {}, title), ...content);

function sentence({ similarity, path, manifold }) {
  const near = `Its similarity to the query is ${score(similarity)}.`;
  if (!path.length) return near;
  const between = path.length - 1;
  const steps = between
    ? `${plural(between, "step")} along the graph from a neighbour of the query`
    : "It is a neighbour of the query itself";
  return `${near} ${between ? `It lies ${steps}` : steps}; ${score(manifold)} reaches it that way.`;
}
