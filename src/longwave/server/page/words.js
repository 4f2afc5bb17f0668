// Numbers as people say them.

const plural = (count, one) => (count === 1 ? `1 ${one}` : `${count.toLocaleString("en")} ${one}s`);

export { plural };

/** Three digits behind the point, or two that count where it is small. */
export function score(value) {
  const size = Math.abs(value);
  if (size >= 0.1 || size === 0) return value.toFixed(size >= 100 ? 0 : 3);
  if (size >= 1e-4) return String(Number(value.toPrecision(2)));
  const [digits, power] = value.toExponential(1).split("e");
  return `${digits}·10${[...power].map((sign) => RAISED[sign] ?? "").join("")}`;
}

const RAISED = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((sign, i) => [i, sign])) };

export function milliseconds(value) {
  if (value === undefined || value === null) return "–";
  return value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

/** What a confidence means. It is the chance to be at least as good as nearest neighbours. */
export function confidence(value) {
  if (value === null || value === undefined) return { tone: "plain", text: "" };
  const percent = `${Math.round(100 * value)} %`;
  if (value >= 0.85)
    return { tone: "sure", text: `The graph is sure here: ${percent} to do at least as well as nearest neighbours.` };
  if (value >= 0.7)
    return {
      tone: "likely",
      text: `The graph probably helps here: ${percent} to do at least as well as nearest neighbours.`,
    };
  return { tone: "doubt", text: `The graph is not sure here (${percent}): results lean on nearest neighbours.` };
}

/** Where an item moved, seen from one column. */
export function move(own, other, side) {
  if (other === undefined) {
    return side === "manifold"
      ? { kind: "new", sign: "new", text: "found by the manifold alone" }
      : { kind: "gone", sign: "gone", text: "found by nearest neighbours alone" };
  }
  const steps = other - own;
  const elsewhere = side === "manifold" ? "among nearest neighbours" : "along the manifold";
  if (steps === 0) return { kind: "same", sign: "=", text: `same rank ${elsewhere}` };
  return {
    kind: steps > 0 ? "up" : "down",
    sign: `${steps > 0 ? "↑" : "↓"}${Math.abs(steps)}`,
    text: `rank ${other} ${elsewhere}`,
  };
}

/** What changed, in one sentence for the live region. */
export function summary(answer) {
  const near = new Set(answer.nearest.ids.map(String));
  const alone = answer.manifold.ids.filter((id) => !near.has(String(id))).length;
  const parts = [`${plural(answer.manifold.ids.length, "hit")}, ${alone} of them found by the manifold alone.`];
  if (answer.truth)
    parts.push(
      `Average precision ${percent(answer.truth.manifold.ap)}, nearest neighbours ${percent(answer.truth.nearest.ap)}.`,
    );
  const trust = confidence(answer.manifold.confidence).text;
  if (trust) parts.push(trust);
  return parts.join(" ");
}

export const percent = (share) => (share === null || share === undefined ? "–" : (100 * share).toFixed(1));

/** A name short enough for a tile: the end of a path. */
export const shortName = (id) => String(id).split("/").at(-1);

/** What is asked with, in few words. */
export function nameOf({ ids, text, upload }) {
  const first = upload ? ["a picture"] : text !== null ? [`“${text}”`] : [];
  return [...first, ...ids.map(shortName)].join(" + ");
}

/** Said where something else could not be asked, and the hits stay. */
export const belongs = (state) => `The hits are still those of ${nameOf(state)}.`;

/** Said where an item that is asked with is not there. */
export const unknown = ({ ids, not }) =>
  ids.length + not.length === 1
    ? `There is no item called “${[...ids, ...not][0]}” in this collection. Type another name, or take a random item.`
    : "One of these examples is not in this collection. Take it out, or take a random item.";

/** What both ends of the colours of the map mean, as shares of the best item's score. */
export function ends(low, full) {
  const digits = Math.min(4, Math.max(0, Math.ceil(-Math.log10(50 * (full - low))))); // as many as tell the ends apart
  const share = (value) => (100 * value).toFixed(digits);
  const from = low < 0.005 ? "x: none" : `x: ${share(low)} %`;
  return { from, to: full === 1 ? "as the best" : `${share(full)} % of the best or more` };
}
