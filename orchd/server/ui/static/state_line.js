// What goes on with data that follow the server: live, loading, or what is wrong and what follows.

import {announce} from './announce.js';
import {button, fill, h} from './dom.js';

export const LIVE = '● live';

export class StateLine {
  /** @param {Object} [attributes]  of the element */
  constructor(attributes = {}) {
    this.element = h('span', {class: 'state', tabindex: -1, ...attributes}, 'loading');
  }

  /** @param {string} text @param {boolean} [live] @param {() => void} [again]  where it goes on only if the user wants */
  show(text, live = false, again = null) {
    const shown = live ? LIVE : text;
    this.element.classList.toggle('live', live);
    if (this.element.textContent === shown) return;
    fill(this.element, shown, again ? [' ', button('Try again', () => this._again(again), {class: 'again'})] : null);
    if (!text.startsWith('loading')) announce(shown);
  }

  /** The button goes; the focus stays with the text that follows it. */
  _again(again) {
    this.element.focus();
    this.show('loading');
    again();
  }
}
