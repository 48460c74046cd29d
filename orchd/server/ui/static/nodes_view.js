// Nodes with their pods, live; and the pods that are on none.

import {age} from './ages.js';
import {cellText} from './cells.js';
import {collection, resourceOf} from './discovery.js';
import {fill, h} from './dom.js';
import {Grid} from './grid.js';
import {podColumns} from './pods_panel.js';
import {objectAddress} from './routes.js';
import {StateLine} from './state_line.js';
import {TableRows} from './table_rows.js';
import {toneOf} from './tones.js';

const NOWHERE = '';
const NO_NODE = 'on no node';
const NODE_COLUMNS = ['Status', 'Roles', 'Version'];

/** @returns {import('./frame.js').View} */
export function nodesView() {
  return new NodesView().view();
}

class NodesView {
  constructor() {
    this.nodes = resourceOf('', 'nodes');
    this.pods = resourceOf('', 'pods');
    this.state = new StateLine({id: 'state'});
    this.title = h('h2', {id: 'chosen'});
    this.byNode = new Map();
    this.chosen = null;
    this.shown = 0;
    this.states = {};
    this.left = new Grid({label: 'Nodes', key: (row) => row.uid, open: (row) => this.choose(row), empty: 'No nodes'});
    this.right = new Grid({label: 'Pods of the node', key: (row) => row.uid, open: (row) => (location.hash = objectAddress(this.pods, row.namespace, row.name, 'placement')), empty: 'No pods here'});
    this.nodeRows = this.follow(this.nodes, 'nodes');
    this.podRows = this.follow(this.pods, 'pods');
  }

  follow(resource, name) {
    return new TableRows({where: collection(resource), changed: () => this.draw(), status: (text, live, again) => this.status(name, live ? '' : text, again)});
  }

  status(name, text, again) {
    this.states[name] = {text, again};
    const {nodes, pods} = this.states;
    this.left.setEmpty((nodes && nodes.text) || 'No nodes');
    this.right.setEmpty((pods && pods.text) || 'No pods here');
    const problem = Object.values(this.states).find((each) => each.text);
    const retry = Object.values(this.states).map((each) => each.again).filter(Boolean);
    this.state.show(problem ? problem.text : 'live', !problem, retry.length ? () => retry.forEach((each) => each()) : null);
  }

  view() {
    return {
      title: 'Nodes',
      element: h(
        'section',
        {class: 'fillview'},
        h('div', {class: 'bar'}, h('h1', {}, 'Nodes'), h('span', {class: 'note'}, 'Enter shows the pods of a node, and for a pod why it is there'), this.state.element),
        h('div', {class: 'two'}, h('div', {}, this.left.element), h('div', {}, h('div', {class: 'bar'}, this.title), this.right.element)),
      ),
      focus: () => this.left.focus(),
      stop: () => this.stop(),
      shortcuts: [
        {key: 'o', text: 'open the node', run: () => this.open()},
        {key: 'ArrowRight', text: 'to the pods', run: () => this.right.focus()},
        {key: 'ArrowLeft', text: 'to the nodes', run: () => this.left.focus()},
      ],
    };
  }

  choose(row) {
    this.chosen = row.uid;
    this.draw();
    this.right.focus();
  }

  open() {
    const row = this.left.active;
    if (row && row.uid !== NOWHERE) location.hash = objectAddress(this.nodes, '', row.name);
  }

  draw() {
    this.group();
    const columns = this.nodeRows.columns;
    const wanted = columns.length * 1000 + this.podRows.columns.length;
    if (wanted !== this.shown) {
      this.shown = wanted;
      this.left.setColumns(this.nodeColumns(columns));
      this.right.setColumns(podColumns(this.podRows.columns));
    }
    const rows = this.nodeRows.sorted();
    const waiting = this.byNode.get(NOWHERE);
    if (waiting) rows.unshift({uid: NOWHERE, name: NO_NODE, namespace: '', created: '', cells: []});
    this.left.setRows(rows);
    if (!rows.some((row) => row.uid === this.chosen)) this.chosen = rows.length ? rows[0].uid : null;
    const row = rows.find((each) => each.uid === this.chosen);
    fill(this.title, row ? `Pods ${row.uid === NOWHERE ? '' : 'of '}${row.name}` : '');
    this.right.setRows(row ? this.podsOf(row) : []);
  }

  /** Pods by the name of their node. */
  group() {
    const at = this.podRows.columns.findIndex((column) => column.name === 'Node');
    const status = this.podRows.columns.findIndex((column) => column.name === 'Status');
    this.byNode = new Map();
    for (const row of this.podRows.sorted()) {
      const found = at < 0 ? '' : cellText(row.cells[at]);
      const node = found === '<none>' ? NOWHERE : found;
      if (!this.byNode.has(node)) this.byNode.set(node, {rows: [], running: 0});
      const group = this.byNode.get(node);
      group.rows.push(row);
      if (cellText(row.cells[status]) === 'Running') group.running++;
    }
  }

  podsOf(row) {
    const group = this.byNode.get(row.uid === NOWHERE ? NOWHERE : row.name);
    return group ? group.rows : [];
  }

  nodeColumns(columns) {
    const counted = (row) => this.byNode.get(row.uid === NOWHERE ? NOWHERE : row.name) || {rows: [], running: 0};
    const found = [
      {title: 'Node', main: true, text: (row) => row.name, least: NO_NODE.length},
      {title: 'Pods', text: (row) => String(counted(row).rows.length)},
      {title: 'Running', text: (row) => String(counted(row).running)},
    ];
    columns.forEach((column, at) => {
      if (!NODE_COLUMNS.includes(column.name)) return;
      const text = (row) => cellText(row.cells[at]);
      found.push({title: column.name, text, tone: toneOf(column.name, text)});
    });
    found.push({title: 'Age', text: (row) => (row.created ? age(row.created) : '')});
    return found;
  }

  stop() {
    this.nodeRows.stop();
    this.podRows.stop();
    this.left.stop();
    this.right.stop();
  }
}
