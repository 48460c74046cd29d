// Whether the server responds. It is asked from time to time, and at once after a request has failed: a connection that
// broke without a sign would otherwise leave lists that look current and are not.

/** Milliseconds between questions. */
const EVERY = 20_000;
/** Milliseconds between questions while the server does not respond: the first, and the longest. */
const FIRST = 1_000;
const LONGEST = 8_000;
/** Milliseconds out of sight after which streams end until the page is seen again: browsers allow six connections to a server,
 * for all tabs together. */
const OUT_OF_SIGHT = 30_000;

/** @type {() => Promise<void>} */
let ask = () => Promise.resolve();
let timer = 0;
let asking = false;
let running = false;
let wait = FIRST;
/** Has the page been out of sight for long? */
let asleep = false;
let falling = 0;
/** The moment when something came from the server. */
let last = 0;
/** The moment of the first failure; 0 while the server responds. */
let since = 0;
/** @type {Set<() => void>} */
const listeners = new Set();

/**
 * Begin to ask; until `stopAsking`.
 * @param {() => Promise<void>} question  rejects when the server does not respond
 */
export function startAsking(question) {
  ask = question;
  running = true;
  since = 0;
  later();
}

export function stopAsking() {
  running = false;
  clearTimeout(timer);
  since = 0;
}

/** Milliseconds since the epoch since when the server does not respond; 0 if it responds. */
export function lostSince() {
  return since;
}

/** Call `listener` when the server stops or begins to respond. Returns a function that ends that. */
export function onConnection(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A request has got no response: ask now, unless that is known. */
export function doubt() {
  if (running && !since && !asking) check();
}

/** Something has come from the server: nothing is lost, or no longer. */
export function heard() {
  last = Date.now();
  if (!since) return;
  wait = FIRST;
  change(0);
  later();
}

/** Resolves when the page is in sight, or `signal` aborts. */
export async function inSight(signal) {
  while (asleep && !signal.aborted) {
    await new Promise((resolve) => {
      const forget = onConnection(() => (forget(), resolve()));
      signal.addEventListener('abort', () => (forget(), resolve()), {once: true});
    });
  }
}

/**
 * A signal that aborts when `signal` does, when the server stops responding, and when the page is out of sight for long;
 * `release` when it is no longer used.
 */
export function whileConnected(signal) {
  const found = new AbortController();
  const end = onConnection(() => {
    if (since || asleep) found.abort(asleep ? new Error('not read while the page is out of sight') : new TypeError('the connection is lost'));
  });
  const abort = () => found.abort(signal.reason);
  signal.addEventListener('abort', abort, {once: true});
  if (signal.aborted) abort();
  return {signal: found.signal, release: () => (end(), signal.removeEventListener('abort', abort))};
}

function later() {
  clearTimeout(timer);
  if (running) timer = setTimeout(() => (document.hidden && !since ? later() : check()), since ? wait : EVERY);
}

async function check() {
  if (asking || !running) return;
  asking = true;
  clearTimeout(timer);
  const begin = Date.now();
  try {
    await ask();
    wait = FIRST;
    change(0);
  } catch (error) {
    wait = since ? Math.min(wait * 2, LONGEST) : FIRST;
    // Slow, but not silent: to end its streams would make it slower.
    const slow = error.name === 'TimeoutError' && last >= begin;
    if (!slow) change(since || Date.now());
  }
  asking = false;
  later();
}

function change(moment) {
  if (!running || moment === since) return;
  since = moment;
  notify();
}

function notify() {
  for (const listener of [...listeners]) listener();
}

function sleep(now) {
  if (asleep === now) return;
  asleep = now;
  notify();
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(falling);
  if (document.hidden) falling = setTimeout(() => sleep(true), OUT_OF_SIGHT);
  else {
    sleep(false);
    check();
  }
});
addEventListener('online', () => check());
// Browsers keep a page that was left, with its streams, for the way back to it.
addEventListener('pagehide', () => sleep(true));
addEventListener('pageshow', () => sleep(false));
