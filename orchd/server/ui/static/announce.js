// Messages for screen readers alone: the last one of a quick succession, once.

import {fill, h} from './dom.js';

/** Milliseconds of rest after which a message is spoken. */
const REST = 1000;

const region = h('div', {role: 'status', class: 'unseen', id: 'spoken'});
document.body.append(region);
let timer = 0;

/** Speak a text after a moment without a newer one. */
export function announce(text) {
  clearTimeout(timer);
  timer = setTimeout(() => region.textContent !== text && fill(region, text), REST);
}
