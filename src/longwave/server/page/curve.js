// The response of the filter: how much of every wave passes, over the collection's own eigenvalues.

import { draw } from "./dom.js";
import { colour } from "./ramp.js";

const WIDTH = 280;
const HEIGHT = 132;
const EDGE = { left: 8, right: 8, top: 12, bottom: 24 };

/** Draw into an <svg>. own: the collection's eigenvalues; lambdas, gains: the filter there and between, ascending. */
export function drawCurve(svg, own, { eigenvalues: lambdas, response: gains }) {
  const least = Math.floor(10 * Math.min(0.9, ...own)) / 10;
  const top = Math.max(1e-9, ...gains);
  const bottom = Math.min(0, ...gains);
  const passed = own.map((lambda) => gains[firstFrom(lambdas, lambda)]);
  const x = (lambda) => EDGE.left + ((lambda - least) / (1 - least || 1)) * (WIDTH - EDGE.left - EDGE.right);
  const y = (gain) => HEIGHT - EDGE.bottom - ((gain - bottom) / (top - bottom)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const shown = lambdas.map((lambda, i) => [lambda, gains[i]]).filter(([lambda]) => lambda >= least);
  const line = shown.map(([lambda, gain], i) => `${i ? "L" : "M"}${x(lambda).toFixed(1)} ${y(gain).toFixed(1)}`).join("");
  const stems = own.map((lambda, i) =>
    draw("line", {
      x1: x(lambda).toFixed(1), x2: x(lambda).toFixed(1), y1: y(0).toFixed(1), y2: y(passed[i]).toFixed(1),
      stroke: colour(Math.max(0, passed[i] / top)),
    }),
  );
  const axis = draw("line", { class: "axis", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(0), y2: y(0) });
  const names = [
    [least, "start", least.toFixed(1)],
    [(1 + least) / 2, "middle", "λ, longer waves →"],
    [1, "end", "1"],
  ].map(([at, anchor, text]) => draw("text", { x: x(at), y: HEIGHT - 7, "text-anchor": anchor }, text));
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.replaceChildren(draw("g", { class: "stems" }, ...stems), axis, draw("path", { d: line }), ...names);
  const half = passed.filter((gain) => gain >= top / 2).length;
  svg.setAttribute("aria-label", `Response of the filter: ${half} of ${own.length} waves shown pass at half or more.`);
}

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
