// Requests to the API, with the credentials of the user.

import {doubt, heard} from './connection.js';
import {getToken} from './session.js';

/** Milliseconds until a response has to begin; more than the server itself allows for a request. */
const LIMIT = 65_000;

/** A response that is no success. `status` is the Status object of the server, or one made of the response. */
export class ApiError extends Error {
  /** @param {number} code @param {Object} status */
  constructor(code, status, retryAfter = 0) {
    super(status.message || `the server responded with ${code}`);
    this.code = code;
    this.status = status;
    /** Seconds that the server asks to wait before another attempt. */
    this.retryAfter = retryAfter;
  }
}

let signedOut = () => {};
let forbidden = () => {};

/** Call `listener(message)` when the server no longer knows the user. */
export function onSignedOut(listener) {
  signedOut = listener;
}

/** Call `listener()` when a request was forbidden. */
export function onForbidden(listener) {
  forbidden = listener;
}

/** A path with encoded segments. */
export function path(...segments) {
  return '/' + segments.map(encodeURIComponent).join('/');
}

/** A field selector for one value of a field. */
export function fieldIs(name, value) {
  return `${name}=${value.replace(/[\\,=]/g, '\\$&')}`;
}

/**
 * Send a request. Raises ApiError for a response of 400 or above, TypeError when the server cannot be reached, a TimeoutError
 * when no response begins within `limit` milliseconds.
 * @param {string} method
 * @param {string} where  a path without a query
 * @param {{query?: Object, body?: string, type?: string, accept?: string, signal?: AbortSignal, quiet?: boolean, limit?: number}} [options]
 *   `quiet`: a 401 does not sign out
 * @returns {Promise<Response>}
 */
export async function request(method, where, options = {}) {
  // Browsers resolve such segments: a crafted address would lead to another object than the one it shows.
  if (where.split('/').some((each) => each === '.' || each === '..')) {
    throw new ApiError(404, {kind: 'Status', code: 404, reason: 'NotFound', message: `no such path: ${where}`});
  }
  const headers = {Accept: options.accept || 'application/json'};
  const token = getToken();
  if (token) headers.Authorization = `Bearer ${token}`;
  if (options.body !== undefined) headers['Content-Type'] = options.type || 'application/json';
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options.query || {})) {
    if (value !== '' && value !== undefined && value !== null) query.append(name, value);
  }
  const text = query.toString();
  const response = await send(text ? `${where}?${text}` : where, options.signal, options.limit || LIMIT, {
    method,
    headers,
    body: options.body,
    // With a token the browser must not add a client certificate, which would decide who the user is.
    credentials: token ? 'omit' : 'same-origin',
    cache: 'no-store',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
  });
  // Above are responses of what stands before the server as well.
  if (response.status < 500) heard();
  if (response.ok) return response;
  const error = new ApiError(response.status, await failure(response), Number(response.headers.get('Retry-After')) || 0);
  if (response.status === 401 && !options.quiet) signedOut('The server no longer accepts the credentials: sign in again.');
  if (response.status === 403) forbidden();
  throw error;
}

/** `fetch` with a limit for the beginning of the response. */
async function send(where, signal, limit, options) {
  const stop = new AbortController();
  const abort = () => stop.abort(signal.reason);
  // The body of the response ends with the signal as well.
  if (signal) signal.addEventListener('abort', abort, {once: true});
  if (signal && signal.aborted) abort();
  const timer = setTimeout(() => stop.abort(new DOMException(`no response within ${limit / 1000} s`, 'TimeoutError')), limit);
  try {
    return await fetch(where, {...options, signal: stop.signal});
  } catch (error) {
    if (!signal || !signal.aborted) doubt();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function failure(response) {
  const text = (await response.text()).slice(0, 100_000);
  try {
    const found = JSON.parse(text);
    if (found && found.kind === 'Status') return found;
  } catch {
    // Plain text.
  }
  return {kind: 'Status', code: response.status, message: text.trim() || `the server responded with ${response.status}`};
}

/** The JSON of a GET, or of another method with a JSON body in `options.data`. */
export async function json(method, where, options = {}) {
  const sent = options.data === undefined ? options : {...options, body: JSON.stringify(options.data)};
  return (await request(method, where, sent)).json();
}

/** A message for people about a failure. */
export function explain(error) {
  if (error instanceof ApiError) return `${error.code}: ${error.message}`;
  if (error instanceof TypeError) return 'the server cannot be reached';
  if (error && error.name === 'TimeoutError') return 'the server does not respond';
  return String(error && error.message ? error.message : error);
}
