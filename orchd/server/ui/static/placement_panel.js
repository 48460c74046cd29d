// Why a pod is where it is: the scheduler's explanation.

import {explain, json} from './api.js';
import {button, fill, h} from './dom.js';

const EXPLAIN = '/debug/scheduler/explain';
/** Rows that are shown of each table. */
const MOST = 200;

export function placementPanel(namespace, name) {
  const holder = h('div', {id: 'placement'});
  const load = async () => {
    fill(holder, h('p', {class: 'note'}, 'Asking the scheduler'));
    try {
      fill(holder, explanation(await json('GET', EXPLAIN, {query: {namespace, pod: name}})));
    } catch (error) {
      fill(holder, h('p', {class: known(error) ? 'note' : 'problem'}, known(error) || explain(error)));
    }
  };
  load();
  return {element: h('div', {class: 'panelpart'}, h('div', {class: 'actions'}, button('Ask again', load)), holder), changed() {}};
}

/** What an error means that is no fault: missing rights, and a server without a scheduler, which has no such path. */
function known(error) {
  if (error.code === 403) return `You may not ask the scheduler (get ${EXPLAIN}).`;
  return error.code === 404 && !error.status.reason ? 'The scheduler does not run in this server, so it cannot say why the pod is where it is.' : '';
}

function explanation(response) {
  const feasible = Object.entries(response.feasible || {}).sort((one, other) => other[1].total - one[1].total);
  const filtered = Object.entries(response.filtered || {});
  const plugins = [...new Set(feasible.flatMap(([, each]) => Object.keys(each.plugins || {})))];
  return [
    h('p', {}, 'Node: ', h('strong', {}, response.node || 'none')),
    response.message ? h('p', {class: response.node ? 'note' : 'busy'}, response.message) : null,
    table('Nodes that fit, and their scores', ['Node', 'Total', ...plugins], feasible, ([node, each]) => [node, each.total, ...plugins.map((plugin) => (each.plugins || {})[plugin] ?? '')], response.node),
    table('Nodes that do not fit', ['Node', 'Plugin', 'Reasons', 'What would help'], filtered, ([node, each]) => [node, each.plugin, (each.reasons || []).join('; '), each.remedy || '']),
    table('Changes that would help', ['Nodes', 'Plugin', 'Reasons', ''], response.wouldHelp || [], (each) => [each.nodes, each.plugin, (each.reasons || []).join('; '), each.preemptionMayHelp ? 'preemption may help' : '']),
  ];
}

function table(title, heads, rows, cells, marked = '') {
  if (!rows.length) return null;
  return [
    h('h2', {}, title),
    h(
      'div',
      {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title},
      h(
        'table',
        {class: 'plain'},
        h('thead', {}, h('tr', {}, heads.map((head) => h('th', {scope: 'col'}, head)))),
        h('tbody', {}, rows.slice(0, MOST).map((row) => {
          const texts = cells(row);
          return h('tr', {}, texts.map((text) => h('td', {}, marked && texts[0] === marked ? h('strong', {}, text) : text)));
        })),
      ),
    ),
    rows.length > MOST ? h('p', {class: 'note'}, `and ${rows.length - MOST} more`) : null,
  ];
}
