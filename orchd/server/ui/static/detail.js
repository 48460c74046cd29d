// The whole of one row of a table, below it: for what is cut off there.

import {h} from './dom.js';
import {toYaml} from './yaml_write.js';

/**
 * @param {string} label
 * @param {() => void} back  gives the focus back, after Escape
 * @returns {{element: HTMLElement, show: (value: Object) => void}}
 */
export function detailOf(label, back) {
  const element = h('pre', {class: 'yaml detail', id: 'detail', tabindex: 0, role: 'region', 'aria-label': label, hidden: true, on: {keydown: left}});

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
      element.textContent = toYaml(value);
      element.scrollTop = 0;
      element.focus();
    },
  };
}
