// The help: what the keys do here.

import {button, h} from './dom.js';
import {enableShortcuts, shortcuts, shortcutsEnabled} from './keys.js';

const TITLES = {page: 'Everywhere', view: 'In this view'};
const GRID = [
  ['↑ ↓ or k j', 'previous, next row'],
  ['Page Up, Page Down, Home, End', 'further rows'],
  ['Enter', 'open the row'],
  ['← →', 'scroll to the side'],
];
const EDITOR = [
  ['Ctrl Enter', 'dry run'],
  ['Escape', 'leave the text, which is kept'],
];

/** Open the help dialog. */
export function showHelp() {
  const toggle = h('input', {type: 'checkbox', props: {checked: shortcutsEnabled()}, on: {change: () => enableShortcuts(toggle.checked)}});
  const dialog = h(
    'dialog',
    {class: 'help', 'aria-labelledby': 'help-title'},
    h('h2', {id: 'help-title'}, 'Keys'),
    shortcuts().map(([part, list]) => [h('h3', {}, TITLES[part] || part), keysOf(list.map((each) => [each.key, each.text]))]),
    h('h3', {}, 'In tables'),
    keysOf(GRID),
    h('h3', {}, 'In the editor'),
    keysOf(EDITOR),
    h('label', {class: 'check'}, toggle, 'Single-key shortcuts'),
    button('Close', () => dialog.close(), {class: 'primary'}),
  );
  openDialog(dialog);
}

function keysOf(pairs) {
  return h('dl', {class: 'keys'}, pairs.map(([key, text]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, text)]));
}

/** Show a modal dialog; it leaves the document when it closes. */
export function openDialog(dialog) {
  const before = document.activeElement;
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}
