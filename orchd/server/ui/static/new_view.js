// A new object: the editor with what every object needs, and the schema of its kind.

import {resourceOf, item} from './discovery.js';
import {fill, h} from './dom.js';
import {Editor} from './editor.js';
import {listAddress, objectAddress} from './routes.js';
import {schemaPanel} from './schema_panel.js';
import {tabList} from './tabs.js';

/** @returns {import('./frame.js').View} */
export function newView(address, {tell}) {
  const [group, plural] = address.parts;
  const resource = resourceOf(group, plural);
  if (!resource) return {title: '', element: h('p', {class: 'problem', role: 'alert'}, 'There is no such resource.'), stop() {}};
  const namespace = address.query.namespace || (resource.namespaced ? 'default' : '');
  const editor = new Editor({
    resource,
    object: {apiVersion: group ? `${group}/${resource.version}` : resource.version, kind: resource.kind, metadata: {name: '', ...(namespace ? {namespace} : {})}},
    where: (object) => item(resource, object.metadata.namespace || namespace, object.metadata.name),
    tell,
    isNew: true,
    applied: (object) => (location.hash = objectAddress(resource, object.metadata.namespace || '', object.metadata.name)),
  });
  // The editor stays as it is while the schema is looked at.
  let schema = null;
  const choices = [
    {id: 'edit', title: 'Edit', element: () => editor.element},
    {id: 'schema', title: 'Schema', element: () => (schema ||= schemaPanel(resource)).element},
  ];
  const tabs = tabList(choices, 'edit', (chosen) => fill(tabs.panel, chosen.element()));
  tabs.select('edit');
  return {
    title: `New ${resource.kind}`,
    back: listAddress(resource, {namespace: address.query.namespace}),
    element: h('section', {class: 'fillview'}, h('div', {class: 'bar'}, h('h1', {}, `New ${resource.kind}`)), tabs.element, tabs.panel),
    focus: () => editor.text.focus(),
    shortcuts: choices.map((each, at) => ({key: String(at + 1), text: each.title, run: () => tabs.go(each.id)})),
    stop() {
      editor.stop();
      if (schema) schema.stop();
    },
  };
}
