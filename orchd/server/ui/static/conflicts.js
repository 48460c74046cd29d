// Conflicts of a server-side apply: which fields, and who owns them.

import {ApiError} from './api.js';
import {h} from './dom.js';

const REASON = 'FieldManagerConflict';

/** Is this error about fields of other owners? */
export function isConflict(error) {
  return error instanceof ApiError && error.code === 409 && causesOf(error.status).length > 0;
}

function causesOf(status) {
  return ((status.details && status.details.causes) || []).filter((each) => each.reason === REASON);
}

/** A table of fields and owners. */
export function conflictsElement(status) {
  return h(
    'div',
    {id: 'conflicts'},
    h('p', {class: 'problem'}, 'Other managers own fields that this edit changes. Nothing was stored.'),
    h(
      'table',
      {class: 'plain'},
      h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Field'), h('th', {scope: 'col'}, 'Owner'))),
      h('tbody', {}, causesOf(status).map((each) => h('tr', {}, h('td', {}, h('code', {}, each.field || '')), h('td', {}, ownerOf(each.message))))),
    ),
  );
}

/** The owner in the server's message: conflict with "name" [with subresource "s"] using v1 ... */
function ownerOf(message) {
  const match = /^conflict with "((?:[^"\\]|\\.)*)"(.*)$/.exec(message);
  return match ? `${match[1]}${match[2]}` : message;
}
