// A list that stays current: pages of a list, then a watch from where the list ended.

import {ApiError, explain, request} from './api.js';
import {whileConnected} from './connection.js';
import {jsonLines} from './lines.js';
import {Backoff, isFinal} from './retry.js';

const PAGE = 500;
/** Seconds of one watch; the server ends it, and it is taken up again where it ended. */
const WATCH_SECONDS = 290;
/** The response to a watch of a resource that can only be listed. */
const UNWATCHED = 405;
/** Milliseconds that taking a watch up again may take before the list is no longer called live. */
const UNNOTICED = 2_000;

/**
 * @typedef {Object} Listener
 * @property {() => void} begin  a list begins: objects that are not `put` until `complete` are gone
 * @property {(response: Object, type: string) => void} put  a page of the list, or the object of a watch event
 * @property {() => void} complete  all pages have been put
 * @property {(text: string, live: boolean, again?: () => void) => void} status  what is going on, for people; with `again`
 *   the server has refused, and nothing more happens until that is called
 */

/**
 * Follow a collection until `signal` aborts.
 *
 * States: list -> watch; watch -> watch when it ends, -> list when the server forgot the version (410);
 * a failure waits, longer each time, and goes on where it was. After 403, 404 and other refusals the objects are gone, and it
 * begins anew when `again` is called. What cannot be watched stays as it was read until then.
 * @param {{where: string, query?: Object, accept: string, listener: Listener, signal: AbortSignal}} options
 */
export async function follow({where, query = {}, accept, listener, signal}) {
  const backoff = new Backoff();
  let version = '';
  while (!signal.aborted) {
    const connected = whileConnected(signal);
    let failure = null;
    backoff.begin();
    try {
      if (!version) version = await list(where, query, accept, listener, connected.signal);
      for (let ended = false; !ended; ) {
        const begin = Date.now();
        const late = setTimeout(() => listener.status('taking the watch up again', false), UNNOTICED);
        const response = await watch(where, query, accept, version, connected.signal).finally(() => clearTimeout(late));
        if (signal.aborted) return;
        listener.status('live', true);
        for await (const event of jsonLines(response)) {
          if (signal.aborted) return;
          if (event.type === 'ERROR') throw new ApiError(event.object.code || 500, event.object);
          version = versionOf(event.object) || version;
          if (event.type !== 'BOOKMARK') listener.put(event.object, event.type);
        }
        // A watch that lasted is taken up again at once; one that ends again and again is tried less and less often.
        ended = Date.now() - begin < UNNOTICED;
      }
      listener.status('taking the watch up again', false);
    } catch (error) {
      failure = error;
    } finally {
      connected.release();
    }
    if (signal.aborted) return;
    if (failure && isFinal(failure)) {
      version = '';
      if (failure.code === UNWATCHED) await asked(`read at ${new Date().toLocaleTimeString()}: these cannot be watched`, listener, signal);
      else await refused(failure, listener, signal);
      continue;
    }
    if (failure instanceof ApiError && failure.code === 410) version = '';
    if (failure) listener.status(`${explain(failure)}; trying again`, false);
    await backoff.pause(signal, failure);
  }
}

/** The request is forbidden, or the resource does not exist: wait until the user tries again. */
function refused(error, listener, signal) {
  listener.begin();
  listener.complete();
  return asked(explain(error), listener, signal);
}

/** Say what is wrong, and wait until the user tries again. */
function asked(text, listener, signal) {
  return new Promise((resolve) => {
    signal.addEventListener('abort', resolve, {once: true});
    listener.status(text, false, resolve);
  });
}

async function list(where, query, accept, listener, signal) {
  listener.begin();
  let next = '';
  let count = 0;
  for (;;) {
    listener.status(count ? `loading, ${count} so far` : 'loading', false);
    const response = await (await request('GET', where, {query: {...query, limit: PAGE, continue: next}, accept, signal})).json();
    if (signal.aborted) throw signal.reason;
    listener.put(response, 'LIST');
    count += (response.rows || response.items || []).length;
    const metadata = response.metadata || {};
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
