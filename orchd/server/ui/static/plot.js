// A plot of a few series over time, as SVG. The legend says the newest values as text.

import {fill, h, svg} from './dom.js';

const WIDTH = 400;
const HEIGHT = 120;
const COLOURS = 6;

/** @typedef {{at: number, values: Map<string, number>}} Point */

export class Plot {
  /** @param {{title: string, format: (value: number) => string, id: string}} options */
  constructor({title, format, id}) {
    this._format = format;
    /** @type {string[]} */
    this._names = [];
    this._top = h('span', {class: 'note'});
    this._drawing = svg('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title});
    this._legend = h('ul', {});
    this.element = h('figure', {class: 'plot', id, 'aria-label': title}, h('figcaption', {}, title, ' ', this._top), this._drawing, this._legend);
  }

  /** @param {Point[]} points  oldest first @param {number} span  milliseconds */
  draw(points, span) {
    const last = points[points.length - 1];
    if (!last) return;
    // The largest series; a name keeps its colour.
    const ranked = [...last.values.entries()].sort((one, other) => other[1] - one[1]);
    const positive = ranked.filter(([, value]) => value > 0);
    const shown = (positive.length ? positive : ranked).slice(0, COLOURS).map(([name]) => name);
    this._names = [...this._names.filter((name) => shown.includes(name)), ...shown.filter((name) => !this._names.includes(name))];
    let top = 0;
    for (const point of points) for (const name of this._names) top = Math.max(top, point.values.get(name) || 0);
    this._top.textContent = `top of the scale ${this._format(top)}`;
    const x = (at) => WIDTH - ((last.at - at) / span) * WIDTH;
    const y = (value) => HEIGHT - 2 - (top ? (value / top) * (HEIGHT - 8) : 0);
    const lines = this._names.map((name, colour) => svg('path', {class: `c${colour}`, d: path(points, name, x, y)}));
    fill(this._drawing, svg('line', {class: 'axis', x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1}), lines);
    fill(this._legend, this._names.map((name, colour) => h('li', {class: `c${colour}`}, h('span', {}, `${name}: ${this._format(last.values.get(name))}`))));
  }
}

function path(points, name, x, y) {
  let out = '';
  let pen = 'M';
  for (const point of points) {
    const value = point.values.get(name);
    if (value === undefined || Number.isNaN(value)) {
      pen = 'M';
      continue;
    }
    out += `${pen}${x(point.at).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = 'L';
  }
  return out;
}
