// A table of any number of rows: only those in sight are in the document.

import {fill, h} from './dom.js';
import {visible} from './visible.js';

const OVERSCAN = 8;
const SAMPLE = 200;
const NARROWEST = 5;
const WIDEST = 46;
/** Pixels of width below which a row has two lines: the name, then the state and the rest. */
const TWO_LINES = 560;
/** Milliseconds without scrolling after which the elements of rows are put in the order in which they are seen. */
const SETTLED = 300;
/** Characters below which no column is made to fit the others in. */
const SQUEEZED = 18;
/** The second line of a narrow row begins with the first of these columns that there is. */
const STATES = ['Status', 'Phase', 'Condition', 'Reason', 'Ready', 'Available', 'Type', 'Code', 'Pods'];
const LAST = ['Namespace', 'Labels'];

/**
 * @typedef {Object} Column
 * @property {string} title
 * @property {(row: Object) => string} text
 * @property {(row: Object) => string} [tone]  "", "good", "bad" or "busy": how the cell is shown
 * @property {string} [hint]
 * @property {number} [least]  characters for which there is room in any case
 * @property {boolean} [main]  names the row; without one it is the column "Name", or the first
 */

let serial = 0;

export class Grid {
  /**
   * @param {{label: string, open: (row: Object) => void, sort?: (column: number) => void, empty?: string,
   *   key: (row: Object) => string}} options
   */
  constructor({label, open, sort, empty = 'Nothing to show', key}) {
    this._open = open;
    this._sort = sort;
    this._key = key;
    this._id = `grid${++serial}`;
    this._narrow = false;
    this._height = this._rowHeight();
    this._settling = 0;
    /** @type {Column[]} */
    this._columns = [];
    this._rows = [];
    this._index = 0;
    this._activeKey = null;
    this._pool = [];
    this._frame = 0;
    this._head = h('div', {class: 'row head', role: 'row', 'aria-rowindex': 1});
    this._body = h('div', {class: 'rows', role: 'rowgroup'});
    this._empty = h('p', {class: 'empty'}, empty);
    this.element = h(
      'div',
      {class: 'grid', role: 'grid', tabindex: 0, 'aria-label': label, on: {scroll: () => this._later(), keydown: (e) => this._keyed(e)}},
      h('div', {role: 'rowgroup', class: 'heads'}, this._head),
      this._body,
      this._empty,
    );
    this._body.addEventListener('click', (event) => this._clicked(event));
    // The whole text of a cell that is cut off.
    this._body.addEventListener('mouseover', ({target}) => target.scrollWidth > target.clientWidth && (target.title = target.textContent));
    this._observer = new ResizeObserver(() => this._resized());
    this._observer.observe(this.element);
  }

  /** The row that keys act on; undefined without rows. */
  get active() {
    return this._rows[this._index];
  }

  get count() {
    return this._rows.length;
  }

  stop() {
    this._observer.disconnect();
    cancelAnimationFrame(this._frame);
    clearTimeout(this._settling);
  }

  /** @param {Column[]} columns @param {{column: number, down: boolean}} [sorted] */
  setColumns(columns, sorted = {column: -1, down: false}) {
    this._columns = columns;
    const heads = [...this._head.children];
    const focused = heads.findIndex((each) => each.contains(document.activeElement));
    fill(this._head, columns.map((column, at) => this._header(column, at, sorted)));
    // A heading that was used to sort keeps the focus.
    if (focused >= 0 && this._head.children[focused]) this._head.children[focused].firstChild.focus();
    this.element.setAttribute('aria-colcount', String(columns.length));
    this._emptyPool();
    this._widths();
    this._later();
  }

  _emptyPool() {
    this._pool.forEach((each) => each.element.remove());
    this._pool = [];
  }

  _rowHeight() {
    if (this._narrow) return 48;
    return matchMedia('(pointer: coarse)').matches ? 44 : 30;
  }

