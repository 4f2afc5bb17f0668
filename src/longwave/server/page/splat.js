// Many round dots into an image, pixel by pixel: no graphics card is needed, and a hundred thousand take milliseconds.

import { RAMP } from "./ramp.js";

// What the wave has not reached steps back: levels below this are drawn smaller.
const FAINT = 24;

/** A disc: offset in the image and cover 0 … 256 of each pixel. Its rim is smooth; the smallest are plain pixels. */
function disc(radius, width) {
  if (radius < 0.8) return Int32Array.of(0, 256);
  if (radius < 1.2) return Int32Array.of(0, 256, 1, 256, width, 256, width + 1, 256);
  const reach = Math.ceil(radius);
  const stamp = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.max(0, Math.min(1, radius + 0.5 - Math.hypot(dx, dy)));
      if (cover > 0.05) stamp.push(dy * width + dx, Math.round(256 * cover));
    }
  }
  return Int32Array.from(stamp);
}

/** The order in which dots are drawn, by level, so that what is bright lies on top: a counting sort. */
export function byLevel(levels) {
  const starts = new Uint32Array(257);
  for (let i = 0; i < levels.length; i++) starts[levels[i] + 1]++;
  for (let l = 0; l < 256; l++) starts[l + 1] += starts[l];
  const order = new Uint32Array(levels.length);
  for (let i = 0; i < levels.length; i++) order[starts[levels[i]]++] = i;
  return order;
}

const OPAQUE = 255 << 24;
const packed = ([red, green, blue]) => OPAQUE | (blue << 16) | (green << 8) | red;
const COLOURS = Int32Array.from(RAMP, packed);

/** Dots at scale · position + shift, coloured by level, in this order. image: ImageData; ground: [r, g, b]. */
export function splat(image, positions, levels, order, { scaleX, scaleY, shiftX, shiftY, radius, ground }) {
  const { width, height } = image;
  const pixels = new Int32Array(image.data.buffer);
  pixels.fill(packed(ground));
  const small = disc(0.7 * radius, width);
  const large = disc(radius, width);
  const rim = Math.ceil(radius) + 1;
  for (let k = 0; k < order.length; k++) {
    const i = order[k];
    const x = (positions[2 * i] * scaleX + shiftX) | 0;
    const y = (shiftY - positions[2 * i + 1] * scaleY) | 0;
    if (x < rim || y < rim || x >= width - rim || y >= height - rim) continue;
    const colour = COLOURS[levels[i]];
    // Red and blue are mixed in one product, green in another: cover · colour + (256 − cover) · what is there.
    const redBlue = colour & 0xff00ff;
    const green = colour & 0x00ff00;
    const stamp = levels[i] < FAINT ? small : large;
    for (let s = 0; s < stamp.length; s += 2) {
      const at = y * width + x + stamp[s];
      const cover = stamp[s + 1];
      const rest = 256 - cover;
      const under = pixels[at];
      const both = (Math.imul(under & 0xff00ff, rest) + Math.imul(redBlue, cover)) >>> 8;
      const third = (Math.imul(under & 0x00ff00, rest) + Math.imul(green, cover)) >>> 8;
      pixels[at] = OPAQUE | (both & 0xff00ff) | (third & 0x00ff00);
    }
  }
}
