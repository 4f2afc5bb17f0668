// Conditions on metadata as the form has them, { column, operator, value }, and as the server reads them.

const ORDERED = [
  ["$eq", "="],
  ["$ne", "≠"],
  ["$gte", "≥"],
  ["$lte", "≤"],
  ["$gt", ">"],
  ["$lt", "<"],
  ["$in", "one of"],
  ["$exists", "is known"],
];
const TEXT = [
  ["$eq", "is"],
  ["$ne", "is not"],
  ["$in", "one of"],
  ["$exists", "is known"],
];
const YES_NO = [
  ["$eq", "is"],
  ["$exists", "is known"],
];

/** What kind of values a column has, from the name of its type. */
export function kindOf(type) {
  if (/bool/.test(type)) return "bool";
  if (/list/.test(type)) return "text";
  if (/date|time/.test(type)) return "date";
  return /int|float|double|decimal|number/.test(type) ? "number" : "text";
}

export const operatorsOf = (type) => ({ bool: YES_NO, text: TEXT })[kindOf(type)] ?? ORDERED;

/** Written text to a value of the column: "2020" is a number where the column has numbers. Throws what is wrong. */
export function valueOf(text, type, operator) {
  if (operator === "$exists") return true;
  if (operator === "$in") return text.split(",").map((part) => valueOf(part.trim(), type, "$eq"));
  const kind = kindOf(type);
  if (kind === "bool") return text === "true";
  if (!text) throw new Error("Write a value first.");
  if (kind !== "number") return text;
  const number = Number(text);
  if (!Number.isFinite(number)) throw new Error(`“${text}” is not a number.`);
  return number;
}

export function sentence({ column, operator, value }) {
  const signs = Object.fromEntries([...TEXT, ...ORDERED]);
  if (operator === "$exists") return `${column} is known`;
  const sign = operator === "$eq" ? "=" : operator === "$ne" ? "≠" : signs[operator];
  return `${column} ${sign} ${Array.isArray(value) ? value.join(", ") : value}`;
}

/** All of them at once, or null for none. */
export function whereOf(conditions) {
  if (!conditions.length) return null;
  const parts = conditions.map(({ column, operator, value }) => ({ [column]: { [operator]: value } }));
  return parts.length === 1 ? parts[0] : { $and: parts };
}
