// The response of the filter: how much of every wave passes, over the collection's own eigenvalues.

import { draw } from "./dom.js";
import { colour } from "./ramp.js";

const WIDTH = 280;
const HEIGHT = 132;
const EDGE = { left: 10, right: 10, top: 12, bottom: 22 };
// All that matters happens close to λ = 1, the long waves: the axis is stretched there.
const WARP = 0.45;
const TICKS = [-1, -0.5, 0, 0.5, 0.8, 0.95, 1];

/** Draw into an <svg>. own: the collection's eigenvalues; lambdas, gains: the filter there and between, ascending. */
export function drawCurve(svg, own, { eigenvalues: lambdas, response: gains }) {
  const least = Math.min(0.5, ...own) - 0.05;
  const [top, bottom] = [Math.max(1e-9, ...gains), Math.min(0, ...gains)];
  const across = WIDTH - EDGE.left - EDGE.right;
  const x = (lambda) => WIDTH - EDGE.right - across * (Math.max(0, 1 - lambda) / (1 - least)) ** WARP;
  const y = (gain) => HEIGHT - EDGE.bottom - ((gain - bottom) / (top - bottom)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const passed = own.map((lambda) => gains[firstFrom(lambdas, lambda)]);
  const stems = own.map((lambda, i) =>
    draw("line", {
      x1: f(x(lambda)),
      x2: f(x(lambda)),
      y1: f(y(0)),
      y2: f(y(passed[i])),
      stroke: colour(Math.max(0, passed[i] / top)),
    }),
  );
  const shown = lambdas.map((lambda, i) => [lambda, gains[i]]).filter(([lambda]) => lambda >= least);
  const line = shown.map(([lambda, gain], i) => `${i ? "L" : "M"}${f(x(lambda))} ${f(y(gain))}`).join("");
  const ticks = TICKS.filter((lambda) => lambda >= least).map((lambda) =>
    draw(
      "text",
      { x: f(x(lambda)), y: HEIGHT - 6, "text-anchor": lambda === 1 ? "end" : "middle" },
      lambda === 1 ? "λ 1" : String(lambda).replace("-", "−"),
    ),
  );
  const axis = draw("line", { class: "axis", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: f(y(0)), y2: f(y(0)) });
  const caption = draw("text", { x: EDGE.left, y: 18 }, "what passes of each wave");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.replaceChildren(draw("g", { class: "stems" }, ...stems), axis, draw("path", { d: line }), ...ticks, caption);
  const half = passed.filter((gain) => gain >= top / 2).length;
  svg.setAttribute("aria-label", `Response of the filter: ${half} of ${own.length} waves shown pass at half or more.`);
}

const f = (value) => value.toFixed(1);

/** The place of the first number that is not below a value, in an ascending list. */
function firstFrom(numbers, value) {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
