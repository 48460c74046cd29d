// Trying again: which failures may pass, and how long to wait.

import {ApiError} from './api.js';
import {inSight, onConnection} from './connection.js';

const FIRST = 500;
const LONGEST = 15_000;

/** Would the same request fail again? */
export function isFinal(error) {
  return error instanceof ApiError && error.code < 500 && ![408, 410, 429].includes(error.code);
}

/** Waits, longer each time; what has lasted begins anew. */
export class Backoff {
  constructor() {
    this._wait = FIRST;
    this._begin = Date.now();
  }

  /** An attempt begins. */
  begin() {
    this._begin = Date.now();
  }

  /** Wait after an attempt; no longer than until `signal` aborts, or the server responds again. */
  async pause(signal, error = null) {
    this._wait = Date.now() - this._begin > LONGEST ? FIRST : Math.min(this._wait * 2, LONGEST);
    const asked = error instanceof ApiError ? Math.min(error.retryAfter * 1000, 4 * LONGEST) : 0;
    await pause(Math.max(asked, (this._wait / 2) * (0.5 + Math.random() / 2)), signal);
    await inSight(signal);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      forget();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    const forget = onConnection(end);
    signal.addEventListener('abort', end, {once: true});
    if (signal.aborted) end();
  });
}
