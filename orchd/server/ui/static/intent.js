// What an edit declares in a server-side apply: the fields that the user changed, and those that this page owns already.
// Declaring the whole object would make the page an owner of every field, and later changes of others conflicts.

import {ownersBelow, ownership} from './ownership.js';

/** Name of this page as a field manager. */
export const MANAGER = 'orchd-ui';

/** Fields that the server sets. */
const SERVER_FIELDS = ['managedFields', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'];

/** An object as it is edited: without status and what the server sets. */
export function editable(object) {
  const {status, metadata = {}, ...rest} = object;
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => !SERVER_FIELDS.includes(name)));
  const {apiVersion, kind, ...more} = rest;
  return {apiVersion, kind, metadata: kept, ...more};
}

/**
 * The configuration to apply.
 * @param {Object} original  the object as it was read, with managed fields
 * @param {Object} edited  what the user made of `editable(original)`
 * @returns {{intent: Object, kept: {path: string, owners: string[]}[]}}  `kept`: what the user removed and apply cannot
 *   remove, since others own it
 */
export function intentOf(original, edited) {
  const kept = [];
  const before = editable(original);
  const part = partOf({shape: ownership(original), before, after: edited, path: '', kept}) || {};
  const {name, namespace} = before.metadata;
  const metadata = {...(part.metadata || {}), name, ...(namespace ? {namespace} : {})};
  return {intent: {...part, apiVersion: edited.apiVersion, kind: edited.kind, metadata}, kept};
}

function isMap(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Equality of JSON values; the order of keys does not matter. */
export function same(one, other) {
  if (one === other) return true;
  if (Array.isArray(one)) return Array.isArray(other) && one.length === other.length && one.every((each, at) => same(each, other[at]));
  if (!isMap(one) || !isMap(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => Object.hasOwn(other, name) && same(one[name], other[name]));
}

const mine = (node) => !!node && ownersBelow(node).has(MANAGER);

/** The part of a value to apply; undefined for no part of it. `shape` is undefined where no manager owns a field. */
function partOf({shape, before, after, path, kept}) {
  if (before === undefined) return after;
  if (isMap(after) && isMap(before) && !isAtomic(shape, before)) return partOfMap({shape, before, after, path, kept});
  if (Array.isArray(after) && Array.isArray(before) && shape && shape.children.size) {
    const keyed = [...shape.children.keys()].find((key) => key.startsWith('k:'));
    if (keyed) return partOfKeyed({shape, before, after, path, kept, names: Object.keys(JSON.parse(keyed.slice(2)))});
    return partOfSet({shape, before, after, path, kept});
  }
  return !same(before, after) || mine(shape) ? after : undefined;
}

/** Is a map owned as a whole? */
function isAtomic(shape, before) {
  return !!shape && shape.owners.size > 0 && shape.children.size === 0 && Object.keys(before).length > 0;
}

function partOfMap({shape, before, after, path, kept}) {
  // Pairs, since assigning to the key "__proto__" of an object sets no key.
  const out = [];
  const child = (name) => shape && shape.children.get(`f:${name}`);
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    const part = partOf({shape: child(name), before: old, after: value, path: `${path}.${name}`, kept});
    if (part !== undefined) out.push([name, part]);
  }
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) removed(child(name), `${path}.${name}`, kept);
  return out.length || (shape && shape.owners.has(MANAGER)) ? Object.fromEntries(out) : undefined;
}

function partOfKeyed({shape, before, after, path, kept, names}) {
  const out = [];
  const rest = new Set(before);
  for (const each of after) {
    const old = before.find((item) => names.every((name) => same(item[name], each && each[name]) || (each && each[name] === undefined)));
    if (old === undefined) {
      out.push(each);
      continue;
    }
    rest.delete(old);
    const part = partOf({shape: childOf(shape, old, names), before: old, after: each, path: `${path}[${label(old, names)}]`, kept});
    if (part !== undefined) out.push({...Object.fromEntries(names.filter((name) => old[name] !== undefined).map((name) => [name, old[name]])), ...part});
  }
  for (const old of rest) removed(childOf(shape, old, names), `${path}[${label(old, names)}]`, kept);
  return out.length ? out : undefined;
}

function childOf(shape, item, names) {
  for (const [key, node] of shape.children) {
    if (!key.startsWith('k:')) continue;
    const wanted = JSON.parse(key.slice(2));
    if (names.every((name) => same(wanted[name], item[name]))) return node;
  }
  return undefined;
}

function label(item, names) {
  return names.map((name) => `${name}=${item[name]}`).join(',');
}

function partOfSet({shape, before, after, path, kept}) {
  const nodeOf = (value) => [...shape.children].find(([key]) => key.startsWith('v:') && same(JSON.parse(key.slice(2)), value))?.[1];
  for (const value of before) if (!after.some((each) => same(each, value))) removed(nodeOf(value), `${path}[${JSON.stringify(value)}]`, kept);
  const out = after.filter((value) => !before.some((each) => same(each, value)) || mine(nodeOf(value)));
  return out.length ? out : undefined;
}

/** Note a removed field unless this page is its only owner: then leaving it out removes it. */
function removed(node, path, kept) {
  const owners = [...ownersBelow(node)];
  if (owners.length !== 1 || owners[0] !== MANAGER) kept.push({path, owners: owners.filter((each) => each !== MANAGER)});
}
