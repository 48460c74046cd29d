// A list that stays current: pages of a list, then a watch from where the list ended.

import {ApiError, explain, request} from './api.js';
import {jsonLines} from './lines.js';

const PAGE = 500;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
/** Seconds of one watch; the server ends it, and it is taken up again where it ended. */
const WATCH_SECONDS = 290;

/**
 * @typedef {Object} Listener
 * @property {() => void} begin  a list begins: objects that are not `put` until `complete` are gone
 * @property {(answer: Object, type: string) => void} put  a page of the list, or the object of a watch event
 * @property {() => void} complete  all pages have been put
 * @property {(text: string, live: boolean) => void} status  what is going on, for people
 */

/**
 * Follow a collection until `signal` aborts.
 *
 * States: list -> watch; watch -> watch when it ends, -> list when the server forgot the version (410);
 * a failure waits, twice as long each time, and goes on where it was. 403 and 404 and other refusals end it.
 * @param {{where: string, query?: Object, accept: string, listener: Listener, signal: AbortSignal}} options
 */
export async function follow({where, query = {}, accept, listener, signal}) {
  let version = '';
  let wait = FIRST_WAIT;
  while (!signal.aborted) {
    const begin = Date.now();
    try {
      if (!version) version = await list(where, query, accept, listener, signal);
      const answer = await watch(where, query, accept, version, signal);
      listener.status('live', true);
      for await (const event of jsonLines(answer)) {
        if (signal.aborted) return;
        if (event.type === 'ERROR') throw new ApiError(event.object.code || 500, event.object);
        version = versionOf(event.object) || version;
        if (event.type !== 'BOOKMARK') listener.put(event.object, event.type);
      }
      listener.status('taking the watch up again', false);
    } catch (error) {
      if (signal.aborted) return;
      if (isFinal(error)) {
        listener.status(explain(error), false);
        return;
      }
      if (error instanceof ApiError && error.code === 410) version = '';
      listener.status(`${explain(error)}; trying again`, false);
    }
    // What has lasted begins anew at once; what fails again and again is tried less and less often.
    wait = Date.now() - begin > LONGEST_WAIT ? FIRST_WAIT : Math.min(wait * 2, LONGEST_WAIT);
    await pause((wait / 2) * (0.5 + Math.random() / 2), signal);
  }
}

/** Would the same request fail again? */
function isFinal(error) {
  return error instanceof ApiError && error.code < 500 && error.code !== 410 && error.code !== 429;
}

async function list(where, query, accept, listener, signal) {
  listener.begin();
  let next = '';
  let count = 0;
  for (;;) {
    listener.status(count ? `loading, ${count} so far` : 'loading', false);
    const answer = await (await request('GET', where, {query: {...query, limit: PAGE, continue: next}, accept, signal})).json();
    listener.put(answer, 'LIST');
    count += (answer.rows || answer.items || []).length;
    const metadata = answer.metadata || {};
    next = metadata.continue || '';
    if (!next) {
      listener.complete();
      return metadata.resourceVersion;
    }
    // The browser draws and reads keys between pages.
    await new Promise((resolve) => setTimeout(resolve));
  }
}

function watch(where, query, accept, version, signal) {
  const more = {watch: '1', resourceVersion: version, allowWatchBookmarks: 'true', timeoutSeconds: WATCH_SECONDS};
  return request('GET', where, {query: {...query, ...more}, accept, signal});
}

/** The version of an object, or of the object in a Table's row. */
function versionOf(object) {
  const own = object.metadata && object.metadata.resourceVersion;
  if (own) return own;
  const row = object.rows && object.rows[0];
  return (row && row.object && row.object.metadata && row.object.metadata.resourceVersion) || '';
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), {once: true});
  });
}
