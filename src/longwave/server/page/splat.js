// Many round dots into an image, pixel by pixel: no graphics card is needed, and a hundred thousand take milliseconds.

import { RAMP } from "./ramp.js";

// What the wave has not reached steps back: levels below this are drawn smaller.
const FAINT = 24;

/** A disc as offset in the image and cover 0 … 255 of each pixel, smooth at its rim. */
function disc(radius, width) {
  const reach = Math.ceil(radius);
  const stamp = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.max(0, Math.min(1, radius + 0.5 - Math.hypot(dx, dy)));
      if (cover > 0.05) stamp.push(dy * width + dx, Math.round(255 * cover));
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

const packed = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
const COLOURS = Uint32Array.from(RAMP, packed);

/** Dots at scale · position + shift, coloured by level, in this order. image: ImageData; ground: [r, g, b]. */
export function splat(image, positions, levels, order, { scaleX, scaleY, shiftX, shiftY, radius, ground }) {
  const { width, height, data: bytes } = image;
  const pixels = new Uint32Array(bytes.buffer);
  pixels.fill(packed(ground));
  const small = disc(Math.max(0.6, 0.7 * radius), width);
  const large = disc(radius, width);
  const rim = Math.ceil(radius) + 1;
  for (let k = 0; k < order.length; k++) {
    const i = order[k];
    const x = Math.round(positions[2 * i] * scaleX + shiftX);
    const y = Math.round(shiftY - positions[2 * i + 1] * scaleY);
    if (x < rim || y < rim || x >= width - rim || y >= height - rim) continue;
    const stamp = levels[i] < FAINT ? small : large;
    const colour = COLOURS[levels[i]];
    for (let s = 0; s < stamp.length; s += 2) {
      const at = y * width + x + stamp[s];
      const cover = stamp[s + 1];
      pixels[at] = cover > 250 ? colour : mixed(pixels[at], colour, cover);
    }
  }
}

/** A little of a colour over another; both packed. */
function mixed(under, over, cover) {
  const part = (shift) => {
    const below = (under >>> shift) & 255;
    return (below + (((((over >>> shift) & 255) - below) * cover) >> 8)) << shift;
  };
  return ((255 << 24) | part(16) | part(8) | part(0)) >>> 0;
}
