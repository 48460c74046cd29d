// The tree of owners: what owns an object, and what it owns.

import {announce} from './announce.js';
import {explain} from './api.js';
import {button, fill, h} from './dom.js';
import {ownersOf, ownedBy} from './owner_graph.js';
import {objectAddress} from './routes.js';

/** More dependents of one kind than this are folded. */
const FEW = 20;

/** @typedef {import('./owner_graph.js').Owned} Owned */

export function ownersPanel(resource, object) {
  const stopping = new AbortController();
  const state = h('p', {class: 'note'});
  const holder = h('div', {});
  const load = async () => {
    const tell = (text) => fill(state, text);
    tell('Looking for owners and dependents');
    try {
      const tree = await build(resource, object, stopping.signal, tell);
      if (stopping.signal.aborted) return;
      fill(holder, treeElement(tree, object.metadata.uid));
      announce(state.textContent || 'The tree is complete');
    } catch (error) {
      if (stopping.signal.aborted) return;
      tell(explain(error));
      announce(state.textContent);
    }
  };
  load();
  return {element: h('div', {class: 'panelpart'}, h('div', {class: 'actions'}, button('Look again', load)), state, holder), stop: () => stopping.abort()};
}

async function build(resource, object, signal, tell) {
  const roots = await ownersOf(resource, object, signal);
  const top = roots[0];
  const {children, skipped, begun} = await ownedBy(resource, object, signal, tell);
  const notes = [skipped.length ? `Not looked at: ${skipped.join(', ')}.` : '', begun.length ? `Too many to look at all: ${begun.join(', ')}.` : ''];
  tell(notes.filter(Boolean).join(' '));
  return {top, children};
}

/** A tree with the keys of the ARIA practices. */
function treeElement({top, children}, here) {
  const node = (each, level) => {
    const below = [...(children.get(each.uid) || new Map()).values()];
    const more = each.below ? [each.below] : below;
    const element = h(
      'li',
      {role: 'treeitem', tabindex: -1, 'aria-label': `${each.kind} ${each.name} ${each.note || ''}`.trim(), 'aria-level': level, 'aria-expanded': more.length ? 'true' : null, class: each.uid === here ? 'here' : '', 'data-href': each.resource ? objectAddress(each.resource, each.namespace, each.name) : null},
      each.resource
        ? h('a', {class: 'node', tabindex: -1, href: objectAddress(each.resource, each.namespace, each.name)}, `${each.kind} ${each.name}`)
        : h('span', {class: 'node'}, `${each.kind} ${each.name}`),
      each.note ? h('span', {class: 'note'}, ` ${each.note}`) : null,
      more.length ? h('ul', {role: 'group'}, byKind(more).map((same) => (same.length > FEW ? bundle(same, level + 1) : same.map((child) => node(child, level + 1))))) : null,
    );
    return element;
  };
  /** Many of one kind: folded, and put into the document when they are unfolded. */
  const bundle = (same, level) => {
    const group = h('ul', {role: 'group', hidden: true});
    const element = h('li', {role: 'treeitem', tabindex: -1, 'aria-label': `${same.length} of kind ${same[0].kind}`, 'aria-level': level, 'aria-expanded': 'false'}, h('span', {class: 'node'}, `${same.length} of kind ${same[0].kind}`), group);
    const open = () => {
      if (!group.childElementCount) fill(group, same.map((child) => node(child, level + 1)));
    };
    element.addEventListener('unfold', open);
    element.firstChild.addEventListener('click', () => expand(element, element.getAttribute('aria-expanded') === 'false'));
    if (same.some((each) => each.uid === here)) expand(element, true);
    return element;
  };
  const tree = h('ul', {class: 'tree', role: 'tree', 'aria-label': 'Owners', on: {keydown: (event) => keyed(event, tree)}}, node(top, 1));
  (tree.querySelector('.here') || tree.firstChild).tabIndex = 0;
  return tree;
}

/** Unfold or fold a node. */
function expand(element, open) {
  if (open) element.dispatchEvent(new Event('unfold'));
  element.setAttribute('aria-expanded', String(open));
  element.querySelector('[role="group"]').hidden = !open;
}

/** Nodes in lists of one kind each, in their order. */
function byKind(nodes) {
  const lists = new Map();
  for (const each of nodes) {
    if (!lists.has(each.kind)) lists.set(each.kind, []);
    lists.get(each.kind).push(each);
  }
  return [...lists.values()];
}

function keyed(event, tree) {
  const all = [...tree.querySelectorAll('[role="treeitem"]')].filter((each) => !each.parentElement.closest('[aria-expanded="false"]'));
  const at = all.indexOf(event.target.closest('[role="treeitem"]'));
  const here = all[at];
  const go = (each) => each && (all.forEach((other) => (other.tabIndex = -1)), (each.tabIndex = 0), each.focus());
  if (event.key === 'ArrowDown') go(all[at + 1]);
  else if (event.key === 'ArrowUp') go(all[at - 1]);
  else if (event.key === 'Home') go(all[0]);
  else if (event.key === 'End') go(all[all.length - 1]);
  else if (event.key === 'ArrowRight' && here.getAttribute('aria-expanded') === 'false') expand(here, true);
  else if (event.key === 'ArrowRight') go(here.querySelector('[role="treeitem"]'));
  else if (event.key === 'ArrowLeft' && here.getAttribute('aria-expanded') === 'true') expand(here, false);
  else if (event.key === 'ArrowLeft') go(here.parentElement.closest('[role="treeitem"]'));
  else if (event.key === 'Enter' && here.dataset.href) location.hash = here.dataset.href;
  else return;
  event.preventDefault();
}