  /** Choose between one line per row and two; what was at the top stays there. */
  _resized() {
    const narrow = this.element.clientWidth > 0 && this.element.clientWidth < TWO_LINES;
    if (narrow !== this._narrow) {
      const top = this.element.scrollTop / this._height;
      this._narrow = narrow;
      this._height = this._rowHeight();
      this.element.classList.toggle('narrow', narrow);
      this._emptyPool();
      this._body.style.height = `${this._rows.length * this._height}px`;
      this.element.scrollTop = top * this._height;
    }
    this._widths();
    this._later();
  }

  /** How each cell is placed in a narrow row. */
  _places() {
    const titles = this._columns.map((each) => each.title);
    const main = Math.max(0, this._columns.some((each) => each.main) ? this._columns.findIndex((each) => each.main) : titles.indexOf('Name'));
    const aside = STATES.map((title) => titles.indexOf(title)).find((at) => at >= 0 && at !== main);
    return titles.map((title, at) => (at === main ? 'main' : at === aside ? 'aside' : LAST.includes(title) ? 'more last' : 'more'));
  }

  /** Show these rows. The active row stays the same one, where it still is. */
  setRows(rows) {
    const fresh = this._rows.length === 0 || Math.abs(rows.length - this._rows.length) > this._rows.length / 2;
    this._rows = rows;
    const known = this._rows[this._index];
    if (this._activeKey !== null && !(known && this._key(known) === this._activeKey)) {
      const found = rows.findIndex((row) => this._key(row) === this._activeKey);
      this._index = found >= 0 ? found : Math.min(this._index, Math.max(0, rows.length - 1));
    }
    this._activeKey = rows.length ? this._key(rows[this._index] || rows[(this._index = 0)]) : null;
    this._body.style.height = `${rows.length * this._height}px`;
    this._empty.hidden = rows.length > 0;
    this.element.setAttribute('aria-rowcount', String(rows.length + 1));
    if (fresh) this._widths();
    this._later();
  }

  /** The text where there are no rows. */
  setEmpty(text) {
    if (this._empty.textContent !== visible(text)) fill(this._empty, text);
  }

  /** Draw again what is in sight: texts that depend on the time. */
  refresh() {
    this._later();
  }

  focus() {
    this.element.focus({preventScroll: true});
  }

  _header(column, at, sorted) {
    const direction = sorted.column === at ? (sorted.down ? 'descending' : 'ascending') : 'none';
    const mark = direction === 'none' ? '' : sorted.down ? ' ▼' : ' ▲';
    const inside = this._sort
      ? h('button', {type: 'button', title: column.hint, on: {click: () => this._sort(at)}}, column.title + mark)
      : h('span', {title: column.hint}, column.title);
    return h('div', {role: 'columnheader', class: 'cell', 'aria-sort': direction}, inside);
  }

  _widths() {
    const sample = this._rows.slice(0, SAMPLE);
    const widths = this._columns.map((column) => {
      let most = Math.max(column.title.length + 2, column.least || 0);
      for (const row of sample) most = Math.max(most, column.text(row).length);
      return Math.min(WIDEST, Math.max(NARROWEST, most)) + 2;
    });
    let total = widths.reduce((sum, each) => sum + each, 0);
    const room = Math.floor(this.element.clientWidth / this._character());
    for (; room && total > room && Math.max(...widths) > SQUEEZED; total--) widths[widths.indexOf(Math.max(...widths))]--;
    this.element.style.setProperty('--columns', widths.map((each) => `minmax(${each}ch, ${each}fr)`).join(' '));
    this.element.style.setProperty('--width', `${total}ch`);
  }

  /** Pixels of one "ch" in a row. */
  _character() {
    const probe = h('div', {class: 'row probe'});
    this._body.append(probe);
    const found = probe.clientWidth / 100;
    probe.remove();
    return found || 8;
  }

  _later() {
    if (this._frame) return;
    this._frame = requestAnimationFrame(() => {
      this._frame = 0;
      this._draw();
    });
  }

