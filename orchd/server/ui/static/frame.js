// The frame around the views: links, the list of resources, who is signed in, help.

import {showHelp} from './help.js';
import {auditView} from './audit_view.js';
import {lostSince, onConnection} from './connection.js';
import {discover, listable, resourceOf} from './discovery.js';
import {button, fill, h} from './dom.js';
import {setShortcuts} from './keys.js';
import {listView} from './list_view.js';
import {metricsView} from './metrics_view.js';
import {newView} from './new_view.js';
import {nodesView} from './nodes_view.js';
import {objectView} from './object_view.js';
import {may, mayGet} from './rights.js';
import {parseAddress} from './routes.js';
import {session} from './session.js';
import {SideList} from './side_list.js';
import {visible} from './visible.js';

const HOME = '#/list/-/pods';
/** Milliseconds after which what is served is read anew when the user looks for it. */
const RENEW = 5000;
/**
 * @typedef {Object} View
 * @property {HTMLElement} element
 * @property {string} title
 * @property {() => void} stop  release what the view holds
 * @property {() => void} [focus]
 * @property {import('./keys.js').Shortcut[]} [shortcuts]
 */
const VIEWS = new Map(Object.entries({list: listView, object: objectView, new: newView, nodes: nodesView, audit: auditView, metrics: metricsView}));

export class Frame {
  constructor({signOut}) {
    /** @type {View|null} */
    this._view = null;
    this._namespace = '';
    this._read = Date.now();
    this._hurried = false;
    /** Counts the views, so that one that took long to prepare does not replace a later one. */
    this._turn = 0;
    this._links = {
      nodes: h('a', {href: '#/nodes', hidden: true}, 'Nodes'),
      audit: h('a', {href: '#/audit', hidden: true}, 'Audit'),
      metrics: h('a', {href: '#/metrics', hidden: true}, 'Metrics'),
    };
    this._main = h('main', {id: 'main', tabindex: -1, 'aria-label': 'Content'});
    this._search = h('input', {type: 'search', id: 'find', placeholder: 'Find a resource (r)', 'aria-label': 'Find a resource', on: {focus: () => this._renew(), input: () => this._list.find(this._search.value.trim().toLowerCase()), keydown: (e) => this._searched(e)}});
    this._list = new SideList();
    this._menu = button('☰', () => this._toggle(), {class: 'menu', 'aria-label': 'Resources', 'aria-expanded': 'false', 'aria-controls': 'resources'});
    this._side = h('nav', {id: 'resources', 'aria-label': 'Resources'}, this._search, this._list.element, h('p', {class: 'who small'}, `Signed in as ${session().user.name}`));
    this._told = h('div', {role: 'status', class: 'told', 'aria-live': 'polite'});
    this._lost = h('div', {role: 'alert', class: 'lost', id: 'lost'});
    const user = session().user;
    this.element = h(
      'div',
      {class: 'frame'},
      h('a', {href: '#main', class: 'skip', on: {click: (event) => (event.preventDefault(), this._main.focus())}}, 'Skip to the content'),
      h(
        'header',
        {},
        this._menu,
        h('a', {href: HOME, class: 'brand'}, 'orchd'),
        h('nav', {'aria-label': 'Views'}, Object.values(this._links)),
        h('span', {class: 'who', title: user.groups.join(', ')}, user.name),
        button('?', showHelp, {'aria-label': 'Help', title: 'Help and shortcuts (?)'}),
        button('Sign out', () => signOut()),
      ),
      this._lost,
      this._side,
      this._main,
      this._told,
    );
    this._navigate = () => this._show();
    this._connected = () => {};
  }

  start() {
    addEventListener('hashchange', this._navigate);
    this._connected = onConnection(() => this._connection());
    setShortcuts('page', [
      {key: 'r', text: 'find a resource', run: () => this._openSearch()},
      {key: 'n', text: 'nodes', run: () => this._follow('nodes')},
      {key: 'a', text: 'audit events', run: () => this._follow('audit')},
      {key: 'm', text: 'metrics', run: () => this._follow('metrics')},
      {key: 'v', text: 'favourite: the shown resource, or no longer', run: () => this._list.likeCurrent()},
      {key: 'c', text: 'to the content: table, text or tree', run: () => this._content()},
      {key: 'Escape', text: 'leave a field; back to the list', run: () => this._escape()},
      {key: '?', text: 'this help', run: showHelp},
    ]);
    this._offer();
    this._show();
  }

