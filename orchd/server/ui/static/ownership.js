// Who owns which field, from metadata.managedFields: a tree of the fields with their managers.

/**
 * @typedef {Object} Owned
 * @property {Set<string>} owners  managers that own the field itself
 * @property {Map<string, Owned>} children  by the keys of fieldsV1: "f:name", 'k:{"name":"x"}', "v:1"
 */

/** @returns {Owned} */
function empty() {
  return {owners: new Set(), children: new Map()};
}

/** The tree of an object; empty for one without managed fields. */
export function ownership(object) {
  const root = empty();
  for (const entry of (object.metadata && object.metadata.managedFields) || []) {
    if (!entry.subresource) join(root, entry.fieldsV1 || {}, ownerName(entry.manager, entry.operation));
  }
  return root;
}

/** A manager is another one by Apply than by Update. */
export function ownerName(manager, operation) {
  return operation === 'Apply' ? manager : `${manager} (${operation})`;
}

function join(node, fields, owner) {
  for (const [key, below] of Object.entries(fields)) {
    if (key === '.') {
      node.owners.add(owner);
      continue;
    }
    let child = node.children.get(key);
    if (!child) node.children.set(key, (child = empty()));
    // A field with nothing below it is owned as a whole.
    if (Object.keys(below).length === 0) child.owners.add(owner);
    join(child, below, owner);
  }
}

/** All owners of a field and of what is below it. */
export function ownersBelow(node, found = new Set()) {
  if (!node) return found;
  for (const owner of node.owners) found.add(owner);
  for (const child of node.children.values()) ownersBelow(child, found);
  return found;
}
