// The whole collection in two dimensions, coloured by the wave of the query. Dots are on one canvas; what is drawn over
// them (query, hits, a selection, small pictures) on another, so that looking around repaints little.

import { calm, find, make } from "./dom.js";
import { listen } from "./gestures.js";
import { Overlay } from "./overlay.js";
import { Points } from "./points.js";
import { levels, RAMP, shareOf } from "./ramp.js";
import { byLevel, splat } from "./splat.js";
import { pictureOf } from "./tile.js";
import { View } from "./view.js";
import { ends, plural, score, shortName } from "./words.js";

const GROUND = [13, 18, 24]; // --screen of the style sheet
const REACH = 14; // pixels around the pointer in which an item is taken

export class WaveMap {
  #frame = 0;
  #dirty = false;

  /** tell: { query(id), select(polygon | null), say(text) } */
  constructor(root, link, tell) {
    this.root = root;
    this.tell = tell;
    this.link = link;
    this.stage = find("#map-stage", root);
    this.note = find("#map-note", root);
    this.tip = find("#map-tip", root);
    this.view = new View();
    this.dots = find("#map-dots", root);
    this.overlay = new Overlay(find("#map-over", root), this.view, () => this.#over());
    this.points = null;
    const listener = {
      moved: (keys) => this.#moved(keys),
      hover: (x, y) => this.#hover(x, y),
      click: (x, y) => this.#click(x, y),
      lasso: (path, done) => this.#lasso(path, done),
      enter: () => this.#pick(this.#middle()),
    };
    listen(this.stage, this.view, () => this.stage.dataset.mode === "lasso", listener);
    this.#buttons();
    this.#legend({ dim: 0, low: 0, full: 1 });
    link.subscribe((id) => this.#look(id));
    new ResizeObserver(() => this.#resize()).observe(this.stage);
  }

  /** Positions and ids of a collection; resolves when both are there. */
  async open(collection) {
    this.collection = collection;
    this.points = null;
    this.ids = null;
    this.view.reset();
    this.overlay.open(collection);
    this.#paint();
    const [positions, ids] = await Promise.all([collection.map(), collection.allIds()]);
    if (this.collection !== collection) return;
    this.ids = ids;
    this.places = new Map(ids.map((id, i) => [String(id), i]));
    this.points = new Points(positions);
    this.shown = new Float32Array(ids.length);
    this.levels = new Uint8Array(ids.length);
    this.target = new Uint8Array(ids.length);
    this.order = byLevel(this.levels);
    Object.assign(this.overlay, { points: this.points, levels: this.levels, ids });
    this.#paint();
  }

  fail(text) {
    this.points = null;
    this.note.textContent = text;
  }

  /** The wave at every item, as the fourth root of its share of the largest. */
  wave(roots) {
    if (!this.points || roots.length !== this.target.length) return;
    this.#legend(levels(roots, this.target));
    this.roots = roots;
    this.#flow();
  }

  /** No wave, and nothing marked. */
  clear() {
    this.overlay.marks = { query: [], nearest: [], manifold: [], area: null };
    this.roots = null;
    if (!this.points) return;
    this.target.fill(0);
    this.#flow();
  }

  /** What is marked: ids of the query, of the hits of both columns, and the area that was drawn. */
  mark({ query, nearest, manifold, area }) {
    if (!this.points) return;
    const places = (ids) => ids.map((id) => this.places.get(String(id))).filter((place) => place !== undefined);
    this.overlay.marks = { query: places(query), nearest: places(nearest), manifold: places(manifold), area };
    this.#over();
  }

  /** Ids of the items inside an area. */
  within = (area) => this.points.inside(area).map((place) => this.ids[place]);

  get ready() {
    return this.points !== null;
  }

  #buttons() {
    const mode = (name) => () => {
      this.stage.dataset.mode = name;
      for (const button of this.root.querySelectorAll("[data-mode-button]"))
        button.setAttribute("aria-pressed", String(button.dataset.modeButton === name));
    };
    for (const name of ["pan", "lasso"])
      find(`[data-mode-button=${name}]`, this.root).addEventListener("click", mode(name));
    const zoom = (factor) => () => {
      this.view.zoomAt(factor);
      this.#moved();
    };
    find("#map-in", this.root).addEventListener("click", zoom(1.6));
    find("#map-out", this.root).addEventListener("click", zoom(1 / 1.6));
    find("#map-select", this.root).addEventListener("click", () => {
      const [x0, y0, x1, y1] = this.view.seen;
      this.#select([
        [x0, y0],
        [x1, y0],
        [x1, y1],
        [x0, y1],
      ]);
    });
    mode("pan")();
  }

