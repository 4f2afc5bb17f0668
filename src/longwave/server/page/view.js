// Where on the map one is: a centre in the plane and a scale in pixels. It moves by dragging, wheel, pinch and keys.
// Distances on a map like this mean little, so it is stretched, within limits, to fill its screen.

const NEAREST = 400;
const STRETCH = 1.7;
const FILL = 0.47; // of the screen's width or height for a step of 1, at zoom 1

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

  /** Pixels for a step of 1 in the plane, to the right and up; at zoom 1 all of [−1, 1]² is seen. */
  get scaleX() {
    return FILL * Math.min(this.width, STRETCH * this.height) * this.zoom;
  }

  get scaleY() {
    return FILL * Math.min(this.height, STRETCH * this.width) * this.zoom;
  }

  /** A place of the plane on the screen, and back. */
  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.scaleX, this.height / 2 - (y - this.y) * this.scaleY];
  }

  toPlane(px, py) {
    return [this.x + (px - this.width / 2) / this.scaleX, this.y - (py - this.height / 2) / this.scaleY];
  }

  pan(dx, dy) {
    this.x = Math.max(-1, Math.min(1, this.x - dx / this.scaleX));
    this.y = Math.max(-1, Math.min(1, this.y + dy / this.scaleY));
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

  /** The radius of one of so many dots, in pixels: they fill a twelfth of the screen. They grow slower than the map. */
  dot(count) {
    const share = Math.sqrt((0.08 * this.width * this.height) / (Math.PI * Math.max(count, 200)));
    return Math.max(1, Math.min(5, Math.min(3.5, share) * this.zoom ** 0.4));
  }
}
