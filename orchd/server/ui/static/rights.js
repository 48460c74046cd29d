// What the user may do, as the server says: one review of all rules for a namespace, single reviews where that is not enough.

import {json, path} from './api.js';
import {session} from './session.js';

/** Namespace that no cluster has: its rules are those that hold in all namespaces. */
const NOWHERE = 'orchd-ui-all-namespaces';
const MOST = 500;
/** Milliseconds for which a response holds: rights change. */
const HOLDS = 60_000;

/** @typedef {{at: number, response: Promise<*>}} Cached  when it was asked for */
/** @type {Map<string, Cached>} */
const rules = new Map();
/** @type {Map<string, Cached>} */
const single = new Map();

/** Forget everything: another user, or changed rights. */
export function forgetRights() {
  rules.clear();
  single.clear();
}

function review(kind, plural, spec) {
  const group = session().names.authorization;
  return json('POST', path('apis', group, 'v1', plural), {data: {apiVersion: `${group}/v1`, kind, spec}});
}

function rulesIn(namespace) {
  const key = namespace || NOWHERE;
  return cached(rules, key, () => review('SelfSubjectRulesReview', 'selfsubjectrulesreviews', {namespace: key}).then((response) => response.status));
}

/** What `ask` gave for a key, for a while; a failure is not kept. */
function cached(known, key, ask) {
  const old = known.get(key);
  if (old && Date.now() - old.at < HOLDS) return old.response;
  if (known.size >= MOST) known.clear();
  const response = ask();
  response.catch(() => known.delete(key));
  known.set(key, {at: Date.now(), response});
  return response;
}

function covers(list, wanted) {
  return (list || []).includes('*') || (list || []).includes(wanted);
}

/**
 * May the user do this? `namespace` "" means in all namespaces, or for a resource without namespaces.
 * @param {string} verb
 * @param {{group: string, name: string}} resource
 * @param {string} [namespace]
 * @param {string} [name]  of an object
 * @param {string} [subresource]
 * @returns {Promise<boolean>}
 */
export async function may(verb, resource, namespace = '', name = '', subresource = '') {
  const status = await rulesIn(namespace);
  const full = subresource ? `${resource.name}/${subresource}` : resource.name;
  for (const rule of status.resourceRules || []) {
    if (!covers(rule.verbs, verb) || !covers(rule.apiGroups, resource.group)) continue;
    if (!covers(rule.resources, full) && !(subresource && covers(rule.resources, `*/${subresource}`))) continue;
    if (!rule.resourceNames || !rule.resourceNames.length || (name && rule.resourceNames.includes(name))) return true;
  }
  if (!status.incomplete) return false;
  return once({resourceAttributes: {verb, group: resource.group, resource: resource.name, namespace, name, subresource}});
}

/** May the user read a path that is no resource? */
export function mayGet(where) {
  return once({nonResourceAttributes: {verb: 'get', path: where}});
}

function once(spec) {
  return cached(single, JSON.stringify(spec), () =>
    review('SelfSubjectAccessReview', 'selfsubjectaccessreviews', spec).then((response) => response.status.allowed === true),
  );
}
