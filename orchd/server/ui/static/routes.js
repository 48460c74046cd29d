// Addresses of views: the part of the URL after "#". They hold names and filters, never credentials.

const CORE = '-';

/** Address of a list. `filters`: namespace, labels, fields, text. */
export function listAddress(resource, filters = {}) {
  return `#/list/${encodeURIComponent(resource.group || CORE)}/${encodeURIComponent(resource.name)}${query(filters)}`;
}

/** Addresses of the lists that were shown last, by group and name of the resource. */
const lists = new Map();

/** Note the address of a list, for the way back from its objects. */
export function rememberList(resource, address) {
  lists.set(`${resource.group}/${resource.name}`, address);
}

/** Address of the list of a resource that was shown last, with its filters; undefined without one. */
export function listBefore(resource) {
  return lists.get(`${resource.group}/${resource.name}`);
}

/** Forget the lists: another user. */
export function forgetLists() {
  lists.clear();
}

/** Address of an object. */
export function objectAddress(resource, namespace, name, tab = '') {
  const parts = [resource.group || CORE, resource.name, namespace || CORE, name].map(encodeURIComponent);
  return `#/object/${parts.join('/')}${query({tab})}`;
}

function query(values) {
  const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
  return text ? `?${text}` : '';
}

/**
 * The parts of an address.
 * @returns {{view: string, parts: string[], query: Object<string, string>}}
 */
export function parseAddress(hash) {
  const [where, rest] = hash.replace(/^#\/?/, '').split('?');
  const [view, ...parts] = where.split('/').map(decoded);
  return {view, parts: parts.map((part) => (part === CORE ? '' : part)), query: Object.fromEntries(new URLSearchParams(rest || ''))};
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
