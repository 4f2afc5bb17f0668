// The hits as a file: CSV for tables, JSON for programs.

import { make } from "./dom.js";

/** A row for each hit of both columns. */
function rows({ nearest, manifold, truth }) {
  return Object.entries({ nearest, manifold }).flatMap(([search, hits]) =>
    hits.ids.map((id, i) => ({
      search,
      rank: i + 1,
      id,
      score: hits.scores[i],
      ...(truth ? { relevant: truth[search].relevant[i] } : {}),
      ...Object.fromEntries(Object.entries(hits.columns ?? {}).map(([name, values]) => [name, values[i]])),
    })),
  );
}

/** A field of CSV. A text that a spreadsheet would take for a formula is kept a text. */
function field(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(answer) {
  const all = rows(answer);
  const names = [...new Set(all.flatMap((row) => Object.keys(row)))];
  return (
    [names.map(field).join(","), ...all.map((row) => names.map((name) => field(row[name])).join(","))].join("\r\n") +
    "\r\n"
  );
}

export function json(answer, question) {
  return JSON.stringify(
    { question, hits: rows(answer), confidence: answer.manifold.confidence, version: answer.version },
    null,
    2,
  );
}

export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
