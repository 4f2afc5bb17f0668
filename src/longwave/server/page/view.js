// Where on the map one is: a centre in the plane and a scale in pixels. It moves by dragging, wheel, pinch and keys.

const NEAREST = 400;

export class View {
  width = 1;
  height = 1;
  zoom = 1;
  x = 0;
  y = 0;

  resize(width, height) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
  }

  /** Pixels for a step of 1 in the plane; at zoom 1 all of [−1, 1]² is seen. */
  get scale() {
    return 0.47 * Math.min(this.width, this.height) * this.zoom;
  }

  /** A place of the plane on the screen, and back. */
  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toPlane(px, py) {
    return [this.x + (px - this.width / 2) / this.scale, this.y - (py - this.height / 2) / this.scale];
  }

  pan(dx, dy) {
    this.x = Math.max(-1, Math.min(1, this.x - dx / this.scale));
    this.y = Math.max(-1, Math.min(1, this.y + dy / this.scale));
  }

  /** Nearer or further by a factor; what is under (px, py) stays there. */
  zoomAt(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toPlane(px, py);
    this.zoom = Math.max(1, Math.min(NEAREST, this.zoom * factor));
    const [nowX, nowY] = this.toScreen(x, y);
    this.pan(px - nowX, py - nowY);
    if (this.zoom === 1) this.reset();
  }

  reset() {
    [this.zoom, this.x, this.y] = [1, 0, 0];
  }

  /** The rectangle of the plane that is seen: x0, y0, x1, y1. */
  get seen() {
    const [x0, y1] = this.toPlane(0, 0);
    const [x1, y0] = this.toPlane(this.width, this.height);
    return [x0, y0, x1, y1];
  }
}
