// A live list of one resource, with filters.

import {age} from './ages.js';
import {cellText} from './cells.js';
import {collection, resourceOf} from './discovery.js';
import {announce} from './announce.js';
import {button, h} from './dom.js';
import {Grid} from './grid.js';
import {compare} from './order.js';
import {namespaceField} from './namespace_field.js';
import {may} from './rights.js';
import {listAddress, objectAddress, rememberList} from './routes.js';
import {StateLine} from './state_line.js';
import {TableRows} from './table_rows.js';
import {toneOf} from './tones.js';

const AGES = 10_000;
/** Lists whose way of being shown is kept. */
const MOST = 50;
/** How lists were shown when they were left, by their addresses. @type {Map<string, {wide: boolean, sorted: Object, active: string}>} */
const before = new Map();

/** @returns {import('./frame.js').View} */
export function listView(address, {tell}) {
  const [group, name] = address.parts;
  const resource = resourceOf(group, name);
  if (!resource) return {title: name || '', element: h('p', {class: 'problem', role: 'alert'}, `The server serves no ${name || 'such resource'}.`), stop() {}};
  return new ListView(resource, address.query, tell).view();
}

class ListView {
  constructor(resource, filters, tell) {
    this.resource = resource;
    this.filters = filters;
    this.tell = tell;
    const left = before.get(this.address(filters.text || ''));
    this.wide = !!left && left.wide;
    this.sorted = left ? left.sorted : {column: -1, down: false};
    /** The row that was active when this list was left, until it is there again. */
    this.wanted = left ? left.active : null;
    this.cells = [];
    this.shown = '';
    this.grid = new Grid({
      label: resource.name,
      key: (row) => row.uid,
      open: (row) => (location.hash = objectAddress(resource, row.namespace, row.name)),
      sort: (column) => this.sort(column),
      empty: 'No objects',
    });
    this.count = h('span', {class: 'count', id: 'count'});
    this.state = new StateLine({id: 'state'});
    this.text = h('input', {type: 'search', id: 'text', placeholder: 'Filter (/)', 'aria-label': 'Text filter', props: {value: filters.text || ''}, on: {input: () => this.typed()}});
    this.create = h('a', {class: 'button', hidden: true, href: `#/new/${resource.group || '-'}/${resource.name}${filters.namespace ? `?namespace=${encodeURIComponent(filters.namespace)}` : ''}`}, 'New');
    this.rows = new TableRows({
      where: collection(resource, filters.namespace),
      query: {labelSelector: filters.labels, fieldSelector: filters.fields},
      changed: () => this.draw(),
      status: (text, live, again) => this.status(text, live, again),
    });
    this.timer = setInterval(() => this.grid.refresh(), AGES);
    rememberList(resource, this.address(filters.text || ''));
    if (resource.verbs.includes('create')) may('create', resource, filters.namespace || '').then((allowed) => (this.create.hidden = !allowed)).catch(() => {});
  }

  view() {
    const {resource} = this;
    return {
      title: this.filters.namespace ? `${resource.name} in ${this.filters.namespace}` : resource.name,
      element: h('section', {class: 'list', 'aria-labelledby': 'title'}, this.bar(), this.grid.element),
      focus: () => this.grid.focus(),
      stop: () => this.stop(),
      shortcuts: [
        {key: '/', text: 'filter by text', run: () => this.text.focus()},
        {key: 's', text: 'namespace', run: () => this.namespace && this.namespace.focus()},
        {key: 'l', text: 'label selector', run: () => this.labels.focus()},
        {key: 'f', text: 'field selector', run: () => this.fields.focus()},
        {key: 'w', text: 'more columns', run: () => this.widen()},
        {key: 'e', text: 'edit the row', run: () => this.goto('edit')},
        {key: '+', text: 'new object', run: () => !this.create.hidden && this.create.click()},
      ],
    };
  }

  bar() {
    const {resource, filters} = this;
    const field = (id, label, value) => h('input', {id, type: 'search', placeholder: label, 'aria-label': label, spellcheck: 'false', autocapitalize: 'off', props: {value: value || ''}});
    this.labels = field('labels', 'Label selector (l)', filters.labels);
    this.fields = field('fields', 'Field selector (f)', filters.fields);
    if (resource.namespaced) this.namespace = namespaceField(filters.namespace || '', () => this.apply());
    const submit = (event) => (event.preventDefault(), this.apply());
    return h(
      'div',
      {class: 'bar'},
      h('h1', {id: 'title'}, resource.name, h('small', {}, ` ${resource.group ? `${resource.group}/` : ''}${resource.version}`)),
      this.create,
      h('form', {role: 'search', on: {submit}}, this.namespace && this.namespace.element, this.text, this.labels, this.fields, h('button', {type: 'submit'}, 'Select')),
      button('Wide', () => this.widen(), {'aria-pressed': String(this.wide), id: 'wide', title: 'More columns (w)'}),
      this.count,
      this.state.element,
    );
  }

