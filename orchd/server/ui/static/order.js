// Order of texts and numbers.

/** Negative, 0 or positive, for sorting. */
export function compare(one, other) {
  return one < other ? -1 : one > other ? 1 : 0;
}