  stop() {
    removeEventListener('hashchange', this._navigate);
    this._connected();
    this._turn++;
    if (this._view) this._view.stop();
    this._view = null;
  }

  /** A message for the user, also for screen readers. */
  tell(text) {
    fill(this._told, text);
  }

  _connection() {
    const since = lostSince();
    this._lost.textContent = since ? `The server does not respond since ${new Date(since).toLocaleTimeString()}. What is shown may be out of date; trying again.` : '';
  }

  _follow(name) {
    if (!this._links[name].hidden) location.hash = this._links[name].getAttribute('href');
  }

  _focus() {
    if (this._view && this._view.focus) this._view.focus();
    else this._main.focus();
  }

  /** Focus what the view is about: a table, a text, a tree. */
  _content() {
    const found = this._main.querySelector('[role="tabpanel"] :is([tabindex="0"], textarea)');
    if (found) found.focus();
    else this._focus();
  }

  _escape() {
    const active = document.activeElement;
    if (this.element.classList.contains('open')) this._toggle();
    else if (active && active !== document.body && /^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName)) this._focus();
    else if (this._view && this._view.back) location.hash = this._view.back;
    else this._focus();
  }

  /** Links to views that the user may use. */
  _offer() {
    const nodes = resourceOf('', 'nodes');
    const offer = async (name, allowed) => {
      try {
        this._links[name].hidden = !(await allowed);
      } catch {
        this._links[name].hidden = true;
      }
    };
    if (nodes) offer('nodes', may('list', nodes));
    offer('audit', mayGet('/debug/audit'));
    offer('metrics', mayGet('/debug/metrics'));
  }

  async _show() {
    const address = parseAddress(location.hash || HOME);
    const make = VIEWS.get(address.view);
    if (!make) {
      location.replace(HOME);
      return;
    }
    const turn = ++this._turn;
    if (this._view) this._view.stop();
    this._view = null;
    // A kind that was defined after the page was loaded.
    if (address.parts.length > 1 && !resourceOf(address.parts[0], address.parts[1])) {
      await discover().catch(() => {});
      if (turn !== this._turn) return;
    }
    if (address.query.namespace !== undefined || address.view === 'list') this._namespace = address.query.namespace || '';
    if (this.element.classList.contains('open')) this._toggle();
    this.tell('');
    const view = make(address, {tell: (text) => this.tell(text)});
    this._view = view;
    document.title = visible(`${view.title} · orchd`);
    this._main.dataset.view = address.view;
    fill(this._main, view.element);
    setShortcuts('view', view.shortcuts || []);
    for (const [name, link] of Object.entries(this._links)) {
      if (name === address.view) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    this._resources(address);
    this._focus();
  }

  async _resources(address) {
    const namespace = this._namespace;
    const current = address.view === 'list' || address.view === 'object' ? address.parts.slice(0, 2).join('/') : '';
    const entries = await Promise.all(
      listable().map(async (resource) => ({resource, allowed: await may('list', resource, resource.namespaced ? namespace : '').catch(() => true)})),
    );
    if (namespace !== this._namespace) return;
    this._list.show(entries, current, namespace);
    // Enter was pressed before there was a list.
    if (this._hurried && document.activeElement === this._search) this._choose();
    this._hurried = false;
  }

  /** Read anew what is served, for kinds that have been defined meanwhile. */
  async _renew() {
    if (Date.now() - this._read < RENEW) return;
    this._read = Date.now();
    await discover().catch(() => {});
    this._resources(parseAddress(location.hash || HOME));
  }

  _searched(event) {
    const links = this._list.links();
    if (event.key === 'Enter') this._choose();
    else if (event.key === 'ArrowDown' && links.length) links[0].focus();
    else return;
    event.preventDefault();
  }

  /** Show the resource that is meant: by its whole name, short name or kind, or else the first one. */
  _choose() {
    const links = this._list.links();
    this._hurried = this._list.empty;
    if (!links.length) return;
    const wanted = this._search.value.trim().toLowerCase();
    const exact = links.find((link) => link.textContent === wanted || link.parentElement.dataset.search.split(' ').includes(wanted));
    location.hash = (exact || links[0]).getAttribute('href');
    this._search.value = '';
    this._list.find('');
  }

  _openSearch() {
    if (getComputedStyle(this._side).visibility === 'hidden') this._toggle();
    this._search.focus();
    this._search.select();
  }

  _toggle() {
    const open = this.element.classList.toggle('open');
    this._menu.setAttribute('aria-expanded', String(open));
    if (open) this._search.focus();
  }
}
