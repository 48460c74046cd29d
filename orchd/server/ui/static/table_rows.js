// The rows of a followed Table: kept by uid, in order of namespace and name, and given to a view once per frame.

import {bounded} from './cells.js';
import {follow} from './follow.js';
import {compare} from './order.js';
import {session} from './session.js';

/**
 * @typedef {Object} Row
 * @property {string} uid
 * @property {string} namespace
 * @property {string} name
 * @property {string} created  RFC 3339, or ""
 * @property {Array} cells  as the server made them, by column
 * @property {string} search  what a text filter looks at, in lower case
 */

/** Media type of a Table in the server's dialect. */
export function tableType() {
  return `application/json;as=Table;v=v1;g=${session().names.meta},application/json`;
}

/** Rows of a collection that follow the server. */
export class TableRows {
  /**
   * @param {{where: string, query?: Object, changed: () => void, status: (text: string, live: boolean, again?: () => void) => void}} options
   *   `changed` is called after rows have changed, at most once per frame
   */
  constructor({where, query, changed, status}) {
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** The same rows by namespace and name; null where that order has to be found. */
    this._sorted = [];
    /** @type {{name: string, priority: number, type: string, format: string, description: string}[]} */
    this.columns = [];
    this.complete = false;
    this._changed = changed;
    this._seen = null;
    this._frame = 0;
    this._timer = 0;
    this._waiting = false;
    /** The moment before which rows are not drawn again. */
    this._rest = 0;
    this._stop = new AbortController();
    const listener = {
      begin: () => (this._seen = new Set()),
      put: (table, type) => this._put(table, type),
      complete: () => this._complete(),
      status,
    };
    follow({where, query, accept: tableType(), listener, signal: this._stop.signal});
  }

  stop() {
    this._stop.abort();
    clearTimeout(this._timer);
    cancelAnimationFrame(this._frame);
  }

  /** All rows by namespace and name, in a new list. */
  sorted() {
    this._sorted = this._sorted || [...this.rows.values()].sort(byName);
    return this._sorted.slice();
  }

  _put(response, type) {
    const table = asTable(response, type);
    if (table.columnDefinitions && table.columnDefinitions.length) this.columns = table.columnDefinitions;
    for (const each of table.rows || []) {
      const row = toRow(each);
      if (type === 'DELETED') this._delete(row.uid);
      else this._set(row, type !== 'LIST');
      if (this._seen) this._seen.add(row.uid);
    }
    this._later();
  }

  /** Add or update a row. The order changes by new rows alone: a name is for life. `one`: no page of a list. */
  _set(row, one) {
    const known = this.rows.get(row.uid);
    if (known) {
      Object.assign(known, row);
      return;
    }
    this.rows.set(row.uid, row);
    if (one && this._sorted) this._sorted.splice(placeOf(this._sorted, row), 0, row);
    else this._sorted = null;
  }

  _delete(uid) {
    const known = this.rows.get(uid);
    if (!known || !this.rows.delete(uid) || !this._sorted) return;
    const at = placeOf(this._sorted, known);
    if (this._sorted[at] === known) this._sorted.splice(at, 1);
    else this._sorted = null;
  }

  _complete() {
    for (const uid of this.rows.keys()) if (!this._seen.has(uid)) this.rows.delete(uid);
    this._sorted = null;
    this._seen = null;
    this.complete = true;
    this._later();
  }

  /** Draw in one of the next frames: at most a fifth of the time is spent on drawing, however many events arrive. */
  _later() {
    if (this._waiting || this._stop.signal.aborted) return;
    this._waiting = true;
    const wait = Math.max(0, this._rest - performance.now());
    this._timer = setTimeout(() => {
      this._frame = requestAnimationFrame(() => {
        this._waiting = false;
        const begin = performance.now();
        this._changed();
        const end = performance.now();
        this._rest = end + 4 * (end - begin);
      });
    }, wait);
  }
}

/** Order of rows: namespace, then name. */
function byName(one, other) {
  return compare(one.namespace, other.namespace) || compare(one.name, other.name);
}

/** The place of a row in sorted rows: its own, or where it would be. */
function placeOf(rows, row) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byName(rows[middle], row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

const PLAIN_COLUMNS = [{name: 'Name', type: 'string', priority: 0, description: ''}, {name: 'Age', type: 'string', priority: 0, description: ''}];

/** A Table; made of the objects where a server of another group has none. */
function asTable(response, type) {
  if (response.rows || response.columnDefinitions || response.kind === 'Table') return response;
  const objects = type === 'LIST' ? response.items || [] : [response];
  return {columnDefinitions: PLAIN_COLUMNS, rows: objects.map((object) => ({object, cells: [object.metadata.name, object.metadata.creationTimestamp || '']}))};
}

function toRow(each) {
  const metadata = (each.object && each.object.metadata) || {};
  const labels = Object.entries(metadata.labels || {}).map(([key, value]) => `${key}=${value}`);
  const name = metadata.name || String(each.cells[0]);
  const cells = each.cells.map(bounded);
  return {
    uid: metadata.uid || `${metadata.namespace || ''}/${name}`,
    namespace: metadata.namespace || '',
    name,
    created: metadata.creationTimestamp || '',
    cells,
    search: [metadata.namespace || '', ...cells, ...labels].join(' ').toLowerCase(),
  };
}
