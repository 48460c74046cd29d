// One object: its YAML, the editor, its events, its owners, the schema of its kind; placement of pods, pods of nodes.

import {explain, fieldIs, json} from './api.js';
import {confirmDelete} from './delete_dialog.js';
import {item, resourceOf} from './discovery.js';
import {button, fill, h} from './dom.js';
import {Editor} from './editor.js';
import {eventsPanel} from './events_panel.js';
import {follow} from './follow.js';
import {ownersPanel} from './owners_panel.js';
import {placementPanel} from './placement_panel.js';
import {podsPanel} from './pods_panel.js';
import {Backoff, isFinal} from './retry.js';
import {may} from './rights.js';
import {listAddress, listBefore, objectAddress} from './routes.js';
import {schemaPanel} from './schema_panel.js';
import {withoutManagers} from './shown.js';
import {StateLine} from './state_line.js';
import {tabList} from './tabs.js';
import {newestYaml} from './yaml.js';

/** @returns {import('./frame.js').View} */
export function objectView(address, {tell}) {
  const [group, plural, namespace, name] = address.parts;
  const resource = resourceOf(group, plural);
  if (!resource || !name) return {title: 'Unknown resource', element: h('p', {class: 'problem', role: 'alert'}, 'There is no such resource.'), stop() {}};
  return new ObjectView(resource, namespace, name, address.query.tab || 'yaml', tell).view();
}

class ObjectView {
  constructor(resource, namespace, name, tab, tell) {
    Object.assign(this, {resource, namespace, name, tell});
    this.where = item(resource, namespace, name);
    this.object = null;
    this.panel = null;
    this.gone = false;
    this.stopping = new AbortController();
    this.state = new StateLine();
    this.deleting = button('Delete', () => this.remove(), {class: 'danger', id: 'delete', disabled: true});
    this.tabs = tabList(this.choices(), tab, (chosen) => this.show(chosen));
    this.load();
  }

  choices() {
    const {resource} = this;
    const core = resource.group === '';
    return [
      {id: 'yaml', title: 'YAML', make: () => this.yamlPanel()},
      {id: 'edit', title: 'Edit', make: () => this.editPanel()},
      {id: 'events', title: 'Events', make: () => eventsPanel(this.object)},
      {id: 'owners', title: 'Owners', make: () => ownersPanel(this.resource, this.object)},
      core && resource.name === 'pods' && {id: 'placement', title: 'Placement', make: () => placementPanel(this.namespace, this.name)},
      core && resource.name === 'nodes' && {id: 'pods', title: 'Pods', make: () => podsPanel(this.name)},
      {id: 'schema', title: 'Schema', make: () => schemaPanel(this.resource, this.object)},
    ].filter(Boolean);
  }

  view() {
    const {resource, namespace, name} = this;
    const back = listBefore(resource) || listAddress(resource, {namespace});
    return {
      title: `${name} · ${resource.kind}${namespace ? ` in ${namespace}` : ''}`,
      back,
      element: h(
        'section',
        {class: 'fillview'},
        h(
          'div',
          {class: 'bar'},
          h('h1', {}, name, h('small', {}, ` ${resource.kind}${namespace ? ` in ${namespace}` : ''}`)),
          h('a', {class: 'button', href: back}, `All ${resource.name}`),
          this.deleting,
          this.state.element,
        ),
        this.tabs.element,
        this.tabs.panel,
      ),
      focus: () => this.tabs.focus(),
      stop: () => this.stop(),
      shortcuts: [
        ...this.tabs.choices.map((each, at) => ({key: String(at + 1), text: each.title, run: () => this.tabs.go(each.id)})),
        {key: 'e', text: 'edit', run: () => this.edit()},
        {key: 'd', text: 'delete', run: () => this.remove()},
      ],
    };
  }

  /** Read the object until the server responds; a refusal is shown with a way to try again. */
  async load() {
    const {signal} = this.stopping;
    const backoff = new Backoff();
    while (!this.object) {
      backoff.begin();
      try {
        this.object = await json('GET', this.where, {signal});
      } catch (error) {
        if (signal.aborted) return;
        if (isFinal(error)) return this.refused(error);
        this.state.show(`${explain(error)}; trying again`);
        await backoff.pause(signal, error);
      }
      if (signal.aborted) return;
    }
    this.tabs.select(this.tabs.selected);
    this.follow();
    this.deleting.disabled = !(await may('delete', this.resource, this.namespace, this.name).catch(() => true));
    this.deleting.title = this.deleting.disabled ? 'You may not delete this' : 'Delete (d)';
  }

