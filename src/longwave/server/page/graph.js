// The neighbourhood of a hit: what the query saw (y) is the size of a vertex, what the search gave it (x) its colour.

import { draw } from "./dom.js";
import { colour } from "./ramp.js";
import { score, shortName } from "./words.js";

const WIDTH = 420;
const HEIGHT = 300;
const EDGE = 22;

/** Positions into the picture, each direction by itself: graphs are often long and thin. */
function placed(nodes) {
  const fit = (values, size) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return values.map((value) => EDGE + ((value - least) / (most - least || 1)) * (size - 2 * EDGE));
  };
  const xs = fit(
    nodes.map((node) => node.x),
    WIDTH,
  );
  const ys = fit(
    nodes.map((node) => -node.y),
    HEIGHT,
  );
  return nodes.map((node, i) => ({ ...node, px: xs[i], py: ys[i] }));
}

// Edges drawn for each vertex, its strongest; all of them would be fog.
const EDGES = 4;

/** The edges that are among the strongest of either end, and those of the way. */
function drawn(edges, count, onPath) {
  const rank = Array(count).fill(0);
  return [...edges]
    .sort((one, other) => other[2] - one[2])
    .filter(([i, j]) => Math.min(rank[i]++, rank[j]++) < EDGES || onPath(i, j));
}

/** Into an <svg>. graph: { nodes, edges }; path: ids from the query to the hit. */
export function drawGraph(svg, graph, path, { link, query }) {
  const nodes = placed(graph.nodes);
  const most = {
    x: Math.max(1e-12, ...nodes.map((n) => n.score)),
    y: Math.max(1e-12, ...nodes.map((n) => n.observed)),
  };
  const heaviest = Math.max(1e-12, ...graph.edges.map(([, , weight]) => weight));
  const steps = new Set(path.slice(1).map((id, i) => `${path[i]}\n${id}`));
  const onPath = (i, j) => steps.has(`${nodes[i].id}\n${nodes[j].id}`) || steps.has(`${nodes[j].id}\n${nodes[i].id}`);
  const edges = drawn(graph.edges, nodes.length, onPath).map(([i, j, weight]) =>
    draw("line", {
      x1: nodes[i].px,
      y1: nodes[i].py,
      x2: nodes[j].px,
      y2: nodes[j].py,
      class: onPath(i, j) ? "edge way" : "edge",
      "stroke-opacity": onPath(i, j) ? 1 : (0.12 + 0.4 * (weight / heaviest)).toFixed(2),
    }),
  );
  const target = String(path.at(-1) ?? "");
  const dots = [...nodes]
    .sort((one, other) => one.score - other.score)
    .map((node) => {
      const radius = 3.5 + 8 * Math.sqrt(Math.max(0, node.observed) / most.y);
      const about = `${node.id}: y ${score(node.observed)}, x ${score(node.score)}`;
      const circle = draw("circle", {
        cx: node.px,
        cy: node.py,
        r: radius.toFixed(1),
        fill: colour(Math.max(0, node.score / most.x)),
        class: String(node.id) === target ? "node hit-node" : "node",
        "data-id": String(node.id),
        onclick: () => query(node.id),
        onpointerenter: () => link.look(String(node.id)),
        onpointerleave: () => link.look(null),
      });
      circle.append(draw("title", {}, about));
      return circle;
    });
  const name = nodes.find((node) => String(node.id) === target);
  const label =
    name &&
    draw(
      "text",
      { x: name.px, y: name.py - 12, "text-anchor": name.px > WIDTH / 2 ? "end" : "start" },
      shortName(target),
    );
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute(
    "aria-label",
    `The neighbourhood: ${nodes.length} items and ${graph.edges.length} links between them.`,
  );
  svg.replaceChildren(...edges, ...dots, ...(label ? [label] : []));
}
