// What lies over the dots of the map: the query, the hits, a selection, the item that is looked at, small pictures.

import { RAMP } from "./ramp.js";

const ACCENT = "#6fd6d9";
const PAPER = "#f4f1ea";
const SCREEN = "#0d1218";
const MOST = 60; // small pictures at once
const SIDE = 44; // and their size in pixels

export class Overlay {
  marks = { query: [], nearest: [], manifold: [], area: null };
  looked = -1;
  lasso = null;
  cross = false;

  /** repaint: called when a small picture has come. */
  constructor(canvas, view, repaint) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.view = view;
    this.repaint = repaint;
  }

  open(collection) {
    this.collection = collection;
    this.pictures = new Map();
    this.points = null;
    this.marks = { query: [], nearest: [], manifold: [], area: null };
  }

  resize(ratio) {
    this.ratio = ratio;
    [this.canvas.width, this.canvas.height] = [
      Math.round(this.view.width * ratio),
      Math.round(this.view.height * ratio),
    ];
  }

  draw() {
    const { context, view } = this;
    context.setTransform(this.ratio ?? 1, 0, 0, this.ratio ?? 1, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    if (!this.points) return;
    this.#pictures();
    if (this.marks.area)
      this.#outline(
        this.marks.area.map(([x, y]) => view.toScreen(x, y)),
        true,
      );
    const dot = view.dot(this.points.count);
    for (const place of this.marks.manifold) this.#ring(place, dot + 1.5, PAPER, 1);
    for (const place of this.marks.nearest) this.#pin(place, Math.max(1, 0.45 * dot));
    for (const place of this.marks.query) this.#target(...this.#screen(place), PAPER);
    if (this.looked >= 0) this.#ring(this.looked, 10, PAPER, 2);
    if (this.lasso) this.#outline(this.lasso, false);
    if (this.cross) this.#target(view.width / 2, view.height / 2, ACCENT);
  }

  #screen(place) {
    return this.view.toScreen(this.points.positions[2 * place], this.points.positions[2 * place + 1]);
  }

  #ring(place, radius, colour, width, dashes = []) {
    const [x, y] = this.#screen(place);
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.#stroke(colour, width, dashes);
  }

  #pin(place, radius) {
    this.context.beginPath();
    this.context.arc(...this.#screen(place), radius, 0, 2 * Math.PI);
    this.context.fillStyle = SCREEN;
    this.context.fill();
  }

  #target(x, y, colour) {
    this.context.beginPath();
    this.context.arc(x, y, 9, 0, 2 * Math.PI);
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ]) {
      this.context.moveTo(x + 6 * dx, y + 6 * dy);
      this.context.lineTo(x + 15 * dx, y + 15 * dy);
    }
    this.#stroke(colour, 2);
  }

  #outline(path, closed) {
    this.context.beginPath();
    path.forEach(([x, y], i) => (i ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
    if (closed) this.context.closePath();
    this.context.fillStyle = "rgb(111 214 217 / 0.10)";
    this.context.fill();
    this.#stroke(ACCENT, 1.5, [6, 4]);
  }

  #stroke(colour, width, dashes = []) {
    this.context.setLineDash(dashes);
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.stroke();
  }

  /** Seen from near, items show themselves: the brightest first, none over another. */
  #pictures() {
    if (!this.collection?.visible || this.view.zoom < 3) return;
    const seen = [...this.points.near(...this.view.seen)];
    if (seen.length > 4000) return;
    seen.sort((one, other) => this.levels[other] - this.levels[one]);
    const taken = [];
    for (const place of seen) {
      const [x, y] = this.#screen(place);
      if (taken.some(([a, b]) => Math.abs(a - x) < SIDE + 6 && Math.abs(b - y) < SIDE + 6)) continue;
      taken.push([x, y]);
      this.#picture(place, x, y);
      if (taken.length >= MOST) return;
    }
  }

  #picture(place, x, y) {
    const image = this.#loaded(this.ids[place]);
    if (!image?.complete || !image.naturalWidth) return;
    const shrink = SIDE / Math.max(image.naturalWidth, image.naturalHeight);
    const [width, height] = [image.naturalWidth * shrink, image.naturalHeight * shrink];
    const { context } = this;
    context.imageSmoothingEnabled = image.naturalWidth > 32;
    context.drawImage(image, x - width / 2, y - height / 2, width, height);
    context.beginPath();
    context.rect(x - width / 2, y - height / 2, width, height);
    this.#stroke(`rgb(${RAMP[this.levels[place]].join(" ")})`, 2);
  }

  #loaded(id) {
    if (!this.pictures.has(id)) {
      if (this.pictures.size > 500) this.pictures.delete(this.pictures.keys().next().value);
      const image = new Image();
      image.addEventListener("load", this.repaint);
      this.collection.picture(id, 128).then(
        (url) => (image.src = url),
        () => {},
      );
      this.pictures.set(id, image);
    }
    return this.pictures.get(id);
  }
}