  _draw() {
    const top = Math.max(0, this.element.scrollTop);
    const first = Math.max(0, Math.floor(top / this._height) - OVERSCAN);
    const fits = Math.ceil(this.element.clientHeight / this._height) + 2 * OVERSCAN;
    const last = Math.min(this._rows.length, first + fits);
    while (this._pool.length < Math.min(fits, this._rows.length)) this._grow();
    const size = this._pool.length;
    const used = new Set();
    for (let at = first; at < last; at++) {
      // A row keeps its element while it is in sight.
      const each = this._pool[at % size];
      used.add(each);
      this._show(each, at);
    }
    for (const each of this._pool) each.element.hidden = !used.has(each);
    const active = this._rows.length && this._index >= first && this._index < last;
    if (active) this.element.setAttribute('aria-activedescendant', this._pool[this._index % size].element.id);
    else this.element.removeAttribute('aria-activedescendant');
    clearTimeout(this._settling);
    this._settling = setTimeout(() => this._settle(), SETTLED);
  }

  /** Put the elements of rows in the order of the rows: screen readers read them so. */
  _settle() {
    const wanted = this._pool.filter((each) => !each.element.hidden).sort((one, other) => one.at - other.at);
    const seen = [...this._body.children].filter((each) => !each.hidden);
    if (wanted.some((each, at) => each.element !== seen[at])) this._body.append(...wanted.map((each) => each.element));
  }

  /** Make a row the active one, and show it, if there is one of this key. */
  activate(key) {
    const found = this._rows.findIndex((row) => this._key(row) === key);
    if (found >= 0) this._go(found);
    return found >= 0;
  }

  _grow() {
    const places = this._narrow ? this._places() : [];
    const base = this._columns.map((_, at) => (this._narrow ? `cell ${places[at]}` : 'cell'));
    const cells = this._columns.map((column, at) => h('div', {role: 'gridcell', class: base[at], 'data-title': this._narrow ? column.title : null}));
    const element = h('div', {class: 'row', role: 'row', id: `${this._id}r${this._pool.length}`}, cells);
    element.style.height = `${this._height}px`;
    this._body.append(element);
    this._pool.push({element, cells, base, at: -1, texts: cells.map(() => null), tones: cells.map(() => '')});
  }

  _show(each, at) {
    const row = this._rows[at];
    if (each.at !== at) {
      each.at = at;
      each.element.style.transform = `translateY(${at * this._height}px)`;
      each.element.setAttribute('aria-rowindex', String(at + 2));
    }
    each.element.classList.toggle('active', at === this._index);
    each.element.setAttribute('aria-selected', String(at === this._index));
    this._columns.forEach((column, index) => {
      const text = column.text(row);
      const cell = each.cells[index];
      if (each.texts[index] !== text) {
        each.texts[index] = text;
        cell.textContent = visible(text);
        if (cell.title) cell.title = '';
      }
      const tone = column.tone ? column.tone(row) : '';
      if (each.tones[index] !== tone) {
        each.tones[index] = tone;
        cell.className = tone ? `${each.base[index]} ${tone}` : each.base[index];
      }
    });
  }

  _clicked(event) {
    const element = event.target.closest('.row');
    const found = this._pool.find((each) => each.element === element);
    if (!found) return;
    this._go(found.at);
    this._open(this._rows[found.at]);
  }

  _go(index) {
    if (!this._rows.length) return;
    this._index = Math.max(0, Math.min(this._rows.length - 1, index));
    this._activeKey = this._key(this._rows[this._index]);
    const top = this._index * this._height;
    const head = this._head.offsetHeight;
    const view = this.element;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + this._height + head > view.scrollTop + view.clientHeight) view.scrollTop = top + this._height + head - view.clientHeight;
    this._later();
  }

  _keyed(event) {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this._height) - 2);
    const moves = {ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    if (event.key in moves) {
      const to = this._index + moves[event.key];
      this._go(to === -Infinity ? 0 : to === Infinity ? this._rows.length - 1 : to);
    } else if (event.key === 'Enter' && this.active) this._open(this.active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
