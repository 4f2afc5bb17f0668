// The state as the server reads it.

import { shownColumns } from "./filters.js";
import { whereOf } from "./where.js";

function query(collection, { ids, not, text, upload, box }) {
  const numbers = (list) => list.map((id) => collection.id(id));
  return {
    ...(ids.length ? { ids: numbers(ids) } : {}),
    ...(not.length ? { not: numbers(not) } : {}),
    ...(text !== null ? { text } : {}),
    ...(upload ? { upload, box } : {}),
  };
}

/** The body of compare and of wave. drawn: ids of the area on the map, or null. */
export function question(collection, state, drawn) {
  const { k, filter, neighbors, blend } = state;
  const where = whereOf(state.where);
  return {
    query: query(collection, state),
    k,
    filter,
    neighbors,
    blend,
    where: where ?? drawn,
    ...(where && drawn ? { within: drawn } : {}),
    ...(collection.info.columns.length ? { columns: shownColumns(collection.info, state) } : {}),
  };
}

/** The body of explain. */
export function whyQuestion(collection, state) {
  const { filter, neighbors, why } = state;
  return { query: query(collection, state), id: collection.id(why), filter, neighbors };
}
