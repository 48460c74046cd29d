// Owners and dependents, from the owner references of all objects that the user may list.

import {ApiError, json} from './api.js';
import {collection, item, listable, resourceOfKind} from './discovery.js';
import {may} from './rights.js';
import {session} from './session.js';

const DEEPEST = 20;
const AT_ONCE = 4;
const PAGE = 500;
/** Objects of one resource that are looked at. */
const MOST = 10_000;
/** These never own anything and are many. */
const NOT_OWNED = new Set(['events', 'componentstatuses']);

/**
 * @typedef {Object} Owned
 * @property {string} uid
 * @property {string} kind
 * @property {string} name
 * @property {string} namespace
 * @property {Object} [resource]  undefined where the server does not serve the kind
 * @property {string} [note]
 * @property {Owned} [below]  the node below, in the chain of owners
 */

/** The chain of owners as a list from the top to the object itself; each has the next one `below`. */
export async function ownersOf(resource, object, signal) {
  const chain = [entry(resource, object)];
  let current = object;
  for (let depth = 0; depth < DEEPEST; depth++) {
    const references = current.metadata.ownerReferences || [];
    const reference = references.find((each) => each.controller) || references[0];
    if (!reference) break;
    const found = await owner(reference, current.metadata.namespace || '', signal);
    found.entry.below = chain[0];
    if (references.length > 1) chain[0].note = `and ${references.length - 1} more owners`;
    chain.unshift(found.entry);
    if (!found.object) break;
    current = found.object;
  }
  return chain;
}

async function owner(reference, namespace, signal) {
  const resource = resourceOfKind(reference.apiVersion, reference.kind);
  const known = {uid: reference.uid, kind: reference.kind, name: reference.name, namespace: resource && resource.namespaced ? namespace : '', resource};
  if (!resource) return {entry: {...known, note: 'of a kind that is not served'}};
  try {
    const object = await json('GET', item(resource, known.namespace, reference.name), {signal});
    if (object.metadata.uid !== reference.uid) return {entry: {...known, note: 'gone: another object has its name'}};
    return {entry: known, object};
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return {entry: {...known, note: error.code === 404 ? 'gone' : error.code === 403 ? 'you may not read it' : error.message}};
  }
}

function entry(resource, object) {
  const {uid, name, namespace = ''} = object.metadata;
  return {uid, kind: resource.kind, name, namespace, resource};
}

/**
 * What an object owns, and what that owns.
 * @returns {Promise<{children: Map<string, Map<string, Owned>>, skipped: string[], begun: string[]}>}  children, by uid, of the uid of their owner; names of
 *   resources that could not be read, and of those that were read in part
 */
export async function ownedBy(resource, object, signal, tell) {
  const {namespace = ''} = object.metadata;
  const wanted = listable().filter((each) => !NOT_OWNED.has(each.name) && (each.namespaced || !namespace));
  const children = new Map();
  const skipped = [];
  const begun = [];
  let done = 0;
  const work = async () => {
    for (let each = wanted.shift(); each && !signal.aborted; each = wanted.shift()) {
      const read = await collect(each, each.namespaced ? namespace : '', children, signal);
      if (read !== 'all') (read === 'some' ? begun : skipped).push(each.name);
      tell(`Looking for dependents: ${++done} resources`);
    }
  };
  await Promise.all(Array.from({length: AT_ONCE}, work));
  return {children, skipped, begun};
}

/** Note the owners of all objects of a resource: "all", "some" where there are more than MOST, or "none" when they cannot be read. */
async function collect(resource, namespace, children, signal) {
  if (!(await may('list', resource, namespace).catch(() => false))) return 'none';
  const accept = `application/json;as=PartialObjectMetadataList;v=v1;g=${session().names.meta},application/json`;
  let next = '';
  let count = 0;
  do {
    let response;
    try {
      response = await json('GET', collection(resource, namespace), {query: {limit: PAGE, continue: next}, accept, signal});
    } catch (error) {
      if (signal.aborted || error instanceof ApiError) return count ? 'some' : 'none';
      throw error;
    }
    for (const each of response.items || []) {
      for (const reference of each.metadata.ownerReferences || []) {
        if (!children.has(reference.uid)) children.set(reference.uid, new Map());
        children.get(reference.uid).set(each.metadata.uid, entry(resource, each));
      }
    }
    count += (response.items || []).length;
    next = (response.metadata && response.metadata.continue) || '';
  } while (next && count < MOST);
  return next ? 'some' : 'all';
}
