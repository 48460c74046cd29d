// The choice of a namespace: a field with the namespaces that the user may list; others can be typed.

import {json} from './api.js';
import {h} from './dom.js';
import {may} from './rights.js';

const MOST = 500;
let serial = 0;

/**
 * @param {string} current  "" for all namespaces
 * @param {() => void} chosen
 */
export function namespaceField(current, chosen) {
  const id = `namespaces${++serial}`;
  const known = h('datalist', {id});
  const input = h('input', {
    id: 'namespace', list: id, type: 'search', placeholder: 'All namespaces (s)', 'aria-label': 'Namespace; empty for all',
    spellcheck: 'false', autocapitalize: 'off', props: {value: current}, on: {change: chosen},
  });
  suggest(known).catch(() => {});
  return {element: h('span', {}, input, known), value: () => input.value.trim(), focus: () => (input.focus(), input.select())};
}

async function suggest(known) {
  if (!(await may('list', {group: '', name: 'namespaces'}))) return;
  const response = await json('GET', '/api/v1/namespaces', {query: {limit: MOST}});
  for (const each of response.items || []) known.append(h('option', {value: each.metadata.name}));
}
