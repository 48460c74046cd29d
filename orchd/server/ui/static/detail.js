// The whole of one row of a table, below it: for what is cut off there.

import {explain} from './api.js';
import {fill, h} from './dom.js';
import {newestYaml} from './yaml.js';

/**
 * @param {string} label
 * @param {() => void} back  gives the focus back, after Escape
 * @param {AbortSignal} signal  ends the view
 * @returns {{element: HTMLElement, show: (value: Object) => void}}
 */
export function detailOf(label, back, signal) {
  const element = h('pre', {class: 'yaml detail', id: 'detail', tabindex: 0, role: 'region', 'aria-label': label, hidden: true, on: {keydown: left}});

  const write = newestYaml(
    (text) => {
      element.textContent = text;
      element.scrollTop = 0;
    },
    (error) => fill(element, explain(error)),
    signal,
  );

  function left(event) {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    element.hidden = true;
    back();
  }

  return {
    element,
    show(value) {
      element.hidden = false;
      element.textContent = '';
      element.focus();
      write(value);
    },
  };
}
