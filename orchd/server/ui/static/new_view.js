// A new object: the editor with what every object needs.

import {resourceOf, item} from './discovery.js';
import {h} from './dom.js';
import {Editor} from './editor.js';
import {listAddress, objectAddress} from './routes.js';

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
  return {
    title: `New ${resource.kind}`,
    back: listAddress(resource, {namespace: address.query.namespace}),
    element: h('section', {class: 'fillview'}, h('div', {class: 'bar'}, h('h1', {}, `New ${resource.kind}`)), h('div', {class: 'panel'}, editor.element)),
    focus: () => editor.text.focus(),
    stop: () => editor.stop(),
  };
}
