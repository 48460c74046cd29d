// Texts of a Table's cells.

/** Characters of a cell that are kept; the object has the rest. */
const MOST = 1000;

/** A value of a Table's cell, cut to a length that a table can show. */
export function bounded(value) {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  const text = cellText(value);
  return text.length > MOST ? `${text.slice(0, MOST)}…` : text;
}

export function cellText(value) {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
