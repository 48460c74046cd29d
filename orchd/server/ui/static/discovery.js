// The resources that the server serves: built-in and custom, each in its preferred version.

import {json, path} from './api.js';
import {compare} from './order.js';
import {session} from './session.js';

/**
 * @typedef {Object} Resource
 * @property {string} group  "" for the core group
 * @property {string} version
 * @property {string} name  plural, as in paths
 * @property {string} kind
 * @property {boolean} namespaced
 * @property {string[]} verbs
 * @property {string[]} shortNames
 */

/** @type {Resource[]} */
let resources = [];

/**
 * Read what is served.
 * @returns {Promise<string[]>}  groups of other servers that do not respond
 */
export async function discover() {
  const accept = `application/json;g=${session().names.discovery};v=v2;as=APIGroupDiscoveryList`;
  const [core, groups] = await Promise.all([json('GET', '/api', {accept}), json('GET', '/apis', {accept})]);
  const missing = [];
  const found = [];
  for (const group of [...(core.items || []), ...(groups.items || [])]) {
    const known = new Set();
    // Versions come in order of preference; a later one may serve what the preferred one does not.
    for (const each of group.versions || []) {
      if (each.freshness === 'Stale') missing.push(`${group.metadata.name}/${each.version}`);
      for (const resource of each.resources || []) {
        if (!known.has(resource.resource)) found.push(toResource(group.metadata.name || '', each.version, resource));
        known.add(resource.resource);
      }
    }
  }
  resources = found.sort((one, other) => compare(one.group, other.group) || compare(one.name, other.name));
  return missing;
}

function toResource(group, version, {resource, responseKind, scope, verbs, shortNames}) {
  return {group, version, name: resource, kind: responseKind.kind, namespaced: scope === 'Namespaced', verbs: verbs || [], shortNames: shortNames || []};
}

/** All resources that can be listed. */
export function listable() {
  return resources.filter((each) => each.verbs.includes('list'));
}

/** The resource of a group and plural name; undefined without one. */
export function resourceOf(group, name) {
  return resources.find((each) => each.group === group && each.name === name);
}

/** The resource of an object's apiVersion and kind, in that version; undefined without one. */
export function resourceOfKind(apiVersion, kind) {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const found = resources.find((each) => each.group === group && each.kind === kind && !each.name.includes('/'));
  return found && {...found, version};
}

/** Path of a collection; in all namespaces when `namespace` is "". */
export function collection(resource, namespace = '') {
  const base = resource.group ? ['apis', resource.group, resource.version] : ['api', resource.version];
  if (resource.namespaced && namespace) base.push('namespaces', namespace);
  return path(...base, resource.name);
}

/** Path of an object. */
export function item(resource, namespace, name) {
  return `${collection(resource, namespace)}/${encodeURIComponent(name)}`;
}