  /** The address of this list with a text filter. */
  address(text) {
    const {namespace, labels, fields} = this.filters;
    return listAddress(this.resource, {namespace, labels, fields, text});
  }

  /** The text filter has changed: it is part of the address, which is not a new one. */
  typed() {
    history.replaceState(null, '', this.address(this.text.value.trim()));
    rememberList(this.resource, location.hash);
    this.filtered();
    announce(this.count.textContent);
  }

  apply() {
    const namespace = this.namespace ? this.namespace.value() : '';
    location.hash = listAddress(this.resource, {namespace, labels: this.labels.value.trim(), fields: this.fields.value.trim(), text: this.text.value.trim()});
  }

  goto(tab) {
    const row = this.grid.active;
    if (row) location.hash = objectAddress(this.resource, row.namespace, row.name, tab);
  }

  /** Columns of the server's table, with the namespace where rows come from several. */
  columns() {
    const found = [];
    if (this.resource.namespaced && !this.filters.namespace) found.push({title: 'Namespace', text: (row) => row.namespace, order: (row) => row.namespace});
    this.rows.columns.forEach((column, at) => {
      if (column.priority && !this.wide) return;
      const isAge = column.name === 'Age';
      found.push({
        title: column.name,
        hint: column.description,
        text: isAge ? (row) => age(row.created) : (row) => cellText(row.cells[at]),
        tone: toneOf(column.name, (row) => cellText(row.cells[at])),
        order: isAge ? (row) => -Date.parse(row.created) : (row) => (typeof row.cells[at] === 'number' ? row.cells[at] : cellText(row.cells[at])),
      });
    });
    return found;
  }

  draw() {
    const shown = JSON.stringify([this.rows.columns.map((each) => each.name), this.wide, this.sorted]);
    if (shown !== this.shown) {
      this.shown = shown;
      this.cells = this.columns();
      this.grid.setColumns(this.cells, this.sorted);
    }
    this.all = this.order(this.rows.sorted());
    this.filtered();
  }

  filtered() {
    const wanted = this.text.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.all || [];
    const rows = wanted.length ? all.filter((row) => wanted.every((word) => row.search.includes(word))) : all;
    this.grid.setRows(rows);
    if (this.wanted && (this.grid.activate(this.wanted) || this.rows.complete)) this.wanted = null;
    this.count.textContent = rows.length === all.length ? `${all.length} objects` : `${rows.length} of ${all.length} objects`;
  }

  /** The rows by the chosen column; equal ones stay in the order of their names. */
  order(rows) {
    const column = this.cells[this.sorted.column];
    if (!column) return rows;
    const sign = this.sorted.down ? -1 : 1;
    // Each key is made once: a comparison happens some ten times per row.
    const keyed = rows.map((row) => ({row, key: column.order(row)}));
    keyed.sort((one, other) => sign * compare(one.key, other.key));
    return keyed.map(({row}) => row);
  }

  sort(column) {
    this.sorted = {column, down: this.sorted.column === column && !this.sorted.down};
    this.draw();
  }

  widen() {
    this.wide = !this.wide;
    this.sorted = {column: -1, down: false};
    document.getElementById('wide').setAttribute('aria-pressed', String(this.wide));
    this.draw();
  }

  status(text, live, again) {
    this.state.show(text, live, again);
    const hint = text.startsWith('403:') && this.namespace && !this.filters.namespace ? '. Perhaps you may in one namespace: choose it above.' : '';
    this.grid.setEmpty(live ? 'No objects' : text + hint);
  }

  stop() {
    const {active} = this.grid;
    const address = this.address(this.text.value.trim());
    before.delete(address);
    if (before.size >= MOST) before.delete(before.keys().next().value);
    before.set(address, {wide: this.wide, sorted: this.sorted, active: this.wanted || (active ? active.uid : '')});
    clearInterval(this.timer);
    this.rows.stop();
    this.grid.stop();
  }
}

/** Forget how lists were shown: another user. */
export function forgetListStates() {
  before.clear();
}
