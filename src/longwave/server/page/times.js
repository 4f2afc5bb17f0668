// Where the time of an answer went, as it was measured: by the server, and by the browser around it.

import { find, make } from "./dom.js";
import { milliseconds } from "./words.js";

const row = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));

/** whole: what the browser waited. route: the way that the server took. */
export function showTimes({ first, second, queue, total, whole }, route) {
  const rows = {
    "First search": first,
    "Second search": second,
    "Waiting for a turn": queue,
    "Server in all": total,
    "Network and browser": whole - total,
  };
  find("#times").replaceChildren(
    ...Object.entries(rows)
      .filter(([, value]) => Number.isFinite(value))
      .map(([name, value]) => row(name, milliseconds(Math.max(0, value)))),
    ...(route ? [row("Way", route)] : []),
  );
}