  /** Which colours there are, and what both ends of them mean. */
  #legend({ dim, low, full }) {
    const ramp = find(".ramp", this.root).getContext("2d");
    for (let i = 0; i < 256; i++) {
      ramp.fillStyle = `rgb(${RAMP[Math.round(dim + ((255 - dim) / 255) * i)].join(" ")})`;
      ramp.fillRect(i, 0, 1, 1);
    }
    const { from, to } = ends(low, full);
    find("#ramp-low", this.root).textContent = from;
    find("#ramp-full", this.root).textContent = to;
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height) return;
    this.view.resize(width, height);
    const ratio = Math.min(2, devicePixelRatio || 1);
    [this.dots.width, this.dots.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    this.overlay.resize(ratio);
    this.image = null;
    this.#paint();
  }

  #moved(byKeys = false) {
    this.#paint();
    this.#hover(null);
    if (!byKeys || !this.points) return;
    const middle = this.#middle();
    this.overlay.cross = true;
    this.tell.say(middle < 0 ? "No item here." : `In the middle: ${this.ids[middle]}`);
  }

  #middle() {
    if (!this.points) return -1;
    const { x, y, width, height } = this.view;
    return this.points.nearest(x, y, this.#reach(0.4 * Math.min(width, height)));
  }

  #at(px, py) {
    return this.points ? this.points.nearest(...this.view.toPlane(px, py), this.#reach(REACH)) : -1;
  }

  /** Pixels as steps in the plane. */
  #reach(pixels) {
    return [pixels / this.view.scaleX, pixels / this.view.scaleY];
  }

  #hover(px, py) {
    const place = px === null ? -1 : this.#at(px, py);
    this.stage.classList.toggle("over-item", place >= 0);
    if (px !== null) this.overlay.cross = false;
    this.link.look(place < 0 ? null : String(this.ids[place]));
  }

  #look(id) {
    const place = this.points ? (this.places.get(id) ?? -1) : -1;
    this.overlay.looked = place;
    this.#over();
    this.#tip(place);
  }

  /** A small card beside the item that is looked at. */
  #tip(place) {
    this.tip.hidden = place < 0;
    if (place < 0) return;
    const id = this.ids[place];
    const [x, y] = this.view.toScreen(this.points.positions[2 * place], this.points.positions[2 * place + 1]);
    const inside = x > -20 && y > -20 && x < this.view.width + 20 && y < this.view.height + 20;
    this.tip.hidden = !inside;
    if (!inside) return;
    if (this.tip.dataset.id !== String(id)) {
      this.tip.dataset.id = String(id);
      const picture = this.collection.visible ? [pictureOf(this.collection, id, { size: 128 })] : [];
      this.tip.replaceChildren(
        ...picture,
        make("span", { class: "name" }, shortName(id)),
        make("span", { class: "share" }),
      );
    }
    if (this.roots) find(".share", this.tip).textContent = `x ${score(shareOf(this.roots[place]))}`;
    const right = x < this.view.width / 2;
    const beside = `translate(${x + (right ? 14 : -14)}px, ${y}px)`;
    this.tip.style.transform = `${beside} translate(${right ? "0" : "-100%"}, -50%)`;
  }

  #click(px, py) {
    this.#pick(this.#at(px, py));
  }

  #pick(place) {
    if (place >= 0) this.tell.query(this.ids[place]);
  }

  #lasso(path, done) {
    this.overlay.lasso = done ? null : path;
    this.#over();
    if (done && this.points) this.#select(thinned(path).map(([x, y]) => this.view.toPlane(x, y)));
  }

  #select(polygon) {
    if (!this.points) return;
    const digits = 3 + Math.ceil(Math.log10(this.view.zoom));
    const area = polygon.map((place) => place.map((value) => Number(value.toFixed(digits))));
    const count = this.points.inside(area).length;
    this.tell.say(count ? `${plural(count, "item")} selected.` : "No item there.");
    if (count) this.tell.select(area);
  }

  /** Levels move to where the new wave has them. */
  #flow() {
    const step = calm() ? 1 : 0.3;
    let left = false;
    for (let i = 0; i < this.levels.length; i++) {
      const gap = this.target[i] - this.shown[i];
      this.shown[i] = Math.abs(gap) < 2 ? this.target[i] : this.shown[i] + step * gap;
      this.levels[i] = this.shown[i];
      left ||= this.shown[i] !== this.target[i];
    }
    this.order = byLevel(this.levels);
    this.flowing = left;
    this.#paint();
  }

  #paint() {
    this.#dirty = true;
    this.#over();
  }

  #over() {
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#frame = 0;
    if (this.#dirty) this.#drawDots();
    this.#dirty = false;
    this.overlay.draw();
    if (this.points) this.note.textContent = "";
    if (this.flowing) this.#flow();
  }

  #drawDots() {
    const context = this.dots.getContext("2d");
    const { width, height } = this.dots;
    if (!this.points) {
      context.fillStyle = `rgb(${GROUND})`;
      context.fillRect(0, 0, width, height);
      return;
    }
    this.image ??= context.createImageData(width, height);
    const ratio = width / this.view.width;
    const [scaleX, scaleY] = [this.view.scaleX * ratio, this.view.scaleY * ratio];
    splat(this.image, this.points.positions, this.levels, this.order, {
      scaleX,
      scaleY,
      shiftX: width / 2 - this.view.x * scaleX,
      shiftY: height / 2 + this.view.y * scaleY,
      radius: ratio * this.view.dot(this.points.count),
      ground: GROUND,
    });
    context.putImageData(this.image, 0, 0);
  }
}

/** A path without the points that lie close to the one before. */
function thinned(path) {
  const kept = [path[0]];
  for (const point of path) if (Math.hypot(point[0] - kept.at(-1)[0], point[1] - kept.at(-1)[1]) > 8) kept.push(point);
  return kept;
}
