// Sliders have 200 steps; what a step means depends on the parameter. α does most of its work close to 1.

export const STEPS = 200;

const short = (value, digits) => Number(value.toPrecision(digits));

const linear = {
  value: (place, { min, max }) => short(min + (place / STEPS) * (max - min), 3),
  place: (value, { min, max }) => (STEPS * (value - min)) / (max - min),
};

/** Even steps of 1/(1 − α), the length of a walk: 0, 0.9, 0.99 and 0.999 are equally far apart. */
const reach = {
  value: (place, { min, max }) => {
    const rest = (1 - min) * ((1 - max) / (1 - min)) ** (place / STEPS);
    return short(1 - short(rest, 2), 6);
  },
  place: (value, { min, max }) => (STEPS * Math.log((1 - value) / (1 - min))) / Math.log((1 - max) / (1 - min)),
};

/** Fine at first, coarse later: heat times. */
const square = {
  value: (place, { min, max }) => short(min + (place / STEPS) ** 2 * (max - min), 2),
  place: (value, { min, max }) => STEPS * Math.sqrt(Math.max(0, value - min) / (max - min)),
};

const whole = {
  value: (place, range) => Math.round(square.value(place, range)),
  place: square.place,
};

const SCALES = { alpha: reach, time: square, steps: whole, neighbors: whole, k: whole };

const scaleOf = (range) => SCALES[range.parameter] ?? linear;

/** The value at a place of the slider, 0 … STEPS, and back. range: { parameter, min, max }. */
export const valueAt = (place, range) => scaleOf(range).value(Number(place), range);

export function placeOf(value, range) {
  const inside = Math.min(range.max, Math.max(range.min, value));
  return Math.round(scaleOf(range).place(inside, range));
}
