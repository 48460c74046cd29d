// The text format of metrics: only the families that are asked for.

/** @typedef {{name: string, labels: Object<string, string>, value: number}} Sample */

/**
 * @param {string} text
 * @param {Set<string>} names  of samples
 * @returns {Sample[]}
 */
export function samples(text, names) {
  const found = [];
  let at = 0;
  while (at < text.length) {
    let end = text.indexOf('\n', at);
    if (end < 0) end = text.length;
    if (text[at] !== '#') {
      const match = /[{ ]/.exec(text.slice(at, Math.min(end, at + 200)));
      const name = match ? text.slice(at, at + match.index) : '';
      if (names.has(name)) found.push(sample(name, text.slice(at + name.length, end)));
    }
    at = end + 1;
  }
  return found;
}

function sample(name, rest) {
  const labels = {};
  let after = rest;
  if (rest[0] === '{') {
    const pattern = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)",?/y;
    pattern.lastIndex = 1;
    for (let match = pattern.exec(rest); match; match = pattern.exec(rest)) {
      labels[match[1]] = match[2].replace(/\\(.)/g, (_, sign) => (sign === 'n' ? '\n' : sign));
      after = rest.slice(pattern.lastIndex + 1);
    }
  }
  return {name, labels, value: Number(after.trim().split(' ')[0].replace('+Inf', 'Infinity'))};
}

/** Sums of values by a key. */
export function sums(list, name, keyOf) {
  const found = new Map();
  for (const each of list) {
    if (each.name !== name) continue;
    const key = keyOf(each.labels);
    if (key !== null) found.set(key, (found.get(key) || 0) + each.value);
  }
  return found;
}

/**
 * A quantile of a histogram between two moments; NaN when nothing was observed.
 * @param {Map<number, number>} before @param {Map<number, number>} now  cumulative counts by upper bound
 */
export function quantile(before, now, share) {
  const bounds = [...now.keys()].sort((one, other) => one - other);
  const counts = bounds.map((bound) => now.get(bound) - (before.get(bound) || 0));
  const total = counts[counts.length - 1];
  if (!total) return NaN;
  const wanted = share * total;
  const at = counts.findIndex((count) => count >= wanted);
  const low = at ? bounds[at - 1] : 0;
  if (bounds[at] === Infinity) return low;
  const below = at ? counts[at - 1] : 0;
  return low + ((bounds[at] - low) * (wanted - below)) / (counts[at] - below);
}
