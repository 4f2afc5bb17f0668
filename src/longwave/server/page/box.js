// A box drawn on a picture, with the mouse, a finger or the keys. It is kept in pixels of the picture.

import { draw } from "./dom.js";

const HELP =
  "The query's picture. Draw a box on it; or press Enter for one, move it with the arrow keys, " +
  "change its size with Shift and the arrow keys, remove it with Delete.";
const LEAST = 8; // pixels on the screen: less was a click

/** frame: the element around the image. tell(box | null). size: { width, height } of the whole picture. */
export class Box {
  constructor(frame, size, box, tell) {
    this.frame = frame;
    this.size = size;
    this.box = box;
    this.tell = tell;
    this.shade = draw("path", { class: "box-shade", "fill-rule": "evenodd" });
    this.rim = draw("rect", { class: "box-rim" });
    this.svg = draw(
      "svg",
      { class: "box", viewBox: `0 0 ${size.width} ${size.height}`, preserveAspectRatio: "none" },
      this.shade,
      this.rim,
    );
    frame.append(this.svg);
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", HELP);
    frame.addEventListener("pointerdown", (event) => this.#down(event));
    frame.addEventListener("pointermove", (event) => this.#move(event));
    frame.addEventListener("pointerup", () => this.#up());
    frame.addEventListener("keydown", (event) => this.#key(event));
    this.#show();
  }

  #place({ clientX, clientY }) {
    const around = this.frame.getBoundingClientRect();
    const share = (value, start, length) => Math.max(0, Math.min(1, (value - start) / length));
    return [
      share(clientX, around.left, around.width) * this.size.width,
      share(clientY, around.top, around.height) * this.size.height,
    ];
  }

  #down(event) {
    if (event.button) return;
    event.preventDefault();
    this.frame.focus();
    this.frame.setPointerCapture(event.pointerId);
    this.start = this.#place(event);
    this.first = this.box;
  }

  #move(event) {
    if (!this.start) return;
    const [x, y] = this.#place(event);
    const [a, b] = this.start;
    this.box = [Math.min(a, x), Math.min(b, y), Math.max(a, x), Math.max(b, y)].map(Math.round);
    this.#show();
  }

  #up() {
    if (!this.start) return;
    this.start = null;
    const pixel = this.size.width / this.frame.clientWidth;
    const large =
      this.box &&
      this.box !== this.first &&
      Math.min(this.box[2] - this.box[0], this.box[3] - this.box[1]) > LEAST * pixel;
    if (!large) this.box = this.first;
    this.#show();
    if (large) this.tell(this.box);
  }

  #key(event) {
    const { width, height } = this.size;
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [
      0, 0,
    ];
    if (event.key === "Enter" && !this.box)
      this.box = [width / 4, height / 4, (3 * width) / 4, (3 * height) / 4].map(Math.round);
    else if ((event.key === "Delete" || event.key === "Backspace") && this.box) this.box = null;
    else if ((dx || dy) && this.box)
      this.box = moved(this.box, dx * width * 0.03, dy * height * 0.03, event.shiftKey, this.size);
    else return;
    event.preventDefault();
    this.#show();
    this.tell(this.box);
  }

  #show() {
    const { width, height } = this.size;
    this.svg.classList.toggle("empty", !this.box);
    if (!this.box) return;
    const [x0, y0, x1, y1] = this.box;
    this.shade.setAttribute("d", `M0 0H${width}V${height}H0ZM${x0} ${y0}H${x1}V${y1}H${x0}Z`);
    for (const [name, value] of Object.entries({ x: x0, y: y0, width: x1 - x0, height: y1 - y0 }))
      this.rim.setAttribute(name, value);
  }
}

/** The box elsewhere, or with its lower right corner elsewhere. */
function moved([x0, y0, x1, y1], dx, dy, corner, { width, height }) {
  if (corner) {
    return [x0, y0, Math.min(width, Math.max(x0 + 16, x1 + dx)), Math.min(height, Math.max(y0 + 16, y1 + dy))].map(
      Math.round,
    );
  }
  const [sx, sy] = [Math.max(-x0, Math.min(width - x1, dx)), Math.max(-y0, Math.min(height - y1, dy))];
  return [x0 + sx, y0 + sy, x1 + sx, y1 + sy].map(Math.round);
}
