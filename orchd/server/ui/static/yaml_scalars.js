// Plain scalars of YAML, as the server reads them.

const BOOLEANS = {true: true, yes: true, on: true, false: false, no: false, off: false};

/** The value of an unquoted text. `fail` raises for numbers that would lose digits. */
export function plainValue(text, fail) {
  if (text === '' || text === '~' || /^(null|Null|NULL)$/.test(text)) return null;
  const word = text.toLowerCase();
  if (Object.hasOwn(BOOLEANS, word) && (text === word || text === word.toUpperCase() || text === word[0].toUpperCase() + word.slice(1))) return BOOLEANS[word];
  if (/^[-+]?\d+$/.test(text)) return whole(/^[-+]?0\d+$/.test(text) && !/[89]/.test(text) ? parseInt(text, 8) : Number(text), fail);
  if (/^0x[0-9a-f]+$/i.test(text)) return whole(parseInt(text, 16), fail);
  if (/^0o[0-7]+$/.test(text)) return whole(parseInt(text.slice(2), 8), fail);
  if (/^[-+]?(\d+\.\d*|\.\d+|\d+)(e[-+]?\d+)?$/i.test(text)) return Number(text);
  return text;
}

function whole(number, fail) {
  if (!Number.isSafeInteger(number)) fail('the number is too large for this editor');
  return number;
}
