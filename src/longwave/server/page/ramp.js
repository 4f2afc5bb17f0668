// The colours of the wave: from a dim blue to a bright yellow, by even steps of lightness (OKLCH), so that twice as
// far along the ramp looks twice as far. It is made for the dark screens of the page; grey copies of it stay readable.

// Lightness, chroma, hue in degrees.
const STOPS = [
  [0.36, 0.06, 278],
  [0.5, 0.12, 256],
  [0.65, 0.115, 212],
  [0.8, 0.14, 160],
  [0.95, 0.15, 104],
];

const gamma = (v) => (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055);

/** OKLCH to sRGB bytes: the published matrices of OKLab. */
function bytes([lightness, chroma, hue]) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((v) => Math.round(255 * Math.min(1, Math.max(0, gamma(Math.max(0, v))))));
}

function at(share) {
  const place = share * (STOPS.length - 1);
  const below = Math.min(STOPS.length - 2, Math.floor(place));
  return bytes(STOPS[below].map((value, i) => value + (STOPS[below + 1][i] - value) * (place - below)));
}

/** 256 colours, [red, green, blue] each. */
export const RAMP = Array.from({ length: 256 }, (_, level) => at(level / 255));

// Waves fall over many powers of ten. The server sends the fourth root of each share of the largest, so that none is
// lost; the ramp shows the square root.
const SENT = 4;
const SHOWN = 2;

/** A share of the largest value, 0 … 1, to a level of the ramp, 0 … 255. */
export const level = (share) => Math.max(0, Math.min(255, Math.round(255 * Math.max(0, share) ** (1 / SHOWN))));

/** The share that the server meant. */
export const shareOf = (sent) => sent ** SENT;

// What the best few have is full brightness: one item that is the query's twin would leave the others in the dark.
const FULL = 16;

// Where the wave reaches all items, as in small collections, even the least have much of the largest, and all would be
// bright. So what the least twentieth of the items reached have is drawn no brighter than this level.
const DIM = 48;
const LEAST = 0.05;
const REACHED = 1e-3; // of full brightness
const SAMPLE = 4096; // items that are looked at for it, at most

/** The share that the least of the items reached have. */
function least(sent, full) {
  const step = Math.ceil(sent.length / SAMPLE);
  const reached = sent.filter((value, i) => i % step === 0 && shareOf(value) > REACHED * full).sort();
  const share = reached.length ? shareOf(reached[Math.floor(LEAST * reached.length)]) : 0;
  return share < full ? share : 0;
}

/**
 * What the server sent of all items, to their levels. out: Uint8Array. Returns the shares of the largest at both ends:
 * { dim, low, full }, where `low` has the level `dim`, and `full` the highest.
 */
export function levels(sent, out) {
  const best = new Float32Array(Math.min(FULL, sent.length)); // ascending
  for (const value of sent) {
    if (value <= best[0]) continue;
    let i = 0;
    while (i + 1 < best.length && best[i + 1] < value) best[i] = best[++i];
    best[i] = value;
  }
  const full = shareOf(best.find((value) => value > 0) ?? 1);
  const low = least(sent, full);
  const dim = Math.min(DIM, level(low / full));
  for (let i = 0; i < sent.length; i++) {
    const share = shareOf(sent[i]);
    if (share < low) out[i] = Math.min(dim, level(share / full));
    else out[i] = dim + Math.round(((255 - dim) / 255) * level((share - low) / (full - low)));
  }
  return { dim, low, full };
}

export const colour = (share) => `rgb(${RAMP[level(share)].join(" ")})`;
