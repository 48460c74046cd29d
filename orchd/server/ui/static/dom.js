// Builds elements. Text from the server enters the document as text nodes only; nothing here parses markup.

import {visible} from './visible.js';

/** Attributes that people read or hear. */
const SPOKEN = new Set(['title', 'aria-label', 'data-title']);

/**
 * An element. `props`: `class`, `on` ({event: listener}), `props` (DOM properties), anything else is an attribute;
 * attributes that are null, undefined or false are left out.
 * @param {string} tag
 * @param {Object} [props]
 * @param {...(Node|string|number|null|undefined|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'class') element.className = value;
    else if (name === 'on') for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === 'props') Object.assign(element, value);
    else if (name === 'style' || name.startsWith('on')) throw new Error(`attribute ${name} is not allowed`);
    else element.setAttribute(name, value === true ? '' : SPOKEN.has(name) ? visible(String(value)) : String(value));
  }
  add(element, children);
  return element;
}

/** Append children: nodes, texts, or lists of them. Characters that are not seen are shown as their numbers. */
export function add(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child instanceof Node ? child : visible(String(child)));
  }
}

/** Replace all children. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/** An SVG element with attributes. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  add(element, children);
  return element;
}

/** A button with a text. */
export function button(text, click, props = {}) {
  return h('button', {type: 'button', ...props, on: {click}}, text);
}
