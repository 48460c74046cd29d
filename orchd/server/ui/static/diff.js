// Differences of two texts by line (Myers, "An O(ND) Difference Algorithm").

import {h} from './dom.js';

/** Above this number of differences the middle is shown as replaced. */
const MOST = 1500;
const CONTEXT = 3;

/**
 * @param {string} before @param {string} after
 * @returns {{sign: ' '|'+'|'-', text: string}[]}
 */
export function lineDiff(before, after) {
  const one = before.split('\n');
  const other = after.split('\n');
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head++;
  let tail = 0;
  while (tail < one.length - head && tail < other.length - head && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  const same = (text) => ({sign: ' ', text});
  return [
    ...one.slice(0, head).map(same),
    ...middle(one.slice(head, one.length - tail), other.slice(head, other.length - tail)),
    ...one.slice(one.length - tail).map(same),
  ];
}

function middle(one, other) {
  const trace = paths(one, other);
  if (!trace) return [...one.map((text) => ({sign: '-', text})), ...other.map((text) => ({sign: '+', text}))];
  const found = [];
  let x = one.length;
  let y = other.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const ends = trace[d];
    const k = x - y;
    const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : ends.get(from);
    const fromY = fromX - from;
    while (d === 0 ? x > 0 && y > 0 : x > fromX && y > fromY) {
      found.push({sign: ' ', text: one[--x]});
      y--;
    }
    if (d > 0) found.push(down ? {sign: '+', text: other[--y]} : {sign: '-', text: one[--x]});
  }
  return found.reverse();
}

/** Furthest points per diagonal before each step; null when the texts differ too much. */
function paths(one, other) {
  const ends = new Map([[1, 0]]);
  const trace = [];
  for (let d = 0; d <= Math.min(one.length + other.length, MOST); d++) {
    trace.push(new Map(ends));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
      let x = down ? ends.get(k + 1) ?? 0 : ends.get(k - 1) + 1;
      while (x < one.length && x - k < other.length && x - k >= 0 && one[x] === other[x - k]) x++;
      ends.set(k, x);
      if (x >= one.length && x - k >= other.length) return trace;
    }
  }
  return null;
}

/** The differences as an element: changed lines with some around them. */
export function diffElement(before, after, label) {
  const lines = lineDiff(before, after);
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((each) => each.sign !== ' '));
  const out = [];
  let hidden = 0;
  const skip = () => {
    if (hidden) out.push(h('div', {class: 'skip'}, `… ${hidden} equal lines`));
    hidden = 0;
  };
  lines.forEach(({sign, text}, at) => {
    if (!near[at]) hidden++;
    else {
      skip();
      out.push(h('div', {class: sign === '+' ? 'add' : sign === '-' ? 'del' : 'same'}, `${sign} ${text}`));
    }
  });
  skip();
  return h('pre', {class: 'diff', tabindex: 0, role: 'region', 'aria-label': label}, out);
}
