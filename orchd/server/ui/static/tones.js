// How the states that objects report are shown: colour beside the word, never instead of it.

const GOOD = new Set(['running', 'ready', 'active', 'bound', 'true', 'completed', 'succeeded', 'complete', 'available', 'approved,issued']);
const BAD = /error|fail|crash|backoff|evicted|lost|notready|unknown|oomkilled|invalid|denied/i;
const COLUMNS = new Set(['status', 'phase', 'condition', 'reason', 'available']);

/** The tone of a cell by its column; undefined for columns that tell no state. */
export function toneOf(column, text) {
  if (!COLUMNS.has(column.toLowerCase())) return undefined;
  return (row) => tone(text(row));
}

export function tone(text) {
  const word = text.toLowerCase();
  // Numbers count objects.
  if (!word || /^\d/.test(word)) return '';
  if (BAD.test(word)) return 'bad';
  return GOOD.has(word.split(',')[0]) || GOOD.has(word) ? 'good' : 'busy';
}
