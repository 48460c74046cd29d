// The list of resources beside the content: favourites, the server's own groups, and those of custom kinds; groups fold.

import {button, fill, h} from './dom.js';
import {compare} from './order.js';
import {listAddress} from './routes.js';
import {session} from './session.js';

const KEY = 'orchd.resources';
/** @typedef {import('./discovery.js').Resource} Resource */

/** What the user chose in this browser: names of resources, and groups that are open or closed against the usual. */
function stored() {
  try {
    const {favourites = [], open = {}} = JSON.parse(localStorage.getItem(KEY)) || {};
    return {favourites: new Set(favourites.map(String)), open: new Map(Object.entries(open))};
  } catch {
    // Storage is off, or holds something else.
    return {favourites: new Set(), open: new Map()};
  }
}

const nameOf = (resource) => `${resource.group}/${resource.name}`;

export class SideList {
  constructor() {
    this._chosen = stored();
    this._wanted = '';
    this._current = '';
    this._namespace = '';
    /** @type {{resource: Resource, allowed: boolean}[]} */
    this._entries = [];
    this.element = h('ul', {});
  }

  /** @param {{resource: Resource, allowed: boolean}[]} entries  @param {string} current  group/name of the shown resource */
  show(entries, current, namespace) {
    const moved = current !== this._current;
    Object.assign(this, {_entries: entries, _current: current, _namespace: namespace});
    this._draw();
    const link = moved && this.element.querySelector('[aria-current]');
    if (link) this._bringIntoSight(link);
  }

  /** Scroll to a link that is out of sight. With scrollIntoView, Tab would go on from it. */
  _bringIntoSight(link) {
    const frame = this.element.parentElement, [search] = frame.children;
    const {top, bottom} = link.getBoundingClientRect();
    const first = search.getBoundingClientRect().bottom, last = frame.getBoundingClientRect().bottom;
    if (top < first || bottom > last) frame.scrollTop += (top + bottom - first - last) / 2;
  }

  /** Show the resources that contain a text, whatever is folded; all for "". */
  find(wanted) {
    this._wanted = wanted;
    this._draw();
    this.element.parentElement.scrollTop = 0;
  }

  get empty() {
    return !this._entries.length;
  }

  links() {
    return [...this.element.querySelectorAll('li a')];
  }

  _draw() {
    const own = new Set(session().names.groups);
    const {favourites} = this._chosen;
    const groups = new Map();
    for (const entry of this._entries) {
      if (!searchText(entry.resource).includes(this._wanted)) continue;
      if (!groups.has(entry.resource.group)) groups.set(entry.resource.group, []);
      groups.get(entry.resource.group).push(entry);
    }
    const ordered = [...groups].sort(([one], [other]) => own.has(other) - own.has(one) || compare(one, other));
    const liked = this._wanted ? [] : this._entries.filter(({resource}) => favourites.has(nameOf(resource)));
    fill(
      this.element,
      liked.length ? [h('li', {class: 'group'}, 'Favourites'), liked.map((entry) => this._row(entry))] : null,
      ordered.map(([group, entries]) => this._group(group, entries, own.has(group))),
    );
  }

  _group(group, entries, usual) {
    const open = !!this._wanted || (this._chosen.open.get(group) ?? (usual || this._current.startsWith(`${group}/`)));
    const toggle = button(group || 'core', () => this._fold(group, !open), {'aria-expanded': String(open), 'data-group': group});
    return [h('li', {class: 'group'}, toggle, h('span', {class: 'count'}, String(entries.length))), open ? entries.map((entry) => this._row(entry)) : null];
  }

  _row({resource, allowed}) {
    const name = nameOf(resource);
    const liked = this._chosen.favourites.has(name);
    const where = this._namespace ? `in ${this._namespace}` : 'in all namespaces';
    return h(
      'li',
      {'data-search': searchText(resource)},
      h(
        'a',
        {
          href: listAddress(resource, {namespace: resource.namespaced ? this._namespace : ''}),
          class: allowed ? '' : 'denied',
          title: allowed ? resource.kind : `${resource.kind}: you may not list these ${where}`,
          'aria-current': name === this._current ? 'page' : null,
        },
        resource.name,
      ),
      button(liked ? '★' : '☆', () => this._like(name, !liked), {class: 'like', tabindex: -1, 'aria-pressed': String(liked), 'aria-label': `Favourite: ${resource.name}`}),
    );
  }

  _fold(group, open) {
    this._chosen.open.set(group, open);
    this._keep();
    const toggle = [...this.element.querySelectorAll('[data-group]')].find((each) => each.dataset.group === group);
    if (toggle) toggle.focus();
  }

  /** Make the shown resource a favourite, or no longer. */
  likeCurrent() {
    if (this._current) this._like(this._current, !this._chosen.favourites.has(this._current));
  }

  _like(name, on) {
    if (on) this._chosen.favourites.add(name);
    else this._chosen.favourites.delete(name);
    this._keep();
  }

  _keep() {
    try {
      localStorage.setItem(KEY, JSON.stringify({favourites: [...this._chosen.favourites], open: Object.fromEntries(this._chosen.open)}));
    } catch {
      // Storage is off: the choice lasts as long as the page.
    }
    this._draw();
  }
}

function searchText(resource) {
  return [resource.name, resource.kind, ...resource.shortNames, resource.group].join(' ').toLowerCase();
}
