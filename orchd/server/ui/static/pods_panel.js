// The pods of one node, live.

import {age} from './ages.js';
import {fieldIs} from './api.js';
import {cellText} from './cells.js';
import {collection, resourceOf} from './discovery.js';
import {h} from './dom.js';
import {Grid} from './grid.js';
import {objectAddress} from './routes.js';
import {StateLine} from './state_line.js';
import {TableRows} from './table_rows.js';
import {toneOf} from './tones.js';

export function podsPanel(node) {
  const pods = resourceOf('', 'pods');
  const state = new StateLine();
  const grid = new Grid({label: `Pods of ${node}`, key: (row) => row.uid, open: (row) => (location.hash = objectAddress(pods, row.namespace, row.name, 'placement')), empty: 'No pods'});
  let columns = 0;
  const rows = new TableRows({
    where: collection(pods),
    query: {fieldSelector: fieldIs('spec.nodeName', node)},
    changed: () => {
      if (columns !== rows.columns.length) {
        columns = rows.columns.length;
        grid.setColumns(podColumns(rows.columns));
      }
      grid.setRows(rows.sorted());
    },
    status: (text, live, again) => {
      state.show(text, live, again);
      grid.setEmpty(live ? 'No pods' : text);
    },
  });
  return {element: h('div', {class: 'panelpart filling'}, h('p', {}, state.element), grid.element), stop: () => (rows.stop(), grid.stop())};
}

/** The server's columns of priority 0, with the namespace. */
export function podColumns(columns) {
  const found = [{title: 'Namespace', text: (row) => row.namespace}];
  columns.forEach((column, at) => {
    if (column.priority) return;
    const text = column.name === 'Age' ? (row) => age(row.created) : (row) => cellText(row.cells[at]);
    found.push({title: column.name, hint: column.description, text, tone: toneOf(column.name, text)});
  });
  return found;
}
