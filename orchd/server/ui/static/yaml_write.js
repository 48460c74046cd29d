// YAML of JSON values: blocks, with quotes only where a text could be read as something else.

/** Texts that readers of YAML 1.1 or 1.2 take for something else. */
const AMBIGUOUS = /^(?:~|null|true|false|yes|no|on|off|y|n|[-+.]?\d.*|[-+]?\.(?:inf|nan)|=|<<|\.\.\..*)$/i;
const PLAIN = /^[A-Za-z0-9_./(<$][^\u0000-\u001f]*$/;
/** Also what is not seen or changes the writing direction: in quotes it is an escape. */
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/;

/** The document of a value. */
export function toYaml(value) {
  const lines = [];
  write(value, '', '', lines);
  return `${lines.join('\n')}\n`;
}

function write(value, first, indent, lines) {
  if (Array.isArray(value) && value.length) {
    value.forEach((each, at) => write(each, `${at ? indent : first}- `, `${indent}  `, lines));
  } else if (value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length) {
    let head = first;
    for (const [name, each] of Object.entries(value)) {
      member(`${head}${scalarText(name)}:`, each, indent, lines);
      head = indent;
    }
  } else lines.push(first + scalar(value, indent));
}

function member(head, value, indent, lines) {
  if (Array.isArray(value) && value.length) {
    lines.push(head);
    write(value, indent, indent, lines);
  } else if (value !== null && typeof value === 'object' && Object.keys(value).length) {
    lines.push(head);
    write(value, `${indent}  `, `${indent}  `, lines);
  } else lines.push(`${head} ${scalar(value, `${indent}  `)}`);
}

function scalar(value, indent) {
  if (typeof value !== 'string') return Array.isArray(value) ? '[]' : JSON.stringify(value);
  return literal(value, indent) ?? scalarText(value);
}

/** A text of several lines as a literal block; null where that would not keep it. */
function literal(text, indent) {
  if (!text.includes('\n') || UNPRINTABLE.test(text) || text.includes('\r') || /^[\s]/.test(text) || /\n\n$|^\n$/.test(text)) return null;
  const ended = text.endsWith('\n');
  const lines = (ended ? text.slice(0, -1) : text).split('\n');
  if (lines.some((line) => /[ \t]$/.test(line))) return null;
  return [ended ? '|' : '|-', ...lines.map((line) => (line ? indent + line : ''))].join('\n');
}

function scalarText(text) {
  const plain = PLAIN.test(text) && !AMBIGUOUS.test(text) && !/: |:$| #|\s$/.test(text) && !UNPRINTABLE.test(text);
  return plain ? text : quoted(text);
}

/** A double-quoted text: JSON's escapes are YAML's. */
function quoted(text) {
  return JSON.stringify(text).replace(/[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
