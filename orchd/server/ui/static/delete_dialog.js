// Asks before an object is deleted.

import {explain, json} from './api.js';
import {button, fill, h} from './dom.js';
import {openDialog} from './help.js';

/** @param {{kind: string, name: string, where: string, uid: string, deleted: () => void}} options */
export function confirmDelete({kind, name, where, uid, deleted}) {
  const problem = h('p', {role: 'alert', class: 'problem'});
  const policy = h(
    'select',
    {id: 'propagation'},
    h('option', {value: 'Background'}, 'Background: what it owns is deleted afterwards'),
    h('option', {value: 'Foreground'}, 'Foreground: what it owns is deleted first'),
    h('option', {value: 'Orphan'}, 'Orphan: what it owns stays'),
  );
  const submit = async (event) => {
    event.preventDefault();
    try {
      // The object that was shown, not another one that has its name now.
      await json('DELETE', where, {data: {kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: policy.value, preconditions: {uid}}});
      dialog.close();
      deleted();
    } catch (error) {
      fill(problem, explain(error));
    }
  };
  const dialog = h(
    'dialog',
    {'aria-labelledby': 'delete-title'},
    h(
      'form',
      {on: {submit}},
      h('h2', {id: 'delete-title'}, `Delete ${kind} ${name}?`),
      h('p', {}, h('label', {for: 'propagation'}, 'Dependents '), policy),
      problem,
      h('div', {class: 'actions'}, h('button', {type: 'submit', class: 'danger', id: 'confirm-delete'}, 'Delete'), button('Cancel', () => dialog.close(), {id: 'cancel-delete', autofocus: true})),
    ),
  );
  openDialog(dialog);
}
