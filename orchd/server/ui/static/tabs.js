// Tabs as the ARIA practices describe them: arrows move between tabs.

import {h} from './dom.js';

/**
 * @param {{id: string, title: string}[]} choices
 * @param {string} first
 * @param {(choice: Object) => void} show
 */
export function tabList(choices, first, show) {
  const panel = h('div', {role: 'tabpanel', class: 'panel', id: 'tabpanel'});
  const tabs = choices.map((each) =>
    h('button', {type: 'button', role: 'tab', id: `tab-${each.id}`, 'aria-controls': 'tabpanel', on: {click: () => select(each.id), keydown: moved}}, each.title),
  );
  const found = {
    element: h('div', {role: 'tablist', class: 'tabs'}, tabs),
    panel,
    choices,
    selected: choices.some((each) => each.id === first) ? first : choices[0].id,
    select,
    focus: () => tabs[choices.findIndex((each) => each.id === found.selected)].focus(),
    go: (id) => (select(id), found.focus()),
  };

  function mark() {
    choices.forEach((each, at) => {
      const here = each.id === found.selected;
      tabs[at].setAttribute('aria-selected', String(here));
      tabs[at].tabIndex = here ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', `tab-${found.selected}`);
  }

  function select(id) {
    found.selected = id;
    mark();
    show(choices.find((each) => each.id === id));
  }

  function moved(event) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    const at = choices.findIndex((each) => each.id === found.selected);
    select(choices[(at + step + choices.length) % choices.length].id);
    found.focus();
  }

  mark();
  return found;
}