  refused(error) {
    const again = button('Try again', () => (this.tabs.focus(), this.state.show('loading'), this.show(null), this.load()), {id: 'again'});
    this.state.show(error.code === 404 ? 'not found' : `refused (${error.code})`);
    fill(this.tabs.panel, h('p', {class: 'problem', role: 'alert'}, explain(error)), h('p', {}, again));
  }

  /** Keep the object current. */
  async follow() {
    const {resource} = this;
    if (!(await may('watch', resource, this.namespace, this.name).catch(() => false))) return this.unwatched();
    const listener = {
      begin() {},
      complete() {},
      put: (response, type) => this.changed(response, type),
      status: (text, live, again) => this.state.show(live && this.gone ? 'deleted' : text, live && !this.gone, again),
    };
    const where = this.where.slice(0, this.where.lastIndexOf('/'));
    follow({where, query: {fieldSelector: fieldIs('metadata.name', this.name)}, accept: 'application/json', listener, signal: this.stopping.signal});
  }

  /** The user may read the object, but not watch it. */
  unwatched(text = 'not live: you may not watch this') {
    this.state.show(text, false, async () => {
      try {
        const found = await json('GET', this.where, {signal: this.stopping.signal});
        this.changed(found, 'MODIFIED');
        this.unwatched(`read at ${new Date().toLocaleTimeString()}: you may not watch this`);
      } catch (error) {
        if (error.code === 404) this.vanish();
        if (!this.stopping.signal.aborted) this.unwatched(explain(error));
      }
    });
  }

  changed(response, type) {
    const found = type === 'LIST' ? (response.items || [])[0] : response;
    // Absent from a list after a break: it went meanwhile.
    if (type === 'DELETED' || !found) return this.vanish();
    if (this.gone) this.revive();
    if (found.metadata.resourceVersion === this.object.metadata.resourceVersion) return;
    // Objects in lists have neither version nor kind.
    this.object = {apiVersion: this.object.apiVersion, kind: this.object.kind, ...found};
    if (this.panel && this.panel.changed) this.panel.changed(this.object);
  }

  vanish() {
    if (this.gone) return;
    this.gone = true;
    this.tell(`${this.resource.kind} ${this.name} was deleted`);
    this.deleting.disabled = true;
    this.state.show('deleted');
  }

  /** There is an object of this name again. */
  revive() {
    this.gone = false;
    this.tell(`${this.resource.kind} ${this.name} was created again`);
    this.deleting.disabled = this.deleting.title !== 'Delete (d)';
    this.state.show('live', true);
  }

  show(choice) {
    if (this.panel && this.panel.stop) this.panel.stop();
    this.panel = null;
    if (!this.object) return fill(this.tabs.panel, h('p', {class: 'note'}, 'Loading'));
    // The tab is part of the address, for reloads and for those who are sent it.
    history.replaceState(null, '', objectAddress(this.resource, this.namespace, this.name, choice.id === 'yaml' ? '' : choice.id));
    this.panel = choice.make();
    return fill(this.tabs.panel, this.panel.element);
  }

  yamlPanel() {
    const managers = h('input', {type: 'checkbox', id: 'managers'});
    const text = h('pre', {class: 'yaml', tabindex: 0, role: 'region', 'aria-label': 'YAML'});
    const stopping = new AbortController();
    // A selection in an unchanged text stays.
    const show = (found) => text.textContent === found || (text.textContent = found);
    const write = newestYaml(show, (error) => fill(text, explain(error)), stopping.signal);
    const draw = () => write(managers.checked ? this.object : withoutManagers(this.object));
    managers.addEventListener('change', draw);
    draw();
    const copy = button('Copy', () => navigator.clipboard.writeText(text.textContent).then(() => this.tell('copied'), () => this.tell('the browser does not allow to copy')));
    return {element: h('div', {class: 'panelpart'}, h('div', {class: 'actions'}, h('label', {class: 'check'}, managers, 'Field managers'), copy), text), changed: draw, stop: () => stopping.abort()};
  }

  editPanel() {
    const editor = new Editor({resource: this.resource, object: this.object, where: this.where, tell: this.tell, applied: (object) => (this.object = object)});
    return {element: editor.element, changed: (object) => editor.changed(object), stop: () => editor.stop()};
  }

  edit() {
    this.tabs.go('edit');
    const editor = document.getElementById('editor');
    if (editor) editor.focus();
  }

  remove() {
    if (this.deleting.disabled || !this.object) return;
    confirmDelete({kind: this.resource.kind, name: this.name, where: this.where, uid: this.object.metadata.uid, deleted: () => {
      this.tell(`${this.resource.kind} ${this.name}: deletion requested`);
      location.hash = listBefore(this.resource) || listAddress(this.resource, {namespace: this.namespace});
    }});
  }

  stop() {
    this.stopping.abort();
    if (this.panel && this.panel.stop) this.panel.stop();
  }
}

